/* Fails, halts and stops a test, from any thread. */
#include "test/test.h"

#include <stdio.h>

void test_fail_saying(struct test *test, const char *word, int error, const char *key,
                      const char *detail)
{
    plat_mutex_lock(&test->lock);
    if (test->failure.word == NULL) {
        test->failure.word = word;
        test->failure.number = error;
        snprintf(test->failure.key, sizeof test->failure.key, "%s", key);
        snprintf(test->failure.detail, sizeof test->failure.detail, "%s", detail);
    }
    atomic_store(&test->halt, true);
    plat_cond_wake(&test->changed);
    plat_mutex_unlock(&test->lock);
}

void test_fail(struct test *test, const char *word, int error, const char *detail)
{
    test_fail_saying(test, word, error, "", detail);
}

void test_fail_system(struct test *test, int error, const char *call)
{
    char text[120], detail[200];
    plat_describe(error, text, sizeof text);
    snprintf(detail, sizeof detail, "%s: %s", call, text);
    test_fail_saying(test, plat_word(error), error, "", detail);
}

void test_fail_key(struct test *test, const char *word, int error, const char *key)
{
    char text[120];
    plat_describe(error, text, sizeof text);
    test_fail_saying(test, word, error, key, text);
}

bool test_failed(struct test *test)
{
    plat_mutex_lock(&test->lock);
    bool failed = test->failure.word != NULL;
    plat_mutex_unlock(&test->lock);
    return failed;
}

bool test_halted(const struct test *test)
{
    return atomic_load_explicit(&test->halt, memory_order_relaxed);
}

bool test_interface(const struct test *test, char into[PLAT_INTERFACE_NAME])
{
    if (test->settings.interface[0] == 0)
        return plat_interface_between(&test->local, &test->peer, into);
    snprintf(into, PLAT_INTERFACE_NAME, "%s", test->settings.interface);
    return true;
}

uint64_t test_sending_opens_ns(const struct test *test)
{
    const bool many = test->settings.streams > test->workers;
    uint64_t begun_ns = many ? 0 : NEVER_NS;
    if (test->settings.open_ns > 0)
        return test->settings.open_ns;
    for (unsigned i = 0; i < test->settings.streams; i++) {
        const uint64_t first_ns = test->stream[i].first_ns;
        if (many ? first_ns > begun_ns : first_ns < begun_ns)
            begun_ns = first_ns;
    }
    return begun_ns + test->settings.warm_up_ns;
}

bool test_told_stop(struct test *test)
{
    plat_mutex_lock(&test->lock);
    bool is_stopped = test->told_stop;
    plat_mutex_unlock(&test->lock);
    return is_stopped;
}

void test_tell(struct test *test, bool abort, bool with_count, uint64_t messages)
{
    if (abort) {
        test_fail(test, "stopped", 0, "");
        return;
    }
    plat_mutex_lock(&test->lock);
    test->told_stop = true;
    if (with_count) {
        test->told_count = true;
        test->told_messages = messages;
    }
    plat_cond_wake(&test->changed);
    plat_mutex_unlock(&test->lock);
}

plat_socket test_swap_socket(struct stream *stream, plat_socket fresh)
{
    plat_mutex_lock(&stream->test->lock);
    plat_socket had = stream->socket;
    stream->socket = fresh;
    plat_mutex_unlock(&stream->test->lock);
    return had;
}
