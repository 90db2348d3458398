/* Writes the bytes of each stream, the CPU on which its thread ran, and the streams' fairness. The
 * window is the time that is measured; its edges are its begin and its end. A mark is the time at
 * which a receive call returned data. */
#include <stdlib.h>

#include "agent/result.h"
#include "pure/window.h"

/* Sets bytes[] to the bytes of each stream in the window. A receiver counts the bytes between the
 * first and the last mark of its window, so that their sum is `received_bytes`. A sender counts the
 * bytes between the edges, so that their sum is `sent_bytes`. Returns false if the system does not
 * report the bytes. */
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

/* Sets cpus[] to the number of the CPU on which each stream's thread ran at an edge. If the system
 * does not report that about another thread, the number is used that the thread itself read at its
 * start or end. Returns false if a number is unknown. */
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
