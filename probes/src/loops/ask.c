/* The asking loop sends requests, receives answers, and times each round trip. It reads the clock
 * right before each send call and right after each receive call. In a closed loop, the next request
 * follows an answer, and latency counts from the real time of sending. In an open loop, requests
 * have scheduled times, none of which is skipped, and latency counts from the scheduled time. With
 * one request in flight and blocking calls, a round trip takes one send call, one receive call and
 * two clock readings. The window is the time that is measured. */
#include <stdlib.h>
#include <string.h>

#include "loops/ask_loop.h"

#define PIPELINED_ROOM 262144 /* bytes of a TCP receive call that may bring several answers */

/* ---- state ---- */

static bool prepare_opening(struct stream *stream)
{
    const struct settings *settings = &stream->test->settings;
    struct ask *ask = stream->ask;
    const size_t preface = settings->echo ? 0 : DATAPORT_PREFACE;
    ask->opening_bytes = preface + settings->message_bytes;
    ask->opening = malloc(ask->opening_bytes);
    if (ask->opening == NULL)
        return false;
    if (preface > 0)
        dataport_preface_write(ask->opening, settings->token, stream->number);
    memcpy(ask->opening + preface, stream->buffer, settings->message_bytes);
    return true;
}

bool ask_prepare(struct stream *stream)
{
    const struct settings *settings = &stream->test->settings;
    struct ask *ask = stream->ask = calloc(1, sizeof *ask);
    if (ask == NULL)
        return false;
    ask->into_bytes = settings->udp ? settings->response_bytes + 1 : settings->response_bytes;
    if (settings->udp && ask->into_bytes <= DATAPORT_CONTROL)
        ask->into_bytes = DATAPORT_CONTROL + 1;
    if (!settings->udp && settings->outstanding > 1 && ask->into_bytes < PIPELINED_ROOM)
        ask->into_bytes = PIPELINED_ROOM;
    ask->into = malloc(ask->into_bytes);
    if (ask->into == NULL)
        return false;
    if (settings->trips > 0) {
        ask->trips = malloc(settings->trips * sizeof *ask->trips);
        if (ask->trips == NULL)
            return false;
    }
    dataport_fill(ask->into, ask->into_bytes, 1); /* touches its pages before the first answer */
    return settings->kind != KIND_CONNECT || prepare_opening(stream);
}

void ask_free(struct ask *ask)
{
    if (ask == NULL)
        return;
    free(ask->into);
    free(ask->trips);
    free(ask->opening);
    free(ask);
}

void ask_keep_trip(struct ask *ask, const struct settings *settings, uint64_t at_ns, uint64_t ns)
{
    if (ask->trips_kept < settings->trips)
        ask->trips[ask->trips_kept++] = (struct trip){at_ns, ns};
}

void ask_answered(struct stream *stream, uint64_t from_ns, uint64_t now_ns, bool measured)
{
    struct ask *ask = stream->ask;
    uint64_t bytes = ++ask->answered * stream->test->settings.response_bytes;
    atomic_store_explicit(&stream->marks.messages, ask->answered, memory_order_relaxed);
    atomic_store_explicit(&stream->marks.bytes, bytes, memory_order_relaxed);
    stream->refusals = 0;
    if (!measured)
        return;
    if (ask->first_rtt_count < stream->test->settings.keep)
        ask->first_rtt_ns[ask->first_rtt_count++] = now_ns - from_ns;
    histogram_add(&ask->rtt, now_ns - from_ns);
    const uint64_t last_ns = ask->last_ns > 0 ? ask->last_ns : ask->from_ns;
    if (now_ns >= last_ns + GAP_LEAST_NS)
        gaps_add(&ask->gaps, last_ns, now_ns, false);
    ask->last_ns = ask->until_ns = now_ns;
}

