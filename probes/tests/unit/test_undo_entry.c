/* Tests entries of the undo log as bytes: a written entry can be read, a damaged one is refused. */
#include "harness.h"
#include "pure/undo_entry.h"

static unsigned char slot[UNDO_SLOT_BYTES];

static struct undo_entry example(void)
{
    static const char text[] = "ethtool\0-K\0eth0\0gso\0on";
    struct undo_entry entry = {.number = 7,
                               .written_wall_ns = UINT64_C(1700000000000000001),
                               .deadline_ns = 5000000000,
                               .network_id = 4026531840,
                               .machine_id = "0123456789abcdef0123456789abcdef",
                               .text_length = sizeof text};
    memcpy(entry.text, text, sizeof text);
    return entry;
}

TEST(an_entry_that_was_written_is_read)
{
    struct undo_entry entry = example(), got;
    char *words[UNDO_WORDS_MAX + 1];
    CHECK(undo_entry_write(&entry, slot));
    CHECK(undo_entry_read(slot, sizeof slot, &got) == UNDO_USED);
    CHECK_U64(got.number, 7);
    CHECK_U64(got.written_wall_ns, UINT64_C(1700000000000000001));
    CHECK_U64(got.deadline_ns, 5000000000);
    CHECK_U64(got.network_id, 4026531840);
    CHECK_TEXT(got.machine_id, "0123456789abcdef0123456789abcdef");
    CHECK(got.last.ending == UNDO_NOT_TRIED);
    undo_entry_words(&got, words);
    CHECK_TEXT(words[0], "ethtool");
    CHECK_TEXT(words[3], "gso");
    CHECK_TEXT(words[4], "on");
    CHECK(words[5] == NULL);
}

TEST(the_longest_entry_fits_and_longer_ones_are_refused)
{
    struct undo_entry entry = example(), got;
    char *words[UNDO_WORDS_MAX + 1];
    memset(entry.machine_id, 'm', UNDO_MACHINE_MAX);
    memset(entry.text, 'x', UNDO_TEXT_MAX);
    entry.text[UNDO_NAME_MAX] = 0;
    for (unsigned i = 0; i < UNDO_WORDS_MAX - 2; i++)
        entry.text[300 + i] = 0;
    entry.text[UNDO_TEXT_MAX - 1] = 0;
    entry.text_length = UNDO_TEXT_MAX;
    CHECK(undo_entry_write(&entry, slot));
    CHECK(undo_entry_read(slot, sizeof slot, &got) == UNDO_USED);
    CHECK(memcmp(got.text, entry.text, UNDO_TEXT_MAX) == 0);
    undo_entry_words(&got, words);
    CHECK(words[UNDO_WORDS_MAX - 1] != NULL && words[UNDO_WORDS_MAX] == NULL);
    entry.text[400] = 0; /* one word more */
    CHECK(!undo_entry_write(&entry, slot));
    entry.text[400] = 'x';
    entry.text[UNDO_NAME_MAX] = 'x'; /* a longer name */
    CHECK(!undo_entry_write(&entry, slot));
}

TEST(an_entry_without_a_name_a_number_or_an_end_is_refused)
{
    struct undo_entry entry = example();
    entry.number = 0;
    CHECK(!undo_entry_write(&entry, slot));
    entry = example();
    entry.text[0] = 0;
    CHECK(!undo_entry_write(&entry, slot));
    entry = example();
    entry.text_length--;
    CHECK(!undo_entry_write(&entry, slot));
    entry.text_length = 0;
    CHECK(!undo_entry_write(&entry, slot));
}

TEST(every_changed_byte_of_an_entry_is_noticed)
{
    struct undo_entry entry = example(), got;
    undo_entry_write(&entry, slot);
    const size_t length = 16 + 34 + strlen(entry.machine_id) + entry.text_length;
    for (size_t i = 0; i < length; i++) {
        slot[i] ^= 0x41;
        CHECK(undo_entry_read(slot, sizeof slot, &got) == UNDO_DAMAGED);
        slot[i] ^= 0x41;
    }
    CHECK(undo_entry_read(slot, sizeof slot, &got) == UNDO_USED);
}

TEST(a_slot_that_was_cut_or_written_in_part_is_damaged)
{
    struct undo_entry entry = example(), got;
    undo_entry_write(&entry, slot);
    CHECK(undo_entry_read(slot, sizeof slot - 1, &got) == UNDO_DAMAGED);
    CHECK(undo_entry_read(slot, 3, &got) == UNDO_DAMAGED);
    memset(slot + 60, 0, sizeof slot - 60);
    CHECK(undo_entry_read(slot, sizeof slot, &got) == UNDO_DAMAGED);
}

TEST(a_slot_that_begins_with_zeros_or_is_not_there_is_free)
{
    struct undo_entry entry = example(), got;
    undo_entry_write(&entry, slot);
    CHECK(undo_entry_read(slot, 0, &got) == UNDO_FREE);
    memset(slot, 0, UNDO_FREE_BYTES);
    CHECK(undo_entry_read(slot, sizeof slot, &got) == UNDO_FREE);
}

TEST(the_last_try_is_read_with_its_entry_alone)
{
    struct undo_entry entry = example(), got;
    const struct undo_try last = {UNDO_SIGNALLED, 11, 99};
    undo_entry_write(&entry, slot);
    undo_try_write(&last, 7, slot + UNDO_TRY_AT);
    CHECK(undo_entry_read(slot, sizeof slot, &got) == UNDO_USED);
    CHECK(got.last.ending == UNDO_SIGNALLED);
    CHECK_U64(got.last.code, 11);
    CHECK_U64(got.last.wall_ns, 99);
    slot[UNDO_TRY_AT + 20] ^= 1;
    CHECK(undo_entry_read(slot, sizeof slot, &got) == UNDO_USED);
    CHECK(got.last.ending == UNDO_NOT_TRIED);
    undo_try_write(&last, 8, slot + UNDO_TRY_AT);
    undo_entry_read(slot, sizeof slot, &got);
    CHECK(got.last.ending == UNDO_NOT_TRIED);
}

TEST(the_latest_entry_is_the_first_to_be_undone)
{
    uint64_t numbers[UNDO_SLOTS] = {5, 0, 9, 7};
    CHECK_U64(undo_latest(numbers, UINT64_MAX), 2);
    CHECK_U64(undo_latest(numbers, 9), 3);
    CHECK_U64(undo_latest(numbers, 7), 0);
    CHECK_U64(undo_latest(numbers, 5), UNDO_SLOTS);
}

const struct unit_test undo_tests[] = {
    ENTRY(an_entry_that_was_written_is_read),
    ENTRY(the_longest_entry_fits_and_longer_ones_are_refused),
    ENTRY(an_entry_without_a_name_a_number_or_an_end_is_refused),
    ENTRY(every_changed_byte_of_an_entry_is_noticed),
    ENTRY(a_slot_that_was_cut_or_written_in_part_is_damaged),
    ENTRY(a_slot_that_begins_with_zeros_or_is_not_there_is_free),
    ENTRY(the_last_try_is_read_with_its_entry_alone),
    ENTRY(the_latest_entry_is_the_first_to_be_undone),
    {NULL, NULL}};
