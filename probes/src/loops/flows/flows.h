/* Declares the loops of a thread that serves many streams with one buffer. The thread waits for all
 * of them at once, and makes one call for each ready stream in turn. Such a thread is called a
 * worker. */
#ifndef FLOWS_H
#define FLOWS_H

#include "loops/traffic.h"

#define FLOWS_READY 256 /* maximum number of streams that one wait returns */

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

/* Accounts for the data of one receive call of a stream. Returns false if the stream has ended. */
bool receive_took(struct stream *stream, ptrdiff_t got);
bool receive_took_many(struct stream *stream, const struct plat_batch *batch, ptrdiff_t got);
/* Counts a call that did not wait. `empty`: it found no data. */
void receive_count_look(struct stream *stream, bool empty);

#endif
