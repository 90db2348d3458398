/* Tests TCP sockets over loopback. */
#include "contract/contract.h"

#include <stdatomic.h>
#include <stdlib.h>

struct pair {
    plat_socket listener, caller, called;
    struct plat_address address; /* of the listener */
};

static void open_listener(struct pair *pair, const char *address)
{
    *pair = (struct pair){PLAT_NO_SOCKET, PLAT_NO_SOCKET, PLAT_NO_SOCKET, {.length = 0}};
    CHECK(plat_address_parse(address, 0, &pair->address));
    CHECK_ERROR(plat_socket_open(&pair->listener, false, &pair->address));
    CHECK_ERROR(plat_option_set(pair->listener, PLAT_REUSE, 1));
    CHECK_ERROR(plat_bind(pair->listener, &pair->address));
    CHECK_ERROR(plat_option_set(pair->listener, PLAT_BLOCKING, 0));
    CHECK_ERROR(plat_listen(pair->listener, 8));
    CHECK_ERROR(plat_local_address(pair->listener, &pair->address));
    CHECK(plat_address_port(&pair->address) > 0);
}

static void connect_pair(struct pair *pair)
{
    struct plat_address caller, peer;
    struct plat_wait wait = {.socket = pair->listener};
    int error = plat_accept(pair->listener, &pair->called, &peer);
    CHECK(plat_is_transient(error)); /* nothing has connected yet */
    CHECK_ERROR(plat_socket_open(&pair->caller, false, &pair->address));
    CHECK_ERROR(plat_connect(pair->caller, &pair->address, soon_ns(5000)));
    plat_wait_any(&wait, 1, soon_ns(5000));
    CHECK(wait.ready);
    CHECK_ERROR(plat_accept(pair->listener, &pair->called, &peer));
    CHECK_ERROR(plat_local_address(pair->caller, &caller));
    CHECK(plat_address_equal(&caller, &peer));
    CHECK_ERROR(plat_peer_address(pair->caller, &peer));
    CHECK(plat_address_equal(&pair->address, &peer));
}

static void close_pair(struct pair *pair)
{
    plat_close(pair->caller);
    plat_close(pair->called);
    plat_close(pair->listener);
}

static void exchange(const char *address)
{
    struct pair pair;
    char text[16] = "";
    uint64_t queued = 0;
    open_listener(&pair, address);
    connect_pair(&pair);
    struct plat_wait waits[2] = {{.socket = pair.called}, {.socket = pair.listener}};
    CHECK(plat_is_transient(-(int)plat_receive_now(pair.called, text, sizeof text)));
    plat_wait_any(waits, 2, soon_ns(20));
    CHECK(!waits[0].ready && !waits[1].ready);
    CHECK_U64((uint64_t)plat_send(pair.caller, "ping", 4), 4);
    plat_wait_any(waits, 2, soon_ns(5000));
    CHECK(waits[0].ready && !waits[1].ready);
    CHECK_U64((uint64_t)plat_peek_now(pair.called, text, sizeof text), 4);
    CHECK(plat_queue_bytes(pair.called, false, &queued));
    CHECK_U64(queued, 4);
    CHECK_U64((uint64_t)plat_receive(pair.called, text, sizeof text), 4);
    CHECK(memcmp(text, "ping", 4) == 0);
    CHECK_U64((uint64_t)plat_send(pair.called, "pong!", 5), 5);
    CHECK_U64((uint64_t)plat_receive(pair.caller, text, 3), 3);
    CHECK_U64((uint64_t)plat_receive_now(pair.caller, text, sizeof text), 2);
    plat_finish(pair.caller);
    plat_wait_any(waits, 1, soon_ns(5000));
    CHECK_U64((uint64_t)plat_receive(pair.called, text, sizeof text), 0);
    close_pair(&pair);
}

TEST(bytes_go_both_ways_over_ipv4)
{
    exchange("127.0.0.1");
}

