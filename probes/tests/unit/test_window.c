/* Tests the receiver's window. */
#include "unit/window_marks.h"

TEST(mark_a_starts_the_clock_and_its_own_bytes_are_not_counted)
{
    double rate = 0;
    begin(&one_second);
    CHECK_U64(mark(0, 5 * SECOND, 1000), WINDOW_OPENED);
    for (uint64_t i = 1; i < 1000; i++)
        CHECK_U64(mark(0, 5 * SECOND + i * MS, 1000), WINDOW_NOTHING);
    CHECK_U64(mark(0, 6 * SECOND, 1000), WINDOW_CLOSED);
    CHECK_U64(window.b.bytes - window.a.bytes, 1000 * 1000);
    CHECK_U64(window.b_ns - window.a_ns, SECOND);
    CHECK(window_throughput_bit_per_s(&window, &rate));
    CHECK_DOUBLE(rate, 8e6);
    CHECK_U64(window_marks(&window), 1001);
    CHECK(!window.closed_by_silence);
}

TEST(a_stream_of_one_large_message_in_20_ms_is_not_overreported)
{
    /* Messages of 64512 bytes every 5.16096 ms are 100 Mbit/s; the bytes of the first mark (a)
     * would add 0.5 %. */
    double rate = 0;
    begin(&one_second);
    for (uint64_t i = 0; !window.closed && i < 1000; i++)
        mark(0, SECOND + i * 5160960, 64512);
    CHECK(window.closed);
    CHECK(window_throughput_bit_per_s(&window, &rate));
    CHECK_DOUBLE(rate, 1e8);
}

TEST(warm_up_is_outside_and_the_first_mark_at_or_after_each_edge_counts)
{
    struct window_plan plan = one_second;
    plan.warm_up_ns = 500 * MS;
    begin(&plan);
    CHECK_U64(mark(0, 1000, 10), WINDOW_NOTHING);
    CHECK_U64(window.w0_ns, 1000 + 500 * MS);
    CHECK_U64(window.w1_ns, 1000 + 1500 * MS);
    CHECK_U64(mark(0, 400 * MS, 10), WINDOW_NOTHING);
    CHECK_U64(mark(0, 500 * MS + 999, 10), WINDOW_NOTHING);
    CHECK_U64(mark(0, 500 * MS + 1001, 10), WINDOW_OPENED);
    CHECK_U64(window.a_ns, 500 * MS + 1001);
    CHECK_U64(window.a.bytes, 40);
    for (uint64_t i = 1; i < 100; i++)
        CHECK_U64(mark(0, 500 * MS + 1001 + i * 10 * MS, 10), WINDOW_NOTHING);
    CHECK_U64(mark(0, 1500 * MS + 999, 10), WINDOW_NOTHING);
    CHECK_U64(mark(0, 1500 * MS + 1003, 10), WINDOW_CLOSED);
    CHECK_U64(window.b_ns, 1500 * MS + 1003);
    CHECK_U64(window.b.bytes - window.a.bytes, 101 * 10);
    CHECK_U64(mark(0, 1500 * MS + 1004, 10), WINDOW_NOTHING);
    CHECK_U64(window.b.bytes, 40 + 1010);
    CHECK_U64(window_total(&window).bytes, 40 + 1020);
}

/* Makes 100 marks that are 10 ms apart; the first one is a, at 1 s. */
static void half_a_window(void)
{
    begin(&one_second);
    for (uint64_t i = 0; i < 100; i++)
        mark(0, SECOND + i * 10 * MS, 10);
}

TEST(silence_is_time_that_is_never_cut_off)
{
    double rate = 0;
    half_a_window();
    uint64_t limit = 20 * (SECOND / 99); /* 20 mean gaps, above 50 ms */
    CHECK_U64(window_look_at_ns(&window), 2 * SECOND + limit);
    CHECK_U64(window_look(&window, 2 * SECOND + limit - 1, false), WINDOW_NOTHING);
    CHECK_U64(window_look(&window, 2 * SECOND + limit, false), WINDOW_CLOSED);
    CHECK(window.closed_by_silence);
    CHECK_U64(window.b_ns, 2 * SECOND);
    CHECK_U64(window.b.bytes - window.a.bytes, 990);
    CHECK(window_throughput_bit_per_s(&window, &rate));
    CHECK_DOUBLE(rate, 8 * 990.0);
    CHECK_U64(window.longest_gap_ns, 10 * MS);
    CHECK_U64(window_look_at_ns(&window), WINDOW_NEVER_NS);
}

