/* The asking loop sends requests, receives answers, and times each round trip. It reads the clock
 * right before each send call and right after each receive call. In a closed loop, the next request
 * follows an answer, and latency counts from the real time of sending. In an open loop, requests
 * have scheduled times, none of which is skipped, and latency counts from the scheduled time. With
 * one request in flight and blocking calls, a round trip takes one send call, one receive call and
 * two clock readings. The window is the time that is measured. The mirror is the host that
 * answers. */
#include <stdlib.h>
#include <string.h>

#include "loops/open.h"
#include "loops/round_trip.h"
#include "loops/traffic.h"

struct loop {
    struct stream *stream;
    struct ask *ask;
    const struct settings *settings;
    const struct ask_way *way;
    uint64_t now_ns;      /* the clock, as last read */
    uint64_t next_due_ns; /* the time of the next send; NEVER_NS: after the next answer */
    bool over;            /* nothing more is sent */
    uint64_t unsent_bytes, come_bytes; /* TCP: request bytes to send, response bytes received */
    uint64_t echoed_bytes;             /* TCP to an echo: all received bytes */
};

/* The parts that differ between protocols. */
struct ask_way {
    /* Sends a request; returns its bytes, or the negative error number. */
    ptrdiff_t (*put)(struct loop *loop, uint64_t sequence, uint64_t due_ns);
    /* Sends the rest of a request for which the socket had no room, as far as there is room now.
     * Returns more than 0, or the negative error number. NULL: a request never has a rest. */
    ptrdiff_t (*put_rest)(struct loop *loop);
    /* Bytes of the buffer that one receive call may fill. */
    size_t (*room)(const struct loop *loop);
    void (*take)(struct loop *loop, size_t length);
    /* Counts each request as lost if its time-out has passed at loop->now_ns. Returns false if the
     * loop must end. NULL: requests are never lost. */
    bool (*expire)(struct loop *loop);
    /* Handles the end of the exchange by the peer or its host. `error` is a call's error number; 0
     * means that a receive call returned no data. Returns false if the loop must end. */
    bool (*gone)(struct loop *loop, int error);
};
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

/* Keeps the outcome of a request of the window, if the outcome of each request is reported. */
static void ask_keep_trip(struct ask *ask, const struct settings *settings, uint64_t at_ns,
                          uint64_t ns)
{
    if (ask->trips_kept < settings->trips)
        ask->trips[ask->trips_kept++] = (struct trip){at_ns, ns};
}

/* Keeps the time without answers that ends now, if it is long; answers that come too late for their
 * request end it, too. */
static void ask_heard(struct ask *ask, uint64_t now_ns)
{
    const uint64_t last_ns = ask->last_ns > 0 ? ask->last_ns : ask->from_ns;
    if (now_ns >= last_ns + GAP_LEAST_NS)
        gaps_add(&ask->gaps, last_ns, now_ns, false);
    ask->last_ns = now_ns;
    ask->heard++;
}

/* Accounts for a request that was answered at now_ns; its latency counts from from_ns. */
static void ask_answered(struct stream *stream, uint64_t from_ns, uint64_t now_ns, bool measured)
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
    ask_heard(ask, now_ns);
    ask->until_ns = now_ns;
}

/* Counts a request as lost if it belongs to the window. */
static void ask_lost(struct loop *loop, const struct in_flight_request *request)
{
    if (!request->measured)
        return;
    loop->ask->losses++;
    loop->ask->until_ns = loop->now_ns;
    ask_keep_trip(loop->ask, loop->settings, request->from_ns, TRIP_LOST);
}