TEST(bytes_go_both_ways_over_ipv6)
{
    struct plat_address address;
    plat_socket probe;
    if (!capable("ipv6") || !plat_address_parse("::1", 0, &address))
        return;
    CHECK_ERROR(plat_socket_open(&probe, false, &address));
    int error = plat_bind(probe, &address);
    plat_close(probe);
    if (error == 0)
        exchange("::1");
    else
        printf("  no IPv6 loopback here\n");
}

/* A send may begin at any byte of the messages, also in the middle of one. */
TEST(messages_that_are_alike_are_sent_together)
{
    struct pair pair;
    char text[32] = "";
    size_t sent_bytes = 1;
    open_listener(&pair, "127.0.0.1");
    connect_pair(&pair);
    while (sent_bytes < 12) {
        ptrdiff_t put = plat_send_gathered(pair.caller, "abc", 3, 4, sent_bytes);
        CHECK(put == (ptrdiff_t)(12 - sent_bytes) || (!capable("batch") && put > 0));
        if (put <= 0)
            break;
        sent_bytes += (size_t)put;
    }
    plat_finish(pair.caller);
    size_t got = 0;
    for (ptrdiff_t more = 1; more > 0 && got < sizeof text; got += more > 0 ? (size_t)more : 0)
        more = plat_receive(pair.called, text + got, sizeof text - got);
    CHECK_U64(got, 11);
    CHECK(memcmp(text, "bcabcabcabc", 11) == 0);
    close_pair(&pair);
}

TEST(who_listens_nowhere_refuses)
{
    struct pair pair;
    char text[128];
    open_listener(&pair, "127.0.0.1");
    plat_close(pair.listener);
    CHECK_ERROR(plat_socket_open(&pair.caller, false, &pair.address));
    uint64_t before = plat_now_ns();
    int error = plat_connect(pair.caller, &pair.address, soon_ns(8000));
    CHECK(plat_now_ns() - before < 8 * SECOND_NS);
    CHECK_TEXT(plat_word(error), "connect-refused");
    CHECK(plat_is_peer_gone(error));
    plat_describe(error, text, sizeof text);
    CHECK(text[0] != 0);
    plat_close(pair.caller);
}

TEST(a_port_in_use_is_known_as_such)
{
    struct pair pair;
    plat_socket second;
    open_listener(&pair, "127.0.0.1");
    CHECK_ERROR(plat_socket_open(&second, false, &pair.address));
    CHECK(plat_is_address_in_use(plat_bind(second, &pair.address)));
    plat_close(second);
    plat_close(pair.listener);
}

TEST(a_reset_is_read_as_a_peer_that_is_gone)
{
    struct pair pair;
    char text[4];
    open_listener(&pair, "127.0.0.1");
    connect_pair(&pair);
    struct plat_wait wait = {.socket = pair.called};
    CHECK_ERROR(plat_option_set(pair.caller, PLAT_RESET_ON_CLOSE, 1));
    plat_close(pair.caller);
    pair.caller = PLAT_NO_SOCKET;
    plat_wait_any(&wait, 1, soon_ns(5000));
    CHECK(wait.ready);
    ptrdiff_t got = plat_receive(pair.called, text, sizeof text);
    /* Wine's server may have taken the error already; then the call returns the end of the stream. */
    if (!emulated || got != 0) {
        CHECK(got < 0 && plat_is_peer_gone((int)-got));
        CHECK(got < 0 && strcmp(plat_word((int)-got), "peer-vanished") == 0);
    }
    plat_close(pair.called);
    plat_close(pair.listener);
}

