/* Tests datagrams as round trips use them: bounded waits, checksums, stamps, the path MTU. */
#include "contract/contract.h"

#include <stdlib.h>

struct ends {
    plat_socket first, second;
};

static void open_ends(struct ends *ends)
{
    struct plat_address first_address, second_address;
    CHECK(plat_address_parse("127.0.0.1", 0, &first_address));
    second_address = first_address;
    CHECK_ERROR(plat_socket_open(&ends->first, true, &first_address));
    CHECK_ERROR(plat_socket_open(&ends->second, true, &second_address));
    CHECK_ERROR(plat_bind(ends->first, &first_address));
    CHECK_ERROR(plat_bind(ends->second, &second_address));
    CHECK_ERROR(plat_local_address(ends->first, &first_address));
    CHECK_ERROR(plat_local_address(ends->second, &second_address));
    CHECK_ERROR(plat_connect(ends->first, &second_address, soon_ns(1000)));
    CHECK_ERROR(plat_connect(ends->second, &first_address, soon_ns(1000)));
}

static void close_ends(struct ends *ends)
{
    plat_close(ends->first);
    plat_close(ends->second);
}

TEST(a_receive_waits_no_longer_than_it_may)
{
    struct ends ends;
    char text[16];
    open_ends(&ends);
    uint64_t before = plat_now_ns();
    ptrdiff_t got = plat_receive_within(ends.first, text, sizeof text, 30 * MILLISECOND_NS);
    uint64_t took = plat_now_ns() - before;
    CHECK(got < 0 && plat_is_transient((int)-got));
    CHECK(took >= 29 * MILLISECOND_NS);
    CHECK(took < 5 * SECOND_NS);
    CHECK(plat_is_transient(-(int)plat_receive_within(ends.first, text, sizeof text, 0)));
    CHECK_U64((uint64_t)plat_send(ends.second, "soon", 4), 4);
    CHECK_U64((uint64_t)plat_receive_within(ends.first, text, sizeof text, 5 * SECOND_NS), 4);
    CHECK(memcmp(text, "soon", 4) == 0);
    close_ends(&ends);
}

/* The shortest of several waits counts, because a busy machine may wake late in most of them. No timer
 * may be early. */
TEST(a_wait_of_less_than_a_millisecond_is_one_where_the_system_has_such)
{
    const uint64_t limit_ns = MILLISECOND_NS / 5;
    struct ends ends;
    char text[16];
    uint64_t best = UINT64_MAX;
    open_ends(&ends);
    for (int i = 0; i < 200 && best >= MILLISECOND_NS; i++) {
        uint64_t before = plat_now_ns();
        plat_receive_within(ends.first, text, sizeof text, limit_ns);
        uint64_t took = plat_now_ns() - before;
        best = took < best ? took : best;
    }
    struct plat_identity self;
    plat_identify(&self);
    if (strcmp(self.os, "linux") == 0)
        CHECK(best >= limit_ns && best < MILLISECOND_NS);
    printf("  %llu ns for %llu\n", (unsigned long long)best, (unsigned long long)limit_ns);
    close_ends(&ends);
}

struct echo {
    plat_socket socket;
    unsigned rest;
};

static void answer(void *argument)
{
    struct echo *echo = argument;
    char text[64];
    uint64_t until = soon_ns(20000);
    while (echo->rest > 0 && plat_now_ns() < until) {
        ptrdiff_t got = plat_receive_within(echo->socket, text, sizeof text, 100 * MILLISECOND_NS);
        if (got > 0 && plat_send(echo->socket, text, (size_t)got) == got)
            echo->rest--;
    }
}

TEST(two_threads_play_ping_pong_without_losing_one)
{
    struct ends ends;
    plat_thread thread;
    char text[64] = "ping";
    open_ends(&ends);
    struct echo echo = {.socket = ends.second, .rest = 300};
    CHECK_ERROR(plat_thread_start(&thread, answer, &echo));
    for (unsigned i = 0; i < 300; i++) {
        CHECK_U64((uint64_t)plat_send(ends.first, text, 20), 20);
        CHECK_U64((uint64_t)plat_receive_within(ends.first, text, sizeof text, 10 * SECOND_NS), 20);
    }
    plat_thread_join(thread);
    CHECK_U64(echo.rest, 0);
    close_ends(&ends);
}

