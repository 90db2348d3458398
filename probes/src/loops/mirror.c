/* The mirror answers requests that have the token, one by one, and nothing else. The asker is the
 * side that sends the requests. Answers and requests are of different kinds, so that two mirrors
 * cannot keep each other busy. A UDP answer is never longer than its request. A caller is the other
 * end of a connection. */
#include <stdlib.h>
#include <string.h>

#include "loops/open.h"
#include "loops/round_trip.h"
#include "loops/traffic.h"

#define STAMP_WAIT_NS (2 * MILLISECOND_NS)

/* ---- state ---- */

bool mirror_prepare(struct stream *stream)
{
    const struct settings *settings = &stream->test->settings;
    struct mirror *mirror = stream->mirror = calloc(1, sizeof *mirror);
    if (mirror == NULL)
        return false;
    mirror->response = malloc(settings->response_bytes);
    if (mirror->response != NULL)
        dataport_fill(mirror->response, settings->response_bytes, 2);
    return mirror->response != NULL;
}

void mirror_free(struct mirror *mirror)
{
    if (mirror != NULL)
        free(mirror->response);
    free(mirror);
}

static void mirror_answered(struct stream *stream)
{
    struct mirror *mirror = stream->mirror;
    uint64_t bytes = ++mirror->answered * stream->test->settings.message_bytes;
    mirror->last_ns = plat_now_ns();
    atomic_store_explicit(&stream->marks.messages, mirror->answered, memory_order_relaxed);
    atomic_store_explicit(&stream->marks.bytes, bytes, memory_order_relaxed);
}

/* Spins for the time that the mirror must hold each request. Returns false if the test is
 * halted. */
static bool mirror_hold(const struct stream *stream)
{
    const struct test *test = stream->test;
    if (test->settings.hold_ns == 0)
        return true;
    uint64_t until_ns = plat_now_ns() + test->settings.hold_ns;
    while (plat_now_ns() < until_ns)
        if (test_halted(test))
            return false;
    return true;
}

/* Counts a request that the mirror has received completely; due_ns: the asker's clock when it was
 * due; 0: not known. */
static void mirror_requested(struct stream *stream, uint64_t due_ns)
{
    struct mirror *mirror = stream->mirror;
    struct way_there *way = &mirror->way;
    const uint64_t now_ns = due_ns != 0 || mirror->received == 0 ? plat_now_ns() : 0;
    if (mirror->received++ == 0)
        mirror->first_ns = now_ns;
    if (due_ns == 0)
        return;
    if (way->count++ == 0)
        way->first_ns = now_ns - due_ns;
    const int64_t more_ns = (int64_t)(now_ns - due_ns - way->first_ns);
    way->sum_ns += more_ns;
    if (more_ns < way->fastest_ns)
        way->fastest_ns = more_ns;
    if (more_ns > way->slowest_ns)
        way->slowest_ns = more_ns;
}

static ptrdiff_t receive_stamped(const struct stream *stream, size_t room,
                                 struct plat_stamp *received)
{
    return plat_receive_stamped(stream->socket, stream->buffer, room,
                                !stream->test->settings.spin, received);
}

/* ---- UDP ---- */

static bool is_request(const struct stream *stream, size_t length, struct dataport_data *data)
{
    if (length != stream->test->settings.message_bytes)
        return false;
    *data = (struct dataport_data){.sequence = 0};
    if (length < 16)
        return dataport_bare_is(stream->buffer, length, DATAPORT_REQUEST);
    return dataport_message_read(stream->buffer, length, DATAPORT_REQUEST, stream->tag, data) &&
           data->stream == stream->number;
}

