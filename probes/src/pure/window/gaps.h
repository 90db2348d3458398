/* Keeps the longest of the times in which nothing came, and how many there were in all. */
#ifndef GAPS_H
#define GAPS_H

#include <stdbool.h>
#include <stdint.h>

#define GAPS_KEPT 10
#define GAP_LEAST_NS UINT64_C(100000000) /* shorter ones are none */
#define GAP_MEANS 20                     /* a gap is so many mean gaps of the rest, and more */
#define GAP_MARKS_MIN 20                 /* among fewer marks nothing can be told */

struct gap {
    uint64_t from_ns, length_ns;
    bool full; /* the receive queue was, when it ended */
};

/* All zero: none. */
struct gaps {
    struct gap longest[GAPS_KEPT]; /* in the order in which they were added */
    unsigned kept;
    uint64_t count, total_ns; /* of all, those that are not kept as well */
};

/* Nothing when until_ns is not after from_ns. */
void gaps_add(struct gaps *gaps, uint64_t from_ns, uint64_t until_ns, bool full);

/* Leaves those that stand out: each is GAP_MEANS times the mean distance of `marks` over
 * `length_ns` and more, these gaps taken out of it. With more than GAPS_KEPT of them, count and
 * total_ns are of all only where each of GAP_LEAST_NS stands out; else of those kept. */
void gaps_judge(struct gaps *gaps, uint64_t length_ns, uint64_t marks);

/* Begin after origin_ns and length of each that is kept, and ends after it; what lies before is cut
 * off. Returns how many numbers that are. */
unsigned gaps_pairs(const struct gaps *gaps, uint64_t origin_ns, uint64_t out[2 * GAPS_KEPT]);

#endif
