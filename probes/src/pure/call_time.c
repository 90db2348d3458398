/* Counts the durations of send calls, and chooses at random which calls are timed. */
#include "pure/call_time.h"

#include <string.h>

#include "pure/histogram.h"

void calltime_init(struct calltime *calls, uint32_t seed)
{
    memset(calls, 0, sizeof *calls);
    calls->random = seed | 1;
    calltime_step(calls);
    calls->countdown++;
}

/* Marsaglia's xorshift of 32 bits ("Xorshift RNGs", 2003). It never returns 0 if the seed is not
 * 0. */
void calltime_step(struct calltime *calls)
{
    uint32_t x = calls->random;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    const uint32_t step = calls->quick ? CALLTIME_STEP : CALLTIME_SLOW_STEP;
    calls->random = x;
    calls->countdown = 1 + (uint32_t)((uint64_t)x * (2 * step - 1) >> 32);
}

static unsigned bucket_of(uint64_t ns)
{
    unsigned bucket = histogram_bucket(ns, CALLTIME_BITS);
    return bucket < CALLTIME_BUCKETS ? bucket : CALLTIME_BUCKETS - 1;
}

static uint64_t middle_of(unsigned bucket)
{
    uint64_t lowest = histogram_lowest(bucket, CALLTIME_BITS);
    return lowest + (histogram_lowest(bucket + 1, CALLTIME_BITS) - lowest - 1) / 2;
}

void calltime_add(struct calltime *calls, uint64_t elapsed_ns)
{
    uint64_t median_ns;
    calls->sampled++;
    calls->bucket[bucket_of(elapsed_ns)]++;
    if (calls->sampled == CALLTIME_FIRST && calltime_percentile(calls, 500, &median_ns))
        calls->quick = median_ns < CALLTIME_SLOW_NS;
}

bool calltime_look_due(const struct calltime *calls)
{
    return calls->sampled % CALLTIME_LOOK == 1;
}

void calltime_merge(struct calltime *into, const struct calltime *from)
{
    into->sampled += from->sampled;
    into->looks += from->looks;
    into->rooms += from->rooms;
    for (unsigned i = 0; i < CALLTIME_BUCKETS; i++)
        into->bucket[i] += from->bucket[i];
}

bool calltime_percentile(const struct calltime *calls, unsigned per_mille, uint64_t *ns)
{
    if (calls->sampled == 0)
        return false;
    /* The rank of the percentile, rounded up. It is computed in two parts, so that no product
     * overflows. */
    uint64_t below = calls->sampled / 1000 * per_mille +
                     (calls->sampled % 1000 * per_mille + 999) / 1000;
    uint64_t sum = 0;
    for (unsigned i = 0; i < CALLTIME_BUCKETS; i++) {
        sum += calls->bucket[i];
        if (sum >= below && sum > 0) {
            *ns = middle_of(i);
            return true;
        }
    }
    return false;
}

unsigned calltime_pairs(const struct calltime *calls, uint64_t pairs[2 * CALLTIME_BUCKETS])
{
    unsigned length = 0;
    for (unsigned i = 0; i < CALLTIME_BUCKETS; i++)
        if (calls->bucket[i] > 0) {
            pairs[length++] = i;
            pairs[length++] = calls->bucket[i];
        }
    return length;
}
