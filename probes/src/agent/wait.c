/* Waits on the test's condition variable until an event, a time, a failure or the deadline. */
#include "agent/wait.h"

#include "agent/test_records.h"

bool await_all_begun(const struct test *test)
{
    return test->begun_streams == test->settings.streams;
}

bool await_all_ended(const struct test *test)
{
    return test->ended == test->settings.streams;
}

bool await_told(const struct test *test)
{
    return test->told_stop;
}

bool await_told_or_ended(const struct test *test)
{
    return test->told_stop || await_all_ended(test);
}

uint64_t await_deadline_ns(const struct test *test)
{
    return test->requested_ns + test->settings.deadline_ns;
}

void await_begin(struct test *test)
{
    test->begun_ns = plat_now_ns();
    test->next_progress_ns = test->begun_ns + SECOND_NS;
    test->tick_ns = test->begun_ns;
}

/* Notes the time since the last tick (pass of the loop in await). A tick is late only if this
 * process did not run; the peer cannot cause a late tick. */
static void tick(struct test *test, uint64_t now_ns)
{
    const uint64_t since_ns = now_ns - test->tick_ns;
    if (since_ns >= GAP_LEAST_NS)
        gaps_add(&test->late_ticks, test->tick_ns, now_ns, false);
    if (since_ns >= 2 * TICK_NS)
        test->stalled_ns += since_ns - TICK_NS;
    test->tick_ns = now_ns;
}

bool await(struct test *test, await_event came, uint64_t until_ns)
{
    const uint64_t deadline_ns = await_deadline_ns(test);
    bool result;
    plat_mutex_lock(&test->lock);
    for (;;) {
        uint64_t now = plat_now_ns();
        tick(test, now);
        result = came(test);
        if (result || test->failure.word != NULL || now >= until_ns || now >= deadline_ns)
            break;
        if (now >= test->next_progress_ns) {
            test->next_progress_ns = now + SECOND_NS;
            plat_mutex_unlock(&test->lock);
            record_progress(test, now);
            plat_mutex_lock(&test->lock);
            test->tick_ns = plat_now_ns(); /* printing may take long: no late tick */
            continue;
        }
        uint64_t wake_ns = await_earlier(until_ns, deadline_ns);
        wake_ns = await_earlier(wake_ns, test->next_progress_ns);
        plat_cond_wait(&test->changed, &test->lock, await_earlier(wake_ns, now + TICK_NS));
    }
    plat_mutex_unlock(&test->lock);
    return result;
}

bool await_too_late(struct test *test, const char *word, const char *detail)
{
    if (plat_now_ns() >= await_deadline_ns(test))
        test_fail(test, word, 0, detail);
    return test_failed(test);
}
