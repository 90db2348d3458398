/* The asking loop: requests out, answers in, the clock right before each send call and right after
 * each receive call. Closed loop: the next request follows an answer, and latency counts from the real
 * time of sending. Open loop: requests have times of their own that are never skipped, and latency
 * counts from those. With one request under way and blocking calls a round trip is one send, one
 * receive and two looks at the clock. */
#include <stdlib.h>
#include <string.h>

#include "round_trip.h"
#include "traffic.h"

#define ALL_REFUSED_NS (50 * MILLISECOND_NS) /* no-buffers, when nothing has gone out by then */
#define REFUSALS_OF_A_PEER 3
#define LONGEST_WAIT_NS (20 * MILLISECOND_NS) /* so that a halt is noticed */
#define PIPELINED_ROOM 262144 /* bytes of a TCP receive call that may bring several answers */

struct loop {
    struct stream *stream;
    struct ask *ask;
    const struct settings *settings;
    const struct way *way;
    uint64_t open_ns, close_ns, limit; /* of the window; requests of it at most */
    uint64_t now_ns;                   /* as last read */
    uint64_t next_due_ns; /* nothing is to be sent before; NEVER_NS: not before an answer comes */
    bool over;            /* nothing more is to be sent */
    uint64_t unsent_bytes, come_bytes; /* TCP: of the request, and of the response under way */
    uint64_t echoed_bytes;             /* TCP to an echo: all that came */
};

/* What differs between protocols. */
struct way {
    /* Hands a request to the system; its bytes, or the negative error number. */
    ptrdiff_t (*put)(struct loop *loop, uint64_t sequence, uint64_t due_ns);
    /* Room for one receive call. */
    size_t (*room)(const struct loop *loop);
    void (*take)(struct loop *loop, size_t length);
    /* A receive call brought nothing: 0, or the error number. False: the loop ends. */
    bool (*nothing)(struct loop *loop, int error);
};

/* ---- state ---- */

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
    if (ask->into != NULL) /* its pages are to be there before the first answer */
        dataport_fill(ask->into, ask->into_bytes, 1);
    return ask->into != NULL;
}

void ask_free(struct ask *ask)
{
    if (ask != NULL)
        free(ask->into);
    free(ask);
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
    if (ask->kept < stream->test->settings.keep)
        ask->first_rtt_ns[ask->kept++] = now_ns - from_ns;
    histogram_add(&ask->rtt, now_ns - from_ns);
    ask->until_ns = now_ns;
}

static void count_lost(struct loop *loop, const struct underway_request *request)
{
    if (!request->measured)
        return;
    loop->ask->lost++;
    loop->ask->until_ns = loop->now_ns;
}

/* An answer with that number came: whose is it? */
static void match(struct loop *loop, uint64_t sequence)
{
    const struct underway_request *request;
    switch (underway_answer(&loop->ask->underway, sequence, &request)) {
    case UNDERWAY_ANSWERED:
        ask_answered(loop->stream, request->from_ns, loop->now_ns, request->measured);
        break;
    case UNDERWAY_LATE:
        loop->ask->late++;
        break;
    case UNDERWAY_DUPLICATE:
        loop->ask->duplicates++;
        break;
    case UNDERWAY_UNKNOWN:
        loop->stream->foreign++;
    }
}

/* ---- UDP ---- */

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

/* Whether what an echo sent back is what was sent, but for the sequence number and the time. */
static bool echoed(const struct loop *loop, size_t length)
{
    const unsigned char *sent = loop->stream->buffer, *came = loop->ask->into;
    const size_t header = dataport_header_bytes(length);
    return header == 0 ? memcmp(sent, came, length) == 0
                       : memcmp(sent, came, 8) == 0 &&
                             memcmp(sent + header, came + header, length - header) == 0;
}

static void take_udp(struct loop *loop, size_t length)
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
        /* No number: only one is under way, and late answers go to a port that is closed. */
        if (!dataport_bare_is(into, length, kind))
            stream->foreign++;
        else if (loop->ask->underway.waiting == 0)
            loop->ask->duplicates++;
        else
            match(loop, loop->ask->underway.oldest);
    } else if (dataport_message_read(into, length, kind, stream->tag, &data) &&
               data.stream == stream->number) {
        match(loop, data.sequence);
    } else {
        stream->foreign += !traffic_control(stream, into, length, NULL);
    }
}

/* The peer's host says that nobody is there. One such word may be about a hello that came too early. */
static bool refused(struct loop *loop, int error)
{
    struct stream *stream = loop->stream;
    const struct underway_request *request = underway_give_up(&loop->ask->underway);
    stream->refused++;
    if (request != NULL)
        count_lost(loop, request);
    if (++stream->refusals < REFUSALS_OF_A_PEER)
        return true;
    if (loop->ask->answered == 0)
        test_fail_system(stream->test, error, "the peer's host");
    else
        test_fail(stream->test, "peer-vanished", error, "the mirror went away");
    return false;
}

