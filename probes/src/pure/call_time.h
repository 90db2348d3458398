/* A histogram of what send calls take, of calls that are chosen at random. One in 64 is timed, or
 * one in 8 where they are so slow that timing them costs nothing. At random, for a socket buffer
 * that fills and drains gives the calls a rhythm: a fixed step would see always the same beat of
 * it. */
#ifndef CALLTIME_H
#define CALLTIME_H

#include <stdbool.h>
#include <stdint.h>

#define CALLTIME_STEP 64      /* calls for one that is timed, on the average */
#define CALLTIME_SLOW_STEP 8  /* the same for slow calls, and for the first ones */
#define CALLTIME_LOOK 32      /* timed calls for one behind which it is looked for room */
#define CALLTIME_FIRST 16     /* timed calls by whose median it is decided */
#define CALLTIME_SLOW_NS 10000
#define CALLTIME_BITS 4       /* 16 buckets an octave, each at most 6.25 % of its lowest value wide */
#define CALLTIME_OCTAVES 37   /* up to 2^40 ns, 18 minutes; longer calls count as that */
#define CALLTIME_BUCKETS (CALLTIME_OCTAVES << CALLTIME_BITS)

struct calltime {
    uint32_t left; /* calls to the next one that is timed, that one included */
    uint32_t random;
    bool quick; /* known to be, by the first calls */
    uint64_t sampled;
    uint64_t looks, rooms; /* how often it was looked for room, and there was some */
    uint64_t bucket[CALLTIME_BUCKETS];
};

/* Empty; `seed` may be any number. The first call is never timed: it is like no other. */
void calltime_init(struct calltime *calls, uint32_t seed);
/* The next step, in which calls->left is set anew: 1 to twice the average less one. */
void calltime_step(struct calltime *calls);
/* Once a call: whether this one is to be timed. */
static inline bool calltime_due(struct calltime *calls)
{
    if (--calls->left > 0)
        return false;
    calltime_step(calls);
    return true;
}

void calltime_add(struct calltime *calls, uint64_t elapsed_ns);
/* Behind calltime_add: whether it is to be looked for room. */
bool calltime_look_due(const struct calltime *calls);
/* Adds what another stream's calls took. */
void calltime_merge(struct calltime *into, const struct calltime *from);
/* The middle of the bucket in which the call stands that `per_mille` (1 to 1000) of all calls
 * don't exceed: within 3.2 % of it. False: nothing was sampled. */
bool calltime_percentile(const struct calltime *calls, unsigned per_mille, uint64_t *ns);
/* What was counted: bucket, count, bucket, count, …, ascending, only non-empty ones. A duration v
 * is in the bucket v where v < 2^BITS, else in (e + 1) * 2^BITS + (v >> e) - 2^BITS, where
 * e = floor(log2 v) - BITS. Returns how many numbers were written. */
unsigned calltime_pairs(const struct calltime *calls, uint64_t pairs[2 * CALLTIME_BUCKETS]);

#endif