TEST(a_stream_that_dies_in_mid_window_is_measured_over_all_of_it)
{
    double rate = 0;
    begin(&one_second);
    for (uint64_t i = 0; i <= 1000; i++)
        mark(0, SECOND + i * MS / 2, 125);
    CHECK_U64(window_look_at_ns(&window), 2 * SECOND + 50 * MS);
    CHECK_U64(window_look(&window, 2 * SECOND + 50 * MS, false), WINDOW_CLOSED);
    CHECK(window_throughput_bit_per_s(&window, &rate));
    CHECK_DOUBLE(rate, 1e6);
    CHECK_U64(window.longest_gap_ns, 500 * MS);
    CHECK_U64(window.intervals, 10);
    CHECK_U64(window.interval_bytes[9], 0);
    CHECK_U64(series_sum(), 125000);
}

TEST(a_mark_that_comes_late_but_within_the_limit_is_b)
{
    half_a_window();
    uint64_t limit = 20 * (SECOND / 99);
    CHECK_U64(mark(0, 2 * SECOND + limit, 10), WINDOW_CLOSED);
    CHECK(!window.closed_by_silence);
    CHECK_U64(window.b_ns, 2 * SECOND + limit);
    CHECK_U64(window.b.bytes - window.a.bytes, 1000);
    CHECK_U64(window.longest_gap_ns, 10 * MS + limit);
}

TEST(a_mark_beyond_the_limit_means_silence_even_where_nobody_looked_in_time)
{
    half_a_window();
    uint64_t limit = 20 * (SECOND / 99);
    CHECK_U64(mark(0, 2 * SECOND + limit + 1, 10), WINDOW_CLOSED);
    CHECK(window.closed_by_silence);
    CHECK_U64(window.b_ns, 2 * SECOND);
    CHECK_U64(window.b.bytes - window.a.bytes, 990);
    CHECK_U64(window.b.marks - window.a.marks, 99);
    CHECK_U64(window.longest_gap_ns, 10 * MS);
}

TEST(a_look_leaves_the_window_to_a_mark_that_is_on_its_way)
{
    half_a_window();
    CHECK(window_mark(&window, &stream[0], 2 * SECOND + MS, 10, 1));
    CHECK_U64(window_look(&window, 3 * SECOND, false), WINDOW_NOTHING);
    CHECK_U64(window_cross(&window, &stream[0], 2 * SECOND + MS, 10, 1), WINDOW_CLOSED);
    CHECK_U64(window.b_ns, 2 * SECOND + MS);
}

TEST(fewer_than_20_marks_give_no_figure_and_20_do)
{
    for (uint64_t marks = 1; marks <= 25; marks++) {
        double rate = 77;
        begin(&one_second);
        for (uint64_t i = 0; i + 1 < marks; i++)
            mark(0, SECOND + i * 50 * MS / 2, 10);
        mark(0, 2 * SECOND + 1, 10);
        if (marks == 1)
            window_look(&window, 4 * SECOND, false);
        CHECK(window.closed);
        CHECK(window_throughput_bit_per_s(&window, &rate) == (marks >= 20));
        if (marks >= 20)
            CHECK_U64(window_marks(&window), marks);
        else
            CHECK_DOUBLE(rate, 77);
    }
}

TEST(where_no_figure_can_come_any_more_the_silence_is_the_shortest)
{
    begin(&one_second);
    for (uint64_t i = 0; i < 5; i++)
        mark(0, SECOND + i * MS, 10);
    CHECK_U64(window_look_at_ns(&window), 2 * SECOND + 50 * MS);
    CHECK_U64(window_look(&window, 2 * SECOND + 50 * MS, false), WINDOW_CLOSED);
    CHECK_U64(window_marks(&window), 5);
}