TEST(options_are_set_and_read_back)
{
    struct pair pair;
    int value = -1;
    char name[32] = "?", device[PLAT_INTERFACE_NAME] = "", why[400];
    open_listener(&pair, "127.0.0.1");
    connect_pair(&pair);
    CHECK_ERROR(plat_option_set(pair.caller, PLAT_NODELAY, 1));
    CHECK_ERROR(plat_option_get(pair.caller, PLAT_NODELAY, &value));
    CHECK(value == 1);
    CHECK_ERROR(plat_option_set(pair.caller, PLAT_SEND_BUFFER, 32768));
    CHECK_ERROR(plat_option_get(pair.caller, PLAT_SEND_BUFFER, &value));
    CHECK(value >= 32768);
    CHECK_ERROR(plat_option_set(pair.caller, PLAT_RECEIVE_BUFFER, 32768));
    CHECK_ERROR(plat_option_get(pair.caller, PLAT_RECEIVE_BUFFER, &value));
    CHECK(value >= 32768);
    int error = plat_option_set(pair.caller, PLAT_GIVE_UP_S, 10);
    CHECK(error == 0 || strcmp(plat_word(error), "capability-missing") == 0);
    CHECK(error == 0 || emulated);
    CHECK(plat_buffer_factor == 1 || plat_buffer_factor == 2);
    error = plat_congestion_get(pair.caller, name, sizeof name);
    CHECK((error == 0) == capable("congestion"));
    if (error == 0 && !emulated)
        CHECK_ERROR(plat_congestion_set(pair.caller, name));
    else if (error != 0)
        CHECK_TEXT(plat_word(plat_congestion_set(pair.caller, "cubic")), "capability-missing");
    error = plat_congestion_set(pair.caller, "no-such-thing");
    CHECK(error != 0);
    plat_congestion_refusal(error, "no-such-thing", why, sizeof why);
    CHECK(strstr(why, "congestion control no-such-thing") == why);
    CHECK(strchr(why, '\n') == NULL);
    error = plat_option_set(pair.caller, PLAT_DSCP, 10);
    if (capable("dscp")) {
        CHECK_ERROR(error);
        CHECK_ERROR(plat_option_get(pair.caller, PLAT_DSCP, &value));
        CHECK(value == 10);
    } else {
        CHECK_TEXT(plat_word(error), "capability-missing");
    }
    if (plat_interface_between(&pair.address, &pair.address, device)) {
        error = plat_interface_set(pair.caller, device);
        CHECK(error == 0 || !capable("interface") ||
              strcmp(plat_word(error), "permission-denied") == 0);
    }
    CHECK(plat_interface_set(pair.caller, "no such interface") != 0);
    close_pair(&pair);
}

TEST(tcp_tells_of_itself_where_it_can)
{
    static struct plat_tcp_info info;
    struct pair pair;
    open_listener(&pair, "127.0.0.1");
    connect_pair(&pair);
    memset(&info, 0xff, sizeof info);
    plat_tcp_info(pair.caller, &info);
    CHECK((info.present != 0) == capable("tcp-info") || (emulated && info.present == 0));
    if (info.present & UINT64_C(1) << PLAT_TCP_SND_MSS)
        CHECK(info.value[PLAT_TCP_SND_MSS] >= 500 && info.value[PLAT_TCP_SND_MSS] <= 65535);
    CHECK((info.present & ~((UINT64_C(1) << PLAT_TCP_FACTS) - 1)) == 0);
    close_pair(&pair);
}

/* ---- waking ---- */

struct blocked {
    plat_socket socket;
    bool sends;
    _Atomic bool at_work, has_ended;
    _Atomic uint64_t moved;
};

static void block_on_it(void *argument)
{
    struct blocked *blocked = argument;
    enum { SIZE = 65536 };
    char *buffer = calloc(1, SIZE);
    ptrdiff_t got;
    blocked->at_work = true;
    uint64_t until = soon_ns(20000);
    do {
        got = blocked->sends ? plat_send(blocked->socket, buffer, SIZE)
                             : plat_receive(blocked->socket, buffer, SIZE);
        blocked->moved += got > 0 ? (uint64_t)got : 0;
    } while (plat_now_ns() < until && (got > 0 || (got < 0 && plat_is_transient((int)-got))));
    free(buffer);
    blocked->has_ended = true;
}

