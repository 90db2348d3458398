/* The sending loops make one send call per message or batch, paced or as fast as possible. A loop
 * reads the clock for each message only if it is paced or writes the time into the message. A
 * random sample of the calls is timed, which takes two more readings each (call_time.h). After
 * every 32nd timed call the loop checks whether the socket has room. The loop does not know when
 * the measurement begins and ends: the supervisor reads the loop's counters at these two times. A
 * batch is a group of messages that one call sends. */
#include <stdlib.h>
#include <string.h>

#include "loops/traffic.h"
#include "pure/datagram.h"

struct work {
    bool stamped; /* a message carries the time of its sending if no schedule gives it one */
    /* Sends one whole message; returns its bytes, or the negative error number. */
    ptrdiff_t (*send)(struct stream *stream, uint64_t sequence, uint64_t due_ns);
    /* Called after the last message. */
    void (*finish)(struct stream *stream, uint64_t sent);
};

/* ---- TCP ---- */

/* If the test is halted in the middle of a message, the sent part counts as bytes, not as a
 * message. */
static ptrdiff_t send_tcp(struct stream *stream, uint64_t sequence, uint64_t due_ns)
{
    size_t size = stream->test->settings.message_bytes, sent_bytes;
    (void)sequence;
    (void)due_ns;
    ptrdiff_t put =
        traffic_send_all(stream->test, stream->socket, stream->buffer, size, &sent_bytes);
    if (put <= 0)
        stream->partial_bytes = sent_bytes;
    return put;
}

/* After the last message: in a test of a fixed number of messages (`count`), sends our FIN and waits
 * for the peer's FIN. */
static void send_finish_tcp(struct stream *stream)
{
    if (stream->test->settings.count == 0 || test_halted(stream->test))
        return;
    plat_finish(stream->socket);
    ptrdiff_t got;
    do
        got = plat_receive(stream->socket, stream->buffer, stream->test->settings.message_bytes);
    while (got > 0 || (got < 0 && plat_is_transient((int)-got) && !test_halted(stream->test)));
}

static void finish_tcp(struct stream *stream, uint64_t sent)
{
    (void)sent;
    send_finish_tcp(stream);
}

/* ---- UDP ---- */

static ptrdiff_t send_udp(struct stream *stream, uint64_t sequence, uint64_t due_ns)
{
    size_t size = stream->test->settings.message_bytes;
    dataport_data_write(stream->buffer, size, stream->tag, stream->number, sequence,
                        due_ns);
    return plat_send(stream->socket, stream->buffer, size);
}

static const struct work tcp_work = {false, send_tcp, finish_tcp};
static const struct work udp_work = {false, send_udp, traffic_end_markers};
static const struct work udp_stamped_work = {true, send_udp, traffic_end_markers};

static const struct work *work_of(const struct settings *settings)
{
    if (!settings->udp)
        return &tcp_work;
    return settings->message_bytes >= DATAPORT_HEADER_MAX ? &udp_stamped_work : &udp_work;
}

/* ---- the loop ---- */

static bool has_gone(struct stream *stream, int error)
{
    return stream->test->settings.udp ? plat_is_peer_gone(error) : traffic_tcp_gone(error);
}

/* Handles a send call that accepted nothing, and counts its `unsent` messages. Returns false if the
 * loop must end. Returns true if the next message may be sent. */
static bool send_may_go_on(struct stream *stream, int error, uint64_t sent, uint64_t unsent)
{
    struct test *test = stream->test;
    if (test_halted(test))
        return false;
    if (plat_is_transient(error)) {
        /* With a rate, the due time of these messages has passed, so they are skipped. Otherwise
         * the next call sends them. */
        stream->pacing.skipped += test->settings.rate_numerator != 0 ? unsent : 0;
        return true;
    }
    stream->refused += unsent;
    if (plat_is_no_buffers(error)) {
        stream->local_drops += sent > 0 ? unsent : 0;
        if (sent > 0 || plat_now_ns() - stream->tried_ns < ALL_REFUSED_NS)
            return true;
        test_fail(test, "no-buffers", error, "every send call was refused");
    } else if (has_gone(stream, error)) {
        /* After our measurement the receiver may have enough data and leave first. */
        if (atomic_load(&test->in_tail))
            return false;
        if (test->settings.udp && !traffic_refused(stream))
            return true;
        test_fail(test, "peer-vanished", error, "the peer ended while we were sending");
    } else if (!plat_is_unreachable(error) || traffic_unreachable(stream)) {
        test_fail_system(test, error, "send");
    } else {
        return true;
    }
    return false;
}

/* Sleeps until worst_sleep_ns (test.h) before the next message is due, then spins until it is due.
 * A thread that must not spin only sleeps. Returns false if the test is halted. */
