/* Runs a test from beginning to end, and gives each stream a thread. */
#include "agent/test_run.h"

#include <stdlib.h>
#include <string.h>

#include "agent/calibration.h"
#include "agent/methods.h"
#include "agent/supervise.h"
#include "agent/test_records.h"
#include "loops/open.h"
#include "loops/round_trip.h"
#include "loops/send_loop.h"
#include "test/sample.h"

/* ---- spinning: never on all of a host's CPUs ---- */

static _Atomic unsigned spinning;

static bool claim_cpus(struct test *test)
{
    const struct settings *settings = &test->settings;
    struct plat_identity identity;
    if (settings->cpu >= 0 && !plat_cpu_usable((unsigned)settings->cpu)) {
        test_fail_saying(test, "cannot-pin", 0, "cpu", "this CPU does not exist or may not be used");
        return false;
    }
    if (!settings->spin || settings->role == ROLE_SEND)
        return true;
    plat_identify(&identity);
    if (atomic_fetch_add(&spinning, settings->streams) + settings->streams < identity.cpu_count) {
        test->spinners = settings->streams;
        return true;
    }
    atomic_fetch_sub(&spinning, settings->streams);
    test_fail_saying(test, "cannot-pin", 0, "spin", "spinning would take all CPUs of this host");
    return false;
}

/* ---- streams ---- */

/* Makes and fills the stream's buffer, and what its loop needs besides. False: no memory. */
static bool prepare_stream(struct stream *stream)
{
    const struct settings *settings = &stream->test->settings;
    const bool sends = settings->role == ROLE_SEND || settings->role == ROLE_ASK;
    size_t size = sends ? settings->message_bytes
                        : traffic_room(settings) * traffic_batch(settings);
    stream->buffer = malloc(size);
    /* Filled on the receiving side as well: its pages are to be there before the first message. */
    if (stream->buffer != NULL)
        dataport_fill(stream->buffer, size, stream->number);
    if (stream->buffer != NULL && settings->role == ROLE_SEND && size < DATAPORT_BARE_MAX)
        memcpy(stream->buffer, stream->bare, size);
    return stream->buffer != NULL &&
           (settings->method == METHOD_PLAIN || send_batch_prepare(stream)) &&
           (settings->role != ROLE_ASK || ask_prepare(stream)) &&
           (settings->role != ROLE_MIRROR || mirror_prepare(stream));
}

static bool prepare_streams(struct test *test)
{
    if (!claim_cpus(test) || !methods_known(test))
        return false;
    if (test->settings.rate_numerator != 0)
        test->worst_sleep_ns = calibration_worst_sleep_ns();
    for (unsigned i = 0; i < test->settings.streams; i++)
        if (!prepare_stream(&test->stream[i])) {
            test_fail(test, "out-of-memory", 0, "no room for the streams' buffers");
            return false;
        }
    return true;
}

static void (*loop_of(const struct settings *settings))(struct stream *)
{
    const bool connections = settings->kind == KIND_CONNECT;
    switch (settings->role) {
    case ROLE_SEND:
        return settings->method == METHOD_PLAIN ? send_run : send_batch_run;
    case ROLE_ASK:
        return connections ? ask_connect_run : ask_run;
    case ROLE_MIRROR:
        return connections ? mirror_connect_run : mirror_run;
    default:
        return receive_run;
    }
}

static void run_stream(void *argument)
{
    struct stream *stream = argument;
    struct test *test = stream->test;
    int error = test->settings.cpu < 0 ? 0 : plat_pin((unsigned)test->settings.cpu);
    if (error != 0)
        test_fail_key(test, "cannot-pin", error, "cpu");
    else
        loop_of(&test->settings)(stream);
    stream->cpu_known = plat_own_cpu_ns(&stream->cpu_ns);
    plat_mutex_lock(&test->lock);
    test->ended++;
    plat_cond_wake(&test->changed);
    plat_mutex_unlock(&test->lock);
}

static bool start_streams(struct test *test)
{
    for (unsigned i = 0; i < test->settings.streams; i++) {
        struct stream *stream = &test->stream[i];
        int error = plat_thread_start(&stream->thread, run_stream, stream);
        if (error != 0) {
            test_fail_system(test, error, "thread");
            return false;
        }
        stream->running = true;
    }
    return true;
}

/* Every loop returns: those of UDP senders within their send timeout, the others at once. */
static void join_streams(struct test *test)
{
    const struct settings *settings = &test->settings;
    bool markers_to_send = settings->udp && settings->role == ROLE_SEND && !test_failed(test);
    atomic_store(&test->halt, true);
    plat_mutex_lock(&test->lock); /* no socket is swapped meanwhile */
    for (unsigned i = 0; i < settings->streams; i++)
        if (test->stream[i].running && !markers_to_send && test->stream[i].socket != PLAT_NO_SOCKET)
            plat_wake(test->stream[i].socket);
    plat_mutex_unlock(&test->lock);
    for (unsigned i = 0; i < settings->streams; i++)
        if (test->stream[i].running) {
            plat_thread_join(test->stream[i].thread);
            test->stream[i].running = false;
        }
}

/* By reset, so that nothing drains into the next trial, and no port is blocked for a while after
 * round trips; in order where a count of messages was to arrive. */
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
    if (prepare_streams(test) && open_streams(test)) {
        static void (*const supervisors[])(struct test *) = {[ROLE_RECEIVE] = supervise_receiving,
                                                             [ROLE_SEND] = supervise_sending,
                                                             [ROLE_ASK] = supervise_asking,
                                                             [ROLE_MIRROR] = supervise_mirroring};
        if (test->settings.role == ROLE_ASK)
            sample_opened(test, &test->samples.opened); /* what is timed next is not disturbed */
        if (test->settings.kind == KIND_CHECK)
            supervise_check(test);
        else if (start_streams(test))
            supervisors[test->settings.role](test);
    }
    join_streams(test);
    if (!test_failed(test)) {
        sample_closing(test, &test->samples.opened, &test->samples.closing);
        fragments->told_after = plat_fragments(&fragments->after);
    }
    if (!test->settings.udp || test->stream[0].socket == PLAT_NO_SOCKET ||
        !plat_path_mtu(test->stream[0].socket, &test->path_mtu_bytes))
        test->path_mtu_bytes = 0;
    close_streams(test);
    atomic_fetch_sub(&spinning, test->spinners);
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
    test->stream = calloc(settings->streams, sizeof *test->stream);
    if (test->stream == NULL) {
        free(test);
        return NULL;
    }
    test->settings = *settings;
    test->requested_ns = requested_ns;
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
    for (unsigned i = 0; i < test->settings.streams; i++) {
        free(test->stream[i].buffer);
        send_batch_free(test->stream[i].batch);
        plat_capture_close(&test->stream[i].capture);
        ask_free(test->stream[i].ask);
        mirror_free(test->stream[i].mirror);
    }
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