static void wake_who_blocks(bool sends)
{
    struct pair pair;
    plat_thread thread;
    open_listener(&pair, "127.0.0.1");
    connect_pair(&pair);
    struct blocked blocked = {.socket = pair.caller, .sends = sends};
    CHECK_ERROR(plat_thread_start(&thread, block_on_it, &blocked));
    while (!blocked.at_work)
        plat_sleep_ns(MILLISECOND_NS);
    /* A sender blocks only when the buffers are full; a receiver blocks at once. */
    for (uint64_t before = 1; sends && before != blocked.moved;) {
        before = blocked.moved;
        plat_sleep_ns(200 * MILLISECOND_NS);
    }
    plat_sleep_ns(50 * MILLISECOND_NS);
    CHECK(!blocked.has_ended);
    uint64_t woken = plat_now_ns();
    plat_wake(pair.caller);
    plat_thread_join(thread);
    CHECK(plat_now_ns() - woken < 2 * SECOND_NS);
    CHECK(blocked.has_ended);
    close_pair(&pair);
}

TEST(a_blocked_receive_is_woken)
{
    wake_who_blocks(false);
}

TEST(a_blocked_send_is_woken)
{
    wake_who_blocks(true);
}

TEST(sending_without_blocking_stops_at_a_full_buffer_and_room_can_be_waited_for)
{
    static unsigned char block[65536];
    struct pair pair;
    uint64_t sent = 0, came = 0;
    ptrdiff_t put, got;
    open_listener(&pair, "127.0.0.1");
    connect_pair(&pair);
    while ((put = plat_send_now(pair.caller, block, sizeof block)) > 0 && sent < 1 << 30)
        sent += (uint64_t)put;
    CHECK(put < 0 && plat_is_transient(-(int)put));
    struct plat_wait wait = {.socket = pair.caller, .sending = true};
    while ((got = plat_receive_now(pair.called, block, sizeof block)) > 0)
        came += (uint64_t)got;
    for (int look = 0; look < 100 && !wait.ready; look++) {
        plat_wait_any(&wait, 1, soon_ns(50));
        while ((got = plat_receive_now(pair.called, block, sizeof block)) > 0)
            came += (uint64_t)got;
    }
    CHECK(wait.ready);
    CHECK(came > 0 && came <= sent);
    close_pair(&pair);
}

TEST(a_receive_gives_up_after_its_time_limit)
{
    struct pair pair;
    char text[16];
    open_listener(&pair, "127.0.0.1");
    connect_pair(&pair);
    CHECK_ERROR(plat_option_set(pair.caller, PLAT_RECEIVE_TIMEOUT_MS, 30));
    uint64_t began_ns = plat_now_ns();
    ptrdiff_t got = plat_receive(pair.caller, text, sizeof text);
    uint64_t took_ns = plat_now_ns() - began_ns;
    CHECK(got < 0 && plat_is_transient(-(int)got));
    CHECK(took_ns > 15 * MILLISECOND_NS && took_ns < 5 * SECOND_NS);
    close_pair(&pair);
}

const struct unit_test contract_tcp_tests[] = {
    ENTRY(sending_without_blocking_stops_at_a_full_buffer_and_room_can_be_waited_for),
    ENTRY(a_receive_gives_up_after_its_time_limit),
    ENTRY(bytes_go_both_ways_over_ipv4),
    ENTRY(bytes_go_both_ways_over_ipv6),
    ENTRY(messages_that_are_alike_are_sent_together),
    ENTRY(who_listens_nowhere_refuses),
    ENTRY(a_port_in_use_is_known_as_such),
    ENTRY(a_reset_is_read_as_a_peer_that_is_gone),
    ENTRY(options_are_set_and_read_back),
    ENTRY(tcp_tells_of_itself_where_it_can),
    ENTRY(a_blocked_receive_is_woken),
    ENTRY(a_blocked_send_is_woken),
    {NULL, NULL},
};
