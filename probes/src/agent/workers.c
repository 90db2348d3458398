/* Starts the threads of a test on their CPUs, and joins them. */
#include "agent/workers.h"

#include <stdlib.h>
#include <string.h>

#include "loops/round_trip.h"
#include "loops/traffic.h"

#define REMEMBERED_LEAST 64 /* at least so many last messages of a stream are remembered */

static bool serves_many(const struct test *test)
{
    return test->settings.streams > test->workers;
}

/* ---- before they start ---- */

/* A receiver fills its buffer, too, so that the pages of the buffer exist before the first
 * message. */
static unsigned char *make_buffer(const struct settings *settings, unsigned number)
{
    const bool sends = settings->role == ROLE_SEND || settings->role == ROLE_ASK;
    const size_t size = sends ? settings->message_bytes
                              : traffic_room(settings) * traffic_batch(settings);
    unsigned char *buffer = malloc(size);
    if (buffer != NULL)
        dataport_fill(buffer, size, number);
    return buffer;
}

static bool prepare_stream(struct stream *stream)
{
    const struct settings *settings = &stream->test->settings;
    stream->buffer = make_buffer(settings, stream->number);
    if (stream->buffer == NULL)
        return false;
    if (settings->role == ROLE_SEND && settings->message_bytes < DATAPORT_BARE_MAX)
        memcpy(stream->buffer, stream->bare, settings->message_bytes);
    return (settings->method == METHOD_PLAIN || send_batch_prepare(stream)) &&
           (settings->role != ROLE_ASK || ask_prepare(stream)) &&
           (settings->role != ROLE_MIRROR || mirror_prepare(stream));
}

/* To recognise duplicates, a stream remembers its last messages. All streams together remember no
 * more messages than WORKERS_MAX streams with a thread each do, unless each would remember fewer
 * than REMEMBERED_LEAST. */
static bool prepare_many(struct test *test)
{
    uint32_t remembered = SEQUENCE_WINDOW;
    while (remembered > REMEMBERED_LEAST &&
           (uint64_t)remembered * test->settings.streams > (uint64_t)SEQUENCE_WINDOW * WORKERS_MAX)
        remembered /= 2;
    for (unsigned i = 0; i < test->settings.streams; i++)
        test->stream[i].sequence.narrowed = SEQUENCE_WINDOW - remembered;
    for (unsigned i = 0; i < test->workers; i++) {
        test->worker[i].buffer = make_buffer(&test->settings, i);
        if (test->worker[i].buffer == NULL)
            return false;
    }
    return true;
}

bool workers_prepare(struct test *test)
{
    bool ready = true;
    if (serves_many(test))
        ready = prepare_many(test);
    else
        for (unsigned i = 0; ready && i < test->settings.streams; i++)
            ready = prepare_stream(&test->stream[i]);
    if (!ready)
        test_fail(test, "out-of-memory", 0, "no room for the streams' buffers");
    return ready;
}

void workers_free(struct test *test)
{
    for (unsigned i = 0; i < test->settings.streams; i++) {
        free(test->stream[i].buffer);
        send_batch_free(test->stream[i].batch);
        plat_capture_close(&test->stream[i].capture);
        ask_free(test->stream[i].ask);
        mirror_free(test->stream[i].mirror);
    }
    for (unsigned i = 0; i < test->workers; i++)
        free(test->worker[i].buffer);
    free(test->worker);
}

/* ---- in the thread ---- */

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

static int own_place(void)
{
    unsigned cpu;
    return plat_own_place(&cpu) ? (int)cpu : -1;
}

static bool take_place(struct worker *worker)
{
    const struct settings *settings = &worker->test->settings;
    const unsigned cpus = settings->cpu_count;
    int error = cpus == 0 ? 0 : plat_pin(settings->cpus[worker->number % cpus]);
    if (error != 0)
        test_fail_key(worker->test, "cannot-pin", error, settings->cpu >= 0 ? "cpu" : "cpus");
    atomic_store(&worker->first_cpu, own_place());
    return error == 0;
}

static void run_worker(void *argument)
{
    struct worker *worker = argument;
    struct test *test = worker->test;
    if (take_place(worker)) {
        if (!serves_many(test))
            loop_of(&test->settings)(&test->stream[worker->number]);
        else
            (test->settings.role == ROLE_SEND ? send_flows_run : receive_flows_run)(worker);
    }
    atomic_store(&worker->last_cpu, own_place());
    worker->cpu_known = plat_own_cpu_ns(&worker->cpu_ns);
    plat_mutex_lock(&test->lock);
    test->ended += flows_count(worker);
    plat_cond_wake(&test->changed);
    plat_mutex_unlock(&test->lock);
}

/* ---- from the supervisor ---- */

bool workers_start(struct test *test)
{
    for (unsigned i = 0; i < test->workers; i++) {
        struct worker *worker = &test->worker[i];
        int error = plat_thread_start(&worker->thread, run_worker, worker);
        if (error != 0) {
            test_fail_system(test, error, "thread");
            return false;
        }
        worker->running = true;
    }
    return true;
}

void workers_join(struct test *test)
{
    const struct settings *settings = &test->settings;
    bool markers_to_send = settings->udp && settings->role == ROLE_SEND && !test_failed(test);
    atomic_store(&test->halt, true);
    plat_mutex_lock(&test->lock); /* no socket is swapped meanwhile */
    for (unsigned i = 0; i < settings->streams; i++)
        if (test->worker[i % test->workers].running && !markers_to_send &&
            test->stream[i].socket != PLAT_NO_SOCKET)
            plat_wake(test->stream[i].socket);
    plat_mutex_unlock(&test->lock);
    for (unsigned i = 0; i < test->workers; i++)
        if (test->worker[i].running) {
            plat_thread_join(test->worker[i].thread);
            test->worker[i].running = false;
        }
}
