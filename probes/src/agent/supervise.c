/* Leads a test from its start to its last record, in a thread of its own. This thread, the
 * supervisor, waits for events and reads counters at the edges of the window. The window is the
 * time that is measured; its edges are its begin and its end. After the window, a receiver waits
 * for the rest of the data (the drain). A mark is the time at which a receive call returned data.
 * An asker sends requests and determines the end of the test; a mirror answers requests until it is
 * stopped. */
#include "agent/supervise.h"

#include <stdlib.h>
#include <string.h>

#include "agent/calibration.h"
#include "agent/claim.h"
#include "agent/result.h"
#include "agent/workers.h"
#include "loops/open.h"
#include "test/sample.h"

/* ---- waiting for events ---- */

/* Whether an event has occurred; called with the test's lock held. The events are: all streams have
 * begun; all streams have ended; the request `stop` was received (told). */
typedef bool (*await_event)(const struct test *test);

static uint64_t await_earlier(uint64_t first_ns, uint64_t second_ns)
{
    return first_ns < second_ns ? first_ns : second_ns;
}

static bool await_all_begun(const struct test *test)
{
    return test->begun_streams == test->settings.streams;
}

static bool await_all_ended(const struct test *test)
{
    return test->ended == test->settings.streams;
}

static bool await_told(const struct test *test)
{
    return test->told_stop;
}

static bool await_told_or_ended(const struct test *test)
{
    return test->told_stop || await_all_ended(test);
}

static bool begun_or_told(const struct test *test)
{
    return test->told_stop || await_all_begun(test);
}

static uint64_t await_deadline_ns(const struct test *test)
{
    return test->requested_ns + test->settings.deadline_ns;
}

/* Call this once before the first await. The time in progress records counts from this call. */
static void await_begin(struct test *test)
{
    test->begun_ns = plat_now_ns();
    test->next_progress_ns = test->begun_ns + SECOND_NS;
    test->tick_ns = test->begun_ns;
}

/* Notes the time since the last tick (pass of the loop in await). A tick is late only if this
 * process did not run; the peer cannot cause a late tick. */
static void tick(struct test *test, uint64_t now_ns)
{
    const uint64_t since_ns = now_ns - test->tick_ns;
    if (since_ns >= GAP_LEAST_NS)
        gaps_add(&test->late_ticks, test->tick_ns, now_ns, false);
    if (since_ns >= TICK_NS + TICK_NS / 2)
        test->stalled_ns += since_ns - TICK_NS;
    test->tick_ns = now_ns;
}

/* Waits for the event `came`. Returns true if it has occurred; false if until_ns or the deadline
 * has passed, or the test has failed. */
static bool await(struct test *test, await_event came, uint64_t until_ns)
{
    const uint64_t deadline_ns = await_deadline_ns(test);
    bool result;
    plat_mutex_lock(&test->lock);
    for (;;) {
        uint64_t now = plat_now_ns();
        tick(test, now);
        result = came(test);
        if (result || test->failure.word != NULL || now >= until_ns || now >= deadline_ns)
            break;
        if (now >= test->next_progress_ns) {
            test->next_progress_ns = now + SECOND_NS;
            plat_mutex_unlock(&test->lock);
            record_progress(test, now);
            plat_mutex_lock(&test->lock);
            test->tick_ns = plat_now_ns(); /* printing may take long: no late tick */
            continue;
        }
        uint64_t wake_ns = await_earlier(until_ns, deadline_ns);
        wake_ns = await_earlier(wake_ns, test->next_progress_ns);
        plat_cond_wait(&test->changed, &test->lock, await_earlier(wake_ns, now + TICK_NS));
    }
    plat_mutex_unlock(&test->lock);
    return result;
}

/* If the test's deadline has passed, fails the test with `word` and `detail`. Returns whether the
 * test has failed, now or before. */
static bool await_too_late(struct test *test, const char *word, const char *detail)
{
    if (plat_now_ns() >= await_deadline_ns(test))
        test_fail(test, word, 0, detail);
    return test_failed(test);
}