/* Sends the response to a request. Returns false if the loop must end. */
static bool respond(struct stream *stream, const struct dataport_data *data)
{
    const size_t size = stream->test->settings.response_bytes;
    dataport_message_write(stream->mirror->response, size, DATAPORT_RESPONSE, stream->tag,
                           stream->number, data->sequence, data->due_ns);
    ptrdiff_t put = plat_send(stream->socket, stream->mirror->response, size);
    stream->mirror->stamped++;
    if (put > 0) {
        mirror_answered(stream);
        return true;
    }
    stream->mirror->stamped--;
    stream->refused++;
    int error = (int)-put;
    if (plat_is_transient(error) || plat_is_no_buffers(error) || plat_is_peer_gone(error) ||
        plat_is_unreachable(error))
        return !test_halted(stream->test);
    if (!test_halted(stream->test))
        test_fail_system(stream->test, error, "send");
    return false;
}

/* Records the time from the receive stamp of a request to the send stamp of its answer. An answer
 * without both stamps, or with stamps of different clocks, is left out. */
static void stamp(struct stream *stream, const struct plat_stamp *received)
{
    struct mirror *mirror = stream->mirror;
    struct plat_stamp sent;
    do
        if (!plat_sent_stamp(stream->socket, STAMP_WAIT_NS, &sent))
            return;
    while ((int32_t)(sent.number + 1 - mirror->stamped) < 0); /* of an earlier answer */
    mirror->stamped = sent.number + 1; /* a send call that was refused may have taken a number */
    if (received->ns == 0 || sent.hardware != received->hardware || sent.ns < received->ns)
        return;
    if (mirror->stack.count > 0 && mirror->hardware != sent.hardware)
        return;
    mirror->hardware = sent.hardware;
    histogram_add(&mirror->stack, sent.ns - received->ns);
}

static void end_stamps(struct stream *stream)
{
    if (stream->mirror->card[0] != 0)
        plat_stamps_off(stream->mirror->card);
    stream->mirror->card[0] = 0;
}

static bool begin_stamps(struct stream *stream)
{
    struct test *test = stream->test;
    char *card = stream->mirror->card;
    end_stamps(stream); /* of the previous socket */
    if (!test_interface(test, card))
        card[0] = 0;
    stream->mirror->stamped = 0;
    int error = plat_stamps_on(stream->socket, card[0] != 0 ? card : NULL);
    if (error != 0)
        test_fail_key(test, plat_word(error), error, "stamps");
    return error == 0;
}

/* An asker changes its port only if messages are too short for a sequence number. */
static bool may_leave(const struct settings *settings)
{
    return settings->listen && settings->response_bytes < 16;
}

/* Handles a datagram that is not a request. Returns false if the loop must end. */
static bool took_other(struct stream *stream, size_t length)
{
    struct dataport_control control = {.kind = 0};
    uint64_t answers = stream->answers;
    if (!traffic_control(stream, stream->buffer, length, &control))
        stream->foreign++;
    stream->mirror->stamped += (uint32_t)(stream->answers - answers);
    if (control.kind == DATAPORT_LEAVE && may_leave(&stream->test->settings))
        return open_udp_rehear(stream) && (!stream->test->settings.stamps || begin_stamps(stream));
    return control.kind != DATAPORT_END || !stream->test->settings.by_hand;
}

static void mirror_udp(struct stream *stream, size_t room)
{
    const bool stamps = stream->test->settings.stamps;
    struct plat_stamp received = {.ns = 0};
    struct dataport_data data;
    bool more = true;
    while (more && !test_halted(stream->test)) {
        ptrdiff_t got = stamps ? receive_stamped(stream, room, &received)
                               : traffic_receive(stream, stream->buffer, room);
        if (got <= 0) {
            more = traffic_nothing(stream, (int)-got);
        } else if (!is_request(stream, (size_t)got, &data)) {
            more = took_other(stream, (size_t)got);
        } else {
            uint64_t answered = stream->mirror->answered;
            mirror_requested(stream, data.due_ns);
            round_trip_order(data.sequence, &stream->mirror->highest,
                             &stream->mirror->reordered);
            more = mirror_hold(stream) && respond(stream, &data);
            if (stamps && stream->mirror->answered > answered)
                stamp(stream, &received);
        }
    }
}

