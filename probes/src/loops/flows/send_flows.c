/* Sends many streams in one thread, one message per turn. Without a rate, the streams whose sockets
 * have room take turns. With a rate, one schedule serves all streams in turn. A partly sent TCP
 * message is completed before the next one of its stream begins. */
#include "loops/flows/flows.h"
#include "loops/send_loop.h"

static uint64_t sent_by(const struct stream *stream)
{
    return atomic_load_explicit(&stream->marks.messages, memory_order_relaxed);
}

/* Makes one send call. Returns false if the stream has ended, because its part of `count` is sent,
 * its peer has left, or it has failed. */
static bool send_one(struct worker *worker, struct stream *stream, uint64_t due_ns)
{
    struct test *test = worker->test;
    const size_t size = test->settings.message_bytes;
    const uint64_t sent = sent_by(stream), now_ns = plat_now_ns();
    unsigned char *message = size < DATAPORT_BARE_MAX ? stream->bare : worker->buffer;
    if (test->settings.udp && size >= DATAPORT_BARE_MAX)
        dataport_data_write(message, size, stream->tag, stream->number, sent,
                            due_ns > 0 ? due_ns : now_ns);
    if (stream->tried_ns == 0)
        stream->tried_ns = now_ns;
    if (sent == 0 && stream->partial_bytes == 0)
        stream->first_ns = now_ns;
    ptrdiff_t put = plat_send_now(stream->socket, message + stream->partial_bytes,
                                  size - (size_t)stream->partial_bytes);
    if (put <= 0)
        return send_may_go_on(stream, (int)-put, sent, 1);
    stream->partial_bytes += (uint64_t)put;
    if (!test->settings.udp && stream->partial_bytes < size)
        return true;
    stream->partial_bytes = 0;
    send_count(stream, sent + 1, (sent + 1) * size);
    if (sent == 0)
        traffic_begun(stream);
    return sent + 1 < traffic_share(stream);
}

static void end_stream(struct stream *stream)
{
    stream->over = true;
    atomic_store(&stream->last_send_ns, plat_now_ns());
}

static void send_unpaced(struct worker *worker)
{
    struct test *test = worker->test;
    struct plat_watch watch;
    unsigned ready[FLOWS_READY], count, active_streams = flows_count(worker);
    bool on = flows_watch(worker, &watch, true);
    while (on && active_streams > 0 && !test_halted(test)) {
        on = flows_wait(worker, &watch, plat_now_ns() + NOTICE_NS, ready, &count);
        for (unsigned i = 0; i < count && !test_halted(test); i++) {
            struct stream *stream = &test->stream[ready[i]];
            if (stream->over || send_one(worker, stream, 0))
                continue;
            end_stream(stream);
            plat_watch_remove(&watch, stream->socket);
            active_streams--;
        }
    }
    plat_watch_close(&watch);
}

/* Sets the schedule for all streams of the worker (this thread). */
static bool plan(const struct worker *worker, struct pacing *pacing)
{
    const struct settings *settings = &worker->test->settings;
    return pacing_init_share(pacing, plat_now_ns(), settings->rate_numerator,
                             settings->rate_denominator, flows_count(worker), settings->burst);
}

static void send_paced(struct worker *worker)
{
    struct test *test = worker->test;
    struct stream *first = flows_first(worker), *turn = first;
    unsigned active_streams = flows_count(worker);
    uint64_t due_ns, now_ns;
    if (!plan(worker, &first->pacing)) {
        test_fail(test, "bad-value", 0, "more than one message per nanosecond over all streams");
        return;
    }
    while (active_streams > 0 && send_wait_until_due(first, &due_ns, &now_ns)) {
        while (turn->over)
            turn = flows_next(worker, turn) != NULL ? flows_next(worker, turn) : first;
        const uint64_t begun_bytes = turn->partial_bytes;
        const bool on = send_one(worker, turn, due_ns);
        /* The rest of a message was due with its beginning. */
        if (begun_bytes == 0 || turn->partial_bytes == begun_bytes)
            pacing_sent(&first->pacing, now_ns);
        if (!on) {
            end_stream(turn);
            active_streams--;
        }
        turn = flows_next(worker, turn) != NULL ? flows_next(worker, turn) : first;
    }
}

/* Sends three end markers per UDP stream, in rounds that are a few milliseconds apart. */
static void mark_ends(const struct worker *worker)
{
    struct test *test = worker->test;
    for (int i = 0; i < 3 && !test_failed(test); i++) {
        for (const struct stream *stream = flows_first(worker); stream != NULL;
             stream = flows_next(worker, stream))
            traffic_end_marker(stream, sent_by(stream));
        if (!test_told_stop(test) && i < 2)
            plat_sleep_ns(5 * MILLISECOND_NS);
    }
}

/* Ends the TCP connections in a test of a fixed number of messages (`count`): sends our FINs and
 * waits for the peer's FINs. */
static void finish_in_order(struct worker *worker)
{
    struct test *test = worker->test;
    struct plat_watch watch;
    unsigned ready[FLOWS_READY], count, active_streams = flows_count(worker);
    for (struct stream *stream = flows_first(worker); stream != NULL;
         stream = flows_next(worker, stream)) {
        plat_finish(stream->socket);
        stream->over = false;
    }
    bool on = flows_watch(worker, &watch, false);
    while (on && active_streams > 0 && !test_halted(test)) {
        on = flows_wait(worker, &watch, plat_now_ns() + NOTICE_NS, ready, &count);
        for (unsigned i = 0; i < count; i++) {
            struct stream *stream = &test->stream[ready[i]];
            ptrdiff_t got = plat_receive_now(stream->socket, worker->buffer,
                                             test->settings.message_bytes);
            if (stream->over || got > 0 || (got < 0 && plat_is_transient((int)-got)))
                continue;
            stream->over = true;
            plat_watch_remove(&watch, stream->socket);
            active_streams--;
        }
    }
    plat_watch_close(&watch);
}

void send_flows_run(struct worker *worker)
{
    struct test *test = worker->test;
    const uint64_t size = test->settings.message_bytes;
    traffic_wait_for_start(test);
    (test->settings.rate_numerator != 0 ? send_paced : send_unpaced)(worker);
    for (struct stream *stream = flows_first(worker); stream != NULL;
         stream = flows_next(worker, stream)) {
        if (!stream->over)
            atomic_store(&stream->last_send_ns, plat_now_ns());
        send_count(stream, sent_by(stream), sent_by(stream) * size + stream->partial_bytes);
    }
    if (test->settings.udp)
        mark_ends(worker);
    else if (test->settings.count > 0 && !test_halted(test))
        finish_in_order(worker);
}
