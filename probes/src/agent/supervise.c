/* Supervises streams, from the edges of their window to the end of the drain. The window is the
 * time that is measured; its edges are its begin and its end. After the window, a receiver waits
 * for the rest of the data (the drain). A mark is the time at which a receive call returned
 * data. */
#include "agent/supervise.h"

#include <string.h>

#include "agent/test_records.h"
#include "agent/wait.h"
#include "test/sample.h"

#define DRAIN_LOOK_NS (MILLISECOND_NS / 2) /* interval at which a drain checks the arrivals */
#define QUEUE_LOOK_NS (10 * MILLISECOND_NS) /* minimum time between two looks at receive queues */
#define STREAM_LOOK_NS 100000 /* the same per stream: a look takes some microseconds */
#define QUEUE_LOOKS 40 /* maximum number in a window, because a look delays the receiver */

static bool never(const struct test *test)
{
    (void)test;
    return false;
}

static bool window_closed(const struct test *test)
{
    return test->window.closed;
}

/* Waits until the event `came` occurs, or until until_ns. Meanwhile samples TCP's values, and
 * observes how often the interface's counters change. Returns whether the event occurred. */
static bool watch(struct test *test, await_event came, uint64_t until_ns)
{
    uint64_t tick_ns = plat_now_ns() + TICK_NS;
    for (;;) {
        const uint64_t due_ns = await_earlier(tcp_series_due_ns(&test->samples.series), tick_ns);
        if (await(test, came, await_earlier(due_ns, until_ns)))
            return true;
        const uint64_t now = plat_now_ns();
        if (test_failed(test) || now >= until_ns || now >= await_deadline_ns(test))
            return false;
        if (now >= tick_ns) {
            sample_refresh(test, &test->samples.refresh);
            tick_ns = now + TICK_NS;
        }
        if (now >= tcp_series_due_ns(&test->samples.series))
            sample_series(test);
    }
}

/* ---- sending ---- */

static uint64_t first_send_ns(const struct test *test)
{
    uint64_t first_ns = NEVER_NS;
    for (unsigned i = 0; i < test->settings.streams; i++)
        first_ns = await_earlier(first_ns, test->stream[i].first_ns);
    return first_ns;
}

static uint64_t last_send_ns(struct test *test)
{
    uint64_t last_ns = 0;
    for (unsigned i = 0; i < test->settings.streams; i++) {
        uint64_t ended_ns = atomic_load(&test->stream[i].last_send_ns);
        last_ns = ended_ns > last_ns ? ended_ns : last_ns;
    }
    return last_ns;
}

static void open_window(struct test *test)
{
    sample_edge(test, &test->samples.open);
    if (!test->settings.udp)
        tcp_series_begin(&test->samples.series, test->samples.open.now_ns);
}

static void supervise_count(struct test *test)
{
    open_window(test);
    test->samples.open.now_ns = first_send_ns(test);
    test->samples.open.bytes = test->samples.open.messages = 0;
    memset(test->samples.open.stream_bytes, 0, sizeof test->samples.open.stream_bytes);
    if (test->settings.udp && await(test, await_told_or_ended, NEVER_NS)) {
        /* If a `stop` comes before all messages are sent, the number of messages sent so far
         * counts. */
        atomic_store(&test->halt, true);
    }
    watch(test, await_all_ended, NEVER_NS);
    sample_edge(test, &test->samples.close);
    if (test->settings.udp)
        test->samples.close.now_ns = last_send_ns(test); /* end markers do not count */
    await_too_late(test, "deadline", "the messages had not all been sent");
}

void supervise_sending(struct test *test)
{
    const struct settings *settings = &test->settings;
    await_begin(test);
    sample_opened(test, &test->samples.opened);
    if (!await(test, await_all_begun, NEVER_NS)) {
        await_too_late(test, "deadline", "nothing could be sent");
        return;
    }
    if (settings->count > 0) {
        supervise_count(test);
        return;
    }
    uint64_t open_ns = test_sending_opens_ns(test);
    uint64_t close_ns = settings->close_ns > 0 ? settings->close_ns : open_ns + settings->seconds_ns;
    watch(test, await_told_or_ended, open_ns);
    open_window(test);
    watch(test, await_told_or_ended, close_ns);
    sample_edge(test, &test->samples.close);
    atomic_store(&test->in_tail, true);
    await(test, await_told_or_ended, test->samples.close.now_ns + TAIL_NS);
    await_too_late(test, "deadline", "the window had not closed");
}

