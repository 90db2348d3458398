/* Tests UDP sockets over loopback. */
#include "contract/contract.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "platform/plat.h"

static void open_udp(plat_socket *socket, struct plat_address *address)
{
    CHECK(plat_address_parse("127.0.0.1", 0, address));
    CHECK_ERROR(plat_socket_open(socket, true, address));
    CHECK_ERROR(plat_bind(*socket, address));
    CHECK_ERROR(plat_local_address(*socket, address));
}

static bool wait_for(plat_socket socket, uint64_t milliseconds)
{
    struct plat_wait wait = {.socket = socket};
    plat_wait_any(&wait, 1, soon_ns(milliseconds));
    return wait.ready;
}

TEST(datagrams_carry_their_source_and_a_connected_socket_hears_its_peer_alone)
{
    plat_socket receiver, sender, stranger;
    struct plat_address receiver_address, sender_address, stranger_address, from;
    char text[16];
    uint64_t queued = 0;
    open_udp(&receiver, &receiver_address);
    open_udp(&sender, &sender_address);
    open_udp(&stranger, &stranger_address);
    CHECK(plat_is_transient(-(int)plat_receive_from(receiver, text, sizeof text, &from)));
    CHECK_ERROR(plat_connect(sender, &receiver_address, soon_ns(1000)));
    CHECK_ERROR(plat_connect(stranger, &receiver_address, soon_ns(1000)));
    CHECK_U64((uint64_t)plat_send(sender, "hello", 5), 5);
    CHECK(wait_for(receiver, 5000));
    CHECK(plat_queue_bytes(receiver, true, &queued) ? queued >= 5 : true);
    CHECK_U64((uint64_t)plat_receive_from(receiver, text, sizeof text, &from), 5);
    CHECK(plat_address_equal(&from, &sender_address));
    CHECK_ERROR(plat_connect(receiver, &sender_address, soon_ns(1000)));
    CHECK_U64((uint64_t)plat_send(stranger, "psst", 4), 4);
    CHECK(!wait_for(receiver, 100));
    CHECK_U64((uint64_t)plat_send(sender, "again", 5), 5);
    CHECK(wait_for(receiver, 5000));
    CHECK_U64((uint64_t)plat_peek_now(receiver, text, sizeof text), 5);
    CHECK_U64((uint64_t)plat_receive(receiver, text, sizeof text), 5);
    CHECK(plat_is_transient(-(int)plat_receive_now(receiver, text, sizeof text)));
    plat_close(receiver);
    plat_close(sender);
    plat_close(stranger);
}

TEST(a_datagram_longer_than_the_room_fills_the_room)
{
    plat_socket receiver, sender;
    struct plat_address receiver_address, sender_address, from;
    char text[16];
    open_udp(&receiver, &receiver_address);
    open_udp(&sender, &sender_address);
    CHECK_ERROR(plat_connect(sender, &receiver_address, soon_ns(1000)));
    for (int i = 0; i < 3; i++)
        CHECK_U64((uint64_t)plat_send(sender, "more than seven", 15), 15);
    CHECK(wait_for(receiver, 5000));
    CHECK_U64((uint64_t)plat_receive_from(receiver, text, 7, &from), 7);
    CHECK(memcmp(text, "more th", 7) == 0);
    CHECK_U64((uint64_t)plat_peek_now(receiver, text, 7), 7);
    CHECK_U64((uint64_t)plat_receive_now(receiver, text, 7), 7);
    CHECK(wait_for(receiver, 5000));
    CHECK_U64((uint64_t)plat_receive(receiver, text, 15), 15);
    plat_close(receiver);
    plat_close(sender);
}

/* A call returns queued datagrams in order, each in its own place with its length. A datagram that is
 * too long fills its place. */
