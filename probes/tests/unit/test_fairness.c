/* Tests the fairness index, and the bytes that each stream received in a window. */
#include "harness.h"
#include "pure/window.h"
#include "window_marks.h"

TEST(streams_that_carried_the_same_are_fair)
{
    static const uint64_t alike[] = {1234567, 1234567, 1234567};
    double index = 0;
    CHECK(fairness_index(alike, 3, &index));
    CHECK_DOUBLE(index, 1);
}

TEST(k_of_n_streams_that_carried_all_are_k_of_n_fair)
{
    uint64_t bytes[1000] = {0};
    double index = 0;
    bytes[7] = UINT64_C(1) << 62;
    CHECK(fairness_index(bytes, 1000, &index));
    CHECK_DOUBLE(index, 0.001);
    bytes[8] = UINT64_C(1) << 62;
    CHECK(fairness_index(bytes, 1000, &index));
    CHECK_DOUBLE(index, 0.002);
}

/* Jain, Chiu and Hawe 1984: (1 + 3)^2 / (2 x (1^2 + 3^2)) = 16/20. */
TEST(the_index_is_the_square_of_the_sum_over_n_sums_of_squares)
{
    static const uint64_t bytes[] = {1, 3};
    double index = 0;
    CHECK(fairness_index(bytes, 2, &index));
    CHECK_DOUBLE(index, 0.8);
}

TEST(one_stream_and_nothing_to_share_have_no_index)
{
    static const uint64_t none[] = {0, 0}, one[] = {5};
    double index = 77;
    CHECK(!fairness_index(none, 2, &index));
    CHECK(!fairness_index(one, 1, &index));
    CHECK(!fairness_index(one, 0, &index));
    CHECK_DOUBLE(index, 77);
}

static const struct window_plan three_streams = {
    .streams = 3, .duration_ns = SECOND, .interval_ns = 100 * MS};

static uint64_t of_stream(unsigned number)
{
    return window.closed_bytes[number] - window.opened_bytes[number];
}

static void check_sum(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < window.plan.streams; i++)
        sum += of_stream(i);
    CHECK_U64(sum, window.b.bytes - window.a.bytes);
}

TEST(what_each_stream_carried_adds_up_to_the_window)
{
    begin(&three_streams);
    mark(0, 10 * MS, 100);
    mark(1, 11 * MS, 200);
    CHECK_U64(mark(2, 12 * MS, 400), WINDOW_OPENED);
    for (uint64_t t = 20; t < 1000; t += 10) {
        mark(0, t * MS, 1);
        mark(1, (t + 1) * MS, 2);
        mark(2, (t + 2) * MS, 3);
    }
    CHECK_U64(mark(1, 1013 * MS, 50), WINDOW_CLOSED);
    mark(0, 1014 * MS, 77);
    CHECK_U64(of_stream(0), 98);
    CHECK_U64(of_stream(1), 2 * 98 + 50);
    CHECK_U64(of_stream(2), 3 * 98);
    check_sum();
}

TEST(a_mark_that_comes_too_late_is_no_streams)
{
    begin(&three_streams);
    for (unsigned i = 0; i < 3; i++)
        mark(i, (10 + i) * MS, 100);
    for (uint64_t t = 20; t < 900; t += 10)
        mark((unsigned)(t / 10 % 3), t * MS, 1);
    CHECK_U64(mark(0, 9000 * MS, 5000), WINDOW_CLOSED);
    CHECK(window.closed_by_silence);
    CHECK(of_stream(0) < 100);
    check_sum();
}

TEST(silence_and_a_count_end_every_stream_as_well)
{
    static const struct window_plan by_count = {.streams = 2, .by_count = true};
    begin(&three_streams);
    for (unsigned i = 0; i < 3; i++)
        mark(i, (10 + i) * MS, 100);
    for (uint64_t t = 20; t < 900; t += 10)
        mark(1, t * MS, 5);
    CHECK_U64(window_look(&window, 3000 * MS, false), WINDOW_CLOSED);
    CHECK_U64(of_stream(1), 5 * 88);
    check_sum();
    begin(&by_count);
    mark(0, 10 * MS, 100);
    mark(1, 20 * MS, 30);
    mark(0, 30 * MS, 7);
    CHECK_U64(window_finish(&window), WINDOW_CLOSED);
    CHECK_U64(of_stream(0), 7);
    CHECK_U64(of_stream(1), 30);
    check_sum();
}

TEST(a_mark_that_opens_and_closes_leaves_nothing)
{
    static const struct window_plan plan = {
        .streams = 2, .open_ns = 10 * MS, .close_ns = 11 * MS, .interval_ns = MS};
    begin(&plan);
    mark(0, 5 * MS, 100);
    mark(1, 50 * MS, 30);
    CHECK(window.opened && window.closed);
    CHECK_U64(of_stream(0), 0);
}

const struct unit_test fairness_tests[] = {
    ENTRY(streams_that_carried_the_same_are_fair),
    ENTRY(k_of_n_streams_that_carried_all_are_k_of_n_fair),
    ENTRY(the_index_is_the_square_of_the_sum_over_n_sums_of_squares),
    ENTRY(one_stream_and_nothing_to_share_have_no_index),
    ENTRY(what_each_stream_carried_adds_up_to_the_window),
    ENTRY(a_mark_that_comes_too_late_is_no_streams),
    ENTRY(silence_and_a_count_end_every_stream_as_well),
    ENTRY(a_mark_that_opens_and_closes_leaves_nothing),
    {NULL, NULL},
};
