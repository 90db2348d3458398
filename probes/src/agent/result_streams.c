/* Writes the throughput of each stream, the CPU of its thread, and the fairness of the streams. */
#include <stdlib.h>

#include "agent/result.h"
#include "pure/window/fairness.h"

/* The bytes of each stream. A receiver counts them between the marks of its window, so that their
 * sum is `received_bytes`; a sender counts them between the edges, so that their sum is
 * `sent_bytes`. False: the system does not report them. */
static bool bytes_of_streams(const struct test *test, uint64_t bytes[STREAMS_MAX])
{
    const struct edge *open = &test->samples.open, *close = &test->samples.close;
    const struct window *window = &test->window;
    const bool sends = test->settings.role == ROLE_SEND;
    uint64_t sent;
    if (sends && !result_sent_bytes(test, &sent))
        return false;
    for (unsigned i = 0; i < test->settings.streams; i++)
        bytes[i] = sends ? close->stream_bytes[i] - open->stream_bytes[i]
                         : window->closed_bytes[i] - window->opened_bytes[i];
    return true;
}

/* The CPU of each stream's thread at an edge: as the system reports it, or, if only the thread
 * itself can read its CPU, as the thread did. */
static bool cpus_of_streams(const struct test *test, const struct edge *edge, bool opens,
                            uint64_t cpus[STREAMS_MAX])
{
    for (unsigned i = 0; i < test->settings.streams; i++) {
        const unsigned number = i % test->workers;
        const struct worker *worker = &test->worker[number];
        int cpu = edge->thread_cpu[number];
        if (cpu < 0)
            cpu = atomic_load(opens ? &worker->first_cpu : &worker->last_cpu);
        if (cpu < 0)
            return false;
        cpus[i] = (uint64_t)cpu;
    }
    return true;
}

void result_streams(const struct test *test, struct json *record)
{
    const unsigned streams = test->settings.streams;
    const struct samples *samples = &test->samples;
    uint64_t values[STREAMS_MAX];
    double index;
    if (!samples->open.is_sampled || !samples->close.is_sampled)
        return;
    if (bytes_of_streams(test, values)) {
        json_u64s(record, "stream_bytes", values, streams);
        if (fairness_index(values, streams, &index))
            json_double(record, "fairness_index", index);
    }
    if (cpus_of_streams(test, &samples->open, true, values))
        json_u64s(record, "stream_cpus_open", values, streams);
    if (cpus_of_streams(test, &samples->close, false, values))
        json_u64s(record, "stream_cpus_close", values, streams);
}