TEST(datagrams_that_stand_in_the_queue_are_taken_together)
{
    static const char *const texts[] = {"one", "twenty-two", "three and more", "4"};
    static unsigned char bytes[3 * 11];
    static struct plat_batch batch = {.bytes = bytes, .room = 11, .count = 3};
    const size_t expected[] = {3, 10, 11, 1};
    plat_socket receiver, sender;
    struct plat_address receiver_address, sender_address;
    unsigned count = 0;
    open_udp(&receiver, &receiver_address);
    open_udp(&sender, &sender_address);
    CHECK_ERROR(plat_connect(sender, &receiver_address, soon_ns(1000)));
    ptrdiff_t got = plat_receive_many(receiver, &batch, false);
    CHECK(got < 0 && plat_is_transient((int)-got));
    for (unsigned i = 0; i < 4; i++)
        CHECK(plat_send(sender, texts[i], strlen(texts[i])) == (ptrdiff_t)strlen(texts[i]));
    CHECK(wait_for(receiver, 5000));
    while (count < 4 && (got = plat_receive_many(receiver, &batch, true)) > 0) {
        CHECK(got <= 3);
        for (ptrdiff_t i = 0; i < got && count < 4; i++, count++) {
            CHECK_U64(batch.length[i], expected[count]);
            CHECK(memcmp(bytes + i * 11, texts[count], expected[count]) == 0);
        }
    }
    CHECK_U64(count, 4);
    plat_close(receiver);
    plat_close(sender);
}

/* Each place holds one message of the full length. A send may begin at any place. */
TEST(places_of_a_batch_are_sent_in_their_order)
{
    static unsigned char bytes[] = "onetwotenend";
    struct plat_batch batch = {.bytes = bytes, .room = 3, .count = 4};
    plat_socket receiver, sender;
    struct plat_address receiver_address, sender_address;
    char text[16];
    open_udp(&receiver, &receiver_address);
    open_udp(&sender, &sender_address);
    CHECK_ERROR(plat_connect(sender, &receiver_address, soon_ns(1000)));
    for (unsigned sent = 1; sent < 4;) {
        ptrdiff_t put = plat_send_many(sender, &batch, sent, 4 - sent);
        CHECK(put >= 1 && put <= (ptrdiff_t)(4 - sent));
        if (put < 1)
            break;
        CHECK(put == (ptrdiff_t)(4 - sent) || !capable("batch"));
        sent += (unsigned)put;
    }
    for (unsigned i = 1; i < 4 && wait_for(receiver, 5000); i++) {
        CHECK_U64((uint64_t)plat_receive_now(receiver, text, sizeof text), 3);
        CHECK(memcmp(text, bytes + 3 * (size_t)i, 3) == 0);
    }
    CHECK(plat_is_transient(-(int)plat_receive_now(receiver, text, sizeof text)));
    plat_close(receiver);
    plat_close(sender);
}

/* Our own frames cannot be sent over loopback. A system without such frames returns an error word. */
TEST(there_are_no_frames_of_our_own_over_loopback)
{
    struct plat_headers headers;
    plat_socket receiver, sender, frames;
    struct plat_address receiver_address, sender_address;
    open_udp(&receiver, &receiver_address);
    open_udp(&sender, &sender_address);
    CHECK_ERROR(plat_connect(sender, &receiver_address, soon_ns(1000)));
    int error = plat_frames_open(&frames, sender, "which way?", 10, &headers);
    CHECK(frames == PLAT_NO_SOCKET);
    if (capable("packet"))
        CHECK(error == PLAT_NO_WIRE || emulated);
    else
        CHECK(error > 0 && (strcmp(plat_word(error), "capability-missing") == 0 ||
                            strcmp(plat_word(error), "permission-denied") == 0));
    plat_close(receiver);
    plat_close(sender);
}

/* The same for frames from shared memory. */
TEST(there_are_no_frames_from_memory_over_loopback)
{
    struct plat_headers headers;
    struct plat_ring ring;
    plat_socket receiver, sender;
    struct plat_address receiver_address, sender_address;
    open_udp(&receiver, &receiver_address);
    open_udp(&sender, &sender_address);
    CHECK_ERROR(plat_connect(sender, &receiver_address, soon_ns(1000)));
    int error = plat_ring_open(&ring, sender, 64, "which way?", 10, &headers);
    CHECK(error != 0 && ring.count == 0 && ring.socket == PLAT_NO_SOCKET);
    if (capable("xdp"))
        CHECK(error == PLAT_NO_WIRE || emulated);
    else
        CHECK(error == PLAT_NO_WIRE || strcmp(plat_word(error), "capability-missing") == 0 ||
              strcmp(plat_word(error), "permission-denied") == 0);
    plat_ring_close(&ring);
    CHECK_U64(plat_ring_free(&ring) + plat_ring_left(&ring), 0);
    CHECK(plat_ring_place(&ring, 0) == NULL && plat_ring_send(&ring, 0, 64) < 0);
    plat_close(receiver);
    plat_close(sender);
}

