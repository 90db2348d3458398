/* Tests how a receiver chooses its way of waiting by the bytes received. */
#include "harness.h"
#include "pure/waiting.h"

#define MILLISECOND UINT64_C(1000000)

static struct waiting waiting;
static uint64_t now_ns, bytes;

/* Bytes received per millisecond in each way of waiting. */
struct source {
    uint64_t blocking, polling;
};

/* Runs a warm-up with a mark every millisecond, and returns the chosen way. */
static enum way warm_up(struct source source, unsigned milliseconds)
{
    now_ns = 5 * MILLISECOND;
    bytes = 1000;
    waiting_try(&waiting, now_ns, bytes, now_ns + milliseconds * MILLISECOND);
    for (unsigned i = 0; i < milliseconds; i++) {
        now_ns += MILLISECOND;
        bytes += waiting.now == WAY_POLLING ? source.polling : source.blocking;
        waiting_look(&waiting, now_ns, bytes);
    }
    return waiting.now;
}

TEST(a_way_that_is_kept_never_changes)
{
    waiting_keep(&waiting, WAY_SPINNING);
    waiting_look(&waiting, UINT64_C(1) << 62, 1 << 30);
    CHECK(waiting.now == WAY_SPINNING);
    CHECK_U64(waiting.next_ns, WAITING_NEVER_NS);
}

TEST(polling_is_chosen_where_it_brings_clearly_more)
{
    CHECK(warm_up((struct source){100000, 130000}, 200) == WAY_POLLING);
    CHECK(warm_up((struct source){100000, 106000}, 200) == WAY_POLLING);
}

TEST(blocking_is_kept_where_polling_brings_as_much_or_less)
{
    CHECK(warm_up((struct source){12500, 12500}, 200) == WAY_BLOCKING); /* the wire is the limit */
    CHECK(warm_up((struct source){100000, 104000}, 200) == WAY_BLOCKING);
    CHECK(warm_up((struct source){100000, 40000}, 200) == WAY_BLOCKING);
    CHECK(warm_up((struct source){0, 0}, 200) == WAY_BLOCKING);
}

TEST(both_ways_are_tried_in_turns_a_slice_of_time_each)
{
    warm_up((struct source){100, 100}, 200);
    CHECK_U64(waiting.slices[WAY_BLOCKING], 10);
    CHECK_U64(waiting.slices[WAY_POLLING], 10);
}

TEST(a_warm_up_too_short_for_three_slices_of_each_shows_nothing)
{
    CHECK(warm_up((struct source){100, 900}, 50) == WAY_BLOCKING);
    CHECK(warm_up((struct source){100, 900}, 0) == WAY_BLOCKING);
    CHECK(warm_up((struct source){100, 900}, 60) == WAY_POLLING);
}

TEST(after_the_warm_up_nothing_changes_any_more)
{
    warm_up((struct source){100000, 130000}, 200);
    for (unsigned i = 0; i < 100; i++) {
        now_ns += 10 * MILLISECOND;
        waiting_look(&waiting, now_ns, bytes);
    }
    CHECK(waiting.now == WAY_POLLING);
}

/* Slow start or a pause of the machine can distort single slices. */
TEST(single_slices_decide_nothing)
{
    now_ns = 1;
    bytes = 0;
    waiting_try(&waiting, now_ns, bytes, now_ns + 200 * MILLISECOND);
    for (unsigned slice = 0; slice < 20; slice++) {
        const uint64_t polled = slice % 2 == 1 ? 1300000 : 1000000;
        now_ns += WAITING_SLICE_NS;
        bytes += slice < 4 ? 5000000 - slice * 1000000 : slice == 9 ? 0 : slice == 12 ? 9000000 : polled;
        waiting_look(&waiting, now_ns, bytes);
    }
    CHECK(waiting.now == WAY_POLLING);
}

/* If a call blocks past the end of its slice, the slice counts with its real length. */
TEST(a_slice_that_lasted_longer_counts_by_its_rate)
{
    now_ns = 1;
    bytes = 0;
    waiting_try(&waiting, now_ns, bytes, now_ns + 400 * MILLISECOND);
    while (waiting.next_ns != WAITING_NEVER_NS) {
        const unsigned slices = waiting.now == WAY_BLOCKING ? 3 : 1;
        now_ns += slices * WAITING_SLICE_NS;
        bytes += slices * 1000000;
        waiting_look(&waiting, now_ns, bytes);
    }
    CHECK(waiting.slices[WAY_BLOCKING] >= WAITING_SLICES_LEAST);
    CHECK(waiting.now == WAY_BLOCKING);
}

TEST(a_slice_cut_short_by_the_end_is_not_counted)
{
    warm_up((struct source){100, 100}, 204);
    CHECK_U64(waiting.slices[WAY_BLOCKING] + waiting.slices[WAY_POLLING], 20);
}

const struct unit_test waiting_tests[] = {
    ENTRY(a_way_that_is_kept_never_changes),
    ENTRY(polling_is_chosen_where_it_brings_clearly_more),
    ENTRY(blocking_is_kept_where_polling_brings_as_much_or_less),
    ENTRY(both_ways_are_tried_in_turns_a_slice_of_time_each),
    ENTRY(a_warm_up_too_short_for_three_slices_of_each_shows_nothing),
    ENTRY(after_the_warm_up_nothing_changes_any_more),
    ENTRY(single_slices_decide_nothing),
    ENTRY(a_slice_that_lasted_longer_counts_by_its_rate),
    ENTRY(a_slice_cut_short_by_the_end_is_not_counted),
    {NULL, NULL},
};
