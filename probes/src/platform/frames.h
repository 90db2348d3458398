/* Declares sending and receiving of frames that bypass the system's UDP and IP. This file is a part
 * of the platform contract (plat.h): each system implements its functions in a folder of its own. A
 * capability is a word by which netprobe reports that the system supports something. */
#ifndef PLAT_FRAMES_H
#define PLAT_FRAMES_H

#include "platform/plat.h"

/* ---- frames that netprobe builds, bypassing the system's UDP and IP: capability "packet" ---- */

#define PLAT_HEADERS 128
struct plat_headers {
    unsigned char bytes[PLAT_HEADERS]; /* link, IP and UDP headers of a sent frame */
    unsigned length;
};
/* Sends `bytes` on a connected UDP socket, captures the outgoing frame and copies the headers
 * before `bytes` from this frame. *out becomes a socket that sends whole frames on the same
 * interface, by plat_send and plat_send_many, with the send buffer and the send timeout of `udp`;
 * it receives nothing. Returns 0 or an error, such as PLAT_NO_WIRE: the interface is loopback,
 * which accepts frames only from the system itself. */
#define PLAT_NO_WIRE (-3)
int plat_frames_open(plat_socket *out, plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers);
/* Returns the error with which the system refuses a socket for frames to this account; an
 * administrator can allow such sockets. 0: the system does not refuse it, or has no such
 * sockets. */
int plat_frames_refusal(void);

/* ---- received frames, before the system's IP and UDP: capability "capture" ---- */

struct plat_capture {
    plat_socket socket;
    unsigned char *slots; /* NULL: the capture is not open */
    size_t bytes, slot_bytes;
    unsigned slots_a_block, blocks, block, slot; /* block, slot: the next slot to read */
    bool alone; /* only the capture receives the datagrams, no longer the UDP socket */
    uint64_t drops;
};
/* Captures the unfragmented datagrams for a connected UDP socket from now on. Datagrams with more
 * than message_bytes bytes of payload may be truncated. The memory for the datagrams has about the
 * size of the socket's receive buffer. Until the first plat_capture_take the socket receives the
 * datagrams as well. Returns 0 or an error. */
int plat_capture_open(struct plat_capture *out, plat_socket udp, size_t message_bytes);
void plat_capture_close(struct plat_capture *capture);
/* Works as plat_receive_many does without waiting. The first call discards the datagrams that the
 * socket has received so far, and the socket receives no more. Skips datagrams with a wrong
 * checksum, as the system does. */
ptrdiff_t plat_capture_take(struct plat_capture *capture, plat_socket udp, struct plat_batch *batch);
/* Number of frames dropped for lack of room so far. */
uint64_t plat_capture_drops(struct plat_capture *capture);

/* ---- frames that netprobe builds in memory shared with the system: capability "xdp" ---- */

struct plat_ring {
    unsigned char *bytes; /* `count` places of `room` bytes each */
    size_t room;
    unsigned count;
    uint64_t dropped; /* frames accepted and then dropped because the interface had no room */
    plat_socket socket;
    void *system;
};
/* Works as plat_frames_open does, for frames with message_bytes bytes after their headers. The
 * frames bypass the interface's queueing discipline. The error message-too-long (plat_word) means
 * that such a frame does not fit into a place. */
int plat_ring_open(struct plat_ring *out, plat_socket udp, size_t message_bytes, const void *bytes,
                   size_t length, struct plat_headers *headers);
/* A closed ring has no places, and nothing is sent from it. */
void plat_ring_close(struct plat_ring *ring);
/* Number of free places; 0 if none became free within the send timeout. */
unsigned plat_ring_free(struct plat_ring *ring);
/* The free place with this number. */
unsigned char *plat_ring_place(const struct plat_ring *ring, unsigned number);
/* Sends `length` bytes of each of the first `count` free places. These places are in use until the
 * system has sent their bytes. Returns `count`, which may be 0, or the negative error number of an
 * earlier send. */
ptrdiff_t plat_ring_send(struct plat_ring *ring, unsigned count, size_t length);
/* Call this after the last plat_ring_send. Returns the number of frames that the system has not
 * accepted and will not accept. */
unsigned plat_ring_left(struct plat_ring *ring);

#endif
