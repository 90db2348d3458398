/* The schedule of an asker on a played clock, and how long it bears refusals. The numbers of errors are
 * Linux's. */
#include <errno.h>

#include "asker.h"

/* ---- the schedule ---- */

/* 100 requests a second for 10 s after 2 s of warm-up, one under way at once. From pause_at_ns on the
 * process does not run for 3 s. */
static void ask_with_a_pause(uint64_t pause_at_ns)
{
    struct settings *settings = make_asker(100, 60 * SECOND_NS);
    settings->warm_up_ns = 2 * SECOND_NS;
    settings->seconds_ns = 10 * SECOND_NS;
    settings->trips = TRIPS;
    played.pause_at_ns = pause_at_ns;
    played.pause_ns = 3 * SECOND_NS;
    ask_until_the_end(NULL);
    CHECK_U64(mirror.sent, 1200);
    CHECK_U64(asked.sent, 1000);
    CHECK_U64(asked.losses, 0);
    CHECK_U64(asked.trips_kept, 1000);
    CHECK_U64(played.stream.pacing.skipped, 0);
}

/* Checks that each trip counts from its due time, until 1 ms after its request was sent: when it was
 * due, after the pause, or after the answer before it. */
static void check_trips(uint64_t pause_at_ns)
{
    const uint64_t pause_until_ns = pause_at_ns + 3 * SECOND_NS;
    uint64_t end_ns = 0;
    unsigned wrong = 0;
    for (unsigned i = 0; i < TRIPS; i++) {
        const uint64_t due_ns = 2 * SECOND_NS + i * 10 * MILLISECOND_NS;
        uint64_t begin_ns = due_ns > end_ns ? due_ns : end_ns;
        if (begin_ns >= pause_at_ns && begin_ns < pause_until_ns)
            begin_ns = pause_until_ns;
        end_ns = begin_ns + MILLISECOND_NS;
        wrong += !is_about(asked_trips[i].at_ns - PLAYED_BEGIN_NS, due_ns) ||
                 !is_about(asked_trips[i].ns, end_ns - due_ns);
    }
    CHECK_U64(wrong, 0);
}

TEST(after_a_pause_an_open_loop_sends_each_request_that_was_due_and_its_trip_counts_from_then)
{
    ask_with_a_pause(6995 * MILLISECOND_NS);
    check_trips(6995 * MILLISECOND_NS);
}

TEST(after_a_pause_beyond_its_window_an_open_loop_sends_each_request_that_was_due_in_it)
{
    ask_with_a_pause(11495 * MILLISECOND_NS);
    check_trips(11495 * MILLISECOND_NS);
}

TEST(an_open_loop_asks_when_a_request_is_due_although_waits_last_too_long)
{
    struct settings *settings = make_asker(100, 60 * SECOND_NS);
    settings->seconds_ns = 10 * SECOND_NS;
    played.test.worst_sleep_ns = played.oversleep_ns = MILLISECOND_NS / 2;
    ask_until_the_end(NULL);
    CHECK_U64(asked.sent, 1000);
    CHECK(mirror.late_ns < 2 * PLAYED_SOON_NS);
}

TEST(an_open_loop_asks_when_a_request_is_due_although_an_earlier_one_is_lost)
{
    struct settings *settings = make_asker(100, 60 * SECOND_NS);
    settings->seconds_ns = 10 * SECOND_NS;
    settings->outstanding = 2;
    mirror.odd_request = 500;
    mirror.odd_ns = NEVER_NS;
    ask_until_the_end(NULL);
    CHECK_U64(asked.sent, 1000);
    CHECK_U64(asked.losses, 1);
    CHECK(mirror.late_ns < PLAYED_SOON_NS);
}

/* ---- errors that may pass ---- */

static int no_buffers_in_the_warm_up(uint64_t now_ns)
{
    return now_ns >= SECOND_NS / 2 && now_ns < SECOND_NS / 2 + MILLISECOND_NS ? ENOBUFS : 0;
}

