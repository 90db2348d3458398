/* The time-outs and the window of an asker on a played clock. */
#include "asker.h"

/* ---- time-outs ---- */

TEST(an_asker_counts_a_request_as_lost_after_its_timeout_and_asks_again)
{
    for (unsigned spin = 0; spin < 2; spin++) {
        struct settings *settings = make_asker(0, 60 * SECOND_NS);
        settings->count = 10;
        settings->spin = spin;
        mirror.odd_request = 3;
        mirror.odd_ns = NEVER_NS;
        ask_until_the_end(NULL);
        CHECK_U64(asked.sent, 10);
        CHECK_U64(asked.losses, 1);
        CHECK_U64(asked.rtt.count, 9);
        CHECK(is_about(mirror.sent_ns[4] - mirror.sent_ns[3], TIMEOUT_NS));
        CHECK(is_about(mirror.sent_ns[3] - mirror.sent_ns[2], MILLISECOND_NS));
    }
}

TEST(an_answer_after_the_timeout_is_late_and_answers_no_other_request)
{
    struct settings *settings = make_asker(0, 60 * SECOND_NS);
    settings->count = 2000;
    mirror.odd_request = 3;
    mirror.odd_ns = TIMEOUT_NS * 3 / 2;
    ask_until_the_end(NULL);
    CHECK_U64(asked.late, 1);
    CHECK_U64(asked.losses, 1);
    CHECK_U64(asked.duplicates, 0);
    CHECK_U64(played.stream.foreign, 0);
    CHECK_U64(asked.rtt.count, 1999);
    CHECK(is_about(asked.rtt.min, MILLISECOND_NS));
    CHECK(is_about(asked.rtt.max, MILLISECOND_NS));
}

TEST(an_answer_just_before_the_timeout_is_in_time)
{
    make_asker(0, 60 * SECOND_NS)->count = 10;
    mirror.odd_request = 3;
    mirror.odd_ns = TIMEOUT_NS - MILLISECOND_NS;
    ask_until_the_end(NULL);
    CHECK_U64(asked.losses, 0);
    CHECK_U64(asked.late, 0);
    CHECK_U64(asked.rtt.count, 10);
    CHECK(is_about(asked.rtt.max, TIMEOUT_NS - MILLISECOND_NS));
}

TEST(of_many_requests_each_loss_is_noticed_within_a_quarter_of_the_timeout)
{
    struct settings *settings = make_asker(0, 60 * SECOND_NS);
    settings->count = 40;
    settings->outstanding = 4;
    mirror.trip_ns = NEVER_NS;
    mirror.odd_request = 0;
    mirror.odd_ns = TIMEOUT_NS * 9 / 10; /* so that a receive call begins then */
    ask_until_the_end(NULL);
    CHECK_U64(asked.losses, 39);
    for (unsigned i = 5; i < 40; i++) {
        const uint64_t between_ns = mirror.sent_ns[i] - mirror.sent_ns[i - 4];
        CHECK(between_ns >= TIMEOUT_NS && between_ns < TIMEOUT_NS * 5 / 4 + PLAYED_SOON_NS);
    }
}

/* ---- the window ---- */

/* Requests are sent at 0, 0.7 s, …, 10.5 s; the third one is the first of the window. */
TEST(a_closed_loop_ends_with_the_last_answer_to_a_request_of_its_window)
{
    struct settings *settings = make_asker(0, 60 * SECOND_NS);
    settings->warm_up_ns = SECOND_NS;
    settings->seconds_ns = 10 * SECOND_NS;
    mirror.trip_ns = 700 * MILLISECOND_NS;
    ask_until_the_end(NULL);
    CHECK_U64(mirror.sent, 16);
    CHECK_U64(asked.sent, 14);
    CHECK_U64(asked.rtt.count, 14);
    CHECK(is_about(mirror.last_sent_ns, 10500 * MILLISECOND_NS));
    CHECK(is_about(played.now_ns, 11200 * MILLISECOND_NS));
}

TEST(a_loop_whose_last_request_is_lost_ends_after_the_timeout)
{
    struct settings *settings = make_asker(10, 60 * SECOND_NS);
    settings->seconds_ns = SECOND_NS;
    mirror.odd_request = 9;
    mirror.odd_ns = NEVER_NS;
    ask_until_the_end(NULL);
    CHECK_U64(asked.sent, 10);
    CHECK_U64(asked.losses, 1);
    CHECK(is_about(played.now_ns, 900 * MILLISECOND_NS + TIMEOUT_NS));
}

TEST(an_asker_asks_nothing_before_its_start_time)
{
    struct settings *settings = make_asker(10, 60 * SECOND_NS);
    settings->start_ns = PLAYED_BEGIN_NS + 30 * SECOND_NS;
    settings->seconds_ns = SECOND_NS;
    ask_until_the_end(NULL);
    CHECK_U64(asked.sent, 10);
    CHECK(is_about(mirror.sent_ns[0], 30 * SECOND_NS));
}

TEST(an_asker_that_waits_for_its_next_request_notices_an_abort_within_20_ms)
{
    make_asker(1, 5 * SECOND_NS + SECOND_NS / 2)->seconds_ns = 60 * SECOND_NS;
    ask_until_the_end("stopped");
    CHECK(played.now_ns <= played.abort_ns + NOTICE_NS);
    CHECK_U64(asked.sent, 6);
}

const struct unit_test ask_time_tests[] = {
    ENTRY(an_asker_counts_a_request_as_lost_after_its_timeout_and_asks_again),
    ENTRY(an_answer_after_the_timeout_is_late_and_answers_no_other_request),
    ENTRY(an_answer_just_before_the_timeout_is_in_time),
    ENTRY(of_many_requests_each_loss_is_noticed_within_a_quarter_of_the_timeout),
    ENTRY(a_closed_loop_ends_with_the_last_answer_to_a_request_of_its_window),
    ENTRY(a_loop_whose_last_request_is_lost_ends_after_the_timeout),
    ENTRY(an_asker_asks_nothing_before_its_start_time),
    ENTRY(an_asker_that_waits_for_its_next_request_notices_an_abort_within_20_ms),
    {NULL, NULL}};
