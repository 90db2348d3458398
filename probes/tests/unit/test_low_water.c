/* For how many bytes a receive waits. */
#include "harness.h"
#include "pure/low_water.h"

#define MILLISECOND UINT64_C(1000000)

static struct low_water low;

/* Ten reviews of a stream at a rate; returns what a receive waits for then. */
static uint32_t settled(uint64_t bit_per_s)
{
    static uint64_t now_ns = 1, bytes;
    for (int i = 0; i < 10; i++) {
        now_ns += LOW_WATER_REVIEW_NS;
        bytes += bit_per_s / 8 * (LOW_WATER_REVIEW_NS / MILLISECOND) / 1000;
        low_water_mark(&low, now_ns, bytes);
    }
    return low.bytes;
}

TEST(a_fast_stream_waits_for_what_comes_in_a_fifth_of_a_millisecond)
{
    low_water_init(&low, 64, 4 << 20);
    CHECK_U64(settled(400000000), 10000);
    CHECK_U64(settled(2000000000), 50000);
    CHECK_U64(low.highest, 50000);
}

TEST(a_slow_stream_waits_for_nothing)
{
    low_water_init(&low, 64, 4 << 20);
    CHECK_U64(settled(100000000), 1);
    CHECK_U64(settled(160000000), 1);
    CHECK_U64(low.highest, 0);
}

TEST(a_stream_that_grows_slow_waits_for_nothing_any_more)
{
    low_water_init(&low, 64, 4 << 20);
    CHECK_U64(settled(1000000000), 25000);
    CHECK_U64(settled(1000000), 1);
    CHECK_U64(low.highest, 25000);
}

TEST(no_more_is_waited_for_than_an_eighth_of_the_buffer_and_64_kib)
{
    low_water_init(&low, 64, 65536);
    CHECK_U64(settled(UINT64_C(20000000000)), 8192);
    low_water_init(&low, 64, 4 << 20);
    CHECK_U64(settled(UINT64_C(20000000000)), LOW_WATER_MOST);
    low_water_init(&low, 64, 16384); /* an eighth is not worth it */
    CHECK_U64(settled(UINT64_C(20000000000)), 1);
    low_water_init(&low, 64, 0);
    CHECK_U64(settled(UINT64_C(20000000000)), 1);
}

TEST(messages_about_as_long_as_segments_are_not_waited_for)
{
    static const uint64_t sizes[] = {257, 1448, 1500, 16384, 65535};
    for (unsigned i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        low_water_init(&low, sizes[i], 4 << 20);
        CHECK_U64(settled(1000000000), 1);
    }
    low_water_init(&low, 65536, 4 << 20);
    CHECK_U64(settled(1000000000), 25000);
}

TEST(a_rate_that_wavers_changes_nothing)
{
    low_water_init(&low, 64, 4 << 20);
    CHECK_U64(settled(800000000), 20000);
    CHECK_U64(settled(1400000000), 20000);
    CHECK_U64(settled(500000000), 20000);
    CHECK_U64(settled(400000000), 10000);
}

const struct unit_test low_water_tests[] = {
    ENTRY(a_fast_stream_waits_for_what_comes_in_a_fifth_of_a_millisecond),
    ENTRY(a_slow_stream_waits_for_nothing),
    ENTRY(a_stream_that_grows_slow_waits_for_nothing_any_more),
    ENTRY(no_more_is_waited_for_than_an_eighth_of_the_buffer_and_64_kib),
    ENTRY(messages_about_as_long_as_segments_are_not_waited_for),
    ENTRY(a_rate_that_wavers_changes_nothing),
    {NULL, NULL},
};
