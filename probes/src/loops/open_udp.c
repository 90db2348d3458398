/* Opens UDP streams by a hello (a datagram with the token) and the listener's answer to it. Each
 * hello is answered once, by a datagram that is not longer. The token is a secret that both sides
 * of the test know. An asker sends requests and measures round trips; a mirror answers requests. */
#include "loops/open.h"

#include <string.h>

#include "loops/traffic.h"
#include "pure/datagram.h"
#include "test/records.h"

#define HELLO_EVERY_NS (100 * MILLISECOND_NS)
#define UNREACHABLE_HELLOS 2 /* errors after which no more hellos are sent; one is ignored */
_Static_assert(STREAMS_MAX <= PLAT_WAITS, "a listener waits for all streams at once");

#define AGAIN_NS (2 * SECOND_NS) /* time limit for hellos from another port */

/* ---- the listening side: a socket and a port per stream ---- */

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
    if (test->settings.role == ROLE_MIRROR) /* so that open_udp_rehear opens this port again */
        test->settings.port_first = test->settings.port_last = ports[0];
    return true;
}

/* Datagrams that were queued before the socket was connected may be foreign, and the loop could not
 * see their source. So all of them are removed here, where foreign ones can be counted. None of
 * them is data of the peer, which sends no data before our answer. */
static void clear_queue(struct stream *stream, const struct plat_address *peer)
{
    unsigned char datagram[DATAPORT_CONTROL];
    struct plat_address from;
    while (plat_receive_from(stream->socket, datagram, sizeof datagram, &from) >= 0)
        stream->unexpected += !plat_address_equal(&from, peer);
}

/* Opens the capture of frames, if one is requested. Call this before the peer is told that it may
 * send. */
static bool open_capture(struct test *test, struct stream *stream)
{
    const size_t room = traffic_room(&test->settings);
    unsigned mtu_bytes;
    if (!test->settings.capture)
        return true;
    const bool v6 = plat_address_v6(&test->settings.bind) || plat_address_v6(&test->settings.to);
    if (plat_path_mtu(stream->socket, &mtu_bytes) &&
        datagram_ip_bytes(v6) + test->settings.message_bytes > mtu_bytes) {
        test_fail_saying(test, "message-too-long", 0, "message",
                         "longer than one frame: captured fragments are not reassembled");
        return false;
    }
    int error = plat_capture_open(&stream->capture, stream->socket, room);
    if (error != 0)
        test_fail_key(test, plat_word(error), error, "from");
    return error == 0;
}

/* Connects the socket to the peer, so that the kernel drops datagrams of all others. */
static bool bind_to_peer(struct test *test, struct stream *stream, const struct plat_address *peer)
{
    unsigned char answer[DATAPORT_CONTROL];
    int error = plat_connect(stream->socket, peer, NEVER_NS);
    if (error != 0) {
        test_fail_system(test, error, "connect");
        return false;
    }
    clear_queue(stream, peer);
    if (!open_capture(test, stream))
        return false;
    dataport_control_write(answer, DATAPORT_ANSWER, stream->number, test->settings.token, 0);
    plat_send(stream->socket, answer, sizeof answer);
    return true;
}

/* Reads a few datagrams of a listening stream that has no peer yet. Returns true if the peer's
 * hello was among them and is answered, and datagrams of others are dropped from now on. */
static bool hear_hello(struct test *test, struct stream *stream)
{
    unsigned char datagram[DATAPORT_CONTROL + 1]; /* one byte more reveals longer datagrams */
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
        struct plat_wait waits[STREAMS_MAX]; /* PLAT_WAITS at most */
        unsigned which[STREAMS_MAX], count = 0;
        uint64_t slice_ns = plat_now_ns() + NOTICE_NS;
        for (unsigned i = 0; i < test->settings.streams; i++)
            if (!open[i]) {
                which[count] = i;
                waits[count++] = (struct plat_wait){.socket = test->stream[i].socket};
            }
        plat_wait_any(waits, count, slice_ns < until_ns ? slice_ns : until_ns);
        for (unsigned i = 0; i < count; i++)
            if (waits[i].ready && hear_hello(test, &test->stream[which[i]])) {
                open[which[i]] = true;
                opened++;
            }
    }
    if (opened < test->settings.streams)
        test_fail(test, "no-peer", 0, "nobody with the token came before the deadline");
    return !test_failed(test);
}

/* ---- the connecting side ---- */

/* Whether the peer has answered. Data of the peer counts as an answer and stays in the queue.
 * *error becomes the error of the receive call, or 0. */
static bool has_answer(const struct stream *stream, plat_socket socket, int *error)
{
    const struct settings *settings = &stream->test->settings;
    unsigned char datagram[DATAPORT_CONTROL + 1]; /* one byte more reveals longer datagrams */
    struct dataport_control answer;
    ptrdiff_t got = plat_peek_now(socket, datagram, sizeof datagram);
    *error = got < 0 && !plat_is_transient((int)-got) ? (int)-got : 0;
    if (got < 0)
        return false;
    const enum dataport_kind expected =
        settings->role == ROLE_MIRROR ? DATAPORT_REQUEST : DATAPORT_DATA;
    bool comes = settings->role == ROLE_MIRROR || settings->role == ROLE_RECEIVE;
    if (comes && dataport_message_of(datagram, (size_t)got, expected, settings->token))
        return true;
    /* Data counts as an answer, because a peer that sends data does not answer another hello. */
    if (settings->role == ROLE_RECEIVE && settings->message_bytes < DATAPORT_BARE_MAX &&
        (size_t)got == settings->message_bytes &&
        memcmp(datagram, stream->bare, (size_t)got) == 0)
        return true;
    plat_receive_now(socket, datagram, sizeof datagram);
    return dataport_control_read(datagram, (size_t)got, settings->token, &answer) &&
           answer.kind == DATAPORT_ANSWER && answer.stream == stream->number;
}