/* ---- receiving ---- */

/* The number of received messages, the time of the last arrival, and the number of sent messages,
 * if the controller or the peer's end markers have reported it. An end marker is a datagram after
 * the last message of a stream over UDP. `marked`: the end markers of all streams have arrived. */
struct arrivals {
    uint64_t messages, last_ns, sent;
    bool sent_known, marked;
};

static struct arrivals look_at_arrivals(struct test *test)
{
    struct arrivals arrivals = {.sent_known = true, .marked = true};
    for (unsigned i = 0; i < test->settings.streams; i++) {
        struct stream *stream = &test->stream[i];
        uint64_t last_ns = atomic_load(&stream->marks.last_ns);
        arrivals.messages += atomic_load(&stream->marks.messages);
        arrivals.last_ns = last_ns > arrivals.last_ns ? last_ns : arrivals.last_ns;
        arrivals.marked = arrivals.marked && atomic_load(&stream->marked);
        arrivals.sent += atomic_load(&stream->marked_messages);
    }
    arrivals.sent_known = arrivals.marked;
    plat_mutex_lock(&test->lock);
    if (test->told_count) {
        arrivals.sent = test->told_messages;
        arrivals.sent_known = true;
    }
    plat_mutex_unlock(&test->lock);
    return arrivals;
}

/* Whether a sender over UDP has reported the end of every stream. */
static bool sender_is_over(const struct test *test)
{
    for (unsigned i = 0; i < test->settings.streams; i++)
        if (!atomic_load(&test->stream[i].marked))
            return false;
    return test->settings.udp;
}

static bool sent_is_known(const struct test *test)
{
    return test->told_count || sender_is_over(test);
}

/* Whether all end markers have arrived, and our own sockets have dropped all messages that are
 * missing. In this case nothing is in flight any more. */
static bool dropped_here(struct test *test, const struct arrivals *arrivals)
{
    uint64_t dropped = 0;
    if (!arrivals->marked)
        return false;
    for (unsigned i = 0; i < test->settings.streams; i++) {
        uint64_t drops;
        if (!plat_queue_drops(test->stream[i].socket, &drops))
            return false;
        dropped += drops;
    }
    return arrivals->messages + dropped >= arrivals->sent;
}

/* Waits until all messages have arrived, or until no message has arrived for some time. A request
 * can set this time (drain_ns), because messages in the queue of a slow link are late, not lost.
 * The wait needs the number of sent messages; if nobody reports it, the deadline ends the test. On
 * a path that keeps the order, the end marker arrives last, so the arrivals are checked as soon as
 * it has arrived. */
static void drain_udp(struct test *test)
{
    const uint64_t asked_ns = test->settings.drain_ns;
    uint64_t known_ns = NEVER_NS, began_ns = plat_now_ns();
    for (;;) {
        uint64_t now = plat_now_ns();
        struct arrivals arrivals = look_at_arrivals(test);
        test->drain_ns = now - began_ns;
        if (arrivals.sent_known) {
            test->sent_known = true;
            test->sent_messages = arrivals.sent;
            if (known_ns == NEVER_NS)
                known_ns = now;
            uint64_t until_ns = known_ns + (asked_ns > 0 ? asked_ns + LATE_NS : DRAIN_NS);
            uint64_t quiet_ns = asked_ns > 0      ? asked_ns
                                : arrivals.marked ? MARKED_QUIET_NS
                                                  : QUIET_NS;
            uint64_t since_ns = arrivals.last_ns > known_ns ? arrivals.last_ns : known_ns;
            bool quiet =
                now >= since_ns + quiet_ns || (asked_ns == 0 && dropped_here(test, &arrivals));
            if (arrivals.messages >= arrivals.sent || now >= until_ns || quiet)
                return;
        }
        if (test_failed(test) || now >= await_deadline_ns(test))
            break;
        await_event news = arrivals.marked       ? never
                           : arrivals.sent_known ? sender_is_over
                                                 : sent_is_known;
        await(test, news, await_earlier(now + DRAIN_LOOK_NS, await_deadline_ns(test)));
    }
    if (!test_failed(test))
        test_fail(test, test->window.closed_by_silence ? "peer-vanished" : "deadline", 0,
                  "the number of sent messages is unknown");
}

