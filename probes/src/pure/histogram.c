/* Writes the buckets of a histogram as a list of numbers, once, at the end of a test. */
#include "pure/histogram.h"

uint64_t histogram_lowest(unsigned bucket, unsigned bits)
{
    if (bucket < 1u << bits)
        return bucket;
    unsigned e = (bucket >> bits) - 1;
    return (uint64_t)((1u << bits) + (bucket & ((1u << bits) - 1))) << e;
}

size_t histogram_pairs(const struct histogram *histogram, unsigned bits, uint64_t *into)
{
    size_t used = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        if (histogram->bucket[i] == 0)
            continue;
        /* With fewer bits, a bucket consists of several whole buckets of those with more bits. */
        unsigned bucket = histogram_bucket(histogram_lowest(i, HISTOGRAM_BITS), bits);
        if (used > 0 && into[used - 2] == bucket) {
            into[used - 1] += histogram->bucket[i];
            continue;
        }
        into[used++] = bucket;
        into[used++] = histogram->bucket[i];
    }
    return used;
}

static size_t characters(const uint64_t *numbers, size_t count)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += 2;
        for (uint64_t rest = numbers[i]; rest >= 10; rest /= 10)
            sum++;
    }
    return sum;
}

size_t histogram_pairs_within(const struct histogram *histogram, size_t most_characters,
                              uint64_t *into, unsigned *bits)
{
    size_t used;
    *bits = HISTOGRAM_BITS;
    for (;;) {
        used = histogram_pairs(histogram, *bits, into);
        if (*bits == 1 || characters(into, used) <= most_characters)
            return used;
        (*bits)--;
    }
}