void ask_lost(struct loop *loop, const struct in_flight_request *request)
{
    if (!request->measured)
        return;
    loop->ask->losses++;
    loop->ask->until_ns = loop->now_ns;
    ask_keep_trip(loop->ask, loop->settings, request->from_ns, TRIP_LOST);
}

void ask_match(struct loop *loop, uint64_t sequence)
{
    const struct in_flight_request *request;
    switch (in_flight_answer(&loop->ask->in_flight, sequence, &request)) {
    case IN_FLIGHT_ANSWERED:
        ask_answered(loop->stream, request->from_ns, loop->now_ns, request->measured);
        if (request->measured)
            ask_keep_trip(loop->ask, loop->settings, request->from_ns,
                          loop->now_ns - request->from_ns);
        break;
    case IN_FLIGHT_LATE:
        loop->ask->late++;
        break;
    case IN_FLIGHT_DUPLICATE:
        loop->ask->duplicates++;
        break;
    case IN_FLIGHT_UNKNOWN:
        loop->stream->foreign++;
    }
}

/* ---- the window ---- */

void ask_begin(struct stream *stream)
{
    const struct settings *settings = &stream->test->settings;
    struct ask *ask = stream->ask;
    traffic_wait_for_start(stream->test);
    stream->tried_ns = plat_now_ns();
    ask->open_ns = stream->tried_ns + settings->warm_up_ns;
    ask->close_ns = settings->count > 0 ? NEVER_NS : ask->open_ns + settings->seconds_ns;
    if (settings->rate_numerator != 0) /* an unlimited burst, so that no request is skipped */
        pacing_init(&stream->pacing, stream->tried_ns, settings->rate_numerator,
                    settings->rate_denominator, UINT64_MAX);
}

bool ask_over(const struct stream *stream, uint64_t due_ns)
{
    const uint64_t count = stream->test->settings.count;
    return due_ns >= stream->ask->close_ns || (count > 0 && stream->ask->sent == count) ||
           atomic_load_explicit(&stream->test->in_tail, memory_order_relaxed);
}

void ask_sent(struct stream *stream, uint64_t sent_ns, bool measured)
{
    struct ask *ask = stream->ask;
    if (stream->test->settings.rate_numerator != 0)
        pacing_sent(&stream->pacing, sent_ns);
    if (measured && ask->sent++ == 0)
        ask->from_ns = sent_ns;
    if (stream->first_ns == 0) {
        stream->first_ns = sent_ns;
        traffic_begun(stream);
    }
}

static const struct ask_way *way_of(const struct settings *settings)
{
    if (settings->udp)
        return &ask_udp;
    return settings->outstanding > 1 ? &ask_tcp_pipelined : &ask_tcp;
}

/* ---- sending ---- */

/* Handles a send call that failed. Returns true if the request is tried again. Returns false if the
 * loop must end. */
static bool go_on_after(struct loop *loop, int error)
{
    struct test *test = loop->stream->test;
    if (test_halted(test))
        return false;
    if (plat_is_transient(error))
        return true;
    if (!plat_is_no_buffers(error))
        return loop->way->gone(loop, error);
    loop->stream->refused++;
    if (loop->stream->first_ns > 0 || plat_now_ns() - loop->stream->tried_ns < ALL_REFUSED_NS)
        return true;
    test_fail(test, "no-buffers", error, "every send call was refused");
    return false;
}

static bool send_next(struct loop *loop, uint64_t due_ns)
{
    struct ask *ask = loop->ask;
    const uint64_t sent_ns = loop->now_ns;
    const bool measured = due_ns >= ask->open_ns;
    ptrdiff_t put = loop->way->put(loop, in_flight_next(&ask->in_flight), due_ns);
    if (put <= 0)
        return go_on_after(loop, (int)-put);
    in_flight_sent(&ask->in_flight, due_ns, sent_ns, measured);
    ask_sent(loop->stream, sent_ns, measured);
    return true;
}

