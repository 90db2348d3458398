/* Tests the accounting of UDP messages. */
#include "harness.h"
#include "pure/sequence.h"

static struct sequence s;

/* Empties the stream, which remembers `window` messages from now on. */
static void begin(uint32_t window)
{
    memset(&s, 0, sizeof s);
    s.narrowed = SEQUENCE_WINDOW - window;
}

static void add_all(const uint64_t *numbers, size_t count)
{
    begin(SEQUENCE_WINDOW);
    for (size_t i = 0; i < count; i++)
        sequence_add(&s, numbers[i]);
}

TEST(messages_in_order_are_distinct_and_nothing_else)
{
    begin(SEQUENCE_WINDOW);
    for (uint64_t i = 0; i < 3 * UINT64_C(1048576); i++)
        if (sequence_add(&s, i) != SEQUENCE_NEW)
            CHECK(!"in order, and not new");
    CHECK_U64(s.distinct, 3 * 1048576);
    CHECK(s.duplicates == 0 && s.reordered == 0 && s.late == 0);
}

TEST(copies_are_duplicates_on_top_of_the_distinct_ones)
{
    static const uint64_t numbers[] = {0, 0, 1, 2, 1, 0, 2, 2};
    add_all(numbers, 8);
    CHECK_U64(s.distinct, 3);
    CHECK_U64(s.duplicates, 5);
    CHECK_U64(s.reordered, 0);
}

TEST(a_message_after_a_greater_number_is_reordered_and_a_part_of_the_distinct_ones)
{
    static const uint64_t numbers[] = {0, 3, 1, 2, 4, 5}; /* RFC 4737: 1 and 2 are below NextExp 4 */
    add_all(numbers, 6);
    CHECK_U64(s.distinct, 6);
    CHECK_U64(s.reordered, 2);
    CHECK_U64(s.duplicates, 0);
}

TEST(a_gap_is_lost_until_its_messages_come)
{
    uint64_t losses = 77;
    static const uint64_t numbers[] = {2, 3, 7, 5};
    add_all(numbers, 4);
    CHECK(sequence_lost(10, s.distinct, &losses));
    CHECK_U64(losses, 6); /* missing: 0 1 4 6 8 9 */
    sequence_add(&s, 9);
    CHECK(sequence_lost(10, s.distinct, &losses));
    CHECK_U64(losses, 5);
}

TEST(losses_are_exact_beyond_32_bits_and_never_negative)
{
    uint64_t losses = 77;
    CHECK(sequence_lost(UINT64_C(1) << 40, (UINT64_C(1) << 40) - 3, &losses));
    CHECK_U64(losses, 3);
    CHECK(!sequence_lost(3, 4, &losses));
    CHECK_U64(losses, 3);
}

TEST(the_last_2_to_the_20_messages_are_remembered_and_older_ones_are_late)
{
    begin(SEQUENCE_WINDOW);
    uint64_t top = 5000000;
    sequence_add(&s, top);
    CHECK(sequence_add(&s, top + 1 - SEQUENCE_WINDOW) == SEQUENCE_NEW);
    CHECK(sequence_add(&s, top + 1 - SEQUENCE_WINDOW) == SEQUENCE_DUPLICATE);
    CHECK(sequence_add(&s, top - SEQUENCE_WINDOW) == SEQUENCE_LATE);
    CHECK(sequence_add(&s, 0) == SEQUENCE_LATE);
    CHECK_U64(s.late, 2);
    CHECK_U64(s.distinct, 2);
}

TEST(a_jump_forgets_exactly_the_places_that_it_takes)
{
    for (uint64_t jump = 1; jump <= SEQUENCE_WINDOW + 70; jump += jump < 300 ? 1 : 65521) {
        begin(SEQUENCE_WINDOW);
        for (uint64_t i = 0; i < 200; i++)
            sequence_add(&s, i);
        uint64_t to = 199 + jump;
        CHECK(sequence_add(&s, to) == SEQUENCE_NEW);
        if (jump > 1) /* new, although an older number may have used its place */
            CHECK(sequence_add(&s, to - 1) == SEQUENCE_NEW);
        CHECK(sequence_add(&s, to) == SEQUENCE_DUPLICATE);
        if (to - 150 < SEQUENCE_WINDOW)
            CHECK(sequence_add(&s, 150) == SEQUENCE_DUPLICATE);
    }
}

/* Compares the accounting with a table of all numbers. */
static void compare_with_a_table(uint64_t seed, unsigned spread)
{
    static unsigned char flags[70000];
    uint64_t distinct = 0, duplicates = 0, reordered = 0, next = 0;
    memset(flags, 0, sizeof flags);
    begin(SEQUENCE_WINDOW);
    for (uint64_t i = 0; i < 60000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        uint64_t number = i + (seed >> 33) % spread;
        bool again = flags[number];
        flags[number] = 1;
        distinct += !again;
        duplicates += again;
        reordered += !again && number < next;
        next = number + 1 > next ? number + 1 : next;
        CHECK(sequence_add(&s, number) == (again ? SEQUENCE_DUPLICATE : SEQUENCE_NEW));
    }
    CHECK_U64(s.distinct, distinct);
    CHECK_U64(s.duplicates, duplicates);
    CHECK_U64(s.reordered, reordered);
}