/* Over loopback a frame passes the interface twice, outgoing and incoming; it must be taken once. */
TEST(frames_that_arrive_are_taken_in_place_of_the_socket)
{
    unsigned char bytes[4 * 16];
    struct plat_batch batch = {.bytes = bytes, .room = 16, .count = 4};
    struct plat_capture capture;
    plat_socket receiver, sender;
    struct plat_address receiver_address, sender_address;
    open_udp(&receiver, &receiver_address);
    open_udp(&sender, &sender_address);
    CHECK_ERROR(plat_connect(sender, &receiver_address, soon_ns(1000)));
    CHECK_ERROR(plat_connect(receiver, &sender_address, soon_ns(1000)));
    int error = plat_capture_open(&capture, receiver, 16);
    if (error != 0) {
        CHECK(!capable("capture") || emulated);
        CHECK(emulated || strcmp(plat_word(error), "capability-missing") == 0 ||
              strcmp(plat_word(error), "permission-denied") == 0);
    } else {
        CHECK(plat_is_transient(-(int)plat_capture_take(&capture, receiver, &batch)));
        CHECK_U64((uint64_t)plat_send(sender, "first", 5), 5);
        CHECK_U64((uint64_t)plat_send(sender, "second", 6), 6);
        uint64_t until_ns = soon_ns(5000);
        ptrdiff_t count = 0, got;
        do {
            batch.bytes = bytes + (size_t)count * batch.room;
            batch.count = 4 - (unsigned)count;
            got = plat_capture_take(&capture, receiver, &batch);
            count += got > 0 ? got : 0;
        } while (count < 2 && plat_now_ns() < until_ns);
        CHECK_U64((uint64_t)count, 2);
        CHECK(memcmp(bytes, "first", 5) == 0 && memcmp(bytes + 16, "second", 6) == 0);
        CHECK(plat_is_transient(-(int)plat_capture_take(&capture, receiver, &batch)));
        CHECK(plat_is_transient(-(int)plat_receive_now(receiver, bytes, sizeof bytes)));
        CHECK_U64(plat_capture_drops(&capture), 0);
    }
    plat_capture_close(&capture);
    plat_close(receiver);
    plat_close(sender);
}

/* A host with the capability must not report a refusal. */
TEST(a_right_to_frames_of_our_own_is_refused_or_had)
{
    int refusal = plat_frames_refusal();
    CHECK(refusal >= 0);
    CHECK(!capable("packet") || refusal == 0);
}

TEST(what_no_datagram_can_carry_is_too_long)
{
    static char much[70000];
    plat_socket sender;
    struct plat_address address;
    open_udp(&sender, &address);
    CHECK_ERROR(plat_connect(sender, &address, soon_ns(1000)));
    ptrdiff_t put = plat_send(sender, much, 65508);
    CHECK(put < 0 && strcmp(plat_word((int)-put), "message-too-long") == 0);
    plat_close(sender);
}

/* The host reports that nobody listens. The socket may return this error, but must stay usable. */
TEST(a_closed_port_does_not_break_the_socket)
{
    plat_socket sender, receiver;
    struct plat_address sender_address, receiver_address;
    char text[16];
    open_udp(&sender, &sender_address);
    open_udp(&receiver, &receiver_address);
    plat_close(receiver);
    CHECK_ERROR(plat_connect(sender, &receiver_address, soon_ns(1000)));
    for (int i = 0; i < 5; i++) {
        ptrdiff_t put = plat_send(sender, "anybody?", 8);
        CHECK(put == 8 || plat_is_peer_gone((int)-put));
        plat_sleep_ns(5 * MILLISECOND_NS);
        ptrdiff_t got = plat_receive_now(sender, text, sizeof text);
        CHECK(got < 0 && (plat_is_transient((int)-got) || plat_is_peer_gone((int)-got)));
    }
    plat_close(sender);
}

