/* A histogram of times in buckets that are each narrower than 1 % of their values. Each range from
 * 2^k to 2^(k+1) is divided into 2^7 buckets; each value below 2^8 has a bucket of its own. Any
 * 64-bit value has a bucket. The number of bits b is 7, or less if buckets are merged. A value v is
 * in the bucket v if v < 2^b, otherwise in the bucket (e + 1) 2^b + (v >> e) - 2^b with
 * e = floor(log2 v) - b. */
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

/* histogram_bucket returns the bucket of a value, histogram_lowest the lowest value of a bucket.
 * `bits` is 1 to 7. */
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

/* Writes bucket, count, bucket, count, … of all non-empty buckets, in ascending order, to `into`,
 * which has room for 2 x HISTOGRAM_BUCKETS numbers. If `bits` is below 7, neighbouring buckets are
 * merged. Returns how many numbers it wrote. */
size_t histogram_pairs(const struct histogram *histogram, unsigned bits, uint64_t *into);

/* Works as histogram_pairs does, but chooses the number of bits: the largest with which the
 * numbers, written in decimal with a comma after each, have at most most_characters characters. If
 * even 1 bit is too many, it uses 1 bit. *bits becomes the chosen number; 7 means that no buckets
 * were merged. */
size_t histogram_pairs_within(const struct histogram *histogram, size_t most_characters,
                              uint64_t *into, unsigned *bits);

#endif
