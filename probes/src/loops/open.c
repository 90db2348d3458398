/* Opens listening or connecting sockets over TCP or UDP, with the options of a request. The preface
 * is the first bytes of a TCP connection, with the token (a secret that both sides of the test
 * know). A caller is the other end of an accepted connection. A hello is the datagram with the
 * token that opens a UDP stream; the listener answers each once, by a datagram that is not longer.
 * An asker sends requests and measures round trips; a mirror answers requests. */
#include "loops/open.h"

#include <stdio.h>
#include <string.h>

#include "loops/traffic.h"
#include "pure/datagram.h"
#include "test/records.h"

/* A TCP peer that does not answer for this long has vanished. It is longer than replugging a cable
 * takes, and shorter than the time that a deadline allows after the window. */
#define GIVE_UP_S 10

/* Whether the test continues: it is not halted, and until_ns has not come. */
static bool open_may_go_on(struct test *test, uint64_t until_ns)
{
    return !test_halted(test) && plat_now_ns() < until_ns;
}

/* The time at which the connecting side gives up. */
static uint64_t open_until_ns(const struct test *test)
{
    const uint64_t least_ns = test->settings.deadline_ns;
    /* Each stream adds to the time limit, because streams connect one after the other. */
    const uint64_t open_ns = OPEN_NS + test->settings.streams * OPEN_STREAM_NS;
    return test->requested_ns + (least_ns < open_ns ? least_ns : open_ns);
}

/* If the system refuses an option, the test fails with the key of that option. */
static bool want(struct test *test, int error, const char *key)
{
    if (error == 0)
        return true;
    test_fail_key(test, plat_word(error), error, key);
    return false;
}

/* If a congestion control is missing, or this account may not use it, the error word is the same,
 * because in both cases only the administrator of the host can change that. */
static bool set_congestion(struct test *test, plat_socket socket)
{
    const char *name = test->settings.congestion;
    char why[sizeof test->failure.detail];
    int error = plat_congestion_set(socket, name);
    if (error == 0)
        return true;
    plat_congestion_refusal(error, name, why, sizeof why);
    test_fail_saying(test, "capability-missing", error, "congestion", why);
    return false;
}

static bool set_options(struct test *test, plat_socket socket)
{
    const struct settings *settings = &test->settings;
    int buffer = (int)settings->socket_buffer_bytes;
    if (buffer > 0 &&
        !(want(test, plat_option_set(socket, PLAT_SEND_BUFFER, buffer), "socket_buffer") &&
          want(test, plat_option_set(socket, PLAT_RECEIVE_BUFFER, buffer), "socket_buffer")))
        return false;
    if (settings->congestion[0] != 0 && !set_congestion(test, socket))
        return false;
    if (settings->nodelay && !want(test, plat_option_set(socket, PLAT_NODELAY, 1), "nodelay"))
        return false;
    if ((settings->dont_fragment || settings->method >= METHOD_PACKET) &&
        !want(test, plat_option_set(socket, PLAT_DONT_FRAGMENT, 1), "dont_fragment"))
        return false;
    if (settings->no_checksum && !want(test, plat_set_no_checksum(socket), "no_checksum"))
        return false;
    if (settings->dscp >= 0 &&
        !want(test, plat_option_set(socket, PLAT_DSCP, settings->dscp), "dscp"))
        return false;
    if (settings->interface[0] != 0 &&
        !want(test, plat_interface_set(socket, settings->interface), "interface"))
        return false;
    if (settings->udp) {
        plat_option_set(socket, PLAT_REPORT_DROPS, 1);
        plat_option_set(socket, PLAT_SEND_TIMEOUT_MS, NOTICE_NS / MILLISECOND_NS);
    } else {
        plat_option_set(socket, PLAT_GIVE_UP_S, GIVE_UP_S); /* accepted sockets inherit it */
    }
    return true;
}

static void fail_bind(struct test *test, int error, const struct plat_address *address)
{
    const struct settings *settings = &test->settings;
    char text[PLAT_ADDRESS_TEXT], call[PLAT_ADDRESS_TEXT + 40];
    plat_address_text(address, text);
    if (settings->port_first == settings->port_last)
        snprintf(call, sizeof call, "bind to %s, port %u", text, settings->port_first);
    else
        snprintf(call, sizeof call, "bind to %s, ports %u to %u", text, settings->port_first,
                 settings->port_last);
    test_fail_system(test, error, call);
}

