/* Reads counters at the edges of a window, and the state of a test's sockets. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "test/test.h"

/* Reads counters first, then values that take longer. */
void sample_edge(struct test *test, struct edge *edge);
void sample_queues(struct test *test, struct queue *queue);
/* Reads the interface's counters once. */
void sample_refresh(const struct test *test, struct refresh *refresh);
/* Reads a point of TCP's values, from the first stream. */
void sample_series(struct test *test);
/* Reads the receive queues once. */
void sample_fill(struct test *test, struct fill *fill);
/* Call them right after the sockets were opened, and right before they are closed. */
void sample_opened(struct test *test, struct opened *opened);
void sample_closing(struct test *test, const struct opened *opened, struct closing *closing);

#endif
