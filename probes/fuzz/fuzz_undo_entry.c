/* Fuzzes the reading of slots (the fixed-size records of an undo log's file), also damaged ones. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "pure/undo_entry.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void demand_fine(struct undo_entry *entry)
{
    char *words[UNDO_WORDS_MAX + 1];
    unsigned count = 0;
    undo_entry_words(entry, words);
    while (words[count] != NULL)
        count++;
    demand(count >= 1 && count <= UNDO_WORDS_MAX);
    demand(strlen(words[0]) >= 1 && strlen(words[0]) <= UNDO_NAME_MAX);
    demand(words[count - 1] + strlen(words[count - 1]) + 1 == entry->text + entry->text_length);
    demand(entry->number > 0 && strlen(entry->machine_id) <= UNDO_MACHINE_MAX);
}

/* Writes an entry that has the input as its words to a slot. Reading the slot must return the same
 * entry; after one bit of the words has been flipped, it must report the slot as damaged. */
static void write_and_change(const uint8_t *data, size_t size)
{
    static unsigned char slot[UNDO_SLOT_BYTES];
    static struct undo_entry entry, got;
    memset(&entry, 0, sizeof entry);
    entry.number = size;
    entry.text_length = size < UNDO_TEXT_MAX ? size : UNDO_TEXT_MAX;
    if (size > 0)
        memcpy(entry.text, data, entry.text_length);
    if (entry.text_length > 0)
        entry.text[entry.text_length - 1] = 0;
    if (!undo_entry_write(&entry, slot))
        return;
    demand(undo_entry_read(slot, sizeof slot, &got) == UNDO_USED);
    demand(memcmp(&entry, &got, sizeof got) == 0);
    demand_fine(&got);
    slot[50 + data[0] % entry.text_length] ^= 1;
    demand(undo_entry_read(slot, sizeof slot, &got) == UNDO_DAMAGED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct undo_entry entry;
    /* The exact size, so that the sanitizer reports reads beyond the input. */
    unsigned char *bytes = calloc(1, size > 0 ? size : 1);
    demand(bytes != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    if (undo_entry_read(bytes, size < UNDO_SLOT_BYTES ? size : UNDO_SLOT_BYTES, &entry) == UNDO_USED)
        demand_fine(&entry);
    free(bytes);
    write_and_change(data, size);
    return 0;
}
