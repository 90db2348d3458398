/* Tests the histogram of the durations of send calls. */
#include "harness.h"
#include "pure/call_time.h"

static struct calltime calls;

static uint64_t at(unsigned per_mille)
{
    uint64_t ns = 0;
    CHECK(calltime_percentile(&calls, per_mille, &ns));
    return ns;
}

static bool near(uint64_t value, uint64_t expected)
{
    uint64_t off = value > expected ? value - expected : expected - value;
    return off * 1000 <= expected * 32;
}

TEST(without_a_sample_there_is_no_figure)
{
    uint64_t ns = 7;
    calltime_init(&calls, 1);
    CHECK(!calltime_percentile(&calls, 500, &ns));
    CHECK_U64(ns, 7);
}

TEST(every_duration_is_told_within_a_thirtieth_of_itself)
{
    for (uint64_t value = 0; value < UINT64_C(1) << 39; value += 1 + value / 37) {
        calltime_init(&calls, 1);
        calltime_add(&calls, value);
        if (!near(at(500), value)) {
            CHECK_U64(at(500), value);
            return;
        }
    }
}

TEST(below_32_ns_a_duration_is_told_exactly)
{
    for (uint64_t value = 0; value < 32; value++) {
        calltime_init(&calls, 1);
        calltime_add(&calls, value);
        CHECK_U64(at(1), value);
        CHECK_U64(at(1000), value);
    }
}

TEST(what_is_longer_than_can_be_told_counts_as_the_longest)
{
    calltime_init(&calls, 1);
    calltime_add(&calls, UINT64_MAX);
    CHECK(at(500) > UINT64_C(1) << 39);
    CHECK_U64(calls.sampled, 1);
}

TEST(percentiles_stand_where_their_share_of_the_calls_ends)
{
    calltime_init(&calls, 1);
    for (uint64_t i = 1; i <= 10000; i++)
        calltime_add(&calls, i * 100);
    CHECK(near(at(500), 500000));
    CHECK(near(at(900), 900000));
    CHECK(near(at(1), 1000));
    CHECK(near(at(1000), 1000000));
}

TEST(many_quick_calls_and_few_long_ones_are_told_apart)
{
    calltime_init(&calls, 1);
    for (int i = 0; i < 1000; i++)
        calltime_add(&calls, i % 5 == 0 ? 400000 : 2000);
    CHECK(near(at(500), 2000));
    CHECK(near(at(900), 400000));
}

TEST(the_calls_of_two_streams_are_told_together)
{
    static struct calltime second;
    calltime_init(&calls, 1);
    calltime_init(&second, 2);
    for (int i = 0; i < 100; i++) {
        calltime_add(&calls, 1000);
        calltime_add(&second, 8000);
    }
    calltime_merge(&calls, &second);
    CHECK_U64(calls.sampled, 200);
    CHECK(near(at(500), 1000));
    CHECK(near(at(510), 8000));
}

TEST(the_histogram_tells_every_bucket_that_counted_and_no_other)
{
    static uint64_t pairs[2 * CALLTIME_BUCKETS];
    calltime_init(&calls, 1);
    CHECK_U64(calltime_pairs(&calls, pairs), 0);
    const uint64_t values[] = {7, 7, 31, 32, 1000};
    for (unsigned i = 0; i < 5; i++)
        calltime_add(&calls, values[i]);
    CHECK_U64(calltime_pairs(&calls, pairs), 8);
    /* 1000 is in bucket 111: e = 9 - 4, (5 + 1) * 16 + (1000 >> 5) - 16. */
    const uint64_t expected[] = {7, 2, 31, 1, 32, 1, 111, 1};
    for (unsigned i = 0; i < 8; i++)
        CHECK_U64(pairs[i], expected[i]);
}

static void take_calls(uint64_t each_ns, uint32_t seed)
{
    calltime_init(&calls, seed);
    for (int i = 0; i < CALLTIME_FIRST; i++)
        calltime_add(&calls, each_ns);
}

TEST(slow_calls_are_timed_one_in_8_and_quick_ones_one_in_64_once_it_is_known)
{
    const uint64_t each_ns[] = {400, 9000, 11000, 5000000};
    const unsigned steps[] = {64, 64, 8, 8};
    for (unsigned k = 0; k < 4; k++) {
        unsigned due = 0;
        take_calls(each_ns[k], k + 1);
        for (int i = 0; i < 640000; i++)
            due += calltime_due(&calls);
        CHECK(due > 620000 / steps[k] && due < 660000 / steps[k]);
    }
    calltime_init(&calls, 5);
    for (int i = 0; i < 1000 && !calltime_due(&calls); i++)
        CHECK(i < 2 * CALLTIME_SLOW_STEP);
}

TEST(it_is_looked_for_room_behind_one_of_32_timed_calls_the_first_among_them)
{
    unsigned looks = 0;
    calltime_init(&calls, 1);
    for (int i = 0; i < 1600; i++) {
        calltime_add(&calls, 400);
        looks += calltime_look_due(&calls);
        CHECK(i > 0 || looks == 1);
    }
    CHECK_U64(looks, 1600 / CALLTIME_LOOK);
}

TEST(the_first_call_is_never_timed)
{
    for (uint32_t seed = 0; seed < 1000; seed++) {
        calltime_init(&calls, seed * 2654435761u);
        CHECK(!calltime_due(&calls));
    }
}

/* A buffer that fills and drains makes calls periodic; a fixed step could always time the same call of
 * the period. */
TEST(no_rhythm_of_a_buffer_hides_a_kind_of_call)
{
    for (unsigned period = 2; period <= 64; period *= 2) {
        unsigned beat[64] = {0};
        take_calls(400, period);
        for (unsigned i = 0; i < 640000; i++)
            beat[i % period] += calltime_due(&calls);
        for (unsigned k = 0; k < period; k++)
            CHECK(beat[k] * period > 5000 && beat[k] * period < 15000);
    }
}

const struct unit_test calltime_tests[] = {
    ENTRY(without_a_sample_there_is_no_figure),
    ENTRY(every_duration_is_told_within_a_thirtieth_of_itself),
    ENTRY(below_32_ns_a_duration_is_told_exactly),
    ENTRY(what_is_longer_than_can_be_told_counts_as_the_longest),
    ENTRY(percentiles_stand_where_their_share_of_the_calls_ends),
    ENTRY(many_quick_calls_and_few_long_ones_are_told_apart),
    ENTRY(the_calls_of_two_streams_are_told_together),
    ENTRY(the_histogram_tells_every_bucket_that_counted_and_no_other),
    ENTRY(slow_calls_are_timed_one_in_8_and_quick_ones_one_in_64_once_it_is_known),
    ENTRY(it_is_looked_for_room_behind_one_of_32_timed_calls_the_first_among_them),
    ENTRY(the_first_call_is_never_timed),
    ENTRY(no_rhythm_of_a_buffer_hides_a_kind_of_call),
    {NULL, NULL},
};
