/* Gives a test the CPUs that it may spin on. To spin means to wait without sleeping. One CPU is
 * reserved for threads that do not spin, such as the control thread. */
#ifndef CLAIM_H
#define CLAIM_H

#include "test/test.h"

/* Whether the requested CPUs of the test may be used, and a CPU is free for each thread that spins.
 * For a paced sender, test->worst_sleep_ns must be set before. If it returns false, the test has
 * failed. The caller must call claim_end in both cases. */
bool claim_cpus(struct test *test);
void claim_end(struct test *test);

#endif