TEST(shuffled_streams_are_accounted_as_a_complete_table_would)
{
    compare_with_a_table(1, 2);
    compare_with_a_table(2, 5);
    compare_with_a_table(3, 64);
    compare_with_a_table(4, 9000);
}

TEST(the_greatest_number_that_is_ours_is_taken)
{
    begin(SEQUENCE_WINDOW);
    CHECK(sequence_add(&s, UINT64_C(1) << 62) == SEQUENCE_NEW);
    CHECK(sequence_add(&s, UINT64_C(1) << 62) == SEQUENCE_DUPLICATE);
    CHECK_U64(s.next, (UINT64_C(1) << 62) + 1);
}

TEST(jitter_is_rfc_3550s_whatever_the_clocks_offset)
{
    static const uint64_t offsets[] = {0, 1000000000, UINT64_MAX - 500, UINT64_C(1) << 63};
    static const uint64_t transit[] = {1000, 1160, 1000, 1000, 4200};
    for (size_t k = 0; k < sizeof offsets / sizeof offsets[0]; k++) {
        double expected = 0;
        uint64_t jitter_ns = 77;
        begin(SEQUENCE_WINDOW);
        CHECK(!sequence_jitter_ns(&s, &jitter_ns));
        for (uint64_t i = 0; i < 5; i++) {
            sequence_time(&s, i * 10000 + offsets[k], i * 10000 + transit[i]);
            if (i == 0) {
                CHECK(!sequence_jitter_ns(&s, &jitter_ns));
                continue;
            }
            double step = (double)transit[i] - (double)transit[i - 1];
            expected += ((step < 0 ? -step : step) - expected) / 16;
            CHECK(sequence_jitter_ns(&s, &jitter_ns));
            CHECK(jitter_ns + 1 >= (uint64_t)expected && jitter_ns <= (uint64_t)expected + 1);
        }
    }
}

TEST(jitter_of_a_steady_stream_is_nothing_and_nonsense_does_not_overflow)
{
    uint64_t jitter_ns = 77;
    begin(SEQUENCE_WINDOW);
    for (uint64_t i = 0; i < 1000; i++)
        sequence_time(&s, i * 1000, i * 1000 + 5);
    CHECK(sequence_jitter_ns(&s, &jitter_ns));
    CHECK_U64(jitter_ns, 0);
    for (uint64_t i = 0; i < 1000; i++)
        sequence_time(&s, i % 2 ? UINT64_C(1) << 62 : 0, 0);
    CHECK(sequence_jitter_ns(&s, &jitter_ns));
    CHECK(jitter_ns <= UINT64_C(1) << 40);
}

/* One of many streams remembers fewer messages. */
TEST(a_narrow_stream_remembers_as_many_messages_as_it_was_given)
{
    begin(64);
    CHECK_U64(sequence_window(&s), 64);
    for (uint64_t i = 0; i < 1000; i++)
        CHECK(sequence_add(&s, i) == SEQUENCE_NEW);
    CHECK(sequence_add(&s, 936) == SEQUENCE_DUPLICATE);
    CHECK(sequence_add(&s, 935) == SEQUENCE_LATE);
    CHECK(sequence_add(&s, 1100) == SEQUENCE_NEW);
    for (uint64_t i = 1037; i < 1100; i++)
        CHECK(sequence_add(&s, i) == SEQUENCE_NEW);
    CHECK_U64(s.distinct, 1064);
    CHECK_U64(s.reordered, 63);
    CHECK(s.duplicates == 1 && s.late == 1);
}

TEST(a_narrow_stream_takes_no_more_room_than_it_was_given)
{
    begin(128);
    for (uint64_t i = 0; i < 100000; i += 1 + i % 3)
        sequence_add(&s, i);
    for (unsigned i = 2; i < SEQUENCE_WINDOW / 64; i++)
        CHECK_U64(s.bits[i], 0);
}

const struct unit_test sequence_tests[] = {
    ENTRY(a_narrow_stream_remembers_as_many_messages_as_it_was_given),
    ENTRY(a_narrow_stream_takes_no_more_room_than_it_was_given),
    ENTRY(messages_in_order_are_distinct_and_nothing_else),
    ENTRY(copies_are_duplicates_on_top_of_the_distinct_ones),
    ENTRY(a_message_after_a_greater_number_is_reordered_and_a_part_of_the_distinct_ones),
    ENTRY(a_gap_is_lost_until_its_messages_come),
    ENTRY(losses_are_exact_beyond_32_bits_and_never_negative),
    ENTRY(the_last_2_to_the_20_messages_are_remembered_and_older_ones_are_late),
    ENTRY(a_jump_forgets_exactly_the_places_that_it_takes),
    ENTRY(shuffled_streams_are_accounted_as_a_complete_table_would),
    ENTRY(the_greatest_number_that_is_ours_is_taken),
    ENTRY(jitter_is_rfc_3550s_whatever_the_clocks_offset),
    ENTRY(jitter_of_a_steady_stream_is_nothing_and_nonsense_does_not_overflow),
    {NULL, NULL}};
