/* The receiving loops count received data, and mark the time of each receive call. A mark is the
 * time right after the call returned; only first copies of messages count. The window is the time
 * that is measured. The lock is taken only if a mark is the first after an edge of the window (its
 * begin, its end, or the end of an interval in it) or after a silence. A receiver that spins or
 * polls never waits in a call. A blocking receiver waits in its calls; but before one in 64 of
 * them, at random, it makes a call that does not wait. Only such calls show whether there was data
 * already or the receiver had to wait. */
#include <string.h>

#include "loops/traffic.h"
#include "test/sample.h"

#define LOOK_STEP 64 /* calls of a blocking receiver per call that does not wait, on average */

/* The counted data of a receive call, or of one of its datagrams. */
struct receipt {
    uint64_t bytes, messages;
    bool mark; /* false: no data of the test */
};

/* ---- TCP ---- */

static struct receipt account_tcp(struct stream *stream, size_t length)
{
    uint64_t size = stream->test->settings.message_bytes;
    uint64_t before = atomic_load_explicit(&stream->marks.bytes, memory_order_relaxed);
    return (struct receipt){length, (before + length) / size - before / size, true};
}

/* Whether the time of the window has passed. It may still be open: if data came rarely, it waits for
 * a mark or for silence, and the sender, which ends soon after its own window, does not. */
static bool window_is_over(struct test *test)
{
    plat_mutex_lock(&test->lock);
    bool over = test->window.closed || plat_now_ns() >= test->window.w1_ns;
    plat_mutex_unlock(&test->lock);
    return over;
}

/* Handles a receive call without data; returns false if the loop must end. The end of a connection
 * is regular after the window, or when all messages of a test with `count` have been received. */
static bool nothing_tcp(struct stream *stream, ptrdiff_t result)
{
    struct test *test = stream->test;
    uint64_t bytes = atomic_load_explicit(&stream->marks.bytes, memory_order_relaxed);
    if (result < 0 && plat_is_transient((int)-result))
        return true; /* the common case of a spinning loop */
    if (test_halted(test) || window_is_over(test))
        return false;
    if (test->settings.count > 0 && bytes == traffic_share(stream) * test->settings.message_bytes)
        return false;
    if (result < 0 && !traffic_tcp_gone((int)-result))
        test_fail_system(test, (int)-result, "receive");
    else
        test_fail(test, "peer-vanished", result < 0 ? (int)-result : 0,
                  "the connection ended before the window");
    return false;
}

/* ---- UDP ---- */

/* Handles a datagram that is not a message of this stream, such as an end marker. */
static struct receipt account_other(struct stream *stream, const unsigned char *bytes, size_t length)
{
    struct dataport_control control;
    if (!traffic_control(stream, bytes, length, &control)) {
        stream->foreign++;
    } else if (control.kind == DATAPORT_END) {
        atomic_store(&stream->marked_messages, control.messages);
        atomic_store(&stream->marked, true);
    }
    return (struct receipt){.mark = false};
}

static struct receipt account_udp(struct stream *stream, const unsigned char *bytes, size_t length,
                                uint64_t now_ns)
{
    const size_t size = stream->test->settings.message_bytes;
    struct dataport_data data;
    if (length != size || !dataport_data_read(bytes, length, stream->tag, &data) ||
        data.stream != stream->number)
        return account_other(stream, bytes, length);
    if (sequence_add(&stream->sequence, data.sequence) != SEQUENCE_NEW)
        return (struct receipt){0, 0, true};
    if (data.timed)
        sequence_time(&stream->sequence, data.due_ns, now_ns);
    return (struct receipt){size, 1, true};
}

/* Below 16 bytes there is no header: messages are recognised by the peer's address and their
 * content. */
static struct receipt account_bare(struct stream *stream, const unsigned char *bytes, size_t length)
{
    if (length == stream->test->settings.message_bytes && memcmp(bytes, stream->bare, length) == 0)
        return (struct receipt){length, 1, true};
    return account_other(stream, bytes, length);
}

/* ---- looks: calls that do not wait ---- */

