/* Asks with a TCP connection for each transaction, from connect to close. A transaction is a
 * request and the answer to it. The clock runs from right before the connect call to right after
 * the receive call that returned the last byte. In an open loop, latency counts from the due time.
 * The time to close a socket affects the rate, but not the latency. */
#include <string.h>

#include "loops/ask_loop.h"
#include "loops/open.h"

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
    const struct settings *settings = &stream->test->settings;
    size_t received_bytes = 0;
    while (received_bytes < settings->response_bytes) {
        ptrdiff_t got = traffic_receive(stream, stream->ask->into + received_bytes,
                                        settings->response_bytes - received_bytes);
        if (got > 0)
            received_bytes += (size_t)got;
        else if (got == 0 || !plat_is_transient((int)-got) || test_halted(stream->test))
            return report_end(stream, (int)-got);
    }
    return true;
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