static int no_buffers_after_1_s(uint64_t now_ns)
{
    return now_ns >= SECOND_NS ? ENOBUFS : 0;
}

static int refused_after_1_s(uint64_t now_ns)
{
    return now_ns >= SECOND_NS ? ECONNREFUSED : 0;
}

static int down_after_1_s(uint64_t now_ns)
{
    return now_ns >= SECOND_NS ? ENETUNREACH : 0;
}

/* Down for 4.9 s of each 9 s. */
static int down_for_less_than_5_s(uint64_t now_ns)
{
    return now_ns % (9 * SECOND_NS) < 4900 * MILLISECOND_NS ? ENETUNREACH : 0;
}

/* A closed loop of a minute, whose send calls take 0.1 ms and end with these errors. */
static void ask_with_errors(int (*error_at)(uint64_t now_ns), const char *word)
{
    make_asker(0, 120 * SECOND_NS)->seconds_ns = 60 * SECOND_NS;
    played.call_ns = MILLISECOND_NS / 10;
    played.error_at = error_at;
    ask_until_the_end(word);
    CHECK_U64(asked.losses, 0);
    CHECK_U64(played.stream.refused, played.calls - mirror.sent);
}

TEST(an_asker_whose_host_refuses_all_requests_fails_after_50_ms)
{
    ask_with_errors(played_no_buffers, "no-buffers");
    CHECK(played_ended_at(50 * MILLISECOND_NS));
}

TEST(a_refusal_of_its_host_in_the_warm_up_does_not_end_an_asker_that_has_asked)
{
    struct settings *settings = make_asker(0, 120 * SECOND_NS);
    settings->warm_up_ns = SECOND_NS;
    settings->seconds_ns = 10 * SECOND_NS;
    played.call_ns = MILLISECOND_NS / 10;
    played.error_at = no_buffers_in_the_warm_up;
    ask_until_the_end(NULL);
    CHECK(played.stream.refused > 0);
    CHECK(played_ended_at(11 * SECOND_NS));
}

TEST(refusals_of_its_host_after_a_first_request_never_end_an_asker)
{
    ask_with_errors(no_buffers_after_1_s, NULL);
    CHECK(played_ended_at(60 * SECOND_NS));
}

TEST(the_third_refusal_of_its_peer_in_a_row_ends_an_asker)
{
    ask_with_errors(refused_after_1_s, "peer-vanished");
    CHECK(played_ended_at(SECOND_NS));
    CHECK_U64(played.stream.refused, 3);
}

TEST(a_path_that_is_down_for_5_s_ends_an_asker)
{
    ask_with_errors(down_after_1_s, "unreachable");
    CHECK(played_ended_at(6 * SECOND_NS));
}

TEST(a_path_that_is_up_for_more_than_4_s_between_two_reports_never_ends_an_asker)
{
    ask_with_errors(down_for_less_than_5_s, NULL);
    CHECK(played_ended_at(60 * SECOND_NS));
}

const struct unit_test ask_schedule_tests[] = {
    ENTRY(after_a_pause_an_open_loop_sends_each_request_that_was_due_and_its_trip_counts_from_then),
    ENTRY(after_a_pause_beyond_its_window_an_open_loop_sends_each_request_that_was_due_in_it),
    ENTRY(an_open_loop_asks_when_a_request_is_due_although_waits_last_too_long),
    ENTRY(an_open_loop_asks_when_a_request_is_due_although_an_earlier_one_is_lost),
    ENTRY(an_asker_whose_host_refuses_all_requests_fails_after_50_ms),
    ENTRY(a_refusal_of_its_host_in_the_warm_up_does_not_end_an_asker_that_has_asked),
    ENTRY(refusals_of_its_host_after_a_first_request_never_end_an_asker),
    ENTRY(the_third_refusal_of_its_peer_in_a_row_ends_an_asker),
    ENTRY(a_path_that_is_down_for_5_s_ends_an_asker),
    ENTRY(a_path_that_is_up_for_more_than_4_s_between_two_reports_never_ends_an_asker),
    {NULL, NULL}};
