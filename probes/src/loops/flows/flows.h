/* Declares the loops of a thread that serves many streams, with one buffer for all of them. It waits
 * for all at once, and gives each a call when its turn comes. */
#ifndef FLOWS_H
#define FLOWS_H

#include "loops/traffic.h"

#define FLOWS_READY 256 /* streams of one wait */

/* In the worker's own thread: until all of its streams have ended, or the test is halted. */
void receive_flows_run(struct worker *worker);
void send_flows_run(struct worker *worker);

/* The worker's streams, in order; NULL behind the last. */
struct stream *flows_first(const struct worker *worker);
struct stream *flows_next(const struct worker *worker, const struct stream *stream);
unsigned flows_count(const struct worker *worker);
/* Watches every stream of the worker's that is not over; *watch is to be closed either way. False: the
 * test has failed. */
bool flows_watch(const struct worker *worker, struct plat_watch *watch, bool sending);
/* Numbers of streams that can be served now; waits, but not for longer than a halt may go unnoticed.
 * False: the test has failed. */
bool flows_wait(const struct worker *worker, struct plat_watch *watch, uint64_t until_ns,
                unsigned ready[FLOWS_READY], unsigned *count);

/* What one receive call of a stream brought is accounted for, as by its own thread. False: the stream has
 * ended. */
bool receive_took(struct stream *stream, ptrdiff_t got);
bool receive_took_many(struct stream *stream, const struct plat_batch *batch, ptrdiff_t got);
/* A call that did not wait, and whether it found anything. */
void receive_count_look(struct stream *stream, bool empty);

#endif
