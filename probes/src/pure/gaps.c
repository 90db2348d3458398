/* Decides which times without data are gaps, by the mean distance between marks. A mark is the time
 * at which a receive call returned data. */
#include "pure/gaps.h"

#include <string.h>

static unsigned shortest(const struct gaps *gaps)
{
    unsigned number = 0;
    for (unsigned i = 1; i < gaps->longest_count; i++)
        if (gaps->longest[i].length_ns < gaps->longest[number].length_ns)
            number = i;
    return number;
}

static void drop_gap(struct gaps *gaps, unsigned number)
{
    gaps->longest_count--;
    memmove(&gaps->longest[number], &gaps->longest[number + 1],
            (gaps->longest_count - number) * sizeof gaps->longest[0]);
}

void gaps_add(struct gaps *gaps, uint64_t from_ns, uint64_t until_ns, bool full)
{
    if (until_ns <= from_ns)
        return;
    const struct gap gap = {from_ns, until_ns - from_ns, full};
    gaps->count++;
    gaps->total_ns += gap.length_ns;
    if (gaps->longest_count == GAPS_KEPT) {
        unsigned least = shortest(gaps);
        if (gaps->longest[least].length_ns >= gap.length_ns)
            return;
        drop_gap(gaps, least);
    }
    gaps->longest[gaps->longest_count++] = gap;
}

/* Mean of the distances between marks that are not gaps. length_ns has `distances` distances;
 * `count` of them are gaps, with the total length total_ns. UINT64_MAX: all distances are gaps. */
static uint64_t rest_mean_ns(uint64_t length_ns, uint64_t distances, uint64_t count,
                             uint64_t total_ns)
{
    if (distances <= count)
        return UINT64_MAX;
    return total_ns >= length_ns ? 0 : (length_ns - total_ns) / (distances - count);
}

static bool stands_out(uint64_t gap_ns, uint64_t mean_ns)
{
    return gap_ns / GAP_MEANS >= mean_ns;
}

void gaps_judge(struct gaps *gaps, uint64_t length_ns, uint64_t marks)
{
    const uint64_t distances = marks > 0 ? marks - 1 : 0;
    struct gaps rest = *gaps;
    uint64_t total_ns = 0;
    for (unsigned i = 0; i < rest.longest_count; i++)
        total_ns += rest.longest[i].length_ns;
    if (marks < GAP_MARKS_MIN)
        rest.longest_count = 0;
    /* Drop the shortest gap until all gaps that are left are outliers. */
    while (rest.longest_count > 0) {
        unsigned least = shortest(&rest);
        uint64_t mean_ns = rest_mean_ns(length_ns, distances, rest.longest_count, total_ns);
        if (stands_out(rest.longest[least].length_ns, mean_ns))
            break;
        total_ns -= rest.longest[least].length_ns;
        drop_gap(&rest, least);
    }
    const uint64_t all_mean_ns = rest_mean_ns(length_ns, distances, gaps->count, gaps->total_ns);
    if (rest.longest_count < GAPS_KEPT || !stands_out(GAP_LEAST_NS, all_mean_ns)) {
        rest.count = rest.longest_count;
        rest.total_ns = total_ns;
    }
    if (rest.longest_count == 0)
        rest.total_ns = 0;
    *gaps = rest;
}

unsigned gaps_pairs(const struct gaps *gaps, uint64_t origin_ns, uint64_t out[2 * GAPS_KEPT])
{
    unsigned used = 0;
    for (unsigned i = 0; i < gaps->longest_count; i++) {
        uint64_t from_ns = gaps->longest[i].from_ns;
        uint64_t until_ns = from_ns + gaps->longest[i].length_ns;
        if (until_ns <= origin_ns)
            continue;
        from_ns = from_ns > origin_ns ? from_ns - origin_ns : 0;
        out[used++] = from_ns;
        out[used++] = until_ns - origin_ns - from_ns;
    }
    return used;
}