/* Accounts for an answer that arrived at loop->now_ns and has this sequence number. */
static void ask_match(struct loop *loop, uint64_t sequence)
{
    const struct in_flight_request *request;
    switch (in_flight_answer(&loop->ask->in_flight, sequence, &request)) {
    case IN_FLIGHT_ANSWERED:
        round_trip_order(sequence, &loop->ask->highest, &loop->ask->reordered);
        ask_answered(loop->stream, request->from_ns, loop->now_ns, request->measured);
        if (request->measured)
            ask_keep_trip(loop->ask, loop->settings, request->from_ns,
                          loop->now_ns - request->from_ns);
        break;
    case IN_FLIGHT_LATE:
        loop->ask->late++;
        if (loop->ask->from_ns > 0 && loop->now_ns < loop->ask->close_ns)
            ask_heard(loop->ask, loop->now_ns);
        break;
    case IN_FLIGHT_DUPLICATE:
        loop->ask->duplicates++;
        break;
    case IN_FLIGHT_UNKNOWN:
        loop->stream->foreign++;
    }
}

/* ---- the window ---- */

/* Waits for the start time, and sets the window and the schedule. */
static void ask_begin(struct stream *stream)
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

/* Whether sending is over: a request that is due at this time must not be sent, nor any later
 * one. */
static bool ask_over(const struct stream *stream, uint64_t due_ns)
{
    const uint64_t count = stream->test->settings.count;
    return due_ns >= stream->ask->close_ns || (count > 0 && stream->ask->sent == count) ||
           atomic_load_explicit(&stream->test->in_tail, memory_order_relaxed);
}

/* Accounts for a sent request; `measured`: it belongs to the window. */
static void ask_sent(struct stream *stream, uint64_t sent_ns, bool measured)
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

/* With one request in flight, a receive call blocks at most until the time-out, after which the
 * request is lost. With more requests in flight, a receive call blocks at most a quarter of the
 * time-out, so that the loss of each request is noticed soon. */
static void ask_limit_receives(const struct loop *loop)
{
    const uint64_t timeout_ms = loop->settings->timeout_ns / MILLISECOND_NS;
    uint64_t limit_ms = loop->settings->outstanding > 1 ? timeout_ms / 4 : timeout_ms;
    if (loop->settings->udp && !loop->settings->spin)
        plat_option_set(loop->stream->socket, PLAT_RECEIVE_TIMEOUT_MS,
                        limit_ms > 0 ? (int)limit_ms : 1);
}

/* ---- UDP: answers have numbers and may be lost, late, duplicate or foreign ---- */

static ptrdiff_t put_udp(struct loop *loop, uint64_t sequence, uint64_t due_ns)
{
    struct stream *stream = loop->stream;
    const size_t size = loop->settings->message_bytes;
    dataport_message_write(stream->buffer, size, DATAPORT_REQUEST, stream->tag, stream->number,
                           sequence, due_ns);
    return plat_send(stream->socket, stream->buffer, size);
}

static size_t room_udp(const struct loop *loop)
{
    return loop->ask->into_bytes;
}

/* Whether an echo returned the sent bytes. The sequence number and the time are not compared. */
static bool echoed(const struct loop *loop, size_t length)
{
    const unsigned char *sent = loop->stream->buffer, *came = loop->ask->into;
    const size_t header = dataport_header_bytes(length);
    return header == 0 ? memcmp(sent, came, length) == 0
                       : memcmp(sent, came, 8) == 0 &&
                             memcmp(sent + header, came + header, length - header) == 0;
}

static void take_udp_answer(struct loop *loop, size_t length)
{
    struct stream *stream = loop->stream;
    const unsigned char *into = loop->ask->into;
    const enum dataport_kind kind = loop->settings->echo ? DATAPORT_REQUEST : DATAPORT_RESPONSE;
    struct dataport_data data;
    if (length != loop->settings->response_bytes) {
        stream->foreign += !traffic_control(stream, into, length, NULL);
    } else if (loop->settings->echo && !echoed(loop, length)) {
        loop->ask->mismatched++;
    } else if (length < 16) {
        /* An answer without a number belongs to the only request in flight, because late answers go
         * to a port that is closed. */
        if (!dataport_bare_is(into, length, kind))
            stream->foreign++;
        else if (loop->ask->in_flight.waiting == 0)
            loop->ask->duplicates++;
        else
            ask_match(loop, loop->ask->in_flight.oldest);
    } else if (dataport_message_read(into, length, kind, stream->tag, &data) &&
               data.stream == stream->number) {
        ask_match(loop, data.sequence);
    } else {
        stream->foreign += !traffic_control(stream, into, length, NULL);
    }
}

