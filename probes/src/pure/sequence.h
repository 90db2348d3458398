/* Counts the messages of a UDP stream by sequence numbers, so that sent = received + lost. Only one
 * thread may write. Duplicates are recognised within the last 2^20 messages (fewer with many
 * streams). An older message is `late`: it does not count as received or duplicate, because it
 * could be either. */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include <stdbool.h>
#include <stdint.h>

/* messages that are remembered; `window` is their number here */
#define SEQUENCE_WINDOW (UINT32_C(1) << 20)

/* All zero is a stream without messages. With many streams, `narrowed` may be set before the first
 * message. */
struct sequence {
    uint64_t next;       /* one above the greatest number so far: NextExp of RFC 4737 */
    uint64_t distinct;   /* first copies of messages */
    uint64_t duplicates; /* further copies; `distinct` does not include them */
    uint64_t reordered;  /* first copies that arrived after a greater number, RFC 4737 */
    uint64_t late;
    /* Arrival time minus due time of the last message, modulo 2^64, because the times are from the
     * clocks of two hosts. */
    uint64_t transit_ns;
    uint64_t jitter_16;  /* the jitter (J in RFC 3550) in sixteenths of a nanosecond */
    bool timed;          /* transit_ns is set */
    bool jittered;       /* two messages have been timed */
    /* SEQUENCE_WINDOW minus the number of remembered messages, which is a power of two from 64 to
     * SEQUENCE_WINDOW. */
    uint32_t narrowed;
    uint64_t bits[SEQUENCE_WINDOW / 64];
};

enum sequence_verdict { SEQUENCE_NEW, SEQUENCE_DUPLICATE, SEQUENCE_LATE };

static inline uint32_t sequence_window(const struct sequence *s)
{
    return SEQUENCE_WINDOW - s->narrowed;
}

static inline uint64_t *sequence_word(struct sequence *s, uint64_t number)
{
    return &s->bits[(number & (sequence_window(s) - 1)) / 64];
}

/* Handles a number other than the next one in order. sequence_add calls this function. */
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

/* Updates the interarrival jitter (RFC 3550, 6.4.1). Call this for first copies, in the order of
 * arrival. due_ns, the time at which the message was due, is by the sender's clock, and arrived_ns
 * is by the receiver's. The offset between the clocks has no effect: only the change
 * of arrived_ns - due_ns from message to message is used. */
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
    if (step >> 40) /* an absurd due time from the peer must not overflow the sum */
        step = UINT64_C(1) << 40;
    s->jitter_16 += step - ((s->jitter_16 + 8) >> 4);
    s->jittered = true;
}

/* Jitter in ns; false until two messages have been timed. */
bool sequence_jitter_ns(const struct sequence *s, uint64_t *out);

/* Sets *losses to sent - distinct. Returns false and writes nothing if more messages arrived than
 * were sent: one of the two counts is wrong, so the losses are unknown. */
bool sequence_lost(uint64_t sent, uint64_t distinct, uint64_t *losses);

#endif
