/* How long a sender bears refusals, on a played clock: by this host's buffers, by the peer's host, and
 * reports that the path is down. The numbers are Linux's. */
#include <errno.h>

#include "played.h"

static uint64_t sent;

static void count(const struct dataport_data *message)
{
    (void)message;
    sent++;
}

/* A sender without a schedule, whose calls take 0.1 ms. */
static void make_sender(int (*error_at)(uint64_t now_ns))
{
    played_make(ROLE_SEND, 0, 60 * SECOND_NS);
    played.call_ns = MILLISECOND_NS / 10;
    played.accept = count;
    played.error_at = error_at;
    sent = 0;
}

/* ---- this host's buffers ---- */

static int no_buffers_for_49_ms(uint64_t now_ns)
{
    return now_ns < 49 * MILLISECOND_NS ? ENOBUFS : 0;
}

static int no_buffers_after_1_ms(uint64_t now_ns)
{
    return now_ns >= MILLISECOND_NS ? ENOBUFS : 0;
}

TEST(a_sender_whose_host_refuses_all_messages_fails_after_50_ms)
{
    make_sender(played_no_buffers);
    played.test.settings.start_ns = PLAYED_BEGIN_NS + 10 * SECOND_NS;
    CHECK_TEXT(played_run(send_run), "no-buffers");
    CHECK(played_ended_at(10 * SECOND_NS + 50 * MILLISECOND_NS));
    CHECK_U64(played.stream.refused, played.calls);
    CHECK_U64(played.stream.local_drops, 0);
}

TEST(a_sender_whose_host_accepts_a_message_before_50_ms_goes_on)
{
    make_sender(no_buffers_for_49_ms);
    CHECK_TEXT(played_run(send_run), "stopped");
    CHECK_U64(played.stream.refused, played.calls - sent);
    CHECK_U64(played.stream.local_drops, 0);
}

TEST(refusals_of_its_host_after_a_first_message_never_end_a_sender)
{
    make_sender(no_buffers_after_1_ms);
    CHECK_TEXT(played_run(send_run), "stopped");
    CHECK(sent >= 9);
    CHECK(played.stream.local_drops >= played.calls - sent - 1); /* the last one was aborted */
    CHECK(played.stream.local_drops <= played.calls - sent);
}

/* ---- the peer's host ---- */

static uint64_t error_step_ns, next_error_ns;

/* One call from each multiple of error_step_ns on is refused; all others are accepted. */
static bool is_time_of_error(uint64_t now_ns)
{
    if (now_ns < next_error_ns)
        return false;
    next_error_ns += error_step_ns;
    return true;
}

static int refused_at_times(uint64_t now_ns)
{
    return is_time_of_error(now_ns) ? ECONNREFUSED : 0;
}

static void make_sender_with_errors(int (*error_at)(uint64_t now_ns), uint64_t step_ns)
{
    make_sender(error_at);
    error_step_ns = next_error_ns = step_ns;
}

TEST(the_third_refusal_of_the_peer_less_than_4_s_after_another_ends_a_sender)
{
    make_sender_with_errors(refused_at_times, 3900 * MILLISECOND_NS);
    CHECK_TEXT(played_run(send_run), "peer-vanished");
    CHECK(played_ended_at(3 * 3900 * MILLISECOND_NS));
    CHECK_U64(played.stream.refused, 3);
    CHECK_U64(sent, played.calls - 3);
}

TEST(refusals_of_the_peer_more_than_4_s_apart_never_end_a_sender)
{
    make_sender_with_errors(refused_at_times, 4100 * MILLISECOND_NS);
    CHECK_TEXT(played_run(send_run), "stopped");
    CHECK_U64(played.stream.refused, 14);
}

TEST(a_peer_that_refuses_after_the_window_has_not_vanished)
{
    make_sender_with_errors(refused_at_times, SECOND_NS);
    atomic_store(&played.test.in_tail, true);
    CHECK_TEXT(played_run(send_run), NULL);
    CHECK_U64(played.stream.refused, 1);
    CHECK_U64(played.calls, sent + 1);
}

/* ---- the path ---- */

static int down_after_1_s(uint64_t now_ns)
{
    return now_ns >= SECOND_NS ? ENETUNREACH : 0;
}

static int down_at_times(uint64_t now_ns)
{
    return is_time_of_error(now_ns) ? EHOSTUNREACH : 0;
}

/* Down for 4.9 s of each 9 s. */
static int down_for_less_than_5_s(uint64_t now_ns)
{
    return now_ns % (9 * SECOND_NS) < 4900 * MILLISECOND_NS ? ENETUNREACH : 0;
}

/* Down for 4.9 s of each 8.8 s. */
static int down_again_after_less_than_4_s(uint64_t now_ns)
{
    return now_ns % (8800 * MILLISECOND_NS) < 4900 * MILLISECOND_NS ? ENETUNREACH : 0;
}

TEST(a_path_that_is_down_for_5_s_ends_a_sender)
{
    make_sender(down_after_1_s);
    CHECK_TEXT(played_run(send_run), "unreachable");
    CHECK(played_ended_at(6 * SECOND_NS));
    CHECK_U64(played.stream.refused, played.calls - sent);
}

/* The reports come at 3.9 s, 7.8 s and 11.7 s. */
TEST(reports_less_than_4_s_apart_that_the_path_is_down_end_a_sender_after_5_s)
{
    make_sender_with_errors(down_at_times, 3900 * MILLISECOND_NS);
    CHECK_TEXT(played_run(send_run), "unreachable");
    CHECK(played_ended_at(3 * 3900 * MILLISECOND_NS));
}

TEST(a_path_that_is_up_for_more_than_4_s_between_two_reports_never_ends_a_sender)
{
    make_sender(down_for_less_than_5_s);
    CHECK_TEXT(played_run(send_run), "stopped");
    CHECK(sent > 240000); /* 6 x 4.1 s */
}

TEST(a_path_that_is_up_for_less_than_4_s_between_two_reports_counts_as_down)
{
    make_sender(down_again_after_less_than_4_s);
    CHECK_TEXT(played_run(send_run), "unreachable");
    CHECK(played_ended_at(8800 * MILLISECOND_NS));
}

const struct unit_test send_error_tests[] = {
    ENTRY(a_sender_whose_host_refuses_all_messages_fails_after_50_ms),
    ENTRY(a_sender_whose_host_accepts_a_message_before_50_ms_goes_on),
    ENTRY(refusals_of_its_host_after_a_first_message_never_end_a_sender),
    ENTRY(the_third_refusal_of_the_peer_less_than_4_s_after_another_ends_a_sender),
    ENTRY(refusals_of_the_peer_more_than_4_s_apart_never_end_a_sender),
    ENTRY(a_peer_that_refuses_after_the_window_has_not_vanished),
    ENTRY(a_path_that_is_down_for_5_s_ends_a_sender),
    ENTRY(reports_less_than_4_s_apart_that_the_path_is_down_end_a_sender_after_5_s),
    ENTRY(a_path_that_is_up_for_more_than_4_s_between_two_reports_never_ends_a_sender),
    ENTRY(a_path_that_is_up_for_less_than_4_s_between_two_reports_counts_as_down),
    {NULL, NULL}};
