/* Receives many streams in one thread. Each receive call makes a mark (the time at which it
 * returned), as with one thread per stream. A socket that is reported as ready always has data. So
 * only the polls of all sockets at once show whether the thread had to wait for data. */
#include "loops/flows/flows.h"

/* Makes one receive call. Returns false if the stream has ended. */
static bool take_one(struct stream *stream, struct plat_batch *batch)
{
    if (stream->test->settings.udp)
        return receive_took_many(stream, batch, plat_receive_many(stream->socket, batch, false));
    return receive_took(stream, plat_receive_now(stream->socket, batch->bytes, batch->room));
}

/* Polls all sockets once. If none is ready, it waits, unless the receiver spins. */
static bool find_ready(const struct worker *worker, struct plat_watch *watch,
                       unsigned ready[FLOWS_READY], unsigned *count)
{
    bool fine = flows_wait(worker, watch, 0, ready, count);
    receive_count_look(flows_first(worker), *count == 0);
    if (!fine || *count > 0 || worker->test->settings.spin)
        return fine;
    return flows_wait(worker, watch, plat_now_ns() + NOTICE_NS, ready, count);
}

void receive_flows_run(struct worker *worker)
{
    struct test *test = worker->test;
    struct plat_batch batch = {.bytes = worker->buffer,
                               .room = traffic_room(&test->settings),
                               .count = traffic_batch(&test->settings)};
    struct plat_watch watch;
    unsigned ready[FLOWS_READY], count, active_streams = flows_count(worker);
    bool on = flows_watch(worker, &watch, false);
    while (on && active_streams > 0 && !test_halted(test)) {
        on = find_ready(worker, &watch, ready, &count);
        for (unsigned i = 0; i < count && !test_halted(test); i++) {
            struct stream *stream = &test->stream[ready[i]];
            if (stream->over || take_one(stream, &batch))
                continue;
            stream->over = true;
            plat_watch_remove(&watch, stream->socket);
            active_streams--;
        }
    }
    plat_watch_close(&watch);
}
