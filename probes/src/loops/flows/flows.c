/* Iterates over a worker's streams, and waits for them. A worker is a thread of a test, which
 * serves many streams. */
#include "loops/flows/flows.h"

struct stream *flows_first(const struct worker *worker)
{
    return &worker->test->stream[worker->number];
}

struct stream *flows_next(const struct worker *worker, const struct stream *stream)
{
    const unsigned next = stream->number + worker->test->workers;
    return next < worker->test->settings.streams ? &worker->test->stream[next] : NULL;
}

unsigned flows_count(const struct worker *worker)
{
    const unsigned streams = worker->test->settings.streams, workers = worker->test->workers;
    return streams / workers + (worker->number < streams % workers);
}

bool flows_watch(const struct worker *worker, struct plat_watch *watch, bool sending)
{
    int error = plat_watch_open(watch);
    for (const struct stream *stream = flows_first(worker); error == 0 && stream != NULL;
         stream = flows_next(worker, stream))
        if (!stream->over)
            error = plat_watch_add(watch, stream->socket, stream->number, sending);
    if (error != 0)
        test_fail_system(worker->test, error, "waiting for many sockets");
    return error == 0;
}

bool flows_wait(const struct worker *worker, struct plat_watch *watch, uint64_t until_ns,
                unsigned ready[FLOWS_READY], unsigned *count)
{
    ptrdiff_t came = plat_watch_wait(watch, ready, FLOWS_READY, until_ns);
    *count = came > 0 ? (unsigned)came : 0;
    if (came >= 0 || plat_is_transient((int)-came))
        return true;
    test_fail_system(worker->test, (int)-came, "waiting for many sockets");
    return false;
}
