/* Gives a test the CPUs that it may spin on. One CPU is reserved for threads that do not spin, such as
 * the control thread. */
#ifndef CLAIM_H
#define CLAIM_H

#include "test/test.h"

/* Whether the test's CPUs may be used, and one is free for each thread that spins. For a paced sender
 * this also waits for the calibration of the longest sleep. False: the test has failed. The caller must
 * release the claim in both cases. */
bool claim_cpus(struct test *test);
void claim_end(struct test *test);

#endif
