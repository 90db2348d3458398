/* Tests the schedule of messages. */
#include "harness.h"
#include "pure/pacing.h"

#define SECOND UINT64_C(1000000000)

static struct pacing p;

/* Sends the next message on time, and returns its due time. */
static uint64_t send_on_time(void)
{
    uint64_t due = 0;
    CHECK(!pacing_now(&p, p.due_ns - 1, &due));
    CHECK(pacing_now(&p, due, &due));
    pacing_sent(&p, due);
    return due;
}

TEST(due_times_are_t0_plus_i_times_a_fraction_and_nothing_accumulates)
{
    /* 3 messages per second: due_i = i x 10^9 / 3, rounded down. */
    CHECK(pacing_init(&p, 1000, 3, 1, 0));
    for (uint64_t i = 0; i < 100000; i++)
        CHECK_U64(send_on_time(), 1000 + i * SECOND / 3);
    /* 100 Mbit/s in messages of 1472 bytes: a step of 117760 ns. */
    uint64_t numerator, denominator;
    pacing_of_bit_rate(100000000, 1, 1472, &numerator, &denominator);
    CHECK(pacing_init(&p, 5 * SECOND, numerator, denominator, 0));
    for (uint64_t i = 0; i < 100000; i++)
        CHECK_U64(send_on_time(), 5 * SECOND + i * 117760);
}

TEST(an_awkward_rate_is_exact_after_a_million_messages)
{
    /* 999999937 / 7 messages per second: due_i = floor(i x 7 x 10^9 / 999999937). */
    CHECK(pacing_init(&p, 0, 999999937, 7, 0));
    for (uint64_t i = 0; i < 1000000; i++) {
        uint64_t due;
        pacing_now(&p, p.due_ns, &due);
        pacing_sent(&p, due);
    }
    CHECK_U64(p.due_ns, 1000000 * UINT64_C(7) * SECOND / 999999937);
    CHECK_U64(p.skipped, 0);
    CHECK_U64(p.index, 1000000);
}

TEST(bit_rates_become_messages_a_second_in_lowest_terms)
{
    uint64_t numerator, denominator;
    pacing_of_bit_rate(8000, 1, 1000, &numerator, &denominator);
    CHECK(numerator == 1 && denominator == 1);
    pacing_of_bit_rate(1, 2, 1, &numerator, &denominator);
    CHECK(numerator == 1 && denominator == 16);
    pacing_of_bit_rate(UINT64_C(999999999999999999), 1000000000, 16777216, &numerator, &denominator);
    CHECK(numerator == UINT64_C(999999999999999999));
    CHECK(denominator == UINT64_C(1000000000) * 134217728);
    CHECK(pacing_init(&p, 0, numerator, denominator, 0));
    CHECK_U64(p.step_ns, 134217728); /* 10^9 bit/s, messages of 2^27 bits */
}

TEST(rates_that_are_no_schedule_are_refused)
{
    CHECK(!pacing_init(&p, 0, 0, 1, 0));
    CHECK(!pacing_init(&p, 0, 1, 0, 0));
    CHECK(pacing_init(&p, 0, SECOND, 1, 0));
    CHECK(!pacing_init(&p, 0, SECOND + 1, 1, 0));
    CHECK(!pacing_init(&p, 0, UINT64_C(1) << 63, 1, 0));
    CHECK(!pacing_init(&p, 0, 1, UINT64_MAX, 0));
    CHECK(pacing_init(&p, 0, 1, SECOND, 0)); /* one message in 31 years */
}

TEST(the_default_burst_is_32_or_a_millisecond_whichever_is_smaller)
{
    static const uint64_t rates[][2] = {{1, 1},      {999, 1},    {1000, 1},   {1999, 1},  {8000, 8},
                                        {31999, 31}, {32000, 32}, {1000000, 32}};
    for (size_t i = 0; i < sizeof rates / sizeof rates[0]; i++) {
        CHECK(pacing_init(&p, 0, rates[i][0], 1, 0));
        CHECK_U64(p.burst, rates[i][1]);
    }
    CHECK(pacing_init(&p, 0, 1000000, 1, 500));
    CHECK_U64(p.burst, 500);
}

/* Sends all messages that are due at now_ns, and returns their number. */
static uint64_t burst_at(uint64_t now_ns)
{
    uint64_t due, sent = 0;
    while (pacing_now(&p, now_ns, &due)) {
        pacing_sent(&p, now_ns);
        sent++;
    }
    return sent;
}

TEST(catching_up_is_at_most_the_burst_and_the_rest_is_skipped)
{
    CHECK(pacing_init(&p, 0, 1000000, 1, 32)); /* one message per microsecond */
    CHECK_U64(burst_at(0), 1);
    CHECK_U64(burst_at(10000), 10);
    CHECK_U64(p.skipped, 0);
    CHECK_U64(burst_at(10000 + 32000), 32);
    CHECK_U64(p.skipped, 0);
    CHECK_U64(burst_at(42000 + 33000), 32);
    CHECK_U64(p.skipped, 1);
    CHECK_U64(burst_at(75000 + SECOND), 32);
    CHECK_U64(p.skipped, 1 + 1000000 - 32);
    CHECK_U64(p.due_ns, 75000 + SECOND + 1000); /* the schedule has not shifted */
    CHECK_U64(p.index, 75 + 1000000 + 1);
    CHECK_U64(pacing_largest_burst(&p), 32);
}

