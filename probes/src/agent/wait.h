/* The supervisor waits for events, and prints the test's progress on the way. */
#ifndef WAIT_H
#define WAIT_H

#include "test/test.h"

/* Asked under the test's lock. */
typedef bool (*await_event)(const struct test *test);
bool await_all_begun(const struct test *test);
bool await_all_ended(const struct test *test);
bool await_told(const struct test *test);
bool await_told_or_ended(const struct test *test);

/* Once, before the first await: progress counts from here on. */
void await_begin(struct test *test);
/* True: the event has come. False: until_ns or the deadline has, or the test has failed. */
bool await(struct test *test, await_event came, uint64_t until_ns);

uint64_t await_deadline_ns(const struct test *test);
/* Where the deadline has passed the test fails, with the word for what was waited for. True: it has
 * failed, now or before. */
bool await_too_late(struct test *test, const char *word, const char *detail);

static inline uint64_t await_earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

#endif