static bool nothing_udp(struct loop *loop, int error)
{
    if (error == 0) {
        loop->stream->foreign++; /* an empty datagram */
        return true;
    }
    if (plat_is_peer_gone(error))
        return refused(loop, error);
    test_fail_system(loop->stream->test, error, "receive");
    return false;
}

static void expire(struct loop *loop)
{
    const struct underway_request *request;
    while ((request = underway_lost(&loop->ask->underway, loop->now_ns,
                                    loop->settings->timeout_ns)) != NULL)
        count_lost(loop, request);
}

static const struct way udp_way = {put_udp, room_udp, take_udp, nothing_udp};

/* ---- TCP ---- */

/* One request at a time: nobody waits for us to read while we send. */
static ptrdiff_t put_tcp(struct loop *loop, uint64_t sequence, uint64_t due_ns)
{
    struct stream *stream = loop->stream;
    const size_t size = loop->settings->message_bytes;
    size_t done = 0;
    (void)sequence;
    (void)due_ns;
    while (done < size) {
        ptrdiff_t put = plat_send(stream->socket, stream->buffer + done, size - done);
        if (put > 0)
            done += (size_t)put;
        else if (!plat_is_transient((int)-put) || test_halted(stream->test))
            return put;
    }
    return (ptrdiff_t)done;
}

/* What there is room for; the rest follows as the mirror makes room, which it may do only once we
 * have read its answers. */
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
    (void)sequence;
    (void)due_ns;
    loop->unsent_bytes = loop->settings->message_bytes;
    return put_rest(loop);
}

static size_t room_tcp(const struct loop *loop)
{
    return loop->settings->outstanding > 1 ? loop->ask->into_bytes
                                           : loop->settings->response_bytes - loop->come_bytes;
}

/* All requests are alike, and so the echo's bytes repeat. */
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

static void take_tcp(struct loop *loop, size_t length)
{
    struct underway *underway = &loop->ask->underway;
    if (loop->settings->echo && !echoed_stream(loop, length)) {
        loop->ask->mismatched++;
        test_fail(loop->stream->test, "no-answer", 0, "what came back is not what was sent");
        return;
    }
    loop->come_bytes += length;
    while (loop->come_bytes >= loop->settings->response_bytes && underway->waiting > 0) {
        loop->come_bytes -= loop->settings->response_bytes;
        match(loop, underway->oldest);
    }
    if (underway->waiting == 0 && loop->come_bytes > 0)
        test_fail(loop->stream->test, "no-answer", 0, "more came back than was asked for");
}

static bool nothing_tcp(struct loop *loop, int error)
{
    if (error == 0 || plat_is_peer_gone(error))
        test_fail(loop->stream->test, "peer-vanished", error, "the mirror ended the connection");
    else
        test_fail_system(loop->stream->test, error, "receive");
    return false;
}

static const struct way tcp_way = {put_tcp, room_tcp, take_tcp, nothing_tcp};
static const struct way tcp_pipelined_way = {put_tcp_pipelined, room_tcp, take_tcp, nothing_tcp};

static const struct way *way_of(const struct settings *settings)
{
    if (settings->udp)
        return &udp_way;
    return settings->outstanding > 1 ? &tcp_pipelined_way : &tcp_way;
}

/* ---- sending ---- */

/* False: the loop ends. Else the request was not sent, and is tried again. */
static bool go_on_after(struct loop *loop, int error)
{
    struct test *test = loop->stream->test;
    if (test_halted(test))
        return false;
    if (plat_is_transient(error))
        return true;
    if (loop->settings->udp && plat_is_peer_gone(error))
        return refused(loop, error);
    loop->stream->refused++;
    if (plat_is_no_buffers(error)) {
        if (loop->ask->sent > 0 || plat_now_ns() - loop->stream->tried_ns < ALL_REFUSED_NS)
            return true;
        test_fail(test, "no-buffers", error, "every send call was refused");
    } else if (plat_is_peer_gone(error)) {
        test_fail(test, "peer-vanished", error, "the mirror ended the connection");
    } else {
        test_fail_system(test, error, "send");
    }
    return false;
}

static bool send_one(struct loop *loop, uint64_t due_ns)
{
    struct stream *stream = loop->stream;
    struct ask *ask = loop->ask;
    const uint64_t sent_ns = loop->now_ns;
    const bool measured = due_ns >= loop->open_ns;
    ptrdiff_t put = loop->way->put(loop, underway_next(&ask->underway), due_ns);
    if (put <= 0)
        return go_on_after(loop, (int)-put);
    if (loop->settings->rate_numerator != 0)
        pacing_sent(&stream->pacing, sent_ns);
    underway_sent(&ask->underway, due_ns, sent_ns, measured);
    if (measured && ask->sent++ == 0)
        ask->from_ns = sent_ns;
    if (stream->first_ns == 0) {
        stream->first_ns = sent_ns;
        traffic_begun(stream);
    }
    return true;
}

