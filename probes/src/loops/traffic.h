/* What sending and receiving loops share. What differs between workloads is a constant table of
 * each. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "test/test.h"

#define ALL_REFUSED_NS (50 * MILLISECOND_NS) /* no-buffers, when nothing has gone out by then */
#define REFUSALS_OF_A_PEER 3 /* one may be the answer to a hello that came too early */
#define IN_A_ROW_NS (4 * SECOND_NS) /* between two of these: hosts tell once a second, or in 3 s */
#define UNREACHABLE_NS (5 * SECOND_NS) /* a way that is gone for so long does not come back */

/* Room of the stream's buffer for one receive call; a datagram that is too long shows. */
size_t traffic_room(const struct settings *settings);
/* Datagrams that one call of a stream may bring, and the buffer has room for them all; or may take. */
unsigned traffic_batch(const struct settings *settings);
/* The most that one call brings of these to a receiver that does not block. */
unsigned traffic_receive_most(const struct settings *settings);
/* This stream's part of `count`; UINT64_MAX where seconds bound the test. */
uint64_t traffic_share(const struct stream *stream);
/* The stream has sent or received its first message: tells the supervisor. */
void traffic_begun(struct stream *stream);

/* Sleeps, but not for longer than a halt may go unnoticed; 0: not at all. */
void traffic_sleep(uint64_t nanoseconds);
/* Until the settings' start_ns, or the test is halted. */
void traffic_wait_for_start(const struct test *test);
/* Whether a datagram of the peer's is a control datagram of this stream; *out says which, where
 * out is not NULL. A hello whose answer was lost is answered again by the side that listens. */
bool traffic_control(struct stream *stream, const unsigned char *datagram, size_t length,
                     struct dataport_control *out);
/* One receive call on the stream's socket, without blocking where the test spins. */
ptrdiff_t traffic_receive(const struct stream *stream, void *into, size_t room);
/* UDP: takes what has come, out of the stream's socket or its frames, without waiting. */
ptrdiff_t traffic_take_many(struct stream *stream, struct plat_batch *batch);
/* TCP: sends all of it, by as many calls as it takes. `length`, or what the last call returned that
 * took nothing: then the test is halted or the connection has failed; *done is what went before. */
ptrdiff_t traffic_send_all(const struct test *test, plat_socket socket, const void *bytes,
                           size_t length, size_t *done);
/* UDP: a receive call brought nothing, or (error 0) an empty datagram. Errors are of what we sent,
 * to a peer that has left: they pass. False: the loop ends. */
bool traffic_nothing(struct stream *stream, int error);
/* UDP: the peer's host says that nobody is there. True: it has said so too often in a row. A send call
 * that succeeds in between means nothing: it is what is refused next. */
bool traffic_refused(struct stream *stream);
/* UDP: a host or a router on the way says that there is none. True: it has for too long. */
bool traffic_unreachable(struct stream *stream);
/* TCP: a connection's error that is its peer's end. A host that died is "unreachable" as well, where a
 * router or its neighbours say so before its time is over. */
static inline bool traffic_tcp_gone(int error)
{
    return plat_is_peer_gone(error) || plat_is_unreachable(error);
}
/* UDP: one end marker with the number of messages sent. */
void traffic_end_marker(const struct stream *stream, uint64_t sent);
/* UDP: three end markers with the number of messages sent, for a queue may be full: by hand some
 * time apart, for then nobody else tells the peer. */
void traffic_end_markers(struct stream *stream, uint64_t sent);

/* The loops, in the stream's own thread: until the work is done or the test is halted. */
void send_run(struct stream *stream);
void receive_run(struct stream *stream);

#endif