/* Binds to the first free port of the range at *from or above; *from becomes this port. */
static bool bind_in_range(struct test *test, plat_socket socket, unsigned *from)
{
    const struct settings *settings = &test->settings;
    struct plat_address address = settings->bind;
    int error = 0;
    if (address.length == 0) {
        bool v6 = plat_address_v6(&settings->to);
        plat_address_parse(v6 ? "::" : "0.0.0.0", 0, &address);
    }
    if (!settings->udp && settings->port_first != 0)
        plat_option_set(socket, PLAT_REUSE, 1);
    for (unsigned port = *from; port <= settings->port_last; port++) {
        plat_address_set_port(&address, port);
        *from = port;
        error = plat_bind(socket, &address);
        if (!plat_is_address_in_use(error))
            break;
    }
    if (error != 0)
        fail_bind(test, error, &address);
    return error == 0;
}

static bool open_socket(struct test *test, plat_socket *out)
{
    unsigned port = test->settings.port_first;
    return open_socket_from(test, out, &port);
}

bool open_next_port(const struct test *test, int error, unsigned *port)
{
    const bool is_unavailable =
        plat_is_address_in_use(error) || strcmp(plat_word(error), "address-not-available") == 0;
    if (!is_unavailable || *port >= test->settings.port_last)
        return false;
    ++*port;
    return true;
}

bool open_socket_from(struct test *test, plat_socket *out, unsigned *port)
{
    const struct settings *settings = &test->settings;
    const struct plat_address *family =
        settings->bind.length > 0 ? &settings->bind : &settings->to;
    int error = plat_socket_open(out, settings->udp, family);
    if (error != 0) {
        *out = PLAT_NO_SOCKET;
        test_fail_system(test, error, "socket");
        return false;
    }
    if (!set_options(test, *out))
        return false;
    bool bound = settings->bind.length > 0 || settings->port_first != 0;
    return !bound || bind_in_range(test, *out, port);
}

/* ---- callers ---- */

#define PREFACE_WAIT_NS (2 * SECOND_NS)

void callers_dismiss(struct callers *callers, unsigned index)
{
    struct caller *caller = &callers->caller[index];
    if (!caller->trusted) {
        callers->test->unexpected++;
        plat_option_set(caller->socket, PLAT_RESET_ON_CLOSE, 1);
    }
    plat_close(caller->socket);
    callers->count--;
    memmove(caller, caller + 1, (callers->count - index) * sizeof *caller);
}

/* If all places are in use, the oldest caller without a preface is dismissed. That is not the peer,
 * whose preface arrives with its connection. */
static void make_room(struct callers *callers)
{
    unsigned index = 0;
    while (index + 1 < callers->count && callers->caller[index].trusted)
        index++;
    callers_dismiss(callers, index);
}

static bool accept_caller(struct callers *callers)
{
    struct plat_address peer; /* read now: it is unknown after a reset of the connection */
    plat_socket fresh;
    if (plat_accept(callers->listener, &fresh, &peer) != 0)
        return false;
    if (callers->count == CALLERS_MAX)
        make_room(callers);
    callers->caller[callers->count++] =
        (struct caller){.socket = fresh, .peer = peer, .until_ns = plat_now_ns() + PREFACE_WAIT_NS};
    return true;
}

bool callers_preface(struct callers *callers, unsigned index, unsigned *stream)
{
    struct caller *caller = &callers->caller[index];
    struct dataport_preface preface;
    while (caller->got_bytes < sizeof caller->preface) {
        ptrdiff_t got = plat_receive_now(caller->socket, caller->preface + caller->got_bytes,
                                         sizeof caller->preface - caller->got_bytes);
        if (got <= 0) {
            if (got == 0 || !plat_is_transient((int)-got))
                callers_dismiss(callers, index);
            return false;
        }
        caller->got_bytes += (uint64_t)got;
    }
    if (dataport_preface_read(caller->preface, callers->test->settings.token, &preface) &&
        preface.stream < callers->test->settings.streams) {
        *stream = preface.stream;
        return true;
    }
    callers_dismiss(callers, index);
    return false;
}

void callers_wait(struct callers *callers, uint64_t until_ns, callers_hear hear)
{
    struct plat_wait waits[CALLERS_MAX + 1] = {{.socket = callers->listener}};
    const unsigned count = callers->count;
    for (unsigned i = 0; i < count; i++)
        waits[i + 1].socket = callers->caller[i].socket;
    plat_wait_any(waits, count + 1, until_ns);
    for (unsigned i = count; i-- > 0;) /* backwards, because callers may be removed */
        if (waits[i + 1].ready)
            hear(callers, i);
        else if (!callers->caller[i].trusted && plat_now_ns() >= callers->caller[i].until_ns)
            callers_dismiss(callers, i);
    if (waits[0].ready && accept_caller(callers))
        hear(callers, callers->count - 1); /* the preface may have come with the connection */
}

/* ---- TCP ---- */

#define BACKLOG 128 /* of a listener, unless there are more streams */