/* Sends what may be sent now. False: the loop ends. */
static bool send_due(struct loop *loop)
{
    struct stream *stream = loop->stream;
    loop->next_due_ns = NEVER_NS;
    while (!loop->over && loop->unsent_bytes == 0 &&
           loop->ask->underway.waiting < loop->settings->outstanding) {
        uint64_t due_ns = loop->now_ns = plat_now_ns();
        bool due = loop->settings->rate_numerator == 0 ||
                   pacing_now(&stream->pacing, loop->now_ns, &due_ns);
        if (due_ns >= loop->close_ns || loop->ask->sent == loop->limit ||
            atomic_load_explicit(&stream->test->in_tail, memory_order_relaxed)) {
            loop->over = true;
        } else if (!due) {
            loop->next_due_ns = due_ns;
            return true;
        } else if (test_halted(stream->test) || !send_one(loop, due_ns)) {
            return false;
        }
    }
    return true;
}

/* ---- receiving ---- */

/* Waits for an answer as long as nothing else is to be done, or looks only. */
static ptrdiff_t receive(struct loop *loop)
{
    const plat_socket socket = loop->stream->socket;
    unsigned char *into = loop->ask->into;
    const size_t room = loop->way->room(loop);
    if (loop->settings->spin)
        return plat_receive_now(socket, into, room);
    if (loop->unsent_bytes > 0) {
        struct plat_wait wait = {.socket = socket, .sending = true};
        plat_wait_any(&wait, 1, plat_now_ns() + LONGEST_WAIT_NS);
        return plat_receive_now(socket, into, room);
    }
    if (loop->next_due_ns == NEVER_NS)
        return plat_receive(socket, into, room);
    uint64_t wait_ns =
        pacing_sleep_ns(loop->next_due_ns, loop->now_ns, loop->stream->test->worst_sleep_ns);
    if (wait_ns == 0)
        return plat_receive_now(socket, into, room);
    return plat_receive_within(socket, into, room,
                               wait_ns < LONGEST_WAIT_NS ? wait_ns : LONGEST_WAIT_NS);
}

static bool hear(struct loop *loop)
{
    ptrdiff_t got = receive(loop);
    loop->now_ns = plat_now_ns();
    if (loop->settings->udp)
        expire(loop);
    if (got > 0)
        loop->way->take(loop, (size_t)got);
    else if (!(got < 0 && plat_is_transient((int)-got)) &&
             (test_halted(loop->stream->test) || !loop->way->nothing(loop, (int)-got)))
        return false;
    if (loop->unsent_bytes == 0)
        return true;
    ptrdiff_t put = put_rest(loop);
    return put > 0 || go_on_after(loop, (int)-put);
}

/* ---- the loop ---- */

/* A receive that waits for one answer gives up when that is lost; with more under way, often enough. */
static void limit_receives(const struct loop *loop)
{
    const uint64_t timeout_ms = loop->settings->timeout_ns / MILLISECOND_NS;
    uint64_t limit_ms = loop->settings->outstanding > 1 ? timeout_ms / 4 : timeout_ms;
    if (loop->settings->udp && !loop->settings->spin)
        plat_option_set(loop->stream->socket, PLAT_RECEIVE_TIMEOUT_MS,
                        limit_ms > 0 ? (int)limit_ms : 1);
}

static void begin(struct loop *loop)
{
    struct stream *stream = loop->stream;
    const struct settings *settings = loop->settings;
    limit_receives(loop);
    traffic_wait_for_start(stream->test);
    stream->tried_ns = loop->now_ns = plat_now_ns();
    loop->open_ns = stream->tried_ns + settings->warm_up_ns;
    loop->limit = settings->count > 0 ? settings->count : UINT64_MAX;
    loop->close_ns = settings->count > 0 ? NEVER_NS : loop->open_ns + settings->seconds_ns;
    if (settings->rate_numerator != 0) /* a burst without a bound: nothing is ever skipped */
        pacing_init(&stream->pacing, stream->tried_ns, settings->rate_numerator,
                    settings->rate_denominator, UINT64_MAX);
}

void ask_run(struct stream *stream)
{
    struct loop loop = {.stream = stream,
                        .ask = stream->ask,
                        .settings = &stream->test->settings,
                        .way = way_of(&stream->test->settings)};
    begin(&loop);
    while (!test_halted(stream->test)) {
        if (!send_due(&loop))
            break;
        if (loop.over && loop.ask->underway.waiting == 0)
            break;
        if (!hear(&loop))
            break;
    }
    if (loop.settings->udp && loop.settings->by_hand && !loop.settings->echo)
        traffic_end_markers(stream, loop.ask->answered);
}