/* ---- TCP ---- */

/* TCP: sends the response. Returns false if the connection or the test has ended. */
static bool mirror_respond(struct stream *stream, plat_socket socket)
{
    const size_t size = stream->test->settings.response_bytes;
    size_t sent_bytes;
    if (traffic_send_all(stream->test, socket, stream->mirror->response, size, &sent_bytes) <= 0)
        return false;
    mirror_answered(stream);
    return true;
}

/* The asker ends the connection. Only the asker knows whether this end is regular. */
static void mirror_tcp(struct stream *stream)
{
    const size_t size = stream->test->settings.message_bytes;
    while (!test_halted(stream->test) && traffic_receive_all(stream, stream->buffer, size) > 0) {
        struct dataport_data data = {.due_ns = 0};
        dataport_message_read(stream->buffer, size, DATAPORT_REQUEST, stream->tag, &data);
        mirror_requested(stream, data.due_ns);
        if (!mirror_hold(stream) || !mirror_respond(stream, stream->socket))
            return;
    }
}

void mirror_run(struct stream *stream)
{
    const struct settings *settings = &stream->test->settings;
    const bool ready = !settings->stamps || begin_stamps(stream);
    if (ready && settings->udp)
        mirror_udp(stream, traffic_room(settings));
    else if (ready)
        mirror_tcp(stream);
    end_stamps(stream);
}

/* ---- a TCP connection for each request ---- */

/* The first caller with the token is the peer named in results. */
static void trust(struct callers *callers, struct caller *caller)
{
    struct test *test = callers->test;
    plat_option_set(caller->socket, PLAT_SEND_TIMEOUT_MS, NOTICE_NS / MILLISECOND_NS);
    caller->trusted = true;
    caller->got_bytes = 0;
    if (test->begun_streams > 0)
        return;
    test->peer = caller->peer;
    traffic_begun(&test->stream[0]);
}

/* Reads data of a caller, and answers a complete request. Returns false if nothing is left to read
 * now. */
static bool hear_request(struct callers *callers, unsigned index)
{
    struct stream *stream = &callers->test->stream[0];
    struct caller *caller = &callers->caller[index];
    const uint64_t size = stream->test->settings.message_bytes;
    /* A caller that was answered can only end its connection. */
    size_t room = caller->answered ? 1 : (size_t)(size - caller->got_bytes);
    ptrdiff_t got = plat_receive_now(caller->socket, stream->buffer, room);
    if (got < 0 && plat_is_transient((int)-got))
        return false;
    if (got > 0 && !caller->answered)
        caller->got_bytes += (uint64_t)got;
    if (got > 0 && !caller->answered && caller->got_bytes < size)
        return true;
    bool whole = got > 0 && !caller->answered;
    if (whole) {
        mirror_requested(stream, 0);
        caller->answered = mirror_hold(stream) && mirror_respond(stream, caller->socket);
    }
    if (!whole || !caller->answered)
        callers_dismiss(callers, index);
    return false; /* the asker closes later, after it has read the answer */
}

static void hear_caller(struct callers *callers, unsigned index)
{
    unsigned number;
    if (!callers->caller[index].trusted) {
        if (!callers_preface(callers, index, &number))
            return;
        trust(callers, &callers->caller[index]);
    }
    while (!test_halted(callers->test) && hear_request(callers, index))
        ;
}

void mirror_connect_run(struct stream *stream)
{
    struct test *test = stream->test;
    struct callers callers = {.test = test, .listener = stream->socket};
    while (!test_halted(test))
        callers_wait(&callers, test->settings.spin ? 0 : plat_now_ns() + NOTICE_NS, hear_caller);
    while (callers.count > 0)
        callers_dismiss(&callers, 0);
}
