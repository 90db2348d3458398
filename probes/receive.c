/* The receiving loop. A mark is the clock right after a receive call returned; what came counts by
 * first copies. The lock is taken only where a mark crosses an edge of the window. */
#include <string.h>

#include "traffic.h"

/* What one receive call brought that counts. */
struct taken {
    uint64_t bytes, messages;
    bool mark; /* false: it is none of the test's data */
};

struct work {
    struct taken (*take)(struct stream *stream, size_t length, uint64_t now_ns);
    /* A call that brought nothing: 0, or the negative error number. False: the loop ends. */
    bool (*nothing)(struct stream *stream, ptrdiff_t result);
};

/* ---- TCP ---- */

static struct taken take_tcp(struct stream *stream, size_t length, uint64_t now_ns)
{
    uint64_t size = stream->test->settings.message_bytes;
    uint64_t before = atomic_load_explicit(&stream->marks.bytes, memory_order_relaxed);
    (void)now_ns;
    return (struct taken){length, (before + length) / size - before / size, true};
}

static bool window_is_closed(struct test *test)
{
    plat_mutex_lock(&test->lock);
    bool closed = test->window.closed;
    plat_mutex_unlock(&test->lock);
    return closed;
}

/* The end of a connection is in order after the window, or when the count has come. */
static bool nothing_tcp(struct stream *stream, ptrdiff_t result)
{
    struct test *test = stream->test;
    uint64_t bytes = atomic_load_explicit(&stream->marks.bytes, memory_order_relaxed);
    if (result < 0 && plat_is_transient((int)-result))
        return true; /* the common case where this loop spins */
    if (test_halted(test) || window_is_closed(test))
        return false;
    if (test->settings.count > 0 && bytes == traffic_share(stream) * test->settings.message_bytes)
        return false;
    if (result < 0 && !plat_is_peer_gone((int)-result))
        test_fail_system(test, (int)-result, "receive");
    else
        test_fail(test, "peer-vanished", result < 0 ? (int)-result : 0,
                  "the connection ended before the window");
    return false;
}

/* ---- UDP ---- */

static struct taken foreign(struct stream *stream)
{
    stream->foreign++;
    return (struct taken){.mark = false};
}

/* An end marker is remembered. */
static bool took_control(struct stream *stream, size_t length)
{
    struct dataport_control control;
    if (!traffic_control(stream, stream->buffer, length, &control))
        return false;
    if (control.kind == DATAPORT_END) {
        atomic_store(&stream->marked_messages, control.messages);
        atomic_store(&stream->marked, true);
    }
    return true;
}

static struct taken take_udp(struct stream *stream, size_t length, uint64_t now_ns)
{
    const size_t size = stream->test->settings.message_bytes;
    struct dataport_data data;
    if (length != size || !dataport_data_read(stream->buffer, length, stream->tag, &data) ||
        data.stream != stream->number)
        return took_control(stream, length) ? (struct taken){.mark = false} : foreign(stream);
    if (sequence_add(&stream->sequence, data.sequence) != SEQUENCE_NEW)
        return (struct taken){0, 0, true};
    if (data.timed)
        sequence_time(&stream->sequence, data.due_ns, now_ns);
    return (struct taken){size, 1, true};
}

/* Under 16 bytes there is no header: the peer's address is all that tells. */
static struct taken take_udp_bare(struct stream *stream, size_t length, uint64_t now_ns)
{
    (void)now_ns;
    if (length == stream->test->settings.message_bytes)
        return (struct taken){length, 1, true};
    return took_control(stream, length) ? (struct taken){.mark = false} : foreign(stream);
}

/* Errors of a UDP socket are of the packets that we sent, answers to hellos: they pass. */
static bool nothing_udp(struct stream *stream, ptrdiff_t result)
{
    if (test_halted(stream->test))
        return false;
    if (result == 0)
        stream->foreign++; /* an empty datagram */
    else if (!plat_is_transient((int)-result) && !plat_is_peer_gone((int)-result)) {
        test_fail_system(stream->test, (int)-result, "receive");
        return false;
    }
    return true;
}

static const struct work tcp_work = {take_tcp, nothing_tcp};
static const struct work udp_work = {take_udp, nothing_udp};
static const struct work udp_bare_work = {take_udp_bare, nothing_udp};

static const struct work *work_of(const struct settings *settings)
{
    if (!settings->udp)
        return &tcp_work;
    return dataport_header_bytes(settings->message_bytes) > 0 ? &udp_work : &udp_bare_work;
}

/* ---- the loop ---- */

static void cross(struct stream *stream, uint64_t now_ns, const struct taken *taken)
{
    struct test *test = stream->test;
    plat_mutex_lock(&test->lock);
    unsigned event =
        window_cross(&test->window, &stream->marks, now_ns, taken->bytes, taken->messages);
    if (event & WINDOW_OPENED)
        sample_queues(test, &test->samples.queue_open);
    if (event & WINDOW_CLOSED)
        sample_queues(test, &test->samples.queue_close);
    if (event != WINDOW_NOTHING)
        plat_cond_wake(&test->changed);
    plat_mutex_unlock(&test->lock);
}

static void begin_waiting(struct stream *stream)
{
    int bytes = 0;
    if (plat_option_get(stream->socket, PLAT_RECEIVE_BUFFER, &bytes) != 0 || bytes < 0)
        bytes = 0;
    low_water_init(&stream->low_water, stream->test->settings.message_bytes,
                   (unsigned)(bytes / plat_buffer_factor));
}

/* Patience with it: no receive may wait for bytes that the sender does not owe. */
static void wait_for_more(struct stream *stream)
{
    if (plat_option_set(stream->socket, PLAT_RECEIVE_LOW_WATER, (int)stream->low_water.bytes) != 0)
        low_water_init(&stream->low_water, 0, 0); /* this system knows no such thing */
    else
        plat_option_set(stream->socket, PLAT_RECEIVE_TIMEOUT_MS, LOW_WATER_PATIENCE_MS);
}

void receive_run(struct stream *stream)
{
    struct test *test = stream->test;
    const struct work *work = work_of(&test->settings);
    const bool spin = test->settings.spin, waits = !spin && !test->settings.udp;
    const size_t capacity = test->settings.udp ? test->settings.message_bytes + 1
                                               : test->settings.receive_call_bytes;
    const size_t room = test->settings.udp && capacity <= DATAPORT_CONTROL ? DATAPORT_CONTROL + 1
                                                                           : capacity;
    bool begun = false;
    if (waits)
        begin_waiting(stream);
    while (!test_halted(test)) {
        ptrdiff_t got = spin ? plat_receive_now(stream->socket, stream->buffer, room)
                             : plat_receive(stream->socket, stream->buffer, room);
        if (got <= 0) {
            if (!work->nothing(stream, got))
                break;
            continue;
        }
        uint64_t now = plat_now_ns();
        struct taken taken = work->take(stream, (size_t)got, now);
        if (!taken.mark)
            continue;
        if (window_mark(&test->window, &stream->marks, now, taken.bytes, taken.messages))
            cross(stream, now, &taken);
        if (waits && low_water_mark(&stream->low_water, now,
                                    atomic_load_explicit(&stream->marks.bytes,
                                                         memory_order_relaxed)))
            wait_for_more(stream);
        if (!begun) {
            begun = true;
            traffic_begun(stream);
        }
    }
}
