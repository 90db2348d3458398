/* Keeps the longest gaps (times without data), and the number of all gaps. A mark is the time at
 * which a receive call returned data. */
#ifndef GAPS_H
#define GAPS_H

#include <stdbool.h>
#include <stdint.h>

#define GAPS_KEPT 10
#define GAP_LEAST_NS UINT64_C(100000000) /* shorter times are not gaps */
#define GAP_MEANS 20     /* a gap is at least this many mean distances of the other marks long */
#define GAP_MARKS_MIN 20 /* with fewer marks no gap can be recognised */

struct gap {
    uint64_t from_ns, length_ns;
    bool full; /* the receive queue was full when the gap ended */
};

/* A structure that is all zero has no gaps. */
struct gaps {
    struct gap longest[GAPS_KEPT]; /* in the order in which they were added */
    unsigned longest_count;
    uint64_t count, total_ns; /* of all gaps, also those that are not kept */
};

/* Adds a gap; does nothing unless until_ns is after from_ns. */
void gaps_add(struct gaps *gaps, uint64_t from_ns, uint64_t until_ns, bool full);

/* Keeps only gaps that are outliers: at least GAP_MEANS times as long as the mean distance between
 * the other marks. There are `marks` marks in the whole time length_ns. Afterwards `count` and
 * `total_ns` are those of the kept gaps, with one exception: if GAPS_KEPT gaps are kept, and even a
 * gap of GAP_LEAST_NS would be an outlier, they remain those of all gaps. */
void gaps_judge(struct gaps *gaps, uint64_t length_ns, uint64_t marks);

/* Writes begin (relative to origin_ns) and length of each kept gap that ends after origin_ns; the
 * part of a gap before origin_ns is cut off. Returns how many numbers it wrote. */
unsigned gaps_pairs(const struct gaps *gaps, uint64_t origin_ns, uint64_t out[2 * GAPS_KEPT]);

#endif
