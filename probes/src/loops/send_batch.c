/* The sending loop for many messages per call, by TCP, as datagrams or as whole frames. Frames
 * bypass the system's UDP and IP by a packet socket or a ring (AF_XDP); other messages use the
 * stream's socket. With a rate, a call takes only the messages that are due. Without a rate, a call
 * takes as many messages as there are places in memory. */
#include <stdlib.h>
#include <string.h>

#include "loops/send_loop.h"
#include "pure/datagram.h"

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
