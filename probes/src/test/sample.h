/* Reads counters at the edges of a window, and the state of a test's sockets. The window is the
 * time that is measured; its edges are its begin and its end. */
#ifndef SAMPLE_H
#define SAMPLE_H

#include "test/test.h"

/* Reads all values of an edge: first counters, then values that take longer to read. */
void sample_edge(struct test *test, struct edge *edge);
void sample_queues(struct test *test, struct queue *queue);
/* Reads the interface's counters once, and notes whether they have changed. */
void sample_refresh(const struct test *test, struct refresh *refresh);
/* Adds a point to the series of TCP's values (congestion window, …) of the first stream. */
void sample_series(struct test *test);
/* Reads once how full the receive queues are. */
void sample_fill(struct test *test, struct fill *fill);
/* Call sample_opened right after the sockets were opened, and sample_closing right before they are
 * closed. */
void sample_opened(struct test *test, struct opened *opened);
void sample_closing(struct test *test, const struct opened *opened, struct closing *closing);

#endif