/* Handles a refusal: the peer's host has reported that nobody listens on the port. A single refusal
 * may be for a hello that was sent too early. */
static bool give_up_refused(struct loop *loop, int error)
{
    struct stream *stream = loop->stream;
    const struct in_flight_request *request = in_flight_give_up(&loop->ask->in_flight);
    stream->refused++;
    if (request != NULL)
        ask_lost(loop, request);
    if (!traffic_refused(stream))
        return true;
    if (loop->ask->answered == 0)
        test_fail_system(stream->test, error, "the peer's host");
    else
        test_fail(stream->test, "peer-vanished", error, "the mirror went away");
    return false;
}

static bool gone_udp(struct loop *loop, int error)
{
    if (error == 0) {
        loop->stream->foreign++; /* an empty datagram */
        return true;
    }
    if (plat_is_peer_gone(error))
        return give_up_refused(loop, error);
    if (plat_is_unreachable(error)) {
        loop->stream->refused++; /* if a request was lost with it, that request times out */
        if (!traffic_unreachable(loop->stream))
            return true;
    }
    test_fail_system(loop->stream->test, error, "the way to the mirror");
    return false;
}

static bool expire_udp(struct loop *loop)
{
    const struct in_flight_request *request;
    while ((request = in_flight_lost(&loop->ask->in_flight, loop->now_ns,
                                     loop->settings->timeout_ns)) != NULL) {
        ask_lost(loop, request);
        if (loop->settings->response_bytes >= 16)
            continue;
        if (!open_udp_elsewhere(loop->stream))
            return false;
        ask_limit_receives(loop);
        loop->now_ns = plat_now_ns();
    }
    return true;
}

static const struct ask_way ask_udp = {put_udp,         NULL,       room_udp,
                                       take_udp_answer, expire_udp, gone_udp};

/* ---- TCP: answers arrive in the order of the requests and none is lost ---- */

/* Requests tell a mirror of ours when they were due; an echo returns the same bytes always. */
static void write_times(const struct loop *loop, uint64_t sequence, uint64_t due_ns)
{
    struct stream *stream = loop->stream;
    if (!loop->settings->echo)
        dataport_message_write(stream->buffer, loop->settings->message_bytes, DATAPORT_REQUEST,
                               stream->tag, stream->number, sequence, due_ns);
}

/* This call may block. With one request in flight, the mirror never waits for us to read earlier
 * answers, so the two sides cannot block each other. */
static ptrdiff_t put_tcp(struct loop *loop, uint64_t sequence, uint64_t due_ns)
{
    const struct stream *stream = loop->stream;
    size_t sent_bytes;
    write_times(loop, sequence, due_ns);
    return traffic_send_all(stream->test, stream->socket, stream->buffer,
                            loop->settings->message_bytes, &sent_bytes);
}

/* Sends as much as the socket has room for. The mirror may read the rest only after we have read
 * its answers, so this call must not wait. */
static ptrdiff_t put_rest(struct loop *loop)
{
    const unsigned char *end = loop->stream->buffer + loop->settings->message_bytes;
    while (loop->unsent_bytes > 0) {
        ptrdiff_t put =
            plat_send_now(loop->stream->socket, end - loop->unsent_bytes, loop->unsent_bytes);
        if (put <= 0)
            return plat_is_transient((int)-put) ? 1 : put;
        loop->unsent_bytes -= (uint64_t)put;
    }
    return 1;
}

