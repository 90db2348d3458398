/* Reads counters at the edges of a window, and what the sockets of a test say. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "test/test.h"

/* Counters first, then what takes longer to read. */
void sample_edge(struct test *test, struct edge *edge);
void sample_queues(struct test *test, struct queue *queue);
/* One look at the interface's counters. */
void sample_refresh(const struct test *test, struct refresh *refresh);
/* A point of TCP's own numbers, of the first stream. */
void sample_series(struct test *test);
/* One look at the receive queues. */
void sample_fill(struct test *test, struct fill *fill);
/* Right after the sockets were opened; right before they are closed. */
void sample_opened(struct test *test, struct opened *opened);
void sample_closing(struct test *test, const struct opened *opened, struct closing *closing);

#endif