static bool send_wait_until_due(struct stream *stream, uint64_t *due_ns, uint64_t *now_ns)
{
    /* A thread that must not spin sleeps until the message is due, wakes late, and catches up. */
    const uint64_t worst_ns = test_worker(stream)->spins ? stream->test->worst_sleep_ns : 0;
    while (!test_halted(stream->test)) {
        *now_ns = plat_now_ns();
        if (pacing_now(&stream->pacing, *now_ns, due_ns))
            return true;
        traffic_sleep(pacing_sleep_ns(*due_ns, *now_ns, worst_ns));
    }
    return false;
}

/* Counts whether the next call would find room in the socket buffer. */
static void look_for_room(struct stream *stream)
{
    struct plat_wait wait = {.socket = stream->socket, .sending = true};
    plat_wait_any(&wait, 1, 0);
    stream->calls.looks++;
    stream->calls.rooms += wait.ready;
}

/* The time of a call that accepted nothing does not count: it waited for the socket, or failed. */
static ptrdiff_t send_timed(struct stream *stream, const struct work *work, uint64_t sequence,
                            uint64_t due_ns)
{
    uint64_t begun_ns = plat_now_ns();
    ptrdiff_t put = work->send(stream, sequence, due_ns);
    uint64_t ended_ns = plat_now_ns();
    if (put > 0)
        calltime_add(&stream->calls, ended_ns - begun_ns);
    /* The check follows the timed call, so that it cannot affect this call. */
    if (put > 0 && calltime_look_due(&stream->calls))
        look_for_room(stream);
    return put;
}

/* Publishes the number of messages sent so far, for readers of the counters. */
static void send_count(struct stream *stream, uint64_t sent, uint64_t bytes)
{
    atomic_store_explicit(&stream->marks.messages, sent, memory_order_relaxed);
    atomic_store_explicit(&stream->marks.bytes, bytes, memory_order_relaxed);
}

void send_run(struct stream *stream)
{
    struct test *test = stream->test;
    const struct work *work = work_of(&test->settings);
    const uint64_t limit = traffic_share(stream), size = test->settings.message_bytes;
    const bool paced = test->settings.rate_numerator != 0;
    uint64_t sent = 0, due_ns = 0, now_ns = 0;

    traffic_wait_for_start(test);
    stream->tried_ns = plat_now_ns();
    calltime_init(&stream->calls, (uint32_t)stream->tried_ns + stream->number);
    if (paced)
        pacing_init(&stream->pacing, stream->tried_ns, test->settings.rate_numerator,
                    test->settings.rate_denominator, test->settings.burst);
    while (sent < limit && !test_halted(test)) {
        if (paced) {
            if (!send_wait_until_due(stream, &due_ns, &now_ns))
                break;
        } else if (work->stamped) {
            due_ns = plat_now_ns();
        }
        if (sent == 0)
            stream->first_ns = plat_now_ns();
        ptrdiff_t put = calltime_due(&stream->calls) ? send_timed(stream, work, sent, due_ns)
                                                     : work->send(stream, sent, due_ns);
        if (paced)
            pacing_sent(&stream->pacing, now_ns);
        if (put <= 0) {
            if (!send_may_go_on(stream, (int)-put, sent, 1))
                break;
            continue;
        }
        sent++;
        send_count(stream, sent, sent * size);
        if (sent == 1)
            traffic_begun(stream);
    }
    atomic_store(&stream->last_send_ns, plat_now_ns());
    send_count(stream, sent, sent * size + stream->partial_bytes);
    work->finish(stream, sent);
}

/* ---- batches ---- */

_Static_assert(DATAGRAM_HEADERS_MAX == PLAT_HEADERS, "what is caught has room");

struct send_batch {
    struct plat_batch places; /* each holds headers and a message, and is sent unchanged */
    plat_socket frames;       /* PLAT_NO_SOCKET: messages use the stream's own socket */
    struct plat_ring ring;    /* count 0: there is no ring, messages use a socket */
    struct datagram datagram; /* has headers only if messages are sent as frames */
    uint64_t calls;           /* send calls that accepted something */
};

/* ---- before the first message ---- */

bool send_batch_prepare(struct stream *stream)
{
    const struct settings *settings = &stream->test->settings;
    struct send_batch *batch = calloc(1, sizeof *batch);
    stream->batch = batch;
    if (batch == NULL)
        return false;
    batch->frames = batch->ring.socket = PLAT_NO_SOCKET;
    batch->places.count = traffic_batch(settings);
    batch->places.bytes = calloc(batch->places.count, PLAT_HEADERS + settings->message_bytes);
    return batch->places.bytes != NULL;
}