TEST(the_window_of_several_streams_opens_with_the_last_ones_first_mark)
{
    struct window_plan plan = one_second;
    plan.streams = 3;
    plan.warm_up_ns = 10 * MS;
    begin(&plan);
    for (uint64_t i = 0; i < 100; i++) {
        CHECK_U64(mark(0, SECOND + i * MS, 10), WINDOW_NOTHING);
        CHECK_U64(mark(2, SECOND + i * MS, 10), WINDOW_NOTHING);
    }
    CHECK_U64(window_look_at_ns(&window), WINDOW_NEVER_NS);
    CHECK_U64(mark(1, SECOND + 100 * MS, 10), WINDOW_NOTHING);
    CHECK_U64(window.w0_ns, SECOND + 110 * MS);
    CHECK_U64(mark(2, SECOND + 111 * MS, 10), WINDOW_OPENED);
    CHECK_U64(window.a.bytes, 2020);
    for (uint64_t i = 112; i < 1110; i++)
        for (unsigned k = 0; k < 3; k++)
            CHECK_U64(mark(k, SECOND + i * MS, 100), WINDOW_NOTHING);
    CHECK_U64(mark(1, SECOND + 1110 * MS, 100), WINDOW_CLOSED);
    CHECK_U64(window.b.bytes - window.a.bytes, 998 * 300 + 100);
    CHECK_U64(window.b_ns - window.a_ns, 999 * MS);
    CHECK_U64(window_marks(&window), 998 * 3 + 2);
    CHECK_U64(series_sum(), 998 * 300 + 100);
}

TEST(a_stream_that_falls_silent_among_others_shows_in_the_longest_gap)
{
    struct window_plan plan = one_second;
    plan.streams = 2;
    begin(&plan);
    mark(1, SECOND - MS, 10);
    for (uint64_t i = 0; i <= 1000; i++)
        mark(0, SECOND + i * MS, 10);
    CHECK(window.closed);
    CHECK_U64(window.longest_gap_ns, SECOND); /* stream 1 had no mark in the window at all */
    CHECK_U64(window.largest_bytes, 10);
}

TEST(a_given_window_needs_no_first_mark)
{
    struct window_plan plan = {.streams = 2, .interval_ns = 100 * MS,
                               .open_ns = 10 * SECOND, .close_ns = 11 * SECOND};
    begin(&plan);
    CHECK_U64(mark(0, 9 * SECOND, 10), WINDOW_NOTHING);
    CHECK_U64(window.w0_ns, 10 * SECOND);
    CHECK_U64(mark(0, 10 * SECOND - 1, 10), WINDOW_NOTHING);
    CHECK_U64(mark(0, 10 * SECOND, 10), WINDOW_OPENED);
    CHECK_U64(window.a_ns, 10 * SECOND);
    CHECK_U64(mark(1, 10 * SECOND + MS, 10), WINDOW_NOTHING);
    CHECK_U64(mark(1, 11 * SECOND, 10), WINDOW_CLOSED);
}

TEST(a_given_window_that_nothing_comes_in_closes_without_a_figure)
{
    struct window_plan plan = {.streams = 1, .interval_ns = 100 * MS,
                               .open_ns = 10 * SECOND, .close_ns = 11 * SECOND};
    double rate;
    begin(&plan);
    CHECK_U64(window_look_at_ns(&window), 11 * SECOND + 50 * MS);
    CHECK_U64(window_look(&window, 12 * SECOND, false), WINDOW_CLOSED);
    CHECK(!window_throughput_bit_per_s(&window, &rate));
    CHECK_U64(window_marks(&window), 0);
    begin(&plan);
    CHECK_U64(mark(0, 12 * SECOND, 10), WINDOW_OPENED | WINDOW_CLOSED);
    CHECK(!window_throughput_bit_per_s(&window, &rate));
    CHECK_U64(mark(0, 13 * SECOND, 10), WINDOW_NOTHING);
}