TEST(options_of_datagrams_are_set_and_read_back)
{
    plat_socket socket;
    struct plat_address address;
    int value = -1;
    uint64_t drops = 0, memory = 0, most = 0;
    open_udp(&socket, &address);
    CHECK_ERROR(plat_option_get(socket, PLAT_DONT_FRAGMENT, &value));
    CHECK(value == 0);
    CHECK_ERROR(plat_option_set(socket, PLAT_DONT_FRAGMENT, 1));
    CHECK_ERROR(plat_option_get(socket, PLAT_DONT_FRAGMENT, &value));
    CHECK(value == 1);
    CHECK_ERROR(plat_option_set(socket, PLAT_SEND_TIMEOUT_MS, 20));
    CHECK_ERROR(plat_option_set(socket, PLAT_RECEIVE_BUFFER, 65536));
    CHECK_ERROR(plat_option_get(socket, PLAT_RECEIVE_BUFFER, &value));
    CHECK(value >= 65536);
    int error = plat_option_set(socket, PLAT_REPORT_DROPS, 1);
    CHECK(error == 0 || strcmp(plat_word(error), "capability-missing") == 0);
    bool is_known = plat_queue_drops(socket, &drops);
    CHECK(is_known == capable("queue-drops") || (emulated && !is_known));
    CHECK_U64(drops, 0);
    CHECK(!plat_queue_fill(socket, &memory, &most) || (memory == 0 && most >= 65536));
    plat_close(socket);
}

struct blocked {
    plat_socket socket;
    _Atomic bool at_work, has_ended;
};

static void receive_until_woken(void *argument)
{
    struct blocked *blocked = argument;
    char text[16];
    ptrdiff_t got;
    blocked->at_work = true;
    uint64_t until = soon_ns(20000);
    do
        got = plat_receive(blocked->socket, text, sizeof text);
    while (plat_now_ns() < until && got < 0 && plat_is_transient((int)-got));
    blocked->has_ended = true;
}

TEST(a_blocked_receiver_of_datagrams_is_woken)
{
    plat_socket receiver, sender;
    struct plat_address receiver_address, sender_address;
    plat_thread thread;
    open_udp(&receiver, &receiver_address);
    open_udp(&sender, &sender_address);
    CHECK_ERROR(plat_connect(receiver, &sender_address, soon_ns(1000)));
    struct blocked blocked = {.socket = receiver};
    CHECK_ERROR(plat_thread_start(&thread, receive_until_woken, &blocked));
    while (!blocked.at_work)
        plat_sleep_ns(MILLISECOND_NS);
    plat_sleep_ns(50 * MILLISECOND_NS);
    CHECK(!blocked.has_ended);
    uint64_t woken = plat_now_ns();
    plat_wake(receiver);
    plat_thread_join(thread);
    CHECK(plat_now_ns() - woken < 2 * SECOND_NS);
    plat_close(receiver);
    plat_close(sender);
}

const struct unit_test contract_udp_tests[] = {
    ENTRY(datagrams_carry_their_source_and_a_connected_socket_hears_its_peer_alone),
    ENTRY(a_datagram_longer_than_the_room_fills_the_room),
    ENTRY(datagrams_that_stand_in_the_queue_are_taken_together),
    ENTRY(places_of_a_batch_are_sent_in_their_order),
    ENTRY(there_are_no_frames_of_our_own_over_loopback),
    ENTRY(there_are_no_frames_from_memory_over_loopback),
    ENTRY(frames_that_arrive_are_taken_in_place_of_the_socket),
    ENTRY(a_right_to_frames_of_our_own_is_refused_or_had),
    ENTRY(what_no_datagram_can_carry_is_too_long),
    ENTRY(a_closed_port_does_not_break_the_socket),
    ENTRY(options_of_datagrams_are_set_and_read_back),
    ENTRY(a_blocked_receiver_of_datagrams_is_woken),
    {NULL, NULL},
};