TEST(datagrams_without_a_checksum_arrive_where_the_system_sends_them)
{
    struct ends ends;
    char text[16];
    open_ends(&ends);
    int error = plat_set_no_checksum(ends.first);
    CHECK((error == 0) == capable("no-checksum"));
    if (error != 0)
        CHECK_TEXT(plat_word(error), "capability-missing");
    CHECK_U64((uint64_t)plat_send(ends.first, "bare", 4), 4);
    CHECK_U64((uint64_t)plat_receive_within(ends.second, text, sizeof text, 5 * SECOND_NS), 4);
    close_ends(&ends);
}

TEST(the_path_is_as_wide_as_the_interface_where_the_system_tells)
{
    struct ends ends;
    unsigned mtu_bytes = 0;
    open_ends(&ends);
    bool is_known = plat_path_mtu(ends.first, &mtu_bytes);
    CHECK(is_known ? mtu_bytes >= 1280 : mtu_bytes == 0);
    printf("  %u bytes\n", mtu_bytes);
    close_ends(&ends);
}

TEST(counters_of_fragments_grow_or_are_absent)
{
    struct plat_fragments before, after;
    bool is_known = plat_fragments(&before);
    CHECK(plat_fragments(&after) == is_known);
    if (is_known) {
        CHECK(after.created >= before.created && after.failed >= before.failed);
        CHECK(after.reassembled >= before.reassembled);
        CHECK(after.reassembly_failures >= before.reassembly_failures);
    }
}

/* Stamps are by the wall clock. Each must be no earlier than the one before, and all must be within
 * the time of the test, give or take a second. */
static void stamp_some(struct ends *ends)
{
    char text[64] = "a datagram";
    struct plat_stamp received, sent, before = {.ns = 0};
    const uint64_t wall = plat_wall_ns(), began = plat_now_ns();
    for (uint32_t i = 0; i < 20; i++) {
        CHECK_U64((uint64_t)plat_send(ends->first, text, 20), 20);
        CHECK_U64((uint64_t)plat_receive_stamped(ends->second, text, sizeof text, true, &received),
                  20);
        CHECK_U64((uint64_t)plat_send(ends->second, text, 10), 10);
        CHECK(plat_sent_stamp(ends->second, 5 * SECOND_NS, &sent));
        CHECK_U64(sent.number, i);
        CHECK(!sent.hardware && !received.hardware);
        CHECK(received.ns > 0 && sent.ns >= received.ns && received.ns >= before.ns);
        CHECK_U64((uint64_t)plat_receive(ends->first, text, sizeof text), 10);
        before = sent;
    }
    const uint64_t span = plat_now_ns() - began;
    CHECK(before.ns + SECOND_NS >= wall && before.ns <= wall + span + SECOND_NS);
    printf("  the last one was %llu ns in the stack\n",
           (unsigned long long)(sent.ns - received.ns));
}

TEST(datagrams_are_stamped_on_their_way_in_and_out_where_the_system_does_that)
{
    struct ends ends;
    struct plat_stamp stamp = {.ns = 7};
    char text[16];
    open_ends(&ends);
    int error = plat_stamps_on(ends.second, "no such interface");
    CHECK((error == 0) == capable("stamps"));
    if (error == 0) {
        stamp_some(&ends);
    } else {
        CHECK_TEXT(plat_word(error), "capability-missing");
        CHECK_U64((uint64_t)plat_send(ends.first, "plain", 5), 5);
        CHECK_U64((uint64_t)plat_receive_stamped(ends.second, text, sizeof text, true, &stamp), 5);
        CHECK_U64(stamp.ns, 0);
    }
    plat_stamps_off("no such interface");
    uint64_t before = plat_now_ns();
    CHECK(!plat_sent_stamp(ends.second, 20 * MILLISECOND_NS, &stamp));
    CHECK(plat_now_ns() - before < 5 * SECOND_NS);
    CHECK(!plat_sent_stamp(ends.first, 0, &stamp));
    close_ends(&ends);
}

const struct unit_test contract_round_trip_tests[] = {
    ENTRY(a_receive_waits_no_longer_than_it_may),
    ENTRY(a_wait_of_less_than_a_millisecond_is_one_where_the_system_has_such),
    ENTRY(two_threads_play_ping_pong_without_losing_one),
    ENTRY(datagrams_without_a_checksum_arrive_where_the_system_sends_them),
    ENTRY(the_path_is_as_wide_as_the_interface_where_the_system_tells),
    ENTRY(counters_of_fragments_grow_or_are_absent),
    ENTRY(datagrams_are_stamped_on_their_way_in_and_out_where_the_system_does_that),
    {NULL, NULL},
};
