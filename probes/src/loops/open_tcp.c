/* Opens TCP streams, where a preface authenticates the connecting side. The preface is the first
 * bytes of a connection, with the token (a secret that both sides of the test know). */
#include "loops/callers.h"
#include "loops/open.h"
#include "test/records.h"

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

bool open_tcp_listen(struct test *test)
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

bool open_tcp_callers(struct test *test)
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

bool open_tcp_connect(struct test *test)
{
    const uint64_t until_ns = open_until_ns(test);
    for (unsigned i = 0; i < test->settings.streams; i++)
        if (!connect_stream(test, &test->stream[i], until_ns))
            return false;
    return true;
}
