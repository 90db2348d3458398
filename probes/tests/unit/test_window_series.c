/* Tests the series of a window: the bytes received in each interval. */
#include "unit/window_marks.h"

TEST(the_series_adds_up_and_a_mark_on_an_edge_belongs_to_the_interval_behind_it)
{
    begin(&one_second);
    for (uint64_t i = 0; i <= 100; i++)
        mark(0, SECOND + i * 10 * MS, 1);
    CHECK_U64(window.intervals, 10);
    CHECK_U64(window.interval_bytes[0], 9); /* without the bytes of mark a and at 100 ms */
    for (unsigned i = 1; i < 9; i++)
        CHECK_U64(window.interval_bytes[i], 10);
    CHECK_U64(window.interval_bytes[9], 11); /* with the byte of mark b */
    CHECK_U64(series_sum(), 100);
}

TEST(stalls_are_intervals_of_nothing)
{
    begin(&one_second);
    for (uint64_t i = 0; i <= 1000; i++)
        if (i < 250 || i >= 600)
            mark(0, SECOND + i * MS, 1);
    CHECK_U64(window.intervals, 10);
    CHECK_U64(window.interval_bytes[2], 50);
    CHECK_U64(window.interval_bytes[3], 0);
    CHECK_U64(window.interval_bytes[4], 0);
    CHECK_U64(window.interval_bytes[5], 0);
    CHECK_U64(window.interval_bytes[6], 100);
    CHECK_U64(window.longest_gap_ns, 351 * MS);
    CHECK_U64(series_sum(), 650);
}

TEST(a_rest_of_half_an_interval_is_one_of_its_own_and_less_is_not)
{
    struct window_plan plan = one_second;
    plan.interval_ns = 300 * MS; /* lengths 300 300 300 100 */
    begin(&plan);
    for (uint64_t i = 0; i <= 1000; i++)
        mark(0, SECOND + i * MS, 1);
    CHECK_U64(window.intervals, 3);
    CHECK_U64(window.interval_bytes[2], 401);
    plan.interval_ns = 280 * MS; /* lengths 280 280 280 160 */
    begin(&plan);
    for (uint64_t i = 0; i <= 1000; i++)
        mark(0, SECOND + i * MS, 1);
    CHECK_U64(window.intervals, 4);
    CHECK_U64(window.interval_bytes[3], 161);
    plan.interval_ns = 5 * SECOND;
    begin(&plan);
    for (uint64_t i = 0; i <= 1000; i++)
        mark(0, SECOND + i * MS, 1);
    CHECK_U64(window.intervals, 1);
    CHECK_U64(window.interval_bytes[0], 1000);
}

TEST(there_are_never_more_than_1000_intervals)
{
    struct window_plan plan = one_second;
    plan.interval_ns = 1;
    begin(&plan);
    for (uint64_t i = 0; i <= 10000; i++)
        mark(0, SECOND + i * MS / 10, 1);
    CHECK_U64(window.interval_ns, MS);
    CHECK_U64(window.intervals, 1000);
    CHECK_U64(series_sum(), 10000);
    plan.by_count = true;
    begin(&plan);
    for (uint64_t i = 0; i < 10000; i++)
        mark(0, SECOND + i * MS, 1);
    mark(0, UINT64_C(1) << 62, 1);
    window_finish(&window);
    CHECK(window.intervals <= 1000);
    CHECK(window.intervals > 400);
    CHECK_U64(series_sum(), 10000);
}

const struct unit_test window_series_tests[] = {
    ENTRY(the_series_adds_up_and_a_mark_on_an_edge_belongs_to_the_interval_behind_it),
    ENTRY(stalls_are_intervals_of_nothing),
    ENTRY(a_rest_of_half_an_interval_is_one_of_its_own_and_less_is_not),
    ENTRY(there_are_never_more_than_1000_intervals),
    {NULL, NULL}};
