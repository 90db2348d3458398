/* Supervises round trips. The asker sends requests and determines the end of the test; the mirror
 * answers requests until it is stopped. The window is the time that is measured. */
#include "agent/supervise.h"
#include "agent/wait.h"
#include "test/sample.h"

/* After the window the asker waits for the last answers. If the test was stopped, the asker waits
 * no longer than TAIL_NS. */
void supervise_asking(struct test *test)
{
    await_begin(test);
    if (!await(test, await_all_begun, NEVER_NS)) {
        await_too_late(test, "deadline", "nothing could be asked");
        return;
    }
    uint64_t open_ns = test->stream[0].first_ns + test->settings.warm_up_ns;
    await(test, await_told_or_ended, open_ns);
    sample_edge(test, &test->samples.open);
    await(test, await_told_or_ended,
          test->settings.count > 0 ? NEVER_NS : open_ns + test->settings.seconds_ns);
    sample_edge(test, &test->samples.close);
    bool is_stopped = test_told_stop(test);
    atomic_store(&test->in_tail, is_stopped);
    await(test, await_all_ended, is_stopped ? plat_now_ns() + TAIL_NS : NEVER_NS);
    await_too_late(test, "deadline", "not all that was to be asked was answered by then");
}

static bool begun_or_told(const struct test *test)
{
    return test->told_stop || await_all_begun(test);
}

/* If the request is from a command line (by_hand), the end of the peer also ends this side. With
 * kind=connect, a mirror cannot notice the end of the peer, because every round trip ends a
 * connection. */
void supervise_mirroring(struct test *test)
{
    const bool connections = test->settings.kind == KIND_CONNECT;
    await_begin(test);
    if (connections && (!await(test, begun_or_told, NEVER_NS) || test->begun_streams == 0)) {
        test_fail(test, "no-peer", 0, "nobody with the token came before the end");
        return;
    }
    plat_mutex_lock(&test->lock); /* the mirror's thread may be changing its socket */
    sample_opened(test, &test->samples.opened);
    plat_mutex_unlock(&test->lock);
    sample_edge(test, &test->samples.open);
    await(test, test->settings.by_hand ? await_told_or_ended : await_told, NEVER_NS);
    sample_edge(test, &test->samples.close);
}
