/* Gives a test the CPUs that it may spin on. One is kept for those who do not spin, the control thread
 * among them. */
#ifndef CLAIM_H
#define CLAIM_H

#include "test/test.h"

/* Whether the test's CPUs may be used, and there is room to spin where it does; of a paced sender the
 * longest sleep is known by then. False: the test has failed. To be given back either way. */
bool claim_cpus(struct test *test);
void claim_end(struct test *test);

#endif