void send_batch_free(struct send_batch *batch)
{
    if (batch == NULL)
        return;
    plat_close(batch->frames);
    plat_ring_close(&batch->ring);
    free(batch->places.bytes);
    free(batch);
}

/* Our frames are never fragmented, so a message must fit into one. */
static bool fits(struct stream *stream, bool v6)
{
    unsigned mtu_bytes;
    if (!plat_path_mtu(stream->socket, &mtu_bytes) ||
        datagram_ip_bytes(v6) + stream->test->settings.message_bytes <= mtu_bytes)
        return true;
    test_fail_saying(stream->test, "message-too-long", 0, "message",
                     "longer than one frame: raw frames are not fragmented");
    return false;
}

/* Learns the headers from a datagram that the system sends. The datagram is an answer to a hello,
 * which the peer ignores at this time. */
static bool open_frames(struct stream *stream, struct send_batch *batch)
{
    struct test *test = stream->test;
    const size_t size = test->settings.message_bytes;
    unsigned char control[DATAPORT_CONTROL];
    struct plat_headers caught;
    struct plat_address own;
    const bool v6 = plat_local_address(stream->socket, &own) == 0 && plat_address_v6(&own);
    if (!fits(stream, v6))
        return false;
    dataport_control_write(control, DATAPORT_ANSWER, stream->number, test->settings.token, 0);
    const size_t length = sizeof control;
    const bool from_ring = test->settings.method == METHOD_XDP;
    int error =
        from_ring ? plat_ring_open(&batch->ring, stream->socket, size, control, length, &caught)
                  : plat_frames_open(&batch->frames, stream->socket, control, length, &caught);
    if (error == PLAT_NO_WIRE)
        test_fail_saying(test, "capability-missing", 0, "method",
                         "raw frames cannot be sent on loopback");
    else if (error != 0)
        test_fail_key(test, plat_word(error), error, "method");
    else if (!datagram_init(&batch->datagram, caught.bytes, caught.length, v6, stream->buffer, size,
                            dataport_header_bytes(size)))
        test_fail_saying(test, "capability-missing", 0, "method",
                         "this interface's frames have unknown headers");
    return !test_failed(test);
}

static unsigned char *place_of(const struct send_batch *batch, unsigned number)
{
    return batch->ring.count > 0 ? plat_ring_place(&batch->ring, number)
                                 : batch->places.bytes + number * batch->places.room;
}

/* Writes a whole message into every place. Later only the headers of messages change. */
static bool fill_places(struct stream *stream)
{
    struct send_batch *batch = stream->batch;
    const size_t size = stream->test->settings.message_bytes;
    if (stream->test->settings.method >= METHOD_PACKET && !open_frames(stream, batch))
        return false;
    batch->places.room = batch->datagram.header_bytes + size;
    const unsigned count = batch->ring.count > 0 ? batch->ring.count : batch->places.count;
    for (unsigned i = 0; i < count; i++) {
        unsigned char *place = place_of(batch, i);
        memcpy(place, batch->datagram.headers, batch->datagram.header_bytes);
        memcpy(place + batch->datagram.header_bytes, stream->buffer, size);
    }
    return true;
}

/* ---- the loop ---- */

static void write_message(struct stream *stream, unsigned at, uint64_t sequence, uint64_t due_ns)
{
    const struct send_batch *batch = stream->batch;
    unsigned char *place = place_of(batch, at);
    dataport_data_write(place + batch->datagram.header_bytes, stream->test->settings.message_bytes,
                        stream->tag, stream->number, sequence, due_ns);
    if (batch->datagram.header_bytes > 0)
        datagram_seal(&batch->datagram, place);
}

/* Writes the messages of the next call, at most `most`, and returns how many there are; 0 if the
 * test is halted. TCP messages are not written, because all of them are identical. */
static unsigned gather(struct stream *stream, uint64_t sent, unsigned most)
{
    const bool udp = stream->test->settings.udp;
    unsigned ready = 0;
    uint64_t due_ns, now_ns;
    if (stream->test->settings.rate_numerator == 0) {
        now_ns = plat_now_ns();
        for (; udp && ready < most; ready++)
            write_message(stream, ready, sent + ready, now_ns);
        return most;
    }
    if (!send_wait_until_due(stream, &due_ns, &now_ns))
        return 0;
    do {
        if (udp)
            write_message(stream, ready, sent + ready, due_ns);
        pacing_sent(&stream->pacing, now_ns);
        ready++;
    } while (ready < most && pacing_now(&stream->pacing, now_ns, &due_ns));
    return ready;
}

/* Sends the messages in the first `ready` places. A refused message counts as unsent. With a rate,
 * the messages after it count as unsent, too, because the time at which they were due has passed.
 * Without a rate, the next call sends them. Returns false if the loop must end. */
