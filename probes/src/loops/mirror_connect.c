/* Answers requests that have a TCP connection each; the asker closes the connections. The asker is
 * the side that sends requests. Connections of other hosts do not delay the asker. A caller is the
 * other end of a connection. */
#include "loops/callers.h"
#include "loops/round_trip.h"
#include "loops/traffic.h"

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
        mirror_requested(stream);
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
