/* Handles the rare cases of the UDP accounting. */
#include "pure/sequence.h"

#include <string.h>

void sequence_init(struct sequence *s)
{
    memset(s, 0, sizeof *s);
}

/* Forgets the numbers from `from` to before `to`: their places are those of numbers 2^20 older. */
static void clear_seen(struct sequence *s, uint64_t from, uint64_t to)
{
    if (to - from >= SEQUENCE_WINDOW) {
        memset(s->seen, 0, sizeof s->seen);
        return;
    }
    while (from < to && from % 64 != 0) {
        s->seen[from % SEQUENCE_WINDOW / 64] &= ~(UINT64_C(1) << (from % 64));
        from++;
    }
    for (; to - from >= 64; from += 64)
        s->seen[from % SEQUENCE_WINDOW / 64] = 0;
    for (; from < to; from++)
        s->seen[from % SEQUENCE_WINDOW / 64] &= ~(UINT64_C(1) << (from % 64));
}

enum sequence_verdict sequence_add_out_of_order(struct sequence *s, uint64_t number)
{
    uint64_t *word = &s->seen[number % SEQUENCE_WINDOW / 64];
    uint64_t bit = UINT64_C(1) << (number % 64);
    if (number >= s->next) {
        clear_seen(s, s->next, number);
        s->next = number + 1;
    } else if (s->next - number > SEQUENCE_WINDOW) {
        s->late++;
        return SEQUENCE_LATE;
    } else if (*word & bit) {
        s->duplicates++;
        return SEQUENCE_DUPLICATE;
    } else {
        s->reordered++;
    }
    *word |= bit;
    s->distinct++;
    return SEQUENCE_NEW;
}

bool sequence_jitter_ns(const struct sequence *s, uint64_t *out)
{
    if (!s->jittered)
        return false;
    *out = s->jitter_16 >> 4;
    return true;
}

bool sequence_lost(uint64_t sent, uint64_t distinct, uint64_t *lost)
{
    if (distinct > sent)
        return false;
    *lost = sent - distinct;
    return true;
}
