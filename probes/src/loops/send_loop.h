/* Declares what the two sending loops share, and what a test needs of the one for batches. */
#ifndef SEND_LOOP_H
#define SEND_LOOP_H

#include "loops/traffic.h"

/* What follows a send call that took nothing, and so left `unsent` messages that will not be sent any
 * more, which are counted. False: the loop ends. Else the next may be sent. */
bool send_may_go_on(struct stream *stream, int error, uint64_t sent, uint64_t unsent);
/* Sleeps while the next message's time is farther off than the worst sleep, then spins.
 * False: halted. */
bool send_wait_until_due(struct stream *stream, uint64_t *due_ns, uint64_t *now_ns);
/* So many messages have gone out by now: for those who read the counters. */
void send_count(struct stream *stream, uint64_t sent, uint64_t bytes);

/* TCP, behind the last message: with a count the connection ends in order. */
void send_finish_tcp(struct stream *stream);

/* Room for the messages of one call. False: no memory. */
bool send_batch_prepare(struct stream *stream);
void send_batch_free(struct send_batch *batch);
/* The loop of methods that hand over many messages by one call. */
void send_batch_run(struct stream *stream);
/* How many calls it made. */
uint64_t send_batch_calls(const struct stream *stream);

#endif
