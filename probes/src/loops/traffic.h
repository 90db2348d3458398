/* The common parts of the loops that send, receive, ask and mirror. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "test/test.h"

#define ALL_REFUSED_NS (50 * MILLISECOND_NS) /* the error no-buffers if nothing was sent by then */
#define REFUSALS_OF_A_PEER 3 /* in a row; a single one may be for a hello that was sent too early */
/* Two refusals, or two reports that the path is down, are in a row if at most this time is between
 * them. Hosts send one per second, or one in 3 s. */
#define IN_A_ROW_NS (4 * SECOND_NS)
#define UNREACHABLE_NS (5 * SECOND_NS) /* the test fails if the path is down for this long */

/* Room in the stream's buffer for one receive call. For UDP, it is at least one byte more than a
 * message, so that a longer datagram is noticed. */
size_t traffic_room(const struct settings *settings);
/* Datagrams that one receive call of a stream may return (the buffer holds them all), or that one send
 * call may take. */
unsigned traffic_batch(const struct settings *settings);
/* Maximum number of datagrams that one call returns to a receiver that does not block. */
unsigned traffic_receive_most(const struct settings *settings);
/* This stream's part of `count`; UINT64_MAX if the test is bounded by seconds. */
uint64_t traffic_share(const struct stream *stream);
/* Tells the supervisor that the stream has sent or received its first message. */
void traffic_begun(struct stream *stream);

/* Sleeps for this time, or for less so that a halt is noticed in time. */
void traffic_sleep(uint64_t nanoseconds);
/* Waits until the settings' start_ns, or until the test is halted. */
void traffic_wait_for_start(const struct test *test);
/* Whether a datagram of the peer is a control datagram of this stream. *out becomes its content, unless
 * out is NULL. The listening side answers each further hello, because its answer may have been lost. */
bool traffic_control(struct stream *stream, const unsigned char *datagram, size_t length,
                     struct dataport_control *out);
/* One receive call on the stream's socket; it does not block if the test spins. */
ptrdiff_t traffic_receive(const struct stream *stream, void *into, size_t room);
/* UDP: receives queued datagrams from the stream's socket or its frames, without waiting. */
ptrdiff_t traffic_take_many(struct stream *stream, struct plat_batch *batch);
/* TCP: sends everything, by as many calls as needed, and returns `length`. If the test is halted or the
 * connection fails, returns the result of the last call, which is not above 0. *sent_bytes becomes the
 * number of bytes sent. */
ptrdiff_t traffic_send_all(const struct test *test, plat_socket socket, const void *bytes,
                           size_t length, size_t *sent_bytes);
/* UDP: handles a receive call without data, or (error 0) an empty datagram. Errors about datagrams that
 * we sent to a peer that has left are ignored. False: the loop ends. */
bool traffic_nothing(struct stream *stream, int error);
/* UDP: notes that the peer's host refused a datagram because nobody listens. True: it has done so too
 * often in a row. A successful send call in between proves nothing: its datagram may be refused next. */
bool traffic_refused(struct stream *stream);
/* UDP: notes a report of a host or a router that the path is down. True: it was down for too long. */
bool traffic_unreachable(struct stream *stream);
/* TCP: whether a connection's error means that the peer has ended. A dead host may also be reported as
 * unreachable, by a router or a neighbour, before the connection times out. */
static inline bool traffic_tcp_gone(int error)
{
    return plat_is_peer_gone(error) || plat_is_unreachable(error);
}
/* UDP: sends one end marker with the number of messages sent. */
void traffic_end_marker(const struct stream *stream, uint64_t sent);
/* UDP: sends three end markers with the number of messages sent, because a queue may be full.
 * Unless the controller has sent a stop, they are sent some time apart: the peer may have no other
 * sign of the end. */
void traffic_end_markers(struct stream *stream, uint64_t sent);

/* The loops run in the stream's thread until the work is done or the test is halted. */
void send_run(struct stream *stream);
void receive_run(struct stream *stream);

#endif