TEST(with_a_count_the_window_is_the_first_mark_to_the_last)
{
    struct window_plan plan = {.streams = 2, .by_count = true, .interval_ns = 100 * MS};
    double rate = 0;
    begin(&plan);
    CHECK_U64(window_finish(&window), WINDOW_NOTHING);
    CHECK_U64(mark(1, SECOND, 100), WINDOW_OPENED);
    for (uint64_t i = 1; i <= 500; i++)
        CHECK_U64(mark((unsigned)(i % 2), SECOND + i * MS, 100), WINDOW_NOTHING);
    CHECK_U64(window_look_at_ns(&window), WINDOW_NEVER_NS);
    CHECK_U64(window_look(&window, 100 * SECOND, false), WINDOW_NOTHING);
    CHECK_U64(window_finish(&window), WINDOW_CLOSED);
    CHECK_U64(window_finish(&window), WINDOW_NOTHING);
    CHECK_U64(window.b_ns, SECOND + 500 * MS);
    CHECK(window_throughput_bit_per_s(&window, &rate));
    CHECK_DOUBLE(rate, 8 * 500 * 100 / 0.5);
    CHECK_U64(window.intervals, 5);
    CHECK_U64(series_sum(), 50000);
}

TEST(largest_receive_and_longest_gap_are_of_the_window_alone)
{
    struct window_plan plan = one_second;
    plan.warm_up_ns = SECOND;
    begin(&plan);
    mark(0, SECOND, 999999);
    mark(0, SECOND + 900 * MS, 888888); /* a gap of 900 ms, before the window */
    for (uint64_t i = 0; i <= 990; i++)
        mark(0, 2 * SECOND + i * MS, i == 500 ? 777 : 100);
    mark(0, 3 * SECOND, 800);
    CHECK(window.closed);
    CHECK_U64(window.largest_bytes, 800);
    CHECK_U64(window.longest_gap_ns, 10 * MS);
    mark(0, 4 * SECOND, 123456);
    CHECK_U64(window.largest_bytes, 800);
}

TEST(most_marks_need_no_lock)
{
    unsigned locked = 0;
    begin(&one_second);
    for (uint64_t i = 0; i <= 100000; i++) {
        uint64_t t = SECOND + i * MS / 100;
        if (window_mark(&window, &stream[0], t, 1, 1)) {
            locked++;
            window_cross(&window, &stream[0], t, 1, 1);
        }
    }
    CHECK(window.closed);
    CHECK_U64(locked, 1 + 9 + 1); /* a, nine edges of the series, b */
}

TEST(coarse_means_more_than_a_thousandth_of_the_bytes_in_doubt)
{
    CHECK(!window_coarse(1000000, 1000, 0, 0));
    CHECK(window_coarse(1000000, 1001, 0, 0));
    CHECK(window_coarse(1000000, 600, 0, 401));
    CHECK(window_coarse(1000000, 600, 401, 0));
    CHECK(!window_coarse(1000000, 600, 4000, 4400));
    CHECK(window_coarse(0, 1, 0, 0));
    CHECK(!window_coarse(0, 0, 0, 0));
    CHECK(window_coarse(UINT64_MAX, UINT64_MAX, 0, UINT64_MAX));
}

const struct unit_test window_tests[] = {
    ENTRY(mark_a_starts_the_clock_and_its_own_bytes_are_not_counted),
    ENTRY(a_stream_of_one_large_message_in_20_ms_is_not_overreported),
    ENTRY(warm_up_is_outside_and_the_first_mark_at_or_after_each_edge_counts),
    ENTRY(silence_is_time_that_is_never_cut_off),
    ENTRY(a_stream_that_dies_in_mid_window_is_measured_over_all_of_it),
    ENTRY(a_mark_that_comes_late_but_within_the_limit_is_b),
    ENTRY(a_mark_beyond_the_limit_means_silence_even_where_nobody_looked_in_time),
    ENTRY(a_look_leaves_the_window_to_a_mark_that_is_on_its_way),
    ENTRY(fewer_than_20_marks_give_no_figure_and_20_do),
    ENTRY(where_no_figure_can_come_any_more_the_silence_is_the_shortest),
    ENTRY(the_window_of_several_streams_opens_with_the_last_ones_first_mark),
    ENTRY(a_stream_that_falls_silent_among_others_shows_in_the_longest_gap),
    ENTRY(a_given_window_needs_no_first_mark),
    ENTRY(a_given_window_that_nothing_comes_in_closes_without_a_figure),
    ENTRY(with_a_count_the_window_is_the_first_mark_to_the_last),
    ENTRY(largest_receive_and_longest_gap_are_of_the_window_alone),
    ENTRY(most_marks_need_no_lock),
    ENTRY(coarse_means_more_than_a_thousandth_of_the_bytes_in_doubt),
    {NULL, NULL}};
