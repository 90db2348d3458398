/* The schedule of a sender on a played clock, its begin and its end. */
#include <errno.h>

#include "played.h"

/* Of the accepted messages; times count as the played clock's. */
static uint64_t sent, first_ns, first_due_ns, late_ns, early, unscheduled;

static void note(const struct dataport_data *message)
{
    const uint64_t due_ns = message->due_ns - PLAYED_BEGIN_NS;
    const uint64_t step_ns = SECOND_NS / played.test.settings.rate_numerator;
    if (sent++ == 0) {
        first_ns = played.now_ns;
        first_due_ns = due_ns;
    }
    if ((due_ns - first_due_ns) % step_ns != 0)
        unscheduled++;
    if (played.now_ns < due_ns)
        early++;
    else if (played.now_ns - due_ns > late_ns)
        late_ns = played.now_ns - due_ns;
}

static void make_sender(uint64_t rate, uint64_t abort_ns)
{
    played_make(ROLE_SEND, rate, abort_ns);
    played.accept = note;
    sent = late_ns = early = unscheduled = 0;
}

TEST(a_paced_sender_sends_each_message_of_a_minute_when_it_is_due)
{
    make_sender(1000, 60 * SECOND_NS - MILLISECOND_NS / 2);
    CHECK_TEXT(played_run(send_run), "stopped");
    CHECK_U64(sent, 60000);
    CHECK_U64(atomic_load(&played.stream.marks.messages), 60000);
    CHECK_U64(unscheduled, 0);
    CHECK_U64(early, 0);
    CHECK(late_ns < PLAYED_SOON_NS);
}

TEST(a_paced_sender_that_may_spin_is_on_time_although_sleeps_last_too_long)
{
    make_sender(1000, SECOND_NS - MILLISECOND_NS / 2);
    played.worker.spins = true;
    played.test.worst_sleep_ns = played.oversleep_ns = MILLISECOND_NS / 5;
    CHECK_TEXT(played_run(send_run), "stopped");
    CHECK_U64(sent, 1000);
    CHECK_U64(early, 0);
    CHECK(late_ns < PLAYED_SOON_NS);
    CHECK(played.sleeps >= 999);
}

TEST(a_paced_sender_that_must_not_spin_wakes_late_and_catches_up)
{
    make_sender(1000, SECOND_NS);
    played.test.settings.burst = 8;
    played.test.worst_sleep_ns = played.oversleep_ns = 3 * MILLISECOND_NS + MILLISECOND_NS / 2;
    CHECK_TEXT(played_run(send_run), "stopped");
    CHECK_U64(played.stream.pacing.skipped, 0);
    CHECK_U64(early, 0);
    /* The message that it waited for, and those that are due 1, 2 and 3 ms later. */
    CHECK_U64(played.most_in_a_row, 4);
    CHECK(sent > 995);
}

/* The message of 1 s waits until 11.0005 s: then 10001 messages are due, the last one at 11 s. The
 * time after this has messages until 59.999 s. */
TEST(after_a_pause_a_sender_sends_a_burst_at_most_and_skips_the_rest)
{
    make_sender(1000, 60 * SECOND_NS - MILLISECOND_NS / 2);
    played.test.settings.burst = 8;
    played.pause_at_ns = SECOND_NS;
    played.pause_ns = 10 * SECOND_NS + MILLISECOND_NS / 2;
    CHECK_TEXT(played_run(send_run), "stopped");
    CHECK_U64(played.most_in_a_row, 8);
    CHECK_U64(played.stream.pacing.skipped, 10001 - 8);
    CHECK_U64(sent, 60000 - (10001 - 8));
    CHECK_U64(unscheduled, 0);
}

static int no_room_for_half_a_second(uint64_t now_ns)
{
    const uint64_t from_ns = SECOND_NS - MILLISECOND_NS;
    return now_ns >= from_ns && now_ns < from_ns + SECOND_NS / 2 ? EAGAIN : 0;
}

TEST(a_paced_sender_skips_each_message_for_which_its_socket_has_no_room)
{
    make_sender(100, 3 * SECOND_NS - MILLISECOND_NS);
    played.error_at = no_room_for_half_a_second;
    CHECK_TEXT(played_run(send_run), "stopped");
    CHECK_U64(played.stream.pacing.skipped, 50);
    CHECK_U64(played.stream.refused, 0);
    CHECK_U64(sent, 250);
}

TEST(a_sender_sends_nothing_before_its_start_time)
{
    make_sender(1000, 40 * SECOND_NS - MILLISECOND_NS / 2);
    played.test.settings.start_ns = PLAYED_BEGIN_NS + 30 * SECOND_NS;
    CHECK_TEXT(played_run(send_run), "stopped");
    CHECK(first_ns >= 30 * SECOND_NS && first_ns < 30 * SECOND_NS + PLAYED_SOON_NS);
    CHECK_U64(sent, 10000);
}

TEST(a_sender_that_waits_for_its_start_notices_an_abort_within_20_ms)
{
    make_sender(1000, 5 * SECOND_NS + MILLISECOND_NS);
    played.test.settings.start_ns = PLAYED_BEGIN_NS + 30 * SECOND_NS;
    CHECK_TEXT(played_run(send_run), "stopped");
    CHECK(played.now_ns <= played.abort_ns + NOTICE_NS);
    CHECK_U64(played.calls, 0);
}

TEST(a_sender_that_waits_for_its_next_message_notices_an_abort_within_20_ms)
{
    make_sender(1, 5 * SECOND_NS + SECOND_NS / 2);
    CHECK_TEXT(played_run(send_run), "stopped");
    CHECK(played.now_ns <= played.abort_ns + NOTICE_NS);
    CHECK_U64(sent, 6);
}

TEST(after_its_last_message_a_sender_sends_three_end_markers_some_time_apart)
{
    make_sender(1000, 60 * SECOND_NS);
    played.test.settings.count = 1000;
    CHECK_TEXT(played_run(send_run), NULL);
    CHECK_U64(sent, 1000);
    CHECK_U64(played.end_markers, 3);
    CHECK(played.last_end_marker_ns > 1000 * MILLISECOND_NS);
}

const struct unit_test send_time_tests[] = {
    ENTRY(a_paced_sender_sends_each_message_of_a_minute_when_it_is_due),
    ENTRY(a_paced_sender_that_may_spin_is_on_time_although_sleeps_last_too_long),
    ENTRY(a_paced_sender_that_must_not_spin_wakes_late_and_catches_up),
    ENTRY(after_a_pause_a_sender_sends_a_burst_at_most_and_skips_the_rest),
    ENTRY(a_paced_sender_skips_each_message_for_which_its_socket_has_no_room),
    ENTRY(a_sender_sends_nothing_before_its_start_time),
    ENTRY(a_sender_that_waits_for_its_start_notices_an_abort_within_20_ms),
    ENTRY(a_sender_that_waits_for_its_next_message_notices_an_abort_within_20_ms),
    ENTRY(after_its_last_message_a_sender_sends_three_end_markers_some_time_apart),
    {NULL, NULL}};
