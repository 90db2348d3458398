/* UDP streams: a hello with the whole token, answered once a datagram and never longer. */
#include <string.h>

#include "loops/open.h"
#include "test/records.h"

#define HELLO_EVERY_NS (100 * MILLISECOND_NS)

/* ---- the listening side: a socket and a port a stream ---- */

static bool bind_streams(struct test *test)
{
    unsigned ports[STREAMS_MAX];
    for (unsigned i = 0; i < test->settings.streams; i++) {
        struct plat_address address;
        if (!open_socket(test, &test->stream[i].socket))
            return false;
        int error = plat_local_address(test->stream[i].socket, &address);
        if (error != 0) {
            test_fail_system(test, error, "getsockname");
            return false;
        }
        ports[i] = plat_address_port(&address);
    }
    record_ready(test, ports, test->settings.streams);
    if (test->settings.role == ROLE_MIRROR) /* where it is found, also when it has to open again */
        test->settings.port_first = test->settings.port_last = ports[0];
    return true;
}

/* What queued before the socket was connected may be a stranger's, and has no source any more once
 * the loop reads it: all of it goes, by its source. Data of the peer cannot be among it, for it
 * sends none before our answer. */
static void clear_queue(struct stream *stream, const struct plat_address *peer)
{
    unsigned char datagram[DATAPORT_CONTROL];
    struct plat_address from;
    while (plat_receive_from(stream->socket, datagram, sizeof datagram, &from) >= 0)
        stream->unexpected += !plat_address_equal(&from, peer);
}

/* The peer is known: the kernel keeps all others out from here on. */
static bool bind_to_peer(struct test *test, struct stream *stream, const struct plat_address *peer)
{
    unsigned char answer[DATAPORT_CONTROL];
    int error = plat_connect(stream->socket, peer, NEVER_NS);
    if (error != 0) {
        test_fail_system(test, error, "connect");
        return false;
    }
    clear_queue(stream, peer);
    dataport_control_write(answer, DATAPORT_ANSWER, stream->number, test->settings.token, 0);
    plat_send(stream->socket, answer, sizeof answer);
    return true;
}

bool open_udp_hear(struct test *test, struct stream *stream)
{
    unsigned char datagram[DATAPORT_CONTROL + 1]; /* one more, so that a longer one shows */
    struct plat_address from;
    for (int look = 0; look < 64; look++) {
        struct dataport_control hello;
        ptrdiff_t got = plat_receive_from(stream->socket, datagram, sizeof datagram, &from);
        if (got < 0)
            return false;
        if (dataport_control_read(datagram, (size_t)got, test->settings.token, &hello) &&
            hello.kind == DATAPORT_HELLO && hello.stream == stream->number)
            return bind_to_peer(test, stream, &from);
        stream->unexpected++;
    }
    return false;
}

bool open_udp_listen(struct test *test)
{
    uint64_t until_ns = test->requested_ns + test->settings.deadline_ns;
    bool open[STREAMS_MAX] = {false};
    unsigned opened = 0;
    if (!bind_streams(test))
        return false;
    while (opened < test->settings.streams && open_may_go_on(test, until_ns)) {
        struct plat_wait waits[STREAMS_MAX];
        unsigned which[STREAMS_MAX], count = 0;
        uint64_t slice_ns = plat_now_ns() + OPEN_SLICE_NS;
        for (unsigned i = 0; i < test->settings.streams; i++)
            if (!open[i]) {
                which[count] = i;
                waits[count++].socket = test->stream[i].socket;
            }
        plat_wait_any(waits, count, slice_ns < until_ns ? slice_ns : until_ns);
        for (unsigned i = 0; i < count; i++)
            if (waits[i].ready && open_udp_hear(test, &test->stream[which[i]])) {
                open[which[i]] = true;
                opened++;
            }
    }
    if (opened < test->settings.streams)
        test_fail(test, "no-peer", 0, "nobody with the token came before the deadline");
    return !test_failed(test);
}

/* ---- the connecting side ---- */

/* Looks at what has come, without taking data out of the queue: they prove as much as an answer. */
static bool answered(struct test *test, struct stream *stream, int *error)
{
    unsigned char datagram[DATAPORT_CONTROL + 1];
    struct dataport_control answer;
    ptrdiff_t got = plat_peek_now(stream->socket, datagram, sizeof datagram);
    *error = 0;
    if (got < 0) {
        if (!plat_is_transient((int)-got))
            *error = (int)-got;
        return false;
    }
    const enum dataport_kind expected =
        test->settings.role == ROLE_MIRROR ? DATAPORT_REQUEST : DATAPORT_DATA;
    bool comes = test->settings.role == ROLE_MIRROR || test->settings.role == ROLE_RECEIVE;
    if (comes && dataport_message_of(datagram, (size_t)got, expected, test->settings.token))
        return true;
    plat_receive_now(stream->socket, datagram, sizeof datagram);
    return dataport_control_read(datagram, (size_t)got, test->settings.token, &answer) &&
           answer.kind == DATAPORT_ANSWER && answer.stream == stream->number;
}

static bool greet(struct test *test, struct stream *stream, uint64_t until_ns)
{
    unsigned char hello[DATAPORT_CONTROL];
    uint64_t next_ns = 0;
    dataport_control_write(hello, DATAPORT_HELLO, stream->number, test->settings.token, 0);
    while (open_may_go_on(test, until_ns)) {
        struct plat_wait wait = {.socket = stream->socket};
        int error;
        uint64_t now = plat_now_ns();
        if (now >= next_ns) {
            plat_send(stream->socket, hello, sizeof hello);
            next_ns = now + HELLO_EVERY_NS;
        }
        uint64_t slice_ns = now + OPEN_SLICE_NS;
        plat_wait_any(&wait, 1, slice_ns < next_ns ? slice_ns : next_ns);
        if (!wait.ready)
            continue;
        if (answered(test, stream, &error))
            return true;
        if (error != 0) {
            test_fail_system(test, error, "hello");
            return false;
        }
    }
    test_fail(test, "connect-timeout", 0, "nobody answered the hello");
    return false;
}

bool open_udp_connect(struct test *test)
{
    uint64_t deadline_ns = test->requested_ns + test->settings.deadline_ns;
    uint64_t until_ns = test->requested_ns + OPEN_NS;
    for (unsigned i = 0; i < test->settings.streams; i++) {
        struct stream *stream = &test->stream[i];
        if (!open_socket(test, &stream->socket))
            return false;
        int error = plat_connect(stream->socket, &test->settings.to[i], NEVER_NS);
        if (error != 0) {
            test_fail_system(test, error, "connect");
            return false;
        }
    }
    for (unsigned i = 0; i < test->settings.streams && !test->settings.echo; i++)
        if (!greet(test, &test->stream[i], until_ns < deadline_ns ? until_ns : deadline_ns))
            return false;
    return true;
}