static ptrdiff_t put_tcp_pipelined(struct loop *loop, uint64_t sequence, uint64_t due_ns)
{
    write_times(loop, sequence, due_ns);
    loop->unsent_bytes = loop->settings->message_bytes;
    return put_rest(loop);
}

static size_t room_tcp(const struct loop *loop)
{
    return loop->settings->outstanding > 1 ? loop->ask->into_bytes
                                           : loop->settings->response_bytes - loop->come_bytes;
}

/* Whether an echo has returned what was sent. All requests are identical, so the bytes of the echo
 * repeat. */
static bool echoed_stream(struct loop *loop, size_t length)
{
    const size_t size = loop->settings->message_bytes;
    const unsigned char *came = loop->ask->into;
    while (length > 0) {
        size_t at = loop->echoed_bytes % size;
        size_t piece = size - at < length ? size - at : length;
        if (memcmp(loop->stream->buffer + at, came, piece) != 0)
            return false;
        loop->echoed_bytes += piece;
        came += piece;
        length -= piece;
    }
    return true;
}

static void take_tcp_answers(struct loop *loop, size_t length)
{
    struct in_flight *in_flight = &loop->ask->in_flight;
    if (loop->settings->echo && !echoed_stream(loop, length)) {
        loop->ask->mismatched++;
        test_fail(loop->stream->test, "no-answer", 0, "the echo differs from the request");
        return;
    }
    loop->come_bytes += length;
    while (loop->come_bytes >= loop->settings->response_bytes && in_flight->waiting > 0) {
        loop->come_bytes -= loop->settings->response_bytes;
        ask_match(loop, in_flight->oldest);
    }
    if (in_flight->waiting == 0 && loop->come_bytes > 0)
        test_fail(loop->stream->test, "no-answer", 0, "the response is longer than requested");
}

static bool gone_tcp(struct loop *loop, int error)
{
    if (error == 0 || traffic_tcp_gone(error))
        test_fail(loop->stream->test, "peer-vanished", error, "the mirror ended the connection");
    else
        test_fail_system(loop->stream->test, error, "the connection");
    return false;
}

static const struct ask_way ask_tcp = {put_tcp, NULL, room_tcp, take_tcp_answers, NULL, gone_tcp};
static const struct ask_way ask_tcp_pipelined = {
    put_tcp_pipelined, put_rest, room_tcp, take_tcp_answers, NULL, gone_tcp};

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

/* ---- a TCP connection for each transaction ---- */

/* A transaction is a request and the answer to it. The clock runs from right before the connect call
 * to right after the receive call that returned the last byte. In an open loop, latency counts from
 * the due time. The time to close a socket affects the rate, but not the latency. */

/* Sets *due_ns to the next request's time and waits for it. Returns false if there is no next
 * request. */
static bool wait_until_due(struct stream *stream, uint64_t *due_ns)
{
    const struct test *test = stream->test;
    while (!test_halted(test)) {
        uint64_t now = *due_ns = plat_now_ns();
        bool due = test->settings.rate_numerator == 0 ||
                   pacing_now(&stream->pacing, now, due_ns);
        if (ask_over(stream, *due_ns))
            return false;
        if (due)
            return true;
        traffic_sleep(pacing_sleep_ns(*due_ns, now, test->worst_sleep_ns));
    }
    return false;
}

static bool report_failure(struct stream *stream, int error, const char *call)
{
    struct test *test = stream->test;
    if (test_halted(test))
        return false;
    if (strcmp(plat_word(error), "address-not-available") == 0)
        test_fail(test, "address-not-available", error,
                  "no local port is free: ports of closed connections stay blocked for a while");
    else
        test_fail_system(test, error, call);
    return false;
}

