/* Declares sending and receiving of frames that bypass the system's UDP and IP. It is a part of the
 * platform contract (plat.h): each system implements it in its folder. */
#ifndef PLAT_FRAMES_H
#define PLAT_FRAMES_H

#include "platform/plat.h"

/* ---- our own frames, bypassing the system's UDP and IP: capability "packet" ---- */

#define PLAT_HEADERS 128
struct plat_headers {
    unsigned char bytes[PLAT_HEADERS]; /* link, IP and UDP headers of a sent frame */
    unsigned length;
};
/* Sends `bytes` on a connected UDP socket and captures the headers before them in the frame that
 * leaves. *out is a socket that sends whole frames on the same interface, by plat_send and
 * plat_send_many, with the send buffer and the send timeout of `udp`; it receives nothing. Returns 0 or
 * an error, such as PLAT_NO_WIRE: loopback accepts frames only from the system itself. */
#define PLAT_NO_WIRE (-3)
int plat_frames_open(plat_socket *out, plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers);
/* The error with which a system that has such sockets refuses them to this account; its administrator
 * can change that. 0: not refused, or there are no such sockets. */
int plat_frames_refusal(void);

/* ---- received frames, before the system's IP and UDP: capability "capture" ---- */

struct plat_capture {
    plat_socket socket;
    unsigned char *slots; /* NULL: there is none */
    size_t bytes, slot_bytes;
    unsigned slots_a_block, blocks, block, slot; /* the last two: the next slot to read */
    bool alone;
    uint64_t drops;
};
/* Captures the datagrams for a connected UDP socket from now on, messages of up to message_bytes in one
 * frame, in as much memory as the socket's receive buffer. Until the first plat_capture_take the socket
 * receives them as well. Returns 0 or an error. */
int plat_capture_open(struct plat_capture *out, plat_socket udp, size_t message_bytes);
void plat_capture_close(struct plat_capture *capture);
/* As plat_receive_many without waiting. It discards the datagrams that the socket has so far, and the
 * socket receives none any more. A datagram with a wrong checksum is skipped, as by the system. */
ptrdiff_t plat_capture_take(struct plat_capture *capture, plat_socket udp, struct plat_batch *batch);
/* Number of frames dropped for lack of room so far. */
uint64_t plat_capture_drops(struct plat_capture *capture);

/* ---- our own frames from memory shared with the system: capability "xdp" ---- */

struct plat_ring {
    unsigned char *bytes; /* `count` places of `room` bytes each */
    size_t room;
    unsigned count;
    uint64_t dropped; /* frames accepted and then dropped because the interface had no room */
    plat_socket socket;
    void *system;
};
/* As plat_frames_open, for frames with message_bytes after their headers. They bypass the interface's
 * queueing discipline. The error message-too-long (plat_word) means that a place has no room for one. */
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
/* Number of frames that the system has not accepted and will not accept; call it after the last one. */
unsigned plat_ring_left(struct plat_ring *ring);

#endif
