/* The threads of a test, each with a stream or many. */
#ifndef WORKERS_H
#define WORKERS_H

#include "test/test.h"

/* Makes and fills buffers, and what loops need besides. False: the test has failed. */
bool workers_prepare(struct test *test);
/* False: the test has failed; those that were started run. */
bool workers_start(struct test *test);
/* Halts the test, and waits until every loop has returned: those of UDP senders within their send
 * timeout, the others at once. */
void workers_join(struct test *test);
void workers_free(struct test *test);

#endif
