/* Tests the histogram of times. */
#include "harness.h"
#include "pure/histogram.h"

static struct histogram h;
static uint64_t pairs[2 * HISTOGRAM_BUCKETS], state = 88172645463325252;

static uint64_t draw(void) /* xorshift64, Marsaglia 2003 */
{
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
}

/* Draws values of all magnitudes. */
static uint64_t draw_any(void)
{
    return draw() >> draw() % 64;
}

TEST(small_values_have_buckets_of_their_own)
{
    for (unsigned value = 0; value < 256; value++) {
        CHECK_U64(histogram_bucket(value, 7), value);
        CHECK_U64(histogram_lowest(value, 7), value);
    }
    CHECK_U64(histogram_bucket(256, 7), 256);
    CHECK_U64(histogram_bucket(257, 7), 256);
    CHECK_U64(histogram_bucket(258, 7), 257);
    CHECK_U64(histogram_bucket(1000000, 7), 13 * 128 + 1000000 / 4096 - 256 + 128);
    CHECK_U64(histogram_bucket(UINT64_MAX, 7), HISTOGRAM_BUCKETS - 1);
}

TEST(a_bucket_begins_at_its_lowest_value_and_the_next_one_where_it_ends)
{
    for (unsigned bits = 1; bits <= HISTOGRAM_BITS; bits++) {
        const unsigned buckets = (64 - bits + 1) << bits;
        for (unsigned i = 0; i < buckets; i++) {
            uint64_t lowest = histogram_lowest(i, bits);
            CHECK_U64(histogram_bucket(lowest, bits), i);
            if (i > 0)
                CHECK_U64(histogram_bucket(lowest - 1, bits), i - 1);
        }
        CHECK_U64(histogram_bucket(UINT64_MAX, bits), buckets - 1);
    }
}

TEST(any_value_is_at_least_the_lowest_of_its_bucket_and_less_than_one_percent_above)
{
    for (int i = 0; i < 200000; i++) {
        uint64_t value = draw_any();
        uint64_t lowest = histogram_lowest(histogram_bucket(value, 7), 7);
        CHECK(lowest <= value);
        CHECK(value - lowest <= value / 128);
    }
}

TEST(counts_sums_and_extremes_are_exact)
{
    uint64_t count = 0, sum = 0, least = UINT64_MAX, most = 0;
    memset(&h, 0, sizeof h);
    for (int i = 0; i < 50000; i++) {
        uint64_t value = draw_any() >> 20;
        histogram_add(&h, value);
        count++;
        sum += value;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    CHECK_U64(h.count, count);
    CHECK_U64(h.sum, sum);
    CHECK_U64(h.min, least);
    CHECK_U64(h.max, most);
}

TEST(pairs_are_ascending_not_empty_and_hold_every_value_at_any_resolution)
{
    memset(&h, 0, sizeof h);
    for (int i = 0; i < 20000; i++)
        histogram_add(&h, draw_any());
    for (unsigned bits = 1; bits <= HISTOGRAM_BITS; bits++) {
        size_t used = histogram_pairs(&h, bits, pairs);
        uint64_t sum = 0;
        CHECK(used % 2 == 0 && used > 0);
        for (size_t i = 0; i < used; i += 2) {
            CHECK(i == 0 || pairs[i] > pairs[i - 2]);
            CHECK(pairs[i + 1] > 0);
            sum += pairs[i + 1];
        }
        CHECK_U64(sum, h.count);
        CHECK_U64(pairs[0], histogram_bucket(h.min, bits));
        CHECK_U64(pairs[used - 2], histogram_bucket(h.max, bits));
    }
}

TEST(coarser_buckets_hold_what_the_values_themselves_would_give)
{
    uint64_t direct[HISTOGRAM_BUCKETS] = {0};
    memset(&h, 0, sizeof h);
    for (int i = 0; i < 20000; i++) {
        uint64_t value = draw_any();
        histogram_add(&h, value);
        direct[histogram_bucket(value, 4)]++;
    }
    size_t used = histogram_pairs(&h, 4, pairs);
    for (size_t i = 0; i < used; i += 2)
        CHECK_U64(pairs[i + 1], direct[pairs[i]]);
}

TEST(a_histogram_that_is_too_long_gets_coarser_until_it_fits)
{
    unsigned bits;
    memset(&h, 0, sizeof h);
    histogram_add(&h, 12345);
    CHECK_U64(histogram_pairs_within(&h, 40000, pairs, &bits), 2);
    CHECK_U64(bits, 7);
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        h.bucket[i] = UINT64_MAX / HISTOGRAM_BUCKETS;
    size_t used = histogram_pairs_within(&h, 40000, pairs, &bits), characters = 0;
    char text[32];
    for (size_t i = 0; i < used; i++)
        characters += (size_t)snprintf(text, sizeof text, "%llu,", (unsigned long long)pairs[i]);
    CHECK(characters <= 40000 && characters > 20000);
    CHECK(bits < 7 && bits > 0);
}

TEST(no_value_makes_no_pairs)
{
    unsigned bits;
    memset(&h, 0, sizeof h);
    CHECK_U64(histogram_pairs_within(&h, 10, pairs, &bits), 0);
    CHECK_U64(bits, 7);
}

const struct unit_test histogram_tests[] = {
    ENTRY(small_values_have_buckets_of_their_own),
    ENTRY(a_bucket_begins_at_its_lowest_value_and_the_next_one_where_it_ends),
    ENTRY(any_value_is_at_least_the_lowest_of_its_bucket_and_less_than_one_percent_above),
    ENTRY(counts_sums_and_extremes_are_exact),
    ENTRY(pairs_are_ascending_not_empty_and_hold_every_value_at_any_resolution),
    ENTRY(coarser_buckets_hold_what_the_values_themselves_would_give),
    ENTRY(a_histogram_that_is_too_long_gets_coarser_until_it_fits),
    ENTRY(no_value_makes_no_pairs),
    {NULL, NULL}};
