/* Opens listening or connecting sockets over TCP or UDP, with the options of a request. */
#include "loops/open.h"

#include <stdio.h>
#include <string.h>

#include "test/records.h"

bool open_may_go_on(struct test *test, uint64_t until_ns)
{
    return !test_halted(test) && plat_now_ns() < until_ns;
}

uint64_t open_until_ns(const struct test *test)
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

bool open_socket(struct test *test, plat_socket *out)
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
