/* The loops that send and receive; what differs between workloads is a constant table of each. */
#ifndef TRAFFIC_H
#define TRAFFIC_H

#include "test.h"

/* Makes and fills the stream's buffer. False: no memory. */
bool traffic_prepare(struct stream *stream);
/* This stream's part of `count`; UINT64_MAX where seconds bound the test. */
uint64_t traffic_share(const struct stream *stream);
/* The stream has sent or received its first message: tells the conductor. */
void traffic_begun(struct stream *stream);

/* The loops, in the stream's own thread: until the work is done or the test is halted. */
void send_run(struct stream *stream);
void receive_run(struct stream *stream);

#endif
