/* Declares the threads of a test, each of which serves one stream or many. */
#ifndef WORKERS_H
#define WORKERS_H

#include "test/test.h"

/* Allocates and fills buffers and the state of the loops. Returns false if the test has failed. */
bool workers_prepare(struct test *test);
/* Starts the threads. Returns false if the test has failed; threads that were started keep
 * running. */
bool workers_start(struct test *test);
/* Halts the test, and waits until every loop has returned. Loops that send UDP return within their
 * send timeout, all others at once. */
void workers_join(struct test *test);
void workers_free(struct test *test);

#endif
