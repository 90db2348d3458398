/* Tests waiting for many sockets in one thread. */
#include "contract/contract.h"

#define SOCKETS 300 /* more than one wait returns */

static plat_socket sockets[SOCKETS];
static struct plat_address at[SOCKETS];

static void open_all(void)
{
    for (unsigned i = 0; i < SOCKETS; i++) {
        CHECK(plat_address_parse("127.0.0.1", 0, &at[i]));
        CHECK_ERROR(plat_socket_open(&sockets[i], true, &at[i]));
        CHECK_ERROR(plat_bind(sockets[i], &at[i]));
        CHECK_ERROR(plat_local_address(sockets[i], &at[i]));
    }
}

static void close_all(void)
{
    for (unsigned i = 0; i < SOCKETS; i++)
        plat_close(sockets[i]);
}

/* Sends a byte from the first socket to another one. */
static void say_to(unsigned number)
{
    CHECK_ERROR(plat_connect(sockets[0], &at[number], soon_ns(1000)));
    CHECK_U64((uint64_t)plat_send(sockets[0], "x", 1), 1);
}

TEST(of_many_sockets_those_with_data_are_told_until_they_are_read)
{
    struct plat_watch watch;
    unsigned numbers[4] = {0};
    char byte;
    open_all();
    CHECK_ERROR(plat_watch_open(&watch));
    for (unsigned i = 1; i < SOCKETS; i++)
        CHECK_ERROR(plat_watch_add(&watch, sockets[i], 1000 + i, false));
    CHECK_U64((uint64_t)plat_watch_wait(&watch, numbers, 4, 0), 0);
    say_to(299);
    for (int look = 0; look < 2; look++) {
        CHECK_U64((uint64_t)plat_watch_wait(&watch, numbers, 4, soon_ns(5000)), 1);
        CHECK_U64(numbers[0], 1299);
    }
    CHECK_U64((uint64_t)plat_receive_now(sockets[299], &byte, 1), 1);
    CHECK_U64((uint64_t)plat_watch_wait(&watch, numbers, 4, soon_ns(20)), 0);
    say_to(7);
    plat_watch_remove(&watch, sockets[7]);
    CHECK_U64((uint64_t)plat_watch_wait(&watch, numbers, 4, soon_ns(20)), 0);
    plat_watch_close(&watch);
    close_all();
}

TEST(where_more_are_ready_than_one_answer_takes_all_come_in_their_turn)
{
    struct plat_watch watch;
    bool has_come[SOCKETS] = {false};
    unsigned numbers[64], all = 0;
    open_all();
    CHECK_ERROR(plat_watch_open(&watch));
    for (unsigned i = 0; i < SOCKETS; i++)
        CHECK_ERROR(plat_watch_add(&watch, sockets[i], i, true));
    for (int round = 0; round < 100 && all < SOCKETS; round++) {
        ptrdiff_t came = plat_watch_wait(&watch, numbers, 64, soon_ns(5000));
        CHECK(came > 0 && came <= 64);
        for (ptrdiff_t i = 0; i < came && numbers[i] < SOCKETS; i++) {
            all += !has_come[numbers[i]];
            has_come[numbers[i]] = true;
        }
    }
    CHECK_U64(all, SOCKETS);
    plat_watch_close(&watch);
    close_all();
}

TEST(a_wait_for_no_sockets_ends_by_its_time)
{
    struct plat_watch watch;
    unsigned number;
    CHECK_ERROR(plat_watch_open(&watch));
    CHECK_U64((uint64_t)plat_watch_wait(&watch, &number, 1, soon_ns(20)), 0);
    plat_watch_close(&watch);
}

const struct unit_test contract_watch_tests[] = {
    ENTRY(of_many_sockets_those_with_data_are_told_until_they_are_read),
    ENTRY(where_more_are_ready_than_one_answer_takes_all_come_in_their_turn),
    ENTRY(a_wait_for_no_sockets_ends_by_its_time),
    {NULL, NULL},
};