static void drain_tcp(struct test *test)
{
    uint64_t began_ns = plat_now_ns();
    await(test, await_told_or_ended, NEVER_NS);
    test->drain_ns = plat_now_ns() - began_ns;
    plat_mutex_lock(&test->lock);
    test->sent_known = test->told_count;
    test->sent_messages = test->told_messages;
    plat_mutex_unlock(&test->lock);
    await_too_late(test, "deadline", "the sender did not end");
}

/* In a test of a fixed number of messages (`count`), the window lasts from the first mark to the
 * last mark. The last mark is known only at the end. */
static void receive_count(struct test *test)
{
    sample_edge(test, &test->samples.open);
    if (test->settings.udp)
        drain_udp(test);
    else
        await(test, await_all_ended, NEVER_NS);
    sample_edge(test, &test->samples.close);
    sample_queues(test, &test->samples.queue_close);
    if (await_too_late(test, "deadline", "the messages had not all arrived"))
        return;
    plat_mutex_lock(&test->lock);
    window_finish(&test->window);
    plat_mutex_unlock(&test->lock);
    record_window(test);
}

/* Waits until a mark or silence closes the window. Returns false if the test has failed. */
static bool wait_for_close(struct test *test)
{
    for (;;) {
        plat_mutex_lock(&test->lock);
        uint64_t look_ns = window_look_at_ns(&test->window);
        bool closed = test->window.closed;
        if (!closed && window_look(&test->window, plat_now_ns(), sender_is_over(test)) ==
                           WINDOW_CLOSED) {
            sample_queues(test, &test->samples.queue_close);
            closed = true;
        }
        plat_mutex_unlock(&test->lock);
        if (closed)
            return !test_failed(test);
        if (await_too_late(test, "deadline", "the window had not closed"))
            return false;
        await(test, window_closed, await_earlier(look_ns, plat_now_ns() + TICK_NS));
    }
}

/* Samples how full the receive queues are, again and again until until_ns. If the queues are full
 * in most samples, the receiver does not keep up. */
static void look_at_queues(struct test *test, uint64_t until_ns)
{
    uint64_t span_ns = test->settings.seconds_ns / QUEUE_LOOKS, now;
    if (span_ns < QUEUE_LOOK_NS)
        span_ns = QUEUE_LOOK_NS;
    if (span_ns < test->settings.streams * STREAM_LOOK_NS)
        span_ns = test->settings.streams * STREAM_LOOK_NS;
    while ((now = plat_now_ns()) + span_ns < until_ns && !test_failed(test) &&
           now < await_deadline_ns(test) && !await(test, window_closed, now + span_ns)) {
        sample_fill(test, &test->samples.fill);
        sample_refresh(test, &test->samples.refresh);
    }
}

static void receive_seconds(struct test *test)
{
    struct window *window = &test->window;
    watch(test, window_closed, window->w0_ns);
    sample_edge(test, &test->samples.open);
    look_at_queues(test, window->w1_ns);
    await(test, window_closed, window->w1_ns);
    sample_edge(test, &test->samples.close);
    if (!wait_for_close(test))
        return;
    record_window(test);
    (test->settings.udp ? drain_udp : drain_tcp)(test);
}

void supervise_receiving(struct test *test)
{
    await_begin(test);
    sample_opened(test, &test->samples.opened);
    if (!await(test, await_all_begun, NEVER_NS)) {
        await_too_late(test, "no-traffic", "the peer came, and no message arrived");
        return;
    }
    (test->settings.count > 0 ? receive_count : receive_seconds)(test);
}

/* ---- check ---- */

/* For UDP, the packets of the check have already been exchanged: they are the hello, which opens a
 * stream, and the answer to it. */
void supervise_check(struct test *test)
{
    sample_opened(test, &test->samples.opened);
    if (test->settings.udp)
        return;
    for (unsigned i = 0; i < test->settings.streams; i++) {
        unsigned char byte = 0;
        struct plat_wait wait = {.socket = test->stream[i].socket};
        ptrdiff_t put = plat_send(wait.socket, &byte, 1);
        plat_wait_any(&wait, 1, await_earlier(await_deadline_ns(test), plat_now_ns() + 5 * SECOND_NS));
        ptrdiff_t got = put == 1 && wait.ready ? plat_receive_now(wait.socket, &byte, 1) : 0;
        if (got != 1) {
            test_fail(test, "peer-vanished", got < 0 ? (int)-got : 0, "nothing came back");
            return;
        }
    }
}
