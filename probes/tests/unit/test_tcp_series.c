/* Tests the series of TCP's own numbers, which has room for a fixed number of points. */
#include "harness.h"
#include "pure/tcp_series.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)
#define W0 (77 * SECOND)
#define ALL ((1u << TCP_SERIES_FACTS) - 1)

static struct tcp_series series;

static uint32_t drawn = 20100117;

static uint32_t draw(uint32_t below)
{
    drawn = drawn * 1664525u + 1013904223u;
    return (drawn >> 8) % below;
}

/* A point of a connection whose values all grow by 1 per nanosecond. */
static struct tcp_point point_of(uint64_t now_ns)
{
    struct tcp_point point = {.present = ALL};
    for (unsigned fact = 0; fact < TCP_SERIES_FACTS; fact++)
        point.value[fact] = now_ns;
    return point;
}

static void add(uint64_t now_ns)
{
    const struct tcp_point point = point_of(now_ns);
    tcp_series_add(&series, now_ns, &point);
}

/* Adds a point for each due time, up to late_ns late. */
static void run(uint64_t length_ns, uint32_t late_ns)
{
    tcp_series_begin(&series, W0);
    for (uint64_t now = W0; now < W0 + length_ns; now = tcp_series_due_ns(&series) + draw(late_ns))
        add(now);
}

/* Checks that times ascend, and that each point has the values of its time. */
static void check_points(void)
{
    for (unsigned i = 0; i < series.points; i++) {
        const uint64_t time_us = series.time_us[i], rtt = series.value[TCP_SERIES_RTT_US][i];
        CHECK(i == 0 || time_us > series.time_us[i - 1]);
        CHECK_U64((rtt - W0) / 1000, time_us);
        CHECK_U64(series.value[TCP_SERIES_CWND_BYTES][i], rtt);
        CHECK_U64(series.value[TCP_SERIES_DELIVERED_BYTES][i],
                  rtt - series.first.value[TCP_SERIES_DELIVERED_BYTES]);
        CHECK_U64(series.value[TCP_SERIES_RETRANSMISSIONS][i],
                  series.value[TCP_SERIES_DELIVERED_BYTES][i]);
    }
}

TEST(a_point_is_taken_every_10_ms)
{
    run(SECOND, 1);
    CHECK_U64(series.points, 100);
    CHECK_U64(series.time_us[0], 0);
    CHECK_U64(series.time_us[99], 990000);
    check_points();
}

TEST(what_is_not_due_is_no_point)
{
    tcp_series_begin(&series, W0);
    add(W0);
    add(W0 + 9 * MS);
    CHECK_U64(series.points, 1);
    add(W0 + 10 * MS);
    CHECK_U64(series.points, 2);
}

TEST(a_point_that_is_late_does_not_shift_those_that_follow)
{
    tcp_series_begin(&series, W0);
    add(W0);
    add(W0 + 47 * MS);
    CHECK_U64(tcp_series_due_ns(&series), W0 + 50 * MS);
    CHECK_U64(series.time_us[1], 47000);
}

TEST(a_full_series_keeps_every_other_point_and_is_due_half_as_often)
{
    run(10 * SECOND, 1);
    CHECK_U64(series.points, 500);
    CHECK_U64(series.step_ns, 20 * MS);
    for (unsigned i = 0; i < series.points; i++)
        CHECK_U64(series.time_us[i], 20000 * i);
    check_points();
}

TEST(windows_of_any_length_have_room_and_are_covered_evenly)
{
    for (int round = 0; round < 300; round++) {
        const uint64_t length_ns = MS + draw(1000) * (uint64_t)draw(4000000); /* up to 4000 s */
        const uint32_t late_ns = 1 + draw(round % 2 ? 1000 : 30 * 1000000);
        run(length_ns, late_ns);
        CHECK(series.points > 0 && series.points <= TCP_SERIES_MAX);
        CHECK(series.step_ns == TCP_SERIES_STEP_NS || series.points >= TCP_SERIES_MAX / 2);
        check_points();
        /* Neighbouring points are at most two steps and twice the lateness apart. */
        const uint64_t most_us = (2 * series.step_ns + 2 * (uint64_t)late_ns) / 1000 + 1;
        for (unsigned i = 1; i < series.points; i++)
            CHECK(series.time_us[i] - series.time_us[i - 1] <= most_us);
    }
}

TEST(a_number_that_was_missing_once_is_absent)
{
    tcp_series_begin(&series, W0);
    add(W0);
    struct tcp_point point = point_of(W0 + 10 * MS);
    point.present &= ~(1u << TCP_SERIES_DELIVERED_BYTES);
    tcp_series_add(&series, W0 + 10 * MS, &point);
    add(W0 + 20 * MS);
    CHECK_U64(series.points, 3);
    CHECK_U64(series.present, ALL & ~(1u << TCP_SERIES_DELIVERED_BYTES));
}

TEST(a_system_that_tells_nothing_is_not_asked_again)
{
    const struct tcp_point nothing = {.present = 0};
    tcp_series_begin(&series, W0);
    tcp_series_add(&series, W0, &nothing);
    CHECK_U64(series.points, 0);
    CHECK_U64(tcp_series_due_ns(&series), TCP_SERIES_NEVER_NS);
    add(W0 + SECOND);
    CHECK_U64(series.points, 0);
}

TEST(a_series_that_was_not_begun_is_never_due)
{
    memset(&series, 0, sizeof series);
    CHECK_U64(tcp_series_due_ns(&series), TCP_SERIES_NEVER_NS);
    add(W0);
    CHECK_U64(series.points, 0);
}

TEST(a_counter_that_goes_back_has_counted_nothing)
{
    tcp_series_begin(&series, W0);
    add(W0);
    struct tcp_point point = point_of(0);
    tcp_series_add(&series, W0 + 10 * MS, &point);
    CHECK_U64(series.value[TCP_SERIES_RETRANSMISSIONS][1], 0);
}

const struct unit_test tcp_series_tests[] = {
    ENTRY(a_point_is_taken_every_10_ms),
    ENTRY(what_is_not_due_is_no_point),
    ENTRY(a_point_that_is_late_does_not_shift_those_that_follow),
    ENTRY(a_full_series_keeps_every_other_point_and_is_due_half_as_often),
    ENTRY(windows_of_any_length_have_room_and_are_covered_evenly),
    ENTRY(a_number_that_was_missing_once_is_absent),
    ENTRY(a_system_that_tells_nothing_is_not_asked_again),
    ENTRY(a_series_that_was_not_begun_is_never_due),
    ENTRY(a_counter_that_goes_back_has_counted_nothing),
    {0},
};
