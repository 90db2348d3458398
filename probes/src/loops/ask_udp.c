/* Asks over UDP, where answers have numbers and may be lost, late, duplicate or foreign. */
#include <string.h>

#include "loops/ask_loop.h"
#include "loops/open.h"

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

const struct ask_way ask_udp = {put_udp, NULL, room_udp, take_udp_answer, expire_udp, gone_udp};
