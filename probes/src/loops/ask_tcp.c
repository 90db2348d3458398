/* Asks over TCP, where answers arrive in the order of the requests and none is lost. The mirror is
 * the host that answers. */
#include <string.h>

#include "loops/ask_loop.h"

/* This call may block. With one request in flight, the mirror never waits for us to read earlier
 * answers, so the two sides cannot block each other. */
static ptrdiff_t put_tcp(struct loop *loop, uint64_t sequence, uint64_t due_ns)
{
    const struct stream *stream = loop->stream;
    size_t sent_bytes;
    (void)sequence;
    (void)due_ns;
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

const struct ask_way ask_tcp = {put_tcp, NULL, room_tcp, take_tcp_answers, NULL, gone_tcp};
const struct ask_way ask_tcp_pipelined = {put_tcp_pipelined, put_rest, room_tcp, take_tcp_answers,
                                          NULL, gone_tcp};
