/* Accounts for one UDP stream by its sequence numbers, so that sent = received + lost. Only one
 * thread may write. Duplicates are recognised within the last 2^20 messages (fewer with many
 * streams). An older message is `late`: it does not count as received or duplicate, because it
 * could be either. */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

#define SEQUENCE_WINDOW (UINT32_C(1) << 20) /* messages that are remembered */

/* All zero (sequence_init or calloc) is a stream without messages. */
struct sequence {
    uint64_t next;       /* one above the greatest so far: NextExp of RFC 4737 */
    uint64_t distinct;   /* first copies */
    uint64_t duplicates; /* further copies, on top of the distinct ones */
    uint64_t reordered;  /* distinct ones that followed a greater number, RFC 4737 */
    uint64_t late;
    uint64_t transit_ns; /* arrival - due of the last message, modulo 2^64 (two clocks) */
    uint64_t jitter_16;  /* RFC 3550's J in sixteenths of a nanosecond */
    bool timed;          /* transit_ns is set */
    bool jittered;       /* two messages have been timed */
    uint32_t narrowed;   /* how many fewer than SEQUENCE_WINDOW are remembered */
    uint64_t bits[SEQUENCE_WINDOW / 64];
};

enum sequence_verdict { SEQUENCE_NEW, SEQUENCE_DUPLICATE, SEQUENCE_LATE };

void sequence_init(struct sequence *s);
/* The same for one of many streams, with fewer remembered messages: `window` is a power of two, 64
 * to SEQUENCE_WINDOW. */
void sequence_init_narrow(struct sequence *s, uint32_t window);

static inline uint32_t sequence_window(const struct sequence *s)
{
    return SEQUENCE_WINDOW - s->narrowed;
}

static inline uint64_t *sequence_word(struct sequence *s, uint64_t number)
{
    return &s->bits[(number & (sequence_window(s) - 1)) / 64];
}

/* Handles every case except the next number in order. */
enum sequence_verdict sequence_add_out_of_order(struct sequence *s, uint64_t number);

/* Counts a message; `number` is at most DATAPORT_SEQUENCE_MAX (data_port.h checks that).
 * The caller counts the message's bytes only if the result is SEQUENCE_NEW. */
static inline enum sequence_verdict sequence_add(struct sequence *s, uint64_t number)
{
    if (number != s->next)
        return sequence_add_out_of_order(s, number);
    *sequence_word(s, number) |= UINT64_C(1) << (number % 64);
    s->next = number + 1;
    s->distinct++;
    return SEQUENCE_NEW;
}

/* Updates the interarrival jitter (RFC 3550, 6.4.1); call it for first copies, in the order of arrival.
 * due_ns is by the sender's clock, arrived_ns by ours: only differences of differences are used. */
static inline void sequence_time(struct sequence *s, uint64_t due_ns, uint64_t arrived_ns)
{
    uint64_t transit = arrived_ns - due_ns;
    uint64_t step = transit - s->transit_ns;
    s->transit_ns = transit;
    if (!s->timed) {
        s->timed = true;
        return;
    }
    if (step >> 63)
        step = 0 - step;
    if (step >> 40) /* an absurd time of a peer must not overflow the sum */
        step = UINT64_C(1) << 40;
    s->jitter_16 += step - ((s->jitter_16 + 8) >> 4);
    s->jittered = true;
}

/* Jitter in ns; false until two messages have been timed. */
bool sequence_jitter_ns(const struct sequence *s, uint64_t *out);

/* losses = sent - distinct. False, and nothing written, if more messages arrived than were sent:
 * one of the two counts is wrong, so the losses are unknown. */
bool sequence_lost(uint64_t sent, uint64_t distinct, uint64_t *losses);

#endif