static bool report_end(struct stream *stream, int error)
{
    if (test_halted(stream->test))
        return false;
    if (error != 0 && !traffic_tcp_gone(error))
        return report_failure(stream, error, "a connection");
    test_fail(stream->test, "peer-vanished", error, "the mirror ended a connection early");
    return false;
}

static bool send_request(struct stream *stream)
{
    const struct ask *ask = stream->ask;
    size_t sent_bytes;
    ptrdiff_t put = traffic_send_all(stream->test, stream->socket, ask->opening, ask->opening_bytes,
                                     &sent_bytes);
    return put > 0 || report_end(stream, (int)-put);
}

static bool receive_response(struct stream *stream)
{
    ptrdiff_t got =
        traffic_receive_all(stream, stream->ask->into, stream->test->settings.response_bytes);
    return got > 0 || report_end(stream, (int)-got);
}

/* The answer of an echo must be equal to the request. */
static bool check_echo(struct stream *stream)
{
    const struct settings *settings = &stream->test->settings;
    if (!settings->echo ||
        memcmp(stream->ask->into, stream->buffer, settings->message_bytes) == 0)
        return true;
    stream->ask->mismatched++;
    test_fail(stream->test, "no-answer", 0, "the echo differs from the request");
    return false;
}

/* Closes the last connection before the next one is opened: there is one connection at a time. */
static void close_last(struct stream *stream)
{
    plat_socket last = test_swap_socket(stream, PLAT_NO_SOCKET);
    if (last == PLAT_NO_SOCKET)
        return;
    if (!stream->test->settings.orderly)
        plat_option_set(last, PLAT_RESET_ON_CLOSE, 1);
    plat_close(last);
}

/* Counts a transaction as lost. Called if a connect call has timed out and round trips are reported
 * one by one; the loop then tries the next connection. */
static bool lose(struct stream *stream, uint64_t begun_ns, bool measured)
{
    struct ask *ask = stream->ask;
    ask_sent(stream, begun_ns, measured);
    if (measured) {
        ask->losses++;
        ask->until_ns = plat_now_ns();
        ask_keep_trip(ask, &stream->test->settings, begun_ns, TRIP_LOST);
    }
    return true;
}

static bool transact(struct stream *stream, uint64_t due_ns)
{
    struct test *test = stream->test;
    struct ask *ask = stream->ask;
    const bool measured = due_ns >= ask->open_ns;
    uint64_t begun_ns, connected_ns;
    unsigned port = test->settings.port_first;
    int error;
    do {
        plat_socket fresh;
        bool opened = open_socket_from(test, &fresh, &port);
        plat_close(test_swap_socket(stream, fresh));
        if (!opened || test_halted(test))
            return false;
        begun_ns = plat_now_ns();
        error = plat_connect(fresh, &test->settings.to, begun_ns + OPEN_NS);
        connected_ns = plat_now_ns();
    } while (error != 0 && open_next_port(test, error, &port));
    if (error != 0 && ask->trips != NULL && strcmp(plat_word(error), "connect-timeout") == 0)
        return lose(stream, begun_ns, measured);
    if (error != 0)
        return report_failure(stream, error, "connect");
    ask_sent(stream, begun_ns, measured);
    if (!send_request(stream) || !receive_response(stream) || !check_echo(stream))
        return false;
    uint64_t now_ns = plat_now_ns();
    bool open_loop = test->settings.rate_numerator != 0;
    ask_answered(stream, open_loop ? due_ns : begun_ns, now_ns, measured);
    if (measured) {
        ask->connect_sum_ns += connected_ns - begun_ns;
        ask_keep_trip(ask, &test->settings, begun_ns, now_ns - begun_ns);
    }
    return true;
}

void ask_connect_run(struct stream *stream)
{
    uint64_t due_ns;
    ask_begin(stream);
    close_last(stream); /* the connection that tested the path */
    while (wait_until_due(stream, &due_ns)) {
        bool more = transact(stream, due_ns);
        close_last(stream);
        if (!more)
            break;
    }
}
