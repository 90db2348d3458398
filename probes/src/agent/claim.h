/* Checks whether this host has the CPUs to spin on, and the methods, that a test demands. To spin
 * means to wait without sleeping. One CPU is reserved for threads that do not spin, such as the
 * control thread. A method is a way to send or receive messages, such as many messages per call. */
#ifndef CLAIM_H
#define CLAIM_H

#include "test/test.h"

/* Whether the requested CPUs of the test may be used, and a CPU is free for each thread that spins.
 * For a paced sender, test->worst_sleep_ns must be set before. If it returns false, the test has
 * failed. The caller must call claim_end in both cases. */
bool claim_cpus(struct test *test);
void claim_end(struct test *test);

/* Whether this system and this account support the requested method; if not, the test fails. */
bool methods_known(struct test *test);

#endif