TEST(skipping_keeps_the_schedule_exact_at_any_rate_and_lateness)
{
    static const uint64_t rates[][2] = {{3, 1}, {999999937, 7}, {999999999, 1}, {1000000000, 1},
                                        {12345, 67}, {7, 11}, {600000001, 1}};
    for (size_t r = 0; r < sizeof rates / sizeof rates[0]; r++)
        for (uint64_t late = 1; late < 3600 * SECOND; late = late * 7 + 3) {
            uint64_t due;
            CHECK(pacing_init(&p, 0, rates[r][0], rates[r][1], 4));
            CHECK(pacing_now(&p, late, &due));
            CHECK_U64(due, (uint64_t)((long double)p.index * rates[r][1] * SECOND / rates[r][0]));
            CHECK(due <= late);
            CHECK(burst_at(late) <= 5); /* 4, and one more by rounding if a step is below 2 ns */
            CHECK(p.due_ns > late);
        }
}

TEST(on_time_nothing_is_skipped_and_the_burst_is_one)
{
    CHECK(pacing_init(&p, SECOND, 1000, 1, 0));
    CHECK_U64(pacing_largest_burst(&p), 0);
    CHECK_U64(pacing_buckets(&p), 0);
    for (int i = 0; i < 1000; i++)
        send_on_time();
    CHECK_U64(p.skipped, 0);
    CHECK_U64(pacing_largest_burst(&p), 1);
    CHECK_U64(p.late[0], 1000);
    CHECK_U64(pacing_buckets(&p), 1);
}

TEST(lateness_falls_into_buckets_of_powers_of_two)
{
    uint64_t due;
    static const uint64_t late[] = {0, 1, 2, 3, 4, 1023, 1024, 1048575};
    static const unsigned bucket[] = {0, 0, 1, 1, 2, 9, 10, 19};
    CHECK(pacing_init(&p, 0, 1, 1, 0));
    for (size_t i = 0; i < sizeof late / sizeof late[0]; i++) {
        uint64_t before = p.late[bucket[i]];
        CHECK(pacing_now(&p, p.due_ns + late[i], &due));
        pacing_sent(&p, due + late[i]);
        CHECK_U64(p.late[bucket[i]], before + 1);
    }
    CHECK_U64(p.latest_ns, 1048575);
    CHECK_U64(pacing_buckets(&p), 20);
    CHECK_U64(histogram_log2(UINT64_MAX), 63);
}

TEST(sleeping_ends_a_worst_sleep_before_the_due_time_and_spinning_does_the_rest)
{
    CHECK_U64(pacing_sleep_ns(1000, 1000, 60), 0);
    CHECK_U64(pacing_sleep_ns(1000, 2000, 60), 0);
    CHECK_U64(pacing_sleep_ns(1000, 940, 60), 0);
    CHECK_U64(pacing_sleep_ns(1000, 900, 60), 40);
    CHECK_U64(pacing_sleep_ns(15600000, 0, 15700000), 0); /* a timer of 15.6 ms: it spins */
}

TEST(many_streams_as_one_have_the_sum_of_their_rates)
{
    /* 1,000 streams share 20,000 messages per second: each has 20. */
    CHECK(pacing_init_share(&p, 1000, 20000, 1000, 1000, 0));
    for (uint64_t i = 0; i < 1000; i++)
        CHECK_U64(send_on_time(), 1000 + i * 50000);
    /* A schedule for half of these streams. */
    CHECK(pacing_init_share(&p, 1000, 20000, 1000, 500, 0));
    for (uint64_t i = 0; i < 1000; i++)
        CHECK_U64(send_on_time(), 1000 + i * 100000);
    /* 7 streams of 3 messages per second: together 21. */
    CHECK(pacing_init_share(&p, 1000, 3, 1, 7, 0));
    for (uint64_t i = 0; i < 1000; i++)
        CHECK_U64(send_on_time(), 1000 + i * SECOND / 21);
    CHECK(!pacing_init_share(&p, 1000, UINT64_C(999999999999999999), 1, 1000, 0));
    CHECK(!pacing_init_share(&p, 1000, 2000000, 1, 1000, 0)); /* two per nanosecond */
}

const struct unit_test pacing_tests[] = {
    ENTRY(many_streams_as_one_have_the_sum_of_their_rates),
    ENTRY(due_times_are_t0_plus_i_times_a_fraction_and_nothing_accumulates),
    ENTRY(an_awkward_rate_is_exact_after_a_million_messages),
    ENTRY(bit_rates_become_messages_a_second_in_lowest_terms),
    ENTRY(rates_that_are_no_schedule_are_refused),
    ENTRY(the_default_burst_is_32_or_a_millisecond_whichever_is_smaller),
    ENTRY(catching_up_is_at_most_the_burst_and_the_rest_is_skipped),
    ENTRY(skipping_keeps_the_schedule_exact_at_any_rate_and_lateness),
    ENTRY(on_time_nothing_is_skipped_and_the_burst_is_one),
    ENTRY(lateness_falls_into_buckets_of_powers_of_two),
    ENTRY(sleeping_ends_a_worst_sleep_before_the_due_time_and_spinning_does_the_rest),
    {NULL, NULL}};