/* Listens, and prints `ready`. The caller must close *listener in any case. */
static bool listen_for(struct test *test, plat_socket *listener)
{
    struct plat_address address;
    unsigned port_from = test->settings.port_first;
    int error = 0;
    do {
        plat_close(*listener);
        if (!open_socket_from(test, listener, &port_from))
            return false;
        error = plat_option_set(*listener, PLAT_BLOCKING, 0);
        if (error == 0)
            error = plat_listen(*listener, test->settings.streams > BACKLOG
                                                    ? (int)test->settings.streams
                                                    : BACKLOG);
    } while (error != 0 && open_next_port(test, error, &port_from));
    if (error == 0)
        error = plat_local_address(*listener, &address);
    if (error != 0) {
        test_fail_system(test, error, "listen");
        return false;
    }
    unsigned port = plat_address_port(&address);
    record_ready(test, &port, 1);
    return true;
}

/* If a caller (the other end of a connection) has the token, passes its socket to the stream that
 * the preface names. */
static void hear_preface(struct callers *callers, unsigned index)
{
    struct caller *caller = &callers->caller[index];
    unsigned number;
    if (!callers_preface(callers, index, &number))
        return;
    struct stream *stream = &callers->test->stream[number];
    if (stream->socket == PLAT_NO_SOCKET) {
        stream->socket = caller->socket;
        caller->socket = PLAT_NO_SOCKET;
        caller->trusted = true;
    }
    callers_dismiss(callers, index);
}

static bool all_open(const struct test *test)
{
    unsigned opened = 0;
    while (opened < test->settings.streams && test->stream[opened].socket != PLAT_NO_SOCKET)
        opened++;
    return opened == test->settings.streams;
}

static bool open_tcp_listen(struct test *test)
{
    struct callers callers = {.test = test, .listener = PLAT_NO_SOCKET};
    uint64_t until_ns = test->requested_ns + test->settings.deadline_ns;
    bool listening = listen_for(test, &callers.listener);
    while (listening && !all_open(test) && open_may_go_on(test, until_ns)) {
        uint64_t slice_ns = plat_now_ns() + NOTICE_NS;
        callers_wait(&callers, slice_ns < until_ns ? slice_ns : until_ns, hear_preface);
    }
    while (callers.count > 0)
        callers_dismiss(&callers, 0);
    plat_close(callers.listener);
    if (listening && !all_open(test))
        test_fail(test, "no-peer", 0, "nobody with the token came before the deadline");
    return !test_failed(test);
}

/* For a mirror with kind=connect: the listening socket becomes the stream's socket, and the
 * mirror's loop accepts connections. */
static bool open_tcp_callers(struct test *test)
{
    return listen_for(test, &test->stream[0].socket);
}

static bool connect_stream(struct test *test, struct stream *stream, uint64_t until_ns)
{
    unsigned char preface[DATAPORT_PREFACE];
    unsigned port = test->settings.port_first;
    int error;
    do {
        plat_close(stream->socket);
        if (!open_socket_from(test, &stream->socket, &port))
            return false;
        error = plat_connect(stream->socket, &test->settings.to, until_ns);
    } while (error != 0 && open_next_port(test, error, &port));
    if (error != 0) {
        test_fail_system(test, error, "connect");
        return false;
    }
    if (test->settings.echo)
        return true;
    dataport_preface_write(preface, test->settings.token, stream->number);
    ptrdiff_t put = plat_send(stream->socket, preface, sizeof preface);
    if (put != (ptrdiff_t)sizeof preface) {
        test_fail_system(test, put < 0 ? (int)-put : 0, "send of the preface");
        return false;
    }
    return true;
}

static bool open_tcp_connect(struct test *test)
{
    const uint64_t until_ns = open_until_ns(test);
    for (unsigned i = 0; i < test->settings.streams; i++)
        if (!connect_stream(test, &test->stream[i], until_ns))
            return false;
    return true;
}

/* ---- UDP ---- */

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

static bool open_udp_listen(struct test *test)
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

static bool open_udp_connect(struct test *test)
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

/* ---- the streams of a test ---- */

bool open_streams(struct test *test)
{
    static bool (*const ways[2][2])(struct test *) = {{open_tcp_connect, open_tcp_listen},
                                                      {open_udp_connect, open_udp_listen}};
    const bool calls = test->settings.role == ROLE_MIRROR && test->settings.kind == KIND_CONNECT;
    if (!(calls ? open_tcp_callers : ways[test->settings.udp][test->settings.listen])(test))
        return false;
    plat_local_address(test->stream[0].socket, &test->local);
    if (!calls) /* a mirror with kind=connect learns its peer later */
        plat_peer_address(test->stream[0].socket, &test->peer);
    test->setup_ns = plat_now_ns() - test->requested_ns;
    return true;
}
