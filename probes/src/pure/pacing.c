/* Computes exact times of messages without 128-bit types, which some compilers do not have. */
#include "pure/pacing.h"

#include <string.h>

#include "pure/nanoseconds.h"

struct quotient {
    uint64_t whole, rest;
    bool fits; /* whole is below 2^64 */
};

/* (factor x multiplier + plus) / divisor, by schoolbook multiplication and long division, bit by
 * bit. */
static struct quotient divide(uint64_t factor, uint64_t multiplier, uint64_t plus, uint64_t divisor)
{
    uint64_t a = factor >> 32, b = factor & UINT32_MAX;
    uint64_t c = multiplier >> 32, d = multiplier & UINT32_MAX;
    uint64_t low = b * d, middle = a * d + (low >> 32), high;
    uint64_t carry = middle >> 32;
    middle = (middle & UINT32_MAX) + b * c;
    high = a * c + carry + (middle >> 32);
    low = middle << 32 | (low & UINT32_MAX);
    high += low + plus < low;
    low += plus;

    struct quotient out = {0, high % divisor, high < divisor};
    for (int bit = 63; bit >= 0; bit--) {
        bool overflow = out.rest >> 63;
        out.rest = out.rest << 1 | (low >> bit & 1);
        out.whole <<= 1;
        if (overflow || out.rest >= divisor) {
            out.rest -= divisor;
            out.whole |= 1;
        }
    }
    return out;
}

static uint64_t common_divisor(uint64_t first, uint64_t second)
{
    while (second != 0) {
        uint64_t rest = first % second;
        first = second;
        second = rest;
    }
    return first;
}

bool pacing_init(struct pacing *p, uint64_t t0_ns, uint64_t rate_numerator,
                 uint64_t rate_denominator, uint64_t burst)
{
    struct quotient step, in_a_millisecond;
    memset(p, 0, sizeof *p);
    if (rate_numerator == 0 || rate_denominator == 0 || rate_numerator >> 63)
        return false;
    step = divide(SECOND_NS, rate_denominator, 0, rate_numerator);
    if (!step.fits || step.whole == 0 || step.whole >> 40 >= SECOND_NS)
        return false;
    if (burst == 0) {
        in_a_millisecond = divide(rate_numerator, MILLISECOND_NS, 0, SECOND_NS);
        burst = in_a_millisecond.whole / rate_denominator;
        if (burst > PACING_BURST_MAX || !in_a_millisecond.fits)
            burst = PACING_BURST_MAX;
        if (burst == 0)
            burst = 1;
    }
    p->t0_ns = t0_ns;
    p->step_ns = step.whole;
    p->step_rest = step.rest;
    p->rate_numerator = rate_numerator;
    p->due_ns = t0_ns;
    p->burst = burst;
    /* `burst` steps after a due time, burst + 1 messages are due. */
    struct quotient fraction = divide(burst, step.rest, 0, rate_numerator);
    struct quotient whole = divide(burst, step.whole, fraction.whole, 1);
    p->catch_up_ns = whole.fits && fraction.fits ? whole.whole : UINT64_MAX;
    return true;
}

bool pacing_init_share(struct pacing *p, uint64_t t0_ns, uint64_t rate_numerator,
                       uint64_t rate_denominator, unsigned times, uint64_t burst)
{
    const uint64_t shared = common_divisor(rate_denominator, times);
    uint64_t multiplier = times / shared;
    rate_denominator /= shared;
    /* While the product exceeds 63 bits, numerator and denominator are halved. This changes the
     * rate by less than one in 10^9. */
    while (rate_numerator > INT64_MAX / multiplier) {
        rate_numerator /= 2;
        rate_denominator = rate_denominator > 1 ? rate_denominator / 2 : 1;
    }
    return pacing_init(p, t0_ns, rate_numerator * multiplier, rate_denominator, burst);
}

void pacing_of_bit_rate(uint64_t bit_numerator, uint64_t bit_denominator, uint32_t message_bytes,
                        uint64_t *rate_numerator, uint64_t *rate_denominator)
{
    uint64_t bits = (uint64_t)message_bytes * 8;
    uint64_t shared = common_divisor(bit_numerator, bits);
    bit_numerator /= shared;
    bits /= shared;
    shared = common_divisor(bit_numerator, bit_denominator);
    *rate_numerator = bit_numerator / shared;
    *rate_denominator = bit_denominator / shared * bits;
}

/* Skips messages of the schedule. */
static void leave_out(struct pacing *p, uint64_t messages)
{
    struct quotient rest = divide(messages, p->step_rest, p->due_rest, p->rate_numerator);
    p->due_ns += messages * p->step_ns + rest.whole;
    p->due_rest = rest.rest;
    p->index += messages;
    p->skipped += messages;
}

void pacing_skip(struct pacing *p, uint64_t now_ns)
{
    /* A step is less than step_ns + 1 ns, so at least `sure` messages are due after the message
     * that is due at due_ns. Each pass shrinks the remaining time to half or less. */
    for (;;) {
        uint64_t sure = (now_ns - p->due_ns) / (p->step_ns + 1);
        if (sure <= p->burst + 1)
            break;
        leave_out(p, sure - p->burst);
    }
    while (now_ns - p->due_ns >= p->catch_up_ns) {
        uint64_t next_ns =
            p->due_ns + p->step_ns + (p->due_rest + p->step_rest >= p->rate_numerator);
        if (next_ns > now_ns)
            break;
        leave_out(p, 1);
    }
}

uint64_t pacing_largest_burst(const struct pacing *p)
{
    uint64_t due, sent = 0;
    for (unsigned k = 0; k < PACING_BUCKETS; k++)
        sent += p->late[k];
    if (sent == 0)
        return 0;
    due = p->latest_ns / p->step_ns + 1;
    return due < p->burst ? due : p->burst;
}

unsigned pacing_buckets(const struct pacing *p)
{
    unsigned used = PACING_BUCKETS;
    while (used > 0 && p->late[used - 1] == 0)
        used--;
    return used;
}
