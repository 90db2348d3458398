/* Writes and reads entries of the undo log as bytes with a checksum. The log has commands that undo
 * changes of this host; each entry is in a slot of the log's file. */
#include "pure/undo_entry.h"

#include <string.h>

#include "pure/big_endian.h"

/* A slot consists of the magic bytes, the length of the body, the checksum and the body. The body
 * consists of number, time, deadline, network, length of the machine's id, the id, and the
 * words. */
#define MAGIC_BYTES 8
#define BODY_AT 16
#define FIXED_BYTES 34
#define BODY_MAX (FIXED_BYTES + UNDO_MACHINE_MAX + UNDO_TEXT_MAX)

_Static_assert(BODY_AT + BODY_MAX <= UNDO_TRY_AT, "the longest entry fits before the last try");

static const unsigned char magic[MAGIC_BYTES] = {'N', 'L', 'U', 'N', 'D', 'O', '0', '1'};

/* CRC-32 of IEEE 802.3 over `length` bytes; the length changes the start value. */
static uint32_t checksum(const unsigned char *bytes, size_t length)
{
    uint32_t crc = 0xffffffffu ^ (uint32_t)length;
    for (size_t i = 0; i < length; i++) {
        crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1u)));
    }
    return ~crc;
}

/* Whether the text is 1 to UNDO_WORDS_MAX words, each with its NUL, and the first word is a
 * program's name of 1 to UNDO_NAME_MAX bytes. */
static bool text_fine(const char *text, size_t length)
{
    size_t words = 0;
    if (length == 0 || length > UNDO_TEXT_MAX || text[length - 1] != 0)
        return false;
    for (size_t i = 0; i < length; i++)
        words += text[i] == 0;
    const size_t name = strlen(text);
    return words <= UNDO_WORDS_MAX && name > 0 && name <= UNDO_NAME_MAX;
}

bool undo_entry_write(const struct undo_entry *entry, unsigned char slot[UNDO_SLOT_BYTES])
{
    unsigned char *body = slot + BODY_AT;
    const size_t machine = strlen(entry->machine_id);
    const size_t length = FIXED_BYTES + machine + entry->text_length;
    if (entry->number == 0 || !text_fine(entry->text, entry->text_length))
        return false;
    memset(slot, 0, UNDO_SLOT_BYTES);
    put_big64(body, entry->number);
    put_big64(body + 8, entry->written_wall_ns);
    put_big64(body + 16, entry->deadline_ns);
    put_big64(body + 24, entry->network_id);
    put_big16(body + 32, (unsigned)machine);
    memcpy(body + FIXED_BYTES, entry->machine_id, machine);
    memcpy(body + FIXED_BYTES + machine, entry->text, entry->text_length);
    memcpy(slot, magic, MAGIC_BYTES);
    put_big32(slot + 8, (uint32_t)length);
    put_big32(slot + 12, checksum(body, length));
    if (entry->last.ending != UNDO_NOT_TRIED)
        undo_try_write(&entry->last, entry->number, slot + UNDO_TRY_AT);
    return true;
}

void undo_try_write(const struct undo_try *last, uint64_t number, unsigned char into[UNDO_TRY_BYTES])
{
    memset(into, 0, UNDO_TRY_BYTES);
    put_big64(into, number);
    put_big64(into + 8, last->wall_ns);
    put_big32(into + 16, (uint32_t)last->ending);
    put_big32(into + 20, last->code);
    put_big32(into + 24, checksum(into, 24));
}

/* An outcome that was written only in part is read as UNDO_NOT_TRIED. */
static void read_try(const unsigned char *from, uint64_t number, struct undo_try *out)
{
    memset(out, 0, sizeof *out);
    const uint32_t ending = get_big32(from + 16);
    if (get_big64(from) != number || get_big32(from + 24) != checksum(from, 24) ||
        ending > UNDO_KILLED)
        return;
    out->wall_ns = get_big64(from + 8);
    out->ending = (enum undo_ending)ending;
    out->code = get_big32(from + 20);
}

static bool read_body(const unsigned char *body, size_t length, struct undo_entry *out)
{
    const size_t machine = get_big16(body + 32);
    if (machine > UNDO_MACHINE_MAX || FIXED_BYTES + machine >= length)
        return false;
    out->number = get_big64(body);
    out->written_wall_ns = get_big64(body + 8);
    out->deadline_ns = get_big64(body + 16);
    out->network_id = get_big64(body + 24);
    memcpy(out->machine_id, body + FIXED_BYTES, machine);
    out->text_length = length - FIXED_BYTES - machine;
    if (out->text_length > UNDO_TEXT_MAX)
        return false;
    memcpy(out->text, body + FIXED_BYTES + machine, out->text_length);
    return out->number > 0 && strlen(out->machine_id) == machine &&
           text_fine(out->text, out->text_length);
}

enum undo_slot undo_entry_read(const unsigned char *slot, size_t length, struct undo_entry *out)
{
    static const unsigned char zeros[MAGIC_BYTES];
    memset(out, 0, sizeof *out);
    if (length == 0 || memcmp(slot, zeros, length < MAGIC_BYTES ? length : MAGIC_BYTES) == 0)
        return UNDO_FREE;
    if (length < UNDO_SLOT_BYTES || memcmp(slot, magic, MAGIC_BYTES) != 0)
        return UNDO_DAMAGED;
    const size_t body = get_big32(slot + 8);
    if (body <= FIXED_BYTES || body > BODY_MAX ||
        get_big32(slot + 12) != checksum(slot + BODY_AT, body) ||
        !read_body(slot + BODY_AT, body, out))
        return UNDO_DAMAGED;
    read_try(slot + UNDO_TRY_AT, out->number, &out->last);
    return UNDO_USED;
}

void undo_entry_words(struct undo_entry *entry, char *words[UNDO_WORDS_MAX + 1])
{
    unsigned count = 0;
    for (size_t at = 0; at < entry->text_length && count < UNDO_WORDS_MAX;
         at += strlen(entry->text + at) + 1)
        words[count++] = entry->text + at;
    words[count] = NULL;
}

unsigned undo_latest(const uint64_t numbers[UNDO_SLOTS], uint64_t below)
{
    unsigned latest = UNDO_SLOTS;
    for (unsigned i = 0; i < UNDO_SLOTS; i++)
        if (numbers[i] > 0 && numbers[i] < below &&
            (latest == UNDO_SLOTS || numbers[i] > numbers[latest]))
            latest = i;
    return latest;
}
