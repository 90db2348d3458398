/* Declares the common parts of both sending loops, and the interface of the loop for batches. A
 * batch is a group of messages that one call sends. */
#ifndef SEND_LOOP_H
#define SEND_LOOP_H

#include "loops/traffic.h"

/* Handles a send call that accepted nothing, and counts its `unsent` messages. Returns false if the
 * loop must end. Returns true if the next message may be sent. */
bool send_may_go_on(struct stream *stream, int error, uint64_t sent, uint64_t unsent);
/* Sleeps until worst_sleep_ns (test.h) before the next message is due, then spins until it is due.
 * A thread that must not spin only sleeps. Returns false if the test is halted. */
bool send_wait_until_due(struct stream *stream, uint64_t *due_ns, uint64_t *now_ns);
/* Publishes the number of messages sent so far, for readers of the counters. */
void send_count(struct stream *stream, uint64_t sent, uint64_t bytes);

/* TCP, after the last message: in a test of a fixed number of messages (`count`), sends our FIN and
 * waits for the peer's FIN. */
void send_finish_tcp(struct stream *stream);

/* Allocates room for the messages of one call. Returns false if there is no memory. */
bool send_batch_prepare(struct stream *stream);
void send_batch_free(struct send_batch *batch);
/* The loop of methods that send many messages by one call. */
void send_batch_run(struct stream *stream);
/* Number of send calls that accepted something. */
uint64_t send_batch_calls(const struct stream *stream);

#endif
