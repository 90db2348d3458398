/* Runs a test from beginning to end. */
#include "agent/test_run.h"

#include <stdlib.h>

#include "agent/calibration.h"
#include "agent/methods.h"
#include "agent/supervise.h"
#include "agent/test_records.h"
#include "agent/threads/claim.h"
#include "agent/threads/workers.h"
#include "loops/open.h"
#include "test/sample.h"

/* ---- streams ---- */

static bool prepare(struct test *test)
{
    if (test->settings.rate_numerator != 0)
        test->worst_sleep_ns = calibration_worst_sleep_ns();
    return claim_cpus(test) && methods_known(test) && workers_prepare(test);
}

/* Closes the sockets of all streams. A TCP connection is closed by RST, so that no remaining data
 * disturbs the next test and no port stays in TIME_WAIT. It is closed by FIN only if the test
 * succeeded and had a fixed number of messages (`count`) or was a check. */
static void close_streams(struct test *test)
{
    const struct settings *settings = &test->settings;
    bool streams = settings->role == ROLE_SEND || settings->role == ROLE_RECEIVE;
    bool orderly = streams && (settings->count > 0 || settings->kind == KIND_CHECK) &&
                   !test_failed(test);
    for (unsigned i = 0; i < test->settings.streams; i++) {
        struct stream *stream = &test->stream[i];
        if (stream->socket == PLAT_NO_SOCKET)
            continue;
        if (!test->settings.udp && !orderly)
            plat_option_set(stream->socket, PLAT_RESET_ON_CLOSE, 1);
        plat_close(stream->socket);
        stream->socket = PLAT_NO_SOCKET;
    }
}

/* ---- the life of a test, in a thread of its own ---- */

static void supervise(void *argument)
{
    struct test *test = argument;
    struct fragments *fragments = &test->samples.fragments;
    fragments->told_before = plat_fragments(&fragments->before);
    if (prepare(test) && open_streams(test)) {
        static void (*const supervisors[])(struct test *) = {[ROLE_RECEIVE] = supervise_receiving,
                                                             [ROLE_SEND] = supervise_sending,
                                                             [ROLE_ASK] = supervise_asking,
                                                             [ROLE_MIRROR] = supervise_mirroring};
        if (test->settings.role == ROLE_ASK)
            sample_opened(test, &test->samples.opened); /* now, not while round trips are timed */
        if (test->settings.kind == KIND_CHECK)
            supervise_check(test);
        else if (workers_start(test))
            supervisors[test->settings.role](test);
    }
    workers_join(test);
    if (!test_failed(test)) {
        sample_closing(test, &test->samples.opened, &test->samples.closing);
        fragments->told_after = plat_fragments(&fragments->after);
    }
    if (!test->settings.udp || test->stream[0].socket == PLAT_NO_SOCKET ||
        !plat_path_mtu(test->stream[0].socket, &test->path_mtu_bytes))
        test->path_mtu_bytes = 0;
    close_streams(test);
    claim_end(test);
    atomic_store(&test->answered, true);
    record_end(test);
}

static struct test *make_test(const struct settings *settings, uint64_t requested_ns)
{
    struct window_stream *marks[STREAMS_MAX];
    const struct window_plan plan = {.streams = settings->streams,
                                     .by_count = settings->count > 0,
                                     .warm_up_ns = settings->warm_up_ns,
                                     .duration_ns = settings->seconds_ns,
                                     .open_ns = settings->open_ns,
                                     .close_ns = settings->close_ns,
                                     .interval_ns = settings->interval_ns};
    struct test *test = calloc(1, sizeof *test);
    if (test == NULL)
        return NULL;
    test->settings = *settings;
    test->requested_ns = requested_ns;
    test->workers = settings_workers(settings);
    test->stream = calloc(settings->streams, sizeof *test->stream);
    test->worker = calloc(test->workers, sizeof *test->worker);
    if (test->stream == NULL || test->worker == NULL) {
        free(test->stream);
        free(test->worker);
        free(test);
        return NULL;
    }
    for (unsigned i = 0; i < test->workers; i++) {
        test->worker[i].test = test;
        test->worker[i].number = i;
        test->worker[i].first_cpu = test->worker[i].last_cpu = -1;
    }
    for (unsigned i = 0; i < settings->streams; i++) {
        test->stream[i].test = test;
        test->stream[i].number = i;
        test->stream[i].socket = PLAT_NO_SOCKET;
        test->stream[i].tag = dataport_tag(settings->token);
        dataport_bare_fill(test->stream[i].bare, test->stream[i].tag, i);
        marks[i] = &test->stream[i].marks;
    }
    window_init(&test->window, &plan, marks);
    plat_mutex_init(&test->lock);
    plat_cond_init(&test->changed);
    return test;
}

static void free_test(struct test *test)
{
    workers_free(test);
    plat_cond_destroy(&test->changed);
    plat_mutex_destroy(&test->lock);
    free(test->stream);
    free(test);
}

int test_start(struct test **out, const struct settings *settings, uint64_t requested_ns)
{
    int error;
    *out = make_test(settings, requested_ns);
    if (*out == NULL)
        return -1;
    error = plat_thread_start(&(*out)->thread, supervise, *out);
    if (error != 0)
        free_test(*out);
    return error;
}

bool test_answered(const struct test *test)
{
    return atomic_load(&test->answered);
}

bool test_join(struct test *test)
{
    plat_thread_join(test->thread);
    bool fine = test->failure.word == NULL;
    free_test(test);
    return fine;
}