/* Sends hellos from `socket`, for the first time at next_ns, until one is answered. If `socket` is
 * not the stream's socket, the asker changes its port: before each hello, it sends a leave (a
 * datagram that tells the mirror to give up the port) from the old port. In this case errors are
 * ignored, because the mirror's host may refuse hellos while the mirror changes its socket. */
static bool greet(struct stream *stream, plat_socket socket, uint64_t until_ns, uint64_t next_ns)
{
    struct test *test = stream->test;
    const bool again = socket != stream->socket;
    unsigned unreachable = 0;
    unsigned char leave[DATAPORT_CONTROL], hello[DATAPORT_CONTROL];
    dataport_control_write(leave, DATAPORT_LEAVE, stream->number, test->settings.token, 0);
    dataport_control_write(hello, DATAPORT_HELLO, stream->number, test->settings.token, 0);
    while (open_may_go_on(test, until_ns)) {
        struct plat_wait wait = {.socket = socket};
        int error;
        uint64_t now = plat_now_ns();
        if (now >= next_ns) {
            if (again)
                plat_send(stream->socket, leave, sizeof leave);
            plat_send(socket, hello, sizeof hello);
            next_ns = now + (again && next_ns == 0 ? NOTICE_NS : HELLO_EVERY_NS);
        }
        uint64_t slice_ns = now + NOTICE_NS;
        plat_wait_any(&wait, 1, slice_ns < next_ns ? slice_ns : next_ns);
        if (!wait.ready)
            continue;
        if (has_answer(stream, socket, &error))
            return true;
        if (plat_is_unreachable(error) && ++unreachable < UNREACHABLE_HELLOS)
            continue;
        if (error != 0 && !again) {
            test_fail_system(test, error, "hello");
            return false;
        }
    }
    if (test_halted(test))
        return false;
    if (again)
        test_fail(test, "peer-vanished", 0, "nobody answered the hello from another port");
    else
        test_fail(test, "connect-timeout", 0, "nobody answered the hello");
    return false;
}

/* With many streams, all hellos are sent before the first answer is awaited. Otherwise each stream
 * would take one more round trip. */
static uint64_t greet_at_once(struct test *test)
{
    unsigned char hello[DATAPORT_CONTROL];
    if (test->settings.streams <= WORKERS_MAX)
        return 0;
    for (unsigned i = 0; i < test->settings.streams; i++) {
        dataport_control_write(hello, DATAPORT_HELLO, i, test->settings.token, 0);
        plat_send(test->stream[i].socket, hello, sizeof hello);
    }
    return plat_now_ns() + HELLO_EVERY_NS;
}

bool open_udp_connect(struct test *test)
{
    for (unsigned i = 0; i < test->settings.streams; i++) {
        struct stream *stream = &test->stream[i];
        const struct plat_address to = settings_to(&test->settings, i);
        if (!open_socket(test, &stream->socket))
            return false;
        int error = plat_connect(stream->socket, &to, NEVER_NS);
        if (error != 0) {
            test_fail_system(test, error, "connect");
            return false;
        }
        if (!open_capture(test, stream))
            return false;
    }
    const uint64_t next_ns = test->settings.echo ? 0 : greet_at_once(test);
    for (unsigned i = 0; i < test->settings.streams && !test->settings.echo; i++)
        if (!greet(&test->stream[i], test->stream[i].socket, open_until_ns(test), next_ns))
            return false;
    return true;
}

/* ---- round trips under 16 bytes, after a time-out ---- */

/* The asker changes to another port, because nothing else distinguishes a late answer from the
 * answer to the next request. The mirror gives up the old port and waits for a hello from the new
 * port. */
bool open_udp_elsewhere(struct stream *stream)
{
    struct test *test = stream->test;
    plat_socket fresh;
    bool ready = open_socket(test, &fresh);
    int error = ready ? plat_connect(fresh, &test->settings.to, NEVER_NS) : 0;
    if (error != 0)
        test_fail_system(test, error, "connect");
    ready = ready && error == 0 &&
            (test->settings.echo || greet(stream, fresh, plat_now_ns() + AGAIN_NS, 0));
    if (fresh != PLAT_NO_SOCKET)
        plat_close(test_swap_socket(stream, fresh));
    return ready && !test_halted(test);
}

bool open_udp_rehear(struct stream *stream)
{
    struct test *test = stream->test;
    plat_socket fresh;
    plat_close(test_swap_socket(stream, PLAT_NO_SOCKET)); /* the new socket needs the same port */
    bool ready = open_socket(test, &fresh);
    test_swap_socket(stream, fresh);
    while (ready && open_may_go_on(test, NEVER_NS)) {
        struct plat_wait wait = {.socket = fresh};
        plat_wait_any(&wait, 1, plat_now_ns() + NOTICE_NS);
        if (wait.ready && hear_hello(test, stream))
            return true;
    }
    return false;
}