/* Counts a call that did not wait. `empty`: it found no data. */
static void receive_count_look(struct stream *stream, bool empty)
{
    const uint64_t looks = atomic_load_explicit(&stream->looks, memory_order_relaxed);
    const uint64_t found_none = atomic_load_explicit(&stream->empty, memory_order_relaxed);
    atomic_store_explicit(&stream->looks, looks + 1, memory_order_relaxed);
    atomic_store_explicit(&stream->empty, found_none + empty, memory_order_relaxed);
}

static void count_look(struct stream *stream, ptrdiff_t got)
{
    receive_count_look(stream, got < 0 && plat_is_transient((int)-got));
}

/* The number of calls until the next look is random, from 1 to 2 * LOOK_STEP - 1, because a queue
 * may fill and drain periodically. */
static bool look_is_due(struct stream *stream)
{
    if (stream->look_left-- > 0)
        return false;
    stream->look_random = stream->look_random * 1664525u + 1013904223u + stream->tag;
    stream->look_left = (stream->look_random >> 16) % (2 * LOOK_STEP - 1);
    return true;
}

static ptrdiff_t receive_one(struct stream *stream, size_t room)
{
    const bool waits = stream->waiting.now == WAY_BLOCKING;
    if (waits && !look_is_due(stream))
        return plat_receive(stream->socket, stream->buffer, room);
    ptrdiff_t got = plat_receive_now(stream->socket, stream->buffer, room);
    count_look(stream, got);
    return !waits || got >= 0 || !plat_is_transient((int)-got)
               ? got
               : plat_receive(stream->socket, stream->buffer, room);
}

/* A blocking receiver takes one datagram per call, as applications do. Others take many per
 * call. */
static ptrdiff_t receive_many(struct stream *stream, struct plat_batch *batch)
{
    ptrdiff_t got;
    if (stream->waiting.now == WAY_BLOCKING) {
        got = receive_one(stream, batch->room);
        batch->length[0] = got > 0 ? (size_t)got : 0;
        return got < 0 ? got : 1;
    }
    got = traffic_take_many(stream, batch);
    count_look(stream, got);
    return got;
}

/* After a call without data, a polling receiver sleeps for a fixed time while the queue fills, so
 * that the system need not wake it for each message. */
static void pause_polling(struct stream *stream)
{
    const uint64_t begun_ns = plat_now_ns();
    plat_sleep_ns(WAITING_POLL_NS);
    const uint64_t ended_ns = plat_now_ns();
    stream->pauses++;
    stream->paused_ns += ended_ns - begun_ns;
    waiting_look(&stream->waiting, ended_ns,
                 atomic_load_explicit(&stream->marks.bytes, memory_order_relaxed));
}

/* ---- the loops ---- */

/* Whether the queue was full at the end of a silence. The data of this call have left the queue
 * already, so the memory that they took there is added: about twice their bytes. */
static bool queue_was_full(const struct stream *stream, uint64_t now_ns, uint64_t bytes)
{
    uint64_t memory_bytes, most_bytes;
    return stream->marks.gap_from_ns > 0 && now_ns - stream->marks.gap_from_ns >= GAP_LEAST_NS &&
           plat_queue_fill(stream->socket, &memory_bytes, &most_bytes) && most_bytes > 0 &&
           (memory_bytes + 2 * bytes) * 100 >= most_bytes * QUEUE_FULL_PERCENT;
}

static void cross(struct stream *stream, uint64_t now_ns, const struct receipt *receipt)
{
    struct test *test = stream->test;
    stream->marks.queue_full = queue_was_full(stream, now_ns, receipt->bytes);
    plat_mutex_lock(&test->lock);
    unsigned event =
        window_cross(&test->window, &stream->marks, now_ns, receipt->bytes, receipt->messages);
    if (event & WINDOW_OPENED)
        sample_queues(test, &test->samples.queue_open);
    if (event & WINDOW_CLOSED)
        sample_queues(test, &test->samples.queue_close);
    if (event != WINDOW_NOTHING)
        plat_cond_wake(&test->changed);
    plat_mutex_unlock(&test->lock);
}

/* An adaptive receiver tries both ways to wait (blocking and polling) from its first message until
 * its window opens. */