/* Sends all requests that may be sent now. Returns false if the loop must end. */
static bool send_due(struct loop *loop)
{
    struct stream *stream = loop->stream;
    loop->next_due_ns = NEVER_NS;
    while (!loop->over && loop->unsent_bytes == 0 &&
           loop->ask->in_flight.waiting < loop->settings->outstanding) {
        uint64_t due_ns = loop->now_ns = plat_now_ns();
        bool due = loop->settings->rate_numerator == 0 ||
                   pacing_now(&stream->pacing, loop->now_ns, &due_ns);
        if (ask_over(stream, due_ns)) {
            loop->over = true;
        } else if (!due) {
            loop->next_due_ns = due_ns;
            return true;
        } else if (test_halted(stream->test) || !send_next(loop, due_ns)) {
            return false;
        }
    }
    return true;
}

/* ---- receiving ---- */

/* Waits for an answer, but not longer than until the next request is due. A spinning asker only
 * polls. */
static ptrdiff_t receive_answer(struct loop *loop)
{
    const plat_socket socket = loop->stream->socket;
    unsigned char *into = loop->ask->into;
    const size_t room = loop->way->room(loop);
    if (loop->settings->spin)
        return plat_receive_now(socket, into, room);
    if (loop->unsent_bytes > 0) {
        struct plat_wait wait = {.socket = socket, .sending = true};
        plat_wait_any(&wait, 1, plat_now_ns() + NOTICE_NS);
        return plat_receive_now(socket, into, room);
    }
    if (loop->next_due_ns == NEVER_NS)
        return plat_receive(socket, into, room);
    uint64_t wait_ns =
        pacing_sleep_ns(loop->next_due_ns, loop->now_ns, loop->stream->test->worst_sleep_ns);
    if (wait_ns == 0)
        return plat_receive_now(socket, into, room);
    return plat_receive_within(socket, into, room, wait_ns < NOTICE_NS ? wait_ns : NOTICE_NS);
}

static bool hear_answers(struct loop *loop)
{
    ptrdiff_t got = receive_answer(loop);
    loop->now_ns = plat_now_ns();
    if (loop->way->expire != NULL && !loop->way->expire(loop))
        return false;
    if (got > 0)
        loop->way->take(loop, (size_t)got);
    else if (!(got < 0 && plat_is_transient((int)-got)) &&
             (test_halted(loop->stream->test) || !loop->way->gone(loop, (int)-got)))
        return false;
    if (loop->unsent_bytes == 0)
        return true;
    ptrdiff_t put = loop->way->put_rest(loop);
    return put > 0 || go_on_after(loop, (int)-put);
}

/* ---- the loop ---- */

/* With one request in flight, a receive call blocks at most until the time-out, after which the
 * request is lost. With more requests in flight, a receive call blocks at most a quarter of the
 * time-out, so that the loss of each request is noticed soon. */
void ask_limit_receives(const struct loop *loop)
{
    const uint64_t timeout_ms = loop->settings->timeout_ns / MILLISECOND_NS;
    uint64_t limit_ms = loop->settings->outstanding > 1 ? timeout_ms / 4 : timeout_ms;
    if (loop->settings->udp && !loop->settings->spin)
        plat_option_set(loop->stream->socket, PLAT_RECEIVE_TIMEOUT_MS,
                        limit_ms > 0 ? (int)limit_ms : 1);
}

void ask_run(struct stream *stream)
{
    struct loop loop = {.stream = stream,
                        .ask = stream->ask,
                        .settings = &stream->test->settings,
                        .way = way_of(&stream->test->settings)};
    ask_limit_receives(&loop);
    ask_begin(stream);
    while (!test_halted(stream->test)) {
        if (!send_due(&loop))
            break;
        if (loop.over && loop.ask->in_flight.waiting == 0)
            break;
        if (!hear_answers(&loop))
            break;
    }
    if (loop.settings->udp && loop.settings->by_hand && !loop.settings->echo)
        traffic_end_markers(stream, loop.ask->answered);
}