/* ---- the window ---- */

#define DRAIN_LOOK_NS (MILLISECOND_NS / 2) /* interval at which a drain checks the arrivals */
#define QUEUE_LOOK_NS (10 * MILLISECOND_NS) /* minimum time between two looks at receive queues */
#define FIRST_NS SECOND_NS /* way of a first message, at most: over a satellite it takes 0.3 s */
#define PREFACE_ACKED 64 /* bytes: more than a preface and the SYN */
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

/* Whether a TCP sender with a window knows that no byte after the prefaces was acknowledged. A first
 * message that is longer than the socket's buffer then never leaves completely. */
static bool nothing_acknowledged(struct test *test)
{
    if (test->settings.udp || test->settings.count > 0)
        return false;
    sample_edge(test, &test->samples.open);
    return test->samples.open.acked &&
           test->samples.open.acked_bytes <= test->settings.streams * PREFACE_ACKED;
}

/* Each function returns when the test has nothing more to do, because it succeeded, failed, or was
 * stopped. */
static void supervise_sending(struct test *test)
{
    const struct settings *settings = &test->settings;
    await_begin(test);
    sample_opened(test, &test->samples.opened);
    const uint64_t sends_ns = settings->warm_up_ns + settings->seconds_ns;
    const uint64_t over_ns = settings->close_ns > 0 ? settings->close_ns : plat_now_ns() + sends_ns;
    if (!await(test, await_all_begun, over_ns + FIRST_NS) && nothing_acknowledged(test))
        test_fail(test, "no-traffic", 0, "the peer acknowledged nothing");
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
        bool over = test->settings.udp ? sender_is_over(test) : await_all_ended(test);
        if (!closed && window_look(&test->window, plat_now_ns(), over) == WINDOW_CLOSED) {
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

/* A `stop` says that the sender has ended. If nothing has come FIRST_NS later, nothing will, and the
 * receiver does not wait for its deadline. */
static void supervise_receiving(struct test *test)
{
    await_begin(test);
    sample_opened(test, &test->samples.opened);
    if (!await(test, begun_or_told, NEVER_NS) ||
        !await(test, await_all_begun, plat_now_ns() + FIRST_NS + test->settings.drain_ns)) {
        test_fail(test, "no-traffic", 0, "the peer came, and no message arrived");
        return;
    }
    (test->settings.count > 0 ? receive_count : receive_seconds)(test);
}

/* ---- check ---- */

/* For UDP, the packets of the check have already been exchanged: they are the hello, which opens a
 * stream, and the answer to it. */
static void supervise_check(struct test *test)
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

/* ---- round trips ---- */

/* Whether a TCP asker with a window has no answer yet. Over UDP each request has a time-out. */
static bool is_silent(const struct test *test)
{
    const struct settings *settings = &test->settings;
    return !settings->udp && settings->kind == KIND_ROUND_TRIP && settings->count == 0 &&
           atomic_load(&test->stream[0].marks.messages) == 0;
}

/* After the window the asker waits for the last answers: no longer than TAIL_NS if the test was
 * stopped, and no longer than FIRST_NS if no answer at all has come over TCP. */
static void supervise_asking(struct test *test)
{
    await_begin(test);
    if (!await(test, await_all_begun, NEVER_NS)) {
        await_too_late(test, "deadline", "nothing could be asked");
        return;
    }
    uint64_t open_ns = test->stream[0].first_ns + test->settings.warm_up_ns;
    await(test, await_told_or_ended, open_ns);
    sample_edge(test, &test->samples.open);
    await(test, await_told_or_ended,
          test->settings.count > 0 ? NEVER_NS : open_ns + test->settings.seconds_ns);
    sample_edge(test, &test->samples.close);
    const bool is_stopped = test_told_stop(test);
    atomic_store(&test->in_tail, is_stopped);
    if (!is_stopped && is_silent(test)) {
        if (!await(test, await_all_ended, plat_now_ns() + FIRST_NS) && is_silent(test))
            test_fail(test, "no-answer", 0, "no answer came in the window or in 1 s after it");
    }
    await(test, await_all_ended, is_stopped ? plat_now_ns() + TAIL_NS : NEVER_NS);
    await_too_late(test, "deadline", "not all that was to be asked was answered by then");
}

/* If the request is from a command line (by_hand), the end of the peer also ends this side. With
 * kind=connect, a mirror cannot notice the end of the peer, because every round trip ends a
 * connection. */
static void supervise_mirroring(struct test *test)
{
    const bool connections = test->settings.kind == KIND_CONNECT;
    await_begin(test);
    if (connections && (!await(test, begun_or_told, NEVER_NS) || test->begun_streams == 0)) {
        test_fail(test, "no-peer", 0, "nobody with the token came before the end");
        return;
    }
    plat_mutex_lock(&test->lock); /* the mirror's thread may be changing its socket */
    sample_opened(test, &test->samples.opened);
    plat_mutex_unlock(&test->lock);
    sample_edge(test, &test->samples.open);
    await(test, test->settings.by_hand ? await_told_or_ended : await_told, NEVER_NS);
    sample_edge(test, &test->samples.close);
}

/* ---- streams ---- */

static bool prepare(struct test *test)
{
    if (test->settings.rate_numerator != 0)
        test->worst_sleep_ns = calibration_worst_sleep_ns();
    return claim_cpus(test) && methods_known(test) && workers_prepare(test);
}

/* Closes the sockets of all streams. A TCP connection is closed by RST, so that no remaining data
 * disturbs the next test and no port stays in TIME_WAIT. It is closed by FIN only if the test
 * succeeded and had a fixed number of messages (`count`) or was a check. */
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
    struct counted *damage = &test->samples.damage, *arrived = test->samples.arrived;
    const bool udp = test->settings.udp;
    fragments->told_before = plat_fragments(&fragments->before);
    damage->told_before = plat_checksum_errors(udp, &damage->before);
    for (unsigned i = 0; i < PLAT_ARRIVED; i++)
        arrived[i].told_before = !udp && plat_arrived(i, &arrived[i].before);
    if (prepare(test) && open_streams(test)) {
        static void (*const supervisors[])(struct test *) = {[ROLE_RECEIVE] = supervise_receiving,
                                                             [ROLE_SEND] = supervise_sending,
                                                             [ROLE_ASK] = supervise_asking,
                                                             [ROLE_MIRROR] = supervise_mirroring};
        if (test->settings.role == ROLE_ASK)
            sample_opened(test, &test->samples.opened); /* now, not while round trips are timed */
        if (test->settings.kind == KIND_CHECK)
            supervise_check(test);
        else if (workers_start(test))
            supervisors[test->settings.role](test);
    }
    workers_join(test);
    if (!test_failed(test)) {
        sample_closing(test, &test->samples.opened, &test->samples.closing);
        fragments->told_after = plat_fragments(&fragments->after);
        damage->told_after = plat_checksum_errors(udp, &damage->after);
        for (unsigned i = 0; i < PLAT_ARRIVED; i++)
            arrived[i].told_after = !udp && plat_arrived(i, &arrived[i].after);
    }
    if (!udp || test->stream[0].socket == PLAT_NO_SOCKET ||
        !plat_path_mtu(test->stream[0].socket, &test->path_mtu_bytes))
        test->path_mtu_bytes = 0;
    close_streams(test);
    claim_end(test);
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
    test->settings = *settings;
    test->requested_ns = requested_ns;
    test->workers = settings_workers(settings);
    test->stream = calloc(settings->streams, sizeof *test->stream);
    test->worker = calloc(test->workers, sizeof *test->worker);
    if (test->stream == NULL || test->worker == NULL) {
        free(test->stream);
        free(test->worker);
        free(test);
        return NULL;
    }
    for (unsigned i = 0; i < test->workers; i++) {
        test->worker[i].test = test;
        test->worker[i].number = i;
        test->worker[i].first_cpu = test->worker[i].last_cpu = -1;
    }
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
    workers_free(test);
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
