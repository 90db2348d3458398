/* An open-loop schedule of messages, exact to the nanosecond and without accumulated errors.
 * Message i is due at t0 + floor(i x 10^9 / rate) ns, with the rate in messages per second. Only
 * the sending thread uses the schedule. */
#ifndef PACING_H
#define PACING_H

#include <stdbool.h>
#include <stdint.h>

#include "pure/histogram.h"

#define PACING_BURST_MAX 32 /* default limit of messages sent back to back when catching up */
#define PACING_BUCKETS 64

struct pacing {
    uint64_t t0_ns;
    /* A step, the time from one message to the next, is step_ns + step_rest/rate_numerator ns. */
    uint64_t step_ns, step_rest, rate_numerator;
    uint64_t due_ns, due_rest;                   /* of the next message */
    uint64_t index;                              /* of the next message, skipped ones included */
    uint64_t burst;
    uint64_t catch_up_ns; /* if a message is this late, more than `burst` are due */
    uint64_t skipped;     /* messages of the schedule that were never sent */
    uint64_t latest_ns;   /* greatest lateness of a message that was sent */
    /* Numbers of sent messages by their lateness: bucket k has messages that were 2^k to
     * 2^(k+1) - 1 ns late, bucket 0 also messages that were on time. */
    uint64_t late[PACING_BUCKETS];
};

/* Starts a schedule at t0_ns. The rate in messages per second is the fraction rate_numerator /
 * rate_denominator, both above 0. At most `burst` messages are sent back to back; if `burst` is 0,
 * the limit is the number of messages due in 1 ms, but at least 1 and at most 32. False if the rate
 * is out of range: more than one message per nanosecond, or less than one in 2^40 s. */
bool pacing_init(struct pacing *p, uint64_t t0_ns, uint64_t rate_numerator,
                 uint64_t rate_denominator, uint64_t burst);

/* Works as pacing_init does, with the rate multiplied by `times` (at least 1), for `times` streams
 * that share one schedule. */
bool pacing_init_share(struct pacing *p, uint64_t t0_ns, uint64_t rate_numerator,
                       uint64_t rate_denominator, unsigned times, uint64_t burst);

/* Computes the messages per second, as a fraction in lowest terms, for a payload rate in bit/s
 * (also a fraction, as protocol/request.h reads it) and messages of message_bytes bytes (1 to
 * 2^24). */
void pacing_of_bit_rate(uint64_t bit_numerator, uint64_t bit_denominator, uint32_t message_bytes,
                        uint64_t *rate_numerator, uint64_t *rate_denominator);

/* Skips messages so that at most `burst` are due at now_ns. pacing_now calls this function. */
void pacing_skip(struct pacing *p, uint64_t now_ns);

/* Returns whether a message is due. If so, *due_ns is its time in the schedule, and the caller
 * sends it now and then calls pacing_sent with the same now_ns. If not, *due_ns is the time to call
 * again. */
static inline bool pacing_now(struct pacing *p, uint64_t now_ns, uint64_t *due_ns)
{
    if (now_ns >= p->due_ns && now_ns - p->due_ns >= p->catch_up_ns)
        pacing_skip(p, now_ns);
    *due_ns = p->due_ns;
    return now_ns >= p->due_ns;
}

/* Call this after the due message was passed to a send call at now_ns (whether the system accepted
 * it or not). */
static inline void pacing_sent(struct pacing *p, uint64_t now_ns)
{
    uint64_t late_ns = now_ns - p->due_ns;
    p->late[histogram_log2(late_ns)]++;
    if (late_ns > p->latest_ns)
        p->latest_ns = late_ns;
    p->index++;
    p->due_ns += p->step_ns;
    p->due_rest += p->step_rest;
    if (p->due_rest >= p->rate_numerator) {
        p->due_rest -= p->rate_numerator;
        p->due_ns++;
    }
}

/* Returns how long to sleep before the next call of pacing_now: the time until due_ns, minus
 * worst_sleep_ns, because a sleep may take so much longer than requested. 0: there is no time to
 * sleep; the caller must spin. */
static inline uint64_t pacing_sleep_ns(uint64_t due_ns, uint64_t now_ns, uint64_t worst_sleep_ns)
{
    if (due_ns <= now_ns || due_ns - now_ns <= worst_sleep_ns)
        return 0;
    return due_ns - now_ns - worst_sleep_ns;
}

/* Maximum number of messages that were due at once and sent back to back, at most `burst`; 0 if no
 * message was sent. */
uint64_t pacing_largest_burst(const struct pacing *p);
/* Number of buckets up to the last one in use. */
unsigned pacing_buckets(const struct pacing *p);

#endif
