/* A sender with many messages per call, on a played clock: which messages a call takes, and how many a
 * refused call costs. The numbers of errors are Linux's. */
#include <errno.h>

#include "loops/traffic.h"
#include "played.h"

#define STEP_NS (MILLISECOND_NS / 10)

static uint64_t sent, early, unnumbered;

static void note(const struct dataport_data *message)
{
    early += PLAYED_BEGIN_NS + played.now_ns < message->due_ns;
    unnumbered += message->sequence != sent;
    sent++;
}

/* 10000 messages a second, or as many as the socket accepts. The thread must not spin, and its sleeps
 * last 0.55 ms too long. */
static void make_sender(bool paced)
{
    played_make(ROLE_SEND, paced ? SECOND_NS / STEP_NS : 0, SECOND_NS);
    played.test.settings.method = METHOD_BATCH;
    played.test.settings.burst = 8;
    played.oversleep_ns = 5 * STEP_NS + STEP_NS / 2;
    played.accept = note;
    sent = early = unnumbered = 0;
}

static void send_batches(void)
{
    CHECK(send_batch_prepare(&played.stream));
    CHECK_TEXT(played_run(send_batch_run), "stopped");
    send_batch_free(played.stream.batch);
    CHECK_U64(unnumbered, 0);
}

/* The message that it waited for, and those that are due 0.1 to 0.5 ms later. */
TEST(a_call_for_a_batch_takes_each_message_that_is_due_and_none_before_its_time)
{
    make_sender(true);
    send_batches();
    CHECK_U64(played.most_in_a_row, 6);
    CHECK_U64(early, 0);
    CHECK_U64(played.stream.pacing.skipped, 0);
    CHECK(sent > 10000 - 12);
    CHECK(sent <= 6 * played.calls && sent > 6 * (played.calls - 1));
}

/* From 0.2 s to 0.5 s there are 3000 messages, and up to 8 before, which the thread slept through. */
TEST(after_a_pause_a_call_for_a_batch_takes_a_burst_at_most)
{
    make_sender(true);
    played.pause_at_ns = SECOND_NS / 5;
    played.pause_ns = SECOND_NS * 3 / 10 + STEP_NS / 2;
    send_batches();
    CHECK_U64(played.most_in_a_row, 8);
    CHECK(played.stream.pacing.skipped >= 3000 - 8 && played.stream.pacing.skipped <= 3000);
    CHECK_U64(sent + played.stream.pacing.skipped, played.stream.pacing.index);
}

static int no_buffers_for_a_while(uint64_t now_ns)
{
    return now_ns >= SECOND_NS / 2 && now_ns < SECOND_NS * 6 / 10 ? ENOBUFS : 0;
}

static int no_room_for_a_while(uint64_t now_ns)
{
    return now_ns >= SECOND_NS / 2 && now_ns < SECOND_NS * 6 / 10 ? EAGAIN : 0;
}

TEST(a_refused_call_for_a_paced_batch_costs_all_its_messages)
{
    make_sender(true);
    played.error_at = no_buffers_for_a_while;
    send_batches();
    CHECK(played.stream.refused > 1000 - 12 && played.stream.refused < 1000 + 12);
    CHECK_U64(played.stream.local_drops, played.stream.refused);
    CHECK_U64(played.stream.pacing.skipped, 0);
    CHECK_U64(sent + played.stream.refused, played.stream.pacing.index);
}

TEST(a_call_for_a_paced_batch_without_room_skips_all_its_messages)
{
    make_sender(true);
    played.error_at = no_room_for_a_while;
    send_batches();
    CHECK(played.stream.pacing.skipped > 1000 - 12 && played.stream.pacing.skipped < 1000 + 12);
    CHECK_U64(played.stream.refused, 0);
    CHECK_U64(sent + played.stream.pacing.skipped, played.stream.pacing.index);
}

TEST(a_refused_call_for_a_batch_without_a_schedule_costs_one_message)
{
    make_sender(false);
    played.call_ns = STEP_NS;
    played.error_at = no_buffers_for_a_while;
    send_batches();
    CHECK_U64(sent % PLAT_BATCH, 0);
    CHECK(played.stream.refused > 900);
    CHECK_U64(played.stream.refused, played.calls - sent / PLAT_BATCH);
}

const struct unit_test send_batch_tests[] = {
    ENTRY(a_call_for_a_batch_takes_each_message_that_is_due_and_none_before_its_time),
    ENTRY(after_a_pause_a_call_for_a_batch_takes_a_burst_at_most),
    ENTRY(a_refused_call_for_a_paced_batch_costs_all_its_messages),
    ENTRY(a_call_for_a_paced_batch_without_room_skips_all_its_messages),
    ENTRY(a_refused_call_for_a_batch_without_a_schedule_costs_one_message),
    {NULL, NULL}};
