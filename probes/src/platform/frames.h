/* Declares sending and receiving of frames that bypass the system's UDP and IP. It is a part of the
 * platform contract (plat.h): each system implements it in its folder. */
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
 * before `bytes` from it. *out is a socket that sends whole frames on the same interface, by
 * plat_send and plat_send_many, with the send buffer and the send timeout of `udp`; it receives
 * nothing. Returns 0 or an error, such as PLAT_NO_WIRE: loopback accepts frames only from the
 * system itself. */
#define PLAT_NO_WIRE (-3)
int plat_frames_open(plat_socket *out, plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers);
/* The error with which the system refuses such a socket to this account; an administrator can
 * change that. 0: the system does not refuse it, or has no such sockets. */
int plat_frames_refusal(void);

/* ---- received frames, before the system's IP and UDP: capability "capture" ---- */

struct plat_capture {
    plat_socket socket;
    unsigned char *slots; /* NULL: there is none */
    size_t bytes, slot_bytes;
    unsigned slots_a_block, blocks, block, slot; /* block, slot: the next slot to read */
    bool alone; /* the UDP socket no longer receives the datagrams as well */
    uint64_t drops;
};
/* Captures the datagrams for a connected UDP socket from now on, if a datagram is one frame and has
 * at most message_bytes. The memory for them has about the size of the socket's receive buffer.
 * Until the first plat_capture_take the socket receives the datagrams as well. Returns 0 or an
 * error. */
int plat_capture_open(struct plat_capture *out, plat_socket udp, size_t message_bytes);
void plat_capture_close(struct plat_capture *capture);
/* Works as plat_receive_many does without waiting. The first call discards the datagrams that the
 * socket has received so far, and the socket receives no more. Datagrams with a wrong checksum are
 * skipped, as the system does. */
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
/* As plat_frames_open, for frames with message_bytes after their headers. The frames bypass the
 * interface's queueing discipline. The error message-too-long (plat_word) means that such a frame
 * does not fit into a place. */
int plat_ring_open(struct plat_ring *out, plat_socket udp, size_t message_bytes, const void *bytes,
                   size_t length, struct plat_headers *headers);
/* A closed ring has no places, and nothing is sent from it. */
void plat_ring_close(struct plat_ring *ring);
/* Number of free places; 0 if none became free within the send timeout. */
unsigned plat_ring_free(struct plat_ring *ring);
/* The free place with this number. */
unsigned char *plat_ring_place(const struct plat_ring *ring, unsigned number);
/* Sends `length` bytes of each of the first `count` free places, which are then in use. Returns
 * `count`, which may be 0, or the negative error number of an earlier send. */
ptrdiff_t plat_ring_send(struct plat_ring *ring, unsigned count, size_t length);
/* Call this after the last plat_ring_send: the number of frames that the system has not accepted
 * and will not accept. */
unsigned plat_ring_left(struct plat_ring *ring);

#endif
