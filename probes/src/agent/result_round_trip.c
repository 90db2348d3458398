/* Writes the results of askers and mirrors, with their histograms. An asker sends requests and
 * measures round trips; a mirror answers requests. The window is the time that is measured. */
#include <stdlib.h>

#include "agent/result.h"
#include "loops/round_trip.h"

#define HISTOGRAM_CHARACTERS 40000 /* of 65,536 in a record; longer histograms get wider buckets */

struct histogram_keys {
    const char *count, *min, *max, *sum, *mean, *pairs, *bits;
};

static void add_histogram(const struct histogram *histogram, const struct histogram_keys *keys,
                          struct json *record)
{
    unsigned bits;
    json_u64(record, keys->count, histogram->count);
    if (histogram->count == 0)
        return;
    json_u64(record, keys->min, histogram->min);
    json_u64(record, keys->max, histogram->max);
    json_u64(record, keys->sum, histogram->sum);
    json_double(record, keys->mean, (double)histogram->sum / (double)histogram->count);
    uint64_t *pairs = malloc(2 * HISTOGRAM_BUCKETS * sizeof *pairs);
    if (pairs == NULL)
        return;
    size_t used = histogram_pairs_within(histogram, HISTOGRAM_CHARACTERS, pairs, &bits);
    json_u64s(record, keys->pairs, pairs, used);
    json_u64(record, keys->bits, bits);
    free(pairs);
}

void result_demand_answers(struct test *test)
{
    const struct ask *ask = test->stream[0].ask;
    if (ask->rtt.count > 0)
        return;
    if (ask->losses > 0)
        test_fail(test, "no-answer", 0, "every request timed out");
    else
        test_fail(test, "no-traffic", 0, "no request was sent within the window");
}

static void add_lateness(const struct pacing *pacing, struct json *record)
{
    json_u64(record, "largest_burst", pacing_largest_burst(pacing));
    json_u64s(record, "late_histogram_ns", pacing->late, pacing_buckets(pacing));
}

/* Writes the times without an answer. The time after the last answer ends when the last request was
 * counted as lost. */
static void add_silences(const struct ask *ask, struct json *record)
{
    struct gaps gaps = ask->gaps;
    uint64_t pairs[2 * GAPS_KEPT];
    const uint64_t last_ns = ask->last_ns > ask->from_ns ? ask->last_ns : ask->from_ns;
    if (ask->until_ns >= last_ns + GAP_LEAST_NS)
        gaps_add(&gaps, last_ns, ask->until_ns, false);
    gaps_judge(&gaps, ask->until_ns - ask->from_ns, ask->rtt.count + 1);
    json_u64(record, "gap_count", gaps.count);
    json_u64(record, "gap_total_ns", gaps.total_ns);
    if (gaps.longest_count > 0)
        json_u64s(record, "gaps", pairs, gaps_pairs(&gaps, ask->from_ns, pairs));
}

void result_asking(struct test *test, struct json *record)
{
    static const struct histogram_keys keys = {"rtt_count",   "rtt_min_ns",  "rtt_max_ns",
                                               "rtt_sum_ns",  "rtt_mean_ns", "rtt_histogram",
                                               "rtt_histogram_bits"};
    const struct settings *settings = &test->settings;
    const struct stream *stream = &test->stream[0];
    const struct ask *ask = stream->ask;
    const uint64_t elapsed_ns = ask->until_ns - ask->from_ns;
    json_u64(record, "outstanding", settings->outstanding);
    json_u64(record, "window_open_ns", ask->from_ns);
    json_u64(record, "window_close_ns", ask->until_ns);
    json_u64(record, "elapsed_ns", elapsed_ns);
    json_u64(record, "transactions", ask->rtt.count);
    if (elapsed_ns > 0)
        json_double(record, "transactions_per_s",
                    1e9 * (double)ask->rtt.count / (double)elapsed_ns);
    json_u64(record, "sent_messages", ask->sent);
    json_u64(record, "lost_messages", ask->losses);
    json_u64(record, "late_messages", ask->late);
    json_u64(record, "duplicate_messages", ask->duplicates);
    json_u64(record, "foreign_messages", stream->foreign);
    json_u64(record, "mismatched_messages", ask->mismatched);
    json_u64(record, "refused_messages", stream->refused);
    json_text(record, "latency_from", settings->rate_numerator != 0 ? "intended" : "sent");
    add_histogram(&ask->rtt, &keys, record);
    add_silences(ask, record);
    result_late_ticks(stream->test, ask->from_ns, record);
    if (settings->keep > 0)
        json_u64s(record, "first_rtt_ns", ask->first_rtt_ns, ask->first_rtt_count);
    if (settings->rate_numerator != 0)
        add_lateness(&stream->pacing, record);
    if (settings->kind != KIND_CONNECT)
        return;
    json_text(record, "close", settings->orderly ? "orderly" : "reset");
    json_text(record, "closed_by", "client");
    json_u64(record, "connect_sum_ns", ask->connect_sum_ns);
    json_double(record, "connect_mean_ns", (double)ask->connect_sum_ns / (double)ask->rtt.count);
}

/* Number of round trips in one record. Each takes at most 33 characters of the 65,536 in a record:
 * a window lasts at most a year, so the time of a request has at most 14 digits in us, and a round
 * trip has at most 17 digits in ns, each with a comma. */
#define TRIPS_OF_A_RECORD 1900

bool result_trips(const struct test *test, uint64_t *next, struct json *record)
{
    const struct ask *ask = test->stream[0].ask;
    uint64_t at_us[TRIPS_OF_A_RECORD], ns[TRIPS_OF_A_RECORD], lost_at_us[TRIPS_OF_A_RECORD];
    size_t answers = 0, losses = 0;
    if (*next == ask->trips_kept)
        return false;
    for (; *next < ask->trips_kept && answers + losses < TRIPS_OF_A_RECORD; (*next)++) {
        const struct trip *trip = &ask->trips[*next];
        const uint64_t since_us = (trip->at_ns - ask->open_ns) / 1000;
        if (trip->ns != TRIP_LOST) {
            at_us[answers] = since_us;
            ns[answers++] = trip->ns;
        } else {
            lost_at_us[losses++] = since_us;
        }
    }
    json_u64(record, "window_open_ns", ask->open_ns);
    json_u64s(record, "trip_at_us", at_us, answers);
    json_u64s(record, "trip_ns", ns, answers);
    json_u64s(record, "lost_trip_at_us", lost_at_us, losses);
    return true;
}

void result_mirroring(struct test *test, struct json *record)
{
    static const struct histogram_keys keys = {
        "stack_count",   "stack_min_ns",    "stack_max_ns",        "stack_sum_ns",
        "stack_mean_ns", "stack_histogram", "stack_histogram_bits"};
    const struct stream *stream = &test->stream[0];
    const struct mirror *mirror = stream->mirror;
    if (mirror->answered > 0)
        json_u64(record, "elapsed_ns", mirror->last_ns - mirror->first_ns);
    json_u64(record, "received_messages", mirror->received);
    json_u64(record, "answered_messages", mirror->answered);
    json_u64(record, "foreign_messages", stream->foreign);
    json_u64(record, "refused_messages", stream->refused);
    json_u64(record, "strangers", result_unexpected(test));
    result_late_ticks(test, mirror->first_ns, record);
    if (!test->settings.stamps)
        return;
    add_histogram(&mirror->stack, &keys, record);
    if (mirror->stack.count > 0)
        json_text(record, "stack_stamps", mirror->hardware ? "hardware" : "software");
}