static void begin_waiting(struct stream *stream, uint64_t now_ns)
{
    const struct settings *settings = &stream->test->settings;
    const uint64_t open_ns =
        settings->open_ns > 0 ? settings->open_ns : now_ns + settings->warm_up_ns;
    if (settings->adapt)
        waiting_try(&stream->waiting, now_ns, 0, open_ns);
}

static void count_mark(struct stream *stream, const struct receipt *receipt, uint64_t now_ns)
{
    struct test *test = stream->test;
    if (!receipt->mark)
        return;
    if (window_mark(&test->window, &stream->marks, now_ns, receipt->bytes, receipt->messages))
        cross(stream, now_ns, receipt);
    if (!stream->has_begun) {
        stream->has_begun = true;
        begin_waiting(stream, now_ns);
        traffic_begun(stream);
    }
    waiting_look(&stream->waiting, now_ns,
                 atomic_load_explicit(&stream->marks.bytes, memory_order_relaxed));
}

/* Accounts for the data of one receive call of a stream. Returns false if the stream has ended. */
static bool receive_took(struct stream *stream, ptrdiff_t got)
{
    uint64_t now = plat_now_ns();
    if (got <= 0)
        return nothing_tcp(stream, got);
    struct receipt receipt = account_tcp(stream, (size_t)got);
    count_mark(stream, &receipt, now);
    return true;
}

static void receive_tcp(struct stream *stream)
{
    struct test *test = stream->test;
    const size_t room = traffic_room(&test->settings);
    while (!test_halted(test)) {
        ptrdiff_t got = receive_one(stream, room);
        if (!receive_took(stream, got))
            break;
        if (got <= 0 && stream->waiting.now == WAY_POLLING)
            pause_polling(stream);
    }
}

/* Wakes the thread that waits for the end marker. Called after the data of the same receive call
 * have been counted. */
static void tell_marked(struct test *test)
{
    plat_mutex_lock(&test->lock);
    plat_cond_wake(&test->changed);
    plat_mutex_unlock(&test->lock);
}

/* Datagrams of one call have one mark: the time when the call returned. */
static bool receive_took_many(struct stream *stream, const struct plat_batch *batch, ptrdiff_t got)
{
    const bool bare = dataport_header_bytes(stream->test->settings.message_bytes) == 0;
    bool on = true;
    if (got < 0)
        return traffic_nothing(stream, (int)-got);
    uint64_t now = plat_now_ns();
    struct receipt all = {0};
    const bool marked = atomic_load_explicit(&stream->marked, memory_order_relaxed);
    for (ptrdiff_t i = 0; on && i < got; i++) {
        const unsigned char *bytes = batch->bytes + (size_t)i * batch->room;
        if (batch->length[i] == 0) {
            on = traffic_nothing(stream, 0);
            continue;
        }
        struct receipt one = bare ? account_bare(stream, bytes, batch->length[i])
                                : account_udp(stream, bytes, batch->length[i], now);
        all.bytes += one.bytes;
        all.messages += one.messages;
        all.mark |= one.mark;
    }
    count_mark(stream, &all, now);
    if (!marked && atomic_load_explicit(&stream->marked, memory_order_relaxed))
        tell_marked(stream->test);
    return on;
}

static void receive_udp(struct stream *stream)
{
    struct test *test = stream->test;
    struct plat_batch batch = {.bytes = stream->buffer,
                               .room = traffic_room(&test->settings),
                               .count = traffic_batch(&test->settings)};
    bool on = true;
    while (on && !test_halted(test)) {
        ptrdiff_t got = receive_many(stream, &batch);
        on = receive_took_many(stream, &batch, got);
        if (got < 0 && on && stream->waiting.now == WAY_POLLING)
            pause_polling(stream);
    }
}

void receive_run(struct stream *stream)
{
    const struct settings *settings = &stream->test->settings;
    waiting_keep(&stream->waiting, settings->poll   ? WAY_POLLING
                                   : settings->spin ? WAY_SPINNING
                                                    : WAY_BLOCKING);
    if (settings->udp)
        receive_udp(stream);
    else
        receive_tcp(stream);
}

/* ---- many streams in one thread ---- */

/* Each receive call makes a mark, as with one thread per stream. A socket that is reported as ready
 * always has data. So only the polls of all sockets at once show whether the thread had to wait for
 * data. */

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
