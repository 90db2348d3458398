/* A histogram of times in buckets that are each narrower than 1 % of their values. Each power of
 * two is divided into 2^7 buckets; below 2^8 every value has its own. Any 64-bit value has a
 * bucket. With b bits: v < 2^b → bucket v; else e = floor(log2 v) - b, bucket = (e + 1) 2^b + (v >>
 * e) - 2^b. */
#ifndef HISTOGRAM_H
#define HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

#define HISTOGRAM_BITS 7
#define HISTOGRAM_BUCKETS ((64 - HISTOGRAM_BITS + 1) << HISTOGRAM_BITS)

/* All zero before the first value. */
struct histogram {
    uint64_t count, min, max; /* min and max are undefined while count is 0 */
    uint64_t sum;
    uint64_t bucket[HISTOGRAM_BUCKETS];
};

/* floor(log2(value)), but 0 if the value is 0. */
static inline unsigned histogram_log2(uint64_t value)
{
    unsigned log = 0;
    while (value >>= 1)
        log++;
    return log;
}

/* The bucket of a value, and the lowest value of a bucket; bits 1 to 7. */
static inline unsigned histogram_bucket(uint64_t value, unsigned bits)
{
    if (value >> bits == 0)
        return (unsigned)value;
    unsigned e = histogram_log2(value) - bits;
    return ((e + 1) << bits) + (unsigned)(value >> e) - (1u << bits);
}
uint64_t histogram_lowest(unsigned bucket, unsigned bits);

static inline void histogram_add(struct histogram *histogram, uint64_t value)
{
    if (histogram->count == 0 || value < histogram->min)
        histogram->min = value;
    if (value > histogram->max)
        histogram->max = value;
    histogram->count++;
    histogram->sum += value;
    histogram->bucket[histogram_bucket(value, HISTOGRAM_BITS)]++;
}

/* Writes bucket, count, bucket, count, … of all non-empty buckets, in ascending order, to `into`, which
 * has room for 2 x HISTOGRAM_BUCKETS; with fewer than 7 bits, neighbours are merged. Returns how many
 * numbers it wrote. */
size_t histogram_pairs(const struct histogram *histogram, unsigned bits, uint64_t *into);

/* As histogram_pairs, with the largest number of bits with which the numbers, written in decimal
 * with a comma each, have at most most_characters. *bits becomes this number; 7: nothing was
 * merged. */
size_t histogram_pairs_within(const struct histogram *histogram, size_t most_characters,
                              uint64_t *into, unsigned *bits);

#endif