static bool hand_over(struct stream *stream, unsigned ready, uint64_t *sent)
{
    const bool paced = stream->test->settings.rate_numerator != 0;
    struct send_batch *batch = stream->batch;
    const plat_socket socket = batch->frames != PLAT_NO_SOCKET ? batch->frames : stream->socket;
    for (unsigned sent_places = 0; sent_places < ready;) {
        ptrdiff_t put =
            batch->ring.count > 0
                ? plat_ring_send(&batch->ring, ready, batch->places.room)
                : plat_send_many(socket, &batch->places, sent_places, ready - sent_places);
        if (put <= 0)
            return send_may_go_on(stream, (int)-put, *sent, paced ? ready - sent_places : 1);
        const bool first = *sent == 0;
        batch->calls++;
        sent_places += (unsigned)put;
        *sent += (uint64_t)put;
        send_count(stream, *sent, *sent * stream->test->settings.message_bytes);
        if (first)
            traffic_begun(stream);
    }
    return true;
}

/* Sends all messages by as many calls as needed. If the test is halted meanwhile, the sent part of
 * a message counts as bytes. Returns false if the loop must end. */
static bool hand_over_tcp(struct stream *stream, unsigned ready, uint64_t *sent)
{
    const size_t size = stream->test->settings.message_bytes;
    const uint64_t before = *sent;
    for (size_t sent_bytes = 0; sent_bytes < ready * size;) {
        ptrdiff_t put = plat_send_gathered(stream->socket, stream->buffer, size, ready, sent_bytes);
        if (put <= 0 && (!plat_is_transient((int)-put) || test_halted(stream->test))) {
            stream->partial_bytes = sent_bytes % size;
            return send_may_go_on(stream, (int)-put, *sent, ready - (unsigned)(sent_bytes / size));
        }
        if (put <= 0)
            continue;
        stream->batch->calls++;
        sent_bytes += (size_t)put;
        *sent = before + sent_bytes / size;
        send_count(stream, *sent, *sent * size);
        if (before == 0 && sent_bytes == (size_t)put)
            traffic_begun(stream);
    }
    return true;
}

/* Number of messages that the next call may take; 0 if the ring had no room. `rest` is the number
 * of messages still to send. */
static unsigned room_of(struct send_batch *batch, uint64_t rest)
{
    unsigned most = batch->places.count;
    if (batch->ring.count > 0) {
        const unsigned free = plat_ring_free(&batch->ring);
        most = free < most ? free : most;
    }
    return rest < most ? (unsigned)rest : most;
}

/* Lets a ring without room make progress, and handles its error. Returns false if the loop must
 * end. */
static bool nudge(struct stream *stream, uint64_t sent)
{
    ptrdiff_t put = plat_ring_send(&stream->batch->ring, 0, 0);
    return put == 0 || send_may_go_on(stream, (int)-put, sent, 0);
}

/* A frame that the interface dropped has a sequence number, so it counts as sent and lost. A frame
 * that was not accepted does not count as sent. */
static void end_ring(struct stream *stream, uint64_t *sent)
{
    struct plat_ring *ring = &stream->batch->ring;
    if (ring->count == 0)
        return;
    *sent -= plat_ring_left(ring);
    stream->local_drops += ring->dropped;
    send_count(stream, *sent, *sent * stream->test->settings.message_bytes);
}

void send_batch_run(struct stream *stream)
{
    struct test *test = stream->test;
    const uint64_t limit = traffic_share(stream);
    uint64_t sent = 0;
    const bool udp = test->settings.udp;
    bool on = !udp || fill_places(stream);
    traffic_wait_for_start(test);
    stream->tried_ns = plat_now_ns();
    if (test->settings.rate_numerator != 0)
        pacing_init(&stream->pacing, stream->tried_ns, test->settings.rate_numerator,
                    test->settings.rate_denominator, test->settings.burst);
    while (on && sent < limit && !test_halted(test)) {
        const unsigned room = room_of(stream->batch, limit - sent);
        if (room == 0) {
            on = nudge(stream, sent);
            continue;
        }
        const unsigned ready = gather(stream, sent, room);
        if (sent == 0)
            stream->first_ns = plat_now_ns();
        on = ready > 0 &&
             (udp ? hand_over(stream, ready, &sent) : hand_over_tcp(stream, ready, &sent));
    }
    end_ring(stream, &sent);
    atomic_store(&stream->last_send_ns, plat_now_ns());
    if (udp) {
        traffic_end_markers(stream, sent);
        return;
    }
    send_count(stream, sent, sent * test->settings.message_bytes + stream->partial_bytes);
    send_finish_tcp(stream);
}

uint64_t send_batch_calls(const struct stream *stream)
{
    return stream->batch->calls;
}

/* ---- many streams in one thread ---- */

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
