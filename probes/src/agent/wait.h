/* The supervisor waits for events, and prints the test's progress meanwhile. It is the thread that
 * leads a test. */
#ifndef WAIT_H
#define WAIT_H

#include "test/test.h"

/* Whether an event has occurred; called with the test's lock held. The events are: all streams have
 * begun; all streams have ended; the request `stop` was received (told). */
typedef bool (*await_event)(const struct test *test);
bool await_all_begun(const struct test *test);
bool await_all_ended(const struct test *test);
bool await_told(const struct test *test);
bool await_told_or_ended(const struct test *test);

/* Call this once before the first await. The time in progress records counts from this call. */
void await_begin(struct test *test);
/* Waits for the event `came`. Returns true if it has occurred; false if until_ns or the deadline
 * has passed, or the test has failed. */
bool await(struct test *test, await_event came, uint64_t until_ns);

uint64_t await_deadline_ns(const struct test *test);
/* If the test's deadline has passed, fails the test with `word` and `detail`. Returns whether the
 * test has failed, now or before. */
bool await_too_late(struct test *test, const char *word, const char *detail);

static inline uint64_t await_earlier(uint64_t first_ns, uint64_t second_ns)
{
    return first_ns < second_ns ? first_ns : second_ns;
}

#endif
