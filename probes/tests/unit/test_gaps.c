/* Tests gaps, which are times without a mark of any stream. */
#include "unit/window_marks.h"

static const struct window_plan four_seconds = {
    .streams = 1, .duration_ns = 4 * SECOND, .interval_ns = 100 * MS};

/* Makes a mark every millisecond in a span of time. */
static void marks_between(unsigned number, uint64_t from_ns, uint64_t until_ns)
{
    for (uint64_t t = from_ns; t < until_ns && !window.closed; t += MS)
        mark(number, t, 100);
}

TEST(a_steady_stream_has_no_gap)
{
    begin(&four_seconds);
    marks_between(0, SECOND, 6 * SECOND);
    CHECK(window.closed && !window.closed_by_silence);
    CHECK_U64(window.gaps.count, 0);
    CHECK_U64(window.gaps.total_ns, 0);
    CHECK_U64(window.gaps.longest_count, 0);
}

TEST(a_gap_is_told_with_its_start_and_length)
{
    begin(&four_seconds);
    marks_between(0, SECOND, 2 * SECOND);
    marks_between(0, 4 * SECOND, 6 * SECOND);
    CHECK_U64(window.gaps.count, 1);
    CHECK_U64(window.gaps.total_ns, 2 * SECOND + MS);
    CHECK_U64(window.gaps.longest[0].from_ns, 2 * SECOND - MS);
    uint64_t pairs[2 * GAPS_KEPT];
    CHECK_U64(gaps_pairs(&window.gaps, window_origin_ns(&window), pairs), 2);
    CHECK_U64(pairs[0], SECOND - MS);
    CHECK_U64(pairs[1], 2 * SECOND + MS);
}

TEST(what_is_shorter_than_100_ms_is_none)
{
    begin(&four_seconds);
    marks_between(0, SECOND, 2 * SECOND);
    marks_between(0, 2 * SECOND + 98 * MS, 6 * SECOND);
    CHECK_U64(window.gaps.count, 0);
}

TEST(slow_messages_are_not_gaps_of_each_other)
{
    const struct window_plan minute = {
        .streams = 1, .duration_ns = 60 * SECOND, .interval_ns = SECOND};
    begin(&minute);
    for (uint64_t t = SECOND; !window.closed && t < 90 * SECOND; t += SECOND)
        mark(0, t, 100);
    CHECK_U64(window_marks(&window), 61);
    CHECK_U64(window.gaps.count, 0);
    CHECK_U64(window.gaps.longest_count, 0);
    /* The last mark is just before w1 and the sender has ended: the silence is no gap. */
    begin(&minute);
    mark(0, SECOND, 100);
    for (uint64_t i = 1; i <= 60; i++)
        mark(0, SECOND + i * SECOND - MS, 100);
    CHECK_U64(window_look(&window, 61 * SECOND - 1, true), WINDOW_NOTHING);
    CHECK_U64(window_look(&window, 61 * SECOND + 100 * MS, false), WINDOW_NOTHING);
    CHECK_U64(window_look(&window, 61 * SECOND + 100 * MS, true), WINDOW_CLOSED);
    CHECK(window.closed_by_silence);
    CHECK_U64(window.gaps.longest_count, 0);
}

TEST(what_lies_before_the_window_is_not_counted_and_what_reaches_into_it_is_from_w0_on)
{
    struct window_plan plan = four_seconds;
    plan.warm_up_ns = SECOND;
    begin(&plan);
    marks_between(0, SECOND, SECOND + 200 * MS);
    marks_between(0, SECOND + 500 * MS, SECOND + 800 * MS);
    marks_between(0, 2 * SECOND + 300 * MS, 7 * SECOND);
    CHECK_U64(window.gaps.count, 1);
    CHECK_U64(window.gaps.longest[0].from_ns, 2 * SECOND);
    CHECK_U64(window.gaps.total_ns, 300 * MS);
}

TEST(a_gap_at_the_end_closes_by_silence_and_is_told)
{
    begin(&four_seconds);
    marks_between(0, SECOND, 5 * SECOND - 20 * MS);
    CHECK_U64(window_look(&window, 5 * SECOND + 50 * MS, false), WINDOW_CLOSED);
    CHECK(window.closed_by_silence);
    CHECK_U64(window.gaps.count, 1);
    CHECK_U64(window.gaps.total_ns, 71 * MS);
}

