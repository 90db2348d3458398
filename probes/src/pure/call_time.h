/* A histogram of the durations of randomly sampled send calls. On average one call in 64 is timed,
 * or one in 8 if calls are slow (a median of 10 us or more), because reading the clock takes little
 * time in comparison. Sampling is random because a socket buffer that fills and drains makes
 * durations periodic: with a fixed step, the timed calls could always be at the same point of the
 * period. */
#ifndef CALLTIME_H
#define CALLTIME_H

#include <stdbool.h>
#include <stdint.h>

#define CALLTIME_STEP 64      /* calls per timed call, on average */
#define CALLTIME_SLOW_STEP 8  /* as CALLTIME_STEP, for slow calls and the first calls */
#define CALLTIME_LOOK 32      /* timed calls per check for room in the socket buffer */
#define CALLTIME_FIRST 16     /* after this many timed calls, their median decides the step */
#define CALLTIME_SLOW_NS 10000
/* An octave is the range from 2^k to 2^(k+1). It has 16 buckets, and the width of a bucket is at
 * most 6.25 % of the bucket's lowest value (or 1 ns). */
#define CALLTIME_BITS 4
#define CALLTIME_OCTAVES 37   /* up to 2^40 ns (18 minutes); longer calls are in the last bucket */
#define CALLTIME_BUCKETS (CALLTIME_OCTAVES << CALLTIME_BITS)

struct calltime {
    uint32_t countdown; /* calls up to and including the next timed one */
    uint32_t random;
    bool quick; /* the median of the first timed calls was below CALLTIME_SLOW_NS */
    uint64_t sampled;
    uint64_t looks, rooms; /* number of checks for room, and of checks that found room */
    uint64_t bucket[CALLTIME_BUCKETS];
};

/* Empties the histogram; `seed` may be any number. The first call is never timed, because it is not
 * typical. */
void calltime_init(struct calltime *calls, uint32_t seed);
/* Sets calls->countdown to a random number from 1 to 2 x step - 1, where step is CALLTIME_STEP or
 * CALLTIME_SLOW_STEP. So the average is step. */
void calltime_step(struct calltime *calls);
/* Call this once before each send call. Returns whether to time the call. */
static inline bool calltime_due(struct calltime *calls)
{
    if (--calls->countdown > 0)
        return false;
    calltime_step(calls);
    return true;
}

void calltime_add(struct calltime *calls, uint64_t elapsed_ns);
/* Call this after calltime_add. Returns whether to check now whether the socket buffer has room. */
bool calltime_look_due(const struct calltime *calls);
/* Adds the durations and the checks of another stream, `from`, to `into`. */
void calltime_merge(struct calltime *into, const struct calltime *from);
/* Sets *ns to a percentile: the duration that per_mille / 1000 of the timed calls do not exceed
 * (per_mille is 1 to 1000). It is the middle of a bucket, so its error is at most 3.2 %. False: no
 * call was timed. */
bool calltime_percentile(const struct calltime *calls, unsigned per_mille, uint64_t *ns);
/* Writes bucket, count, bucket, count, … of all non-empty buckets, in ascending order, to `pairs`.
 * With b = CALLTIME_BITS, a duration v is in the bucket v if v < 2^b, otherwise in the bucket
 * (e + 1) * 2^b + (v >> e) - 2^b with e = floor(log2 v) - b. Returns how many numbers it wrote. */
unsigned calltime_pairs(const struct calltime *calls, uint64_t pairs[2 * CALLTIME_BUCKETS]);

#endif
