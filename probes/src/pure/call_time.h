/* A histogram of the durations of randomly sampled send calls. One call in 64 is timed, or one in 8 if
 * calls are so slow that timing them costs nothing. Sampling is random because a socket buffer that
 * fills and drains makes durations periodic: a fixed step could always hit the same phase. */
#ifndef CALLTIME_H
#define CALLTIME_H

#include <stdbool.h>
#include <stdint.h>

#define CALLTIME_STEP 64      /* calls per timed call, on average */
#define CALLTIME_SLOW_STEP 8  /* the same for slow calls, and for the first ones */
#define CALLTIME_LOOK 32      /* timed calls per check for room in the socket buffer */
#define CALLTIME_FIRST 16     /* timed calls after which their median decides between the steps */
#define CALLTIME_SLOW_NS 10000
#define CALLTIME_BITS 4       /* 16 buckets an octave, each at most 6.25 % of its lowest value wide */
#define CALLTIME_OCTAVES 37   /* up to 2^40 ns, 18 minutes; the last bucket has longer calls, too */
#define CALLTIME_BUCKETS (CALLTIME_OCTAVES << CALLTIME_BITS)

struct calltime {
    uint32_t countdown; /* calls up to and including the next timed one */
    uint32_t random;
    bool quick; /* the first calls have shown that calls are quick */
    uint64_t sampled;
    uint64_t looks, rooms; /* number of checks for room, and of checks that found room */
    uint64_t bucket[CALLTIME_BUCKETS];
};

/* Empties the histogram; `seed` may be any number. The first call is never timed: it is not typical. */
void calltime_init(struct calltime *calls, uint32_t seed);
/* Sets calls->countdown to a random number, from 1 to twice the average step minus 1. */
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
/* Adds the durations of another stream's calls. */
void calltime_merge(struct calltime *into, const struct calltime *from);
/* The duration that `per_mille` (1 to 1000) of all calls do not exceed, as the middle of its bucket:
 * within 3.2 %. False: nothing was sampled. */
bool calltime_percentile(const struct calltime *calls, unsigned per_mille, uint64_t *ns);
/* Writes bucket, count, bucket, count, … of all non-empty buckets, ascending. A duration v is in the
 * bucket v if v < 2^BITS, else in (e + 1) * 2^BITS + (v >> e) - 2^BITS with e = floor(log2 v) - BITS.
 * Returns how many numbers were written. */
unsigned calltime_pairs(const struct calltime *calls, uint64_t pairs[2 * CALLTIME_BUCKETS]);

#endif
