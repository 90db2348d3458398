/* Starts tests, leads each from its opening to its result, and joins those that have ended. */
#ifndef SUPERVISE_H
#define SUPERVISE_H

#include "test/test.h"

/* Copies `settings` and starts the thread that leads the test (the supervisor). Returns 0, an error
 * number, or -1 if there is no memory. */
int test_start(struct test **out, const struct settings *settings, uint64_t requested_ns);
/* Whether the test's last record has been printed, or is about to be printed. */
bool test_answered(const struct test *test);
/* Waits for the supervisor and frees the test. Returns false if the test's last record was an
 * error. */
bool test_join(struct test *test);

#endif