TEST(the_ten_longest_are_kept_and_all_are_counted)
{
    begin(&four_seconds);
    uint64_t t = SECOND;
    for (uint64_t i = 0; i < 14; i++) {
        marks_between(0, t, t + 100 * MS);
        t += (250 + i) * MS;
    }
    marks_between(0, t, 6 * SECOND);
    CHECK_U64(window.gaps.longest_count, GAPS_KEPT);
    CHECK_U64(window.gaps.count, 14);
    CHECK_U64(window.gaps.longest[0].length_ns, (151 + 4) * MS);
    CHECK_U64(window.gaps.longest[9].length_ns, (151 + 13) * MS);
    CHECK_U64(window.gaps.total_ns, 14 * 151 * MS + 91 * MS);
}

static const struct window_plan two_streams = {
    .streams = 2, .duration_ns = 4 * SECOND, .interval_ns = 100 * MS};

TEST(one_streams_silence_among_others_is_none)
{
    begin(&two_streams);
    mark(1, SECOND, 100);
    marks_between(0, SECOND, 4 * SECOND);
    mark(1, 4 * SECOND, 100);
    marks_between(0, 4 * SECOND, 6 * SECOND);
    CHECK_U64(window.gaps.count, 0);
    CHECK(window.longest_gap_ns >= 3 * SECOND);
}

TEST(a_silence_of_all_streams_is_one_gap_whichever_speaks_first)
{
    begin(&two_streams);
    for (uint64_t i = 0; i < 900; i++) {
        mark(0, SECOND + i * MS, 100);
        mark(1, SECOND + i * MS + 300, 100);
    }
    const uint64_t last_ns = SECOND + 899 * MS + 300, back_ns = 3 * SECOND;
    /* Both streams make their marks before either takes the lock. */
    CHECK(window_mark(&window, &stream[1], back_ns, 100, 1));
    CHECK(window_mark(&window, &stream[0], back_ns + 1000, 100, 1));
    window_cross(&window, &stream[0], back_ns + 1000, 100, 1);
    window_cross(&window, &stream[1], back_ns, 100, 1);
    marks_between(0, back_ns + MS, 6 * SECOND);
    CHECK_U64(window.gaps.count, 1);
    CHECK_U64(window.gaps.longest[0].from_ns, last_ns);
    CHECK_U64(window.gaps.total_ns, back_ns - last_ns);
}

TEST(with_a_count_gaps_are_those_between_the_first_and_the_last_mark)
{
    const struct window_plan plan = {.streams = 1, .by_count = true, .interval_ns = 100 * MS};
    begin(&plan);
    marks_between(0, SECOND, 2 * SECOND);
    marks_between(0, 3 * SECOND, 4 * SECOND);
    CHECK_U64(window_finish(&window), WINDOW_CLOSED);
    CHECK_U64(window.gaps.count, 1);
    CHECK_U64(window.gaps.total_ns, SECOND + MS);
}

TEST(a_full_queue_is_kept_with_the_gap_that_it_ended)
{
    begin(&four_seconds);
    marks_between(0, SECOND, 2 * SECOND);
    stream[0].queue_full = true;
    mark(0, 3 * SECOND, 100);
    stream[0].queue_full = false;
    marks_between(0, 3 * SECOND + MS, 6 * SECOND);
    CHECK(window.gaps.longest[0].full);
}

TEST(pairs_begin_where_the_window_does)
{
    struct gaps gaps = {.longest_count = 0};
    uint64_t pairs[2 * GAPS_KEPT];
    gaps_add(&gaps, 100, 200, false);
    gaps_add(&gaps, 250, 350, false);
    gaps_add(&gaps, 400, 400, false);
    gaps_add(&gaps, 500, 700, false);
    CHECK_U64(gaps.count, 3);
    CHECK_U64(gaps_pairs(&gaps, 300, pairs), 4);
    CHECK_U64(pairs[0], 0);
    CHECK_U64(pairs[1], 50);
    CHECK_U64(pairs[2], 200);
    CHECK_U64(pairs[3], 200);
}

const struct unit_test gaps_tests[] = {
    ENTRY(a_steady_stream_has_no_gap),
    ENTRY(a_gap_is_told_with_its_start_and_length),
    ENTRY(what_is_shorter_than_100_ms_is_none),
    ENTRY(slow_messages_are_not_gaps_of_each_other),
    ENTRY(what_lies_before_the_window_is_not_counted_and_what_reaches_into_it_is_from_w0_on),
    ENTRY(a_gap_at_the_end_closes_by_silence_and_is_told),
    ENTRY(the_ten_longest_are_kept_and_all_are_counted),
    ENTRY(one_streams_silence_among_others_is_none),
    ENTRY(a_silence_of_all_streams_is_one_gap_whichever_speaks_first),
    ENTRY(with_a_count_gaps_are_those_between_the_first_and_the_last_mark),
    ENTRY(a_full_queue_is_kept_with_the_gap_that_it_ended),
    ENTRY(pairs_begin_where_the_window_does),
    {NULL, NULL}};
