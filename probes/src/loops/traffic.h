/* The common parts of the loops that send, receive, ask and mirror. An asker sends requests and
 * measures round trips; a mirror answers requests. A worker is a thread that serves many
 * streams. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "test/test.h"

#define ALL_REFUSED_NS (50 * MILLISECOND_NS) /* the test fails if all calls were refused so long */
#define FLOWS_READY 256 /* maximum number of streams that one wait returns */

/* Room in the stream's buffer for one receive call. For UDP, it is at least one byte more than a
 * message, so that a longer datagram is noticed. */
size_t traffic_room(const struct settings *settings);
/* Maximum number of datagrams that one receive call of a stream may return (the buffer holds them
 * all), or of messages that one send call may take. */
unsigned traffic_batch(const struct settings *settings);
/* Maximum number of datagrams that one call returns to a receiver that does not block. */
unsigned traffic_receive_most(const struct settings *settings);
/* Number of messages of this stream in a test with `count` messages; UINT64_MAX if the test ends
 * after a time. */
uint64_t traffic_share(const struct stream *stream);
/* Tells the supervisor that the stream has sent or received its first message. */
void traffic_begun(struct stream *stream);

/* Sleeps for this time, or for less so that a halt is noticed in time. */
void traffic_sleep(uint64_t nanoseconds);
/* Waits until the settings' start_ns, or until the test is halted. */
void traffic_wait_for_start(const struct test *test);
/* Whether a datagram of the peer is a control datagram of this stream. *out becomes its content,
 * unless out is NULL. If it is a hello (which opens a stream), the listening side answers it again,
 * because the first answer may have been lost. */
bool traffic_control(struct stream *stream, const unsigned char *datagram, size_t length,
                     struct dataport_control *out);
/* Makes one receive call on the stream's socket, which does not block if the test spins. */
ptrdiff_t traffic_receive(const struct stream *stream, void *into, size_t room);
/* TCP: receives exactly `length` bytes, by as many calls as needed, and returns `length`. If the
 * test is halted or the connection ends or fails, returns the result of the last call, which is not
 * above 0. */
ptrdiff_t traffic_receive_all(const struct stream *stream, void *into, size_t length);
/* UDP: receives queued datagrams without waiting, from the stream's socket or from captured
 * frames. */
ptrdiff_t traffic_take_many(struct stream *stream, struct plat_batch *batch);
/* TCP: sends everything, by as many calls as needed, and returns `length`. If the test is halted or
 * the connection fails, returns the result of the last call, which is not above 0. *sent_bytes
 * becomes the number of bytes sent. */
ptrdiff_t traffic_send_all(const struct test *test, plat_socket socket, const void *bytes,
                           size_t length, size_t *sent_bytes);
/* UDP: handles a receive call that failed, or an empty datagram (`error` is 0). Errors about
 * datagrams that we sent to a peer that has left are ignored. Returns false if the loop must
 * end. */
bool traffic_nothing(struct stream *stream, int error);
/* UDP: notes that the peer's host refused a datagram because nobody listens. Returns true if the
 * host has refused REFUSALS_OF_A_PEER datagrams in a row. A successful send call does not end the
 * row, because its datagram may still be refused. */
bool traffic_refused(struct stream *stream);
/* UDP: notes a report of a host or a router that the path is down. Returns true if it was down for
 * UNREACHABLE_NS. */
bool traffic_unreachable(struct stream *stream);
/* TCP: whether a connection's error means that the peer has ended. A dead host may also be reported
 * as unreachable, by a router or a neighbour, before the connection times out. */
static inline bool traffic_tcp_gone(int error)
{
    return plat_is_peer_gone(error) || plat_is_unreachable(error);
}
/* UDP: sends one end marker, a datagram with the number of messages sent. */
void traffic_end_marker(const struct stream *stream, uint64_t sent);
/* UDP: sends three end markers with the number of messages sent, because a full queue may drop some
 * of them. If no `stop` was received, the end markers are sent some time apart, because the peer
 * may get no other sign of the end. */
void traffic_end_markers(struct stream *stream, uint64_t sent);

/* ---- streams that have a thread each ---- */

/* The loops run in the stream's thread until the work is done or the test is halted. */
void send_run(struct stream *stream);
void receive_run(struct stream *stream);
/* The loop of methods that send many messages by one call. */
void send_batch_run(struct stream *stream);

/* Allocates room for the messages of one call. Returns false if there is no memory. */
bool send_batch_prepare(struct stream *stream);
void send_batch_free(struct send_batch *batch);
/* Number of send calls that accepted something. */
uint64_t send_batch_calls(const struct stream *stream);

/* ---- many streams in one thread: a worker ---- */

/* The loops run in the worker's thread until all of its streams have ended, or the test is
 * halted. */
void receive_flows_run(struct worker *worker);
void send_flows_run(struct worker *worker);

/* The worker's streams, in order; NULL after the last. */
struct stream *flows_first(const struct worker *worker);
struct stream *flows_next(const struct worker *worker, const struct stream *stream);
unsigned flows_count(const struct worker *worker);
/* Watches every stream of the worker that is not over; the caller must close *watch in any case.
 * Returns false if the test has failed. */
bool flows_watch(const struct worker *worker, struct plat_watch *watch, bool sending);
/* Waits until streams are ready or until_ns has come, and sets ready[] to the numbers of the ready
 * streams, and *count to how many there are. Returns false if the test has failed. */
bool flows_wait(const struct worker *worker, struct plat_watch *watch, uint64_t until_ns,
                unsigned ready[FLOWS_READY], unsigned *count);

#endif
