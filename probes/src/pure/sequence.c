/* Handles messages that arrive out of order, and computes a UDP stream's losses and jitter. */
#include "pure/sequence.h"

#include <string.h>

/* Clears the bits of the numbers `from` to `to` - 1; older numbers have used these bits before. */
static void clear_seen(struct sequence *s, uint64_t from, uint64_t to)
{
    if (to - from >= sequence_window(s)) {
        memset(s->bits, 0, sequence_window(s) / 8);
        return;
    }
    while (from < to && from % 64 != 0) {
        *sequence_word(s, from) &= ~(UINT64_C(1) << (from % 64));
        from++;
    }
    for (; to - from >= 64; from += 64)
        *sequence_word(s, from) = 0;
    for (; from < to; from++)
        *sequence_word(s, from) &= ~(UINT64_C(1) << (from % 64));
}

enum sequence_verdict sequence_add_out_of_order(struct sequence *s, uint64_t number)
{
    uint64_t *word = sequence_word(s, number);
    uint64_t bit = UINT64_C(1) << (number % 64);
    if (number >= s->next) {
        clear_seen(s, s->next, number);
        s->next = number + 1;
    } else if (s->next - number > sequence_window(s)) {
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

bool sequence_lost(uint64_t sent, uint64_t distinct, uint64_t *losses)
{
    if (distinct > sent)
        return false;
    *losses = sent - distinct;
    return true;
}
