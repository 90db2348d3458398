/* Declares how frames are sent past the system's UDP and IP, and taken before them. A part of the
 * platform contract: as plat.h has it, each system implements it in its folder. */
#ifndef PLAT_FRAMES_H
#define PLAT_FRAMES_H

#include "platform/plat.h"

/* ---- frames of our own, past the system's UDP and IP: capability "packet" ---- */

#define PLAT_HEADERS 128
struct plat_headers {
    unsigned char bytes[PLAT_HEADERS]; /* link, IP, UDP, as they left */
    unsigned length;
};
/* Sends `bytes` on a connected UDP socket and catches the headers in front of them in the frame in
 * which they leave. *out is a socket that puts whole frames on the same interface, by plat_send and
 * plat_send_many, with the send buffer and the send timeout of `udp`; it receives nothing. 0 or an
 * error, PLAT_NO_WIRE for one: what leaves by loopback is taken from the system alone. */
#define PLAT_NO_WIRE (-3)
int plat_frames_open(plat_socket *out, plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers);
/* What a system that has such sockets refuses them to this account for, which its administrator can
 * change. 0: nothing, or it has none. */
int plat_frames_refusal(void);

/* ---- frames that arrive, taken before the system's IP and UDP: capability "capture" ---- */

struct plat_capture {
    plat_socket socket;
    unsigned char *slots; /* NULL: there is none */
    size_t bytes, slot_bytes;
    unsigned slots_a_block, blocks, block, slot; /* the last two: the next to be looked at */
    bool alone;
    uint64_t drops;
};
/* From here on keeps what comes for a connected UDP socket, messages of up to message_bytes in one frame,
 * in as much memory as that socket's receive buffer. The socket gets it as well until the first
 * plat_capture_take. 0 or an error. */
int plat_capture_open(struct plat_capture *out, plat_socket udp, size_t message_bytes);
void plat_capture_close(struct plat_capture *capture);
/* As plat_receive_many without waiting. What the socket has by then is thrown away, and it gets nothing
 * any more. A datagram with a wrong checksum is passed over, as the system does. */
ptrdiff_t plat_capture_take(struct plat_capture *capture, plat_socket udp, struct plat_batch *batch);
/* What there was no room for so far. */
uint64_t plat_capture_drops(struct plat_capture *capture);

/* ---- frames of our own from places in memory that the system reads: capability "xdp" ---- */

struct plat_ring {
    unsigned char *bytes; /* `count` places of `room` bytes each */
    size_t room;
    unsigned count;
    uint64_t dropped; /* frames taken that the interface then had no room for */
    plat_socket socket;
    void *system;
};
/* As plat_frames_open, for frames of message_bytes behind their headers. They do not pass the
 * interface's queueing discipline. An error that plat_word calls message-too-long: a place has no room
 * for one. */
int plat_ring_open(struct plat_ring *out, plat_socket udp, size_t message_bytes, const void *bytes,
                   size_t length, struct plat_headers *headers);
/* A closed ring has no places, and nothing is sent from it. */
void plat_ring_close(struct plat_ring *ring);
/* How many places are free, none where none became free in the time of a send timeout. */
unsigned plat_ring_free(struct plat_ring *ring);
/* Of the free places that with this number. */
unsigned char *plat_ring_place(const struct plat_ring *ring, unsigned number);
/* Sends `length` bytes of each of the first `count` free places, which are not free then. Returns
 * `count`, 0 too, or the negative error number of what was sent before. */
ptrdiff_t plat_ring_send(struct plat_ring *ring, unsigned count, size_t length);
/* How many frames the system has not taken and will not take: behind the last one. */
unsigned plat_ring_left(struct plat_ring *ring);

#endif
