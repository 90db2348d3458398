/* Writes the results of receivers, of senders, of askers and of mirrors. An asker sends requests
 * and measures round trips; a mirror answers requests. The window is the time that is measured; its
 * edges are its begin and its end. A mark is the time at which a receive call returned data. */
#include "agent/result.h"

#include <stdlib.h>

#include "agent/claim.h"
#include "loops/round_trip.h"
#include "loops/traffic.h"
#include "pure/window.h"

/* ---- receiving ---- */

uint64_t result_unexpected(const struct test *test)
{
    uint64_t unexpected = test->unexpected;
    for (unsigned i = 0; i < test->settings.streams; i++)
        unexpected += test->stream[i].unexpected;
    return unexpected;
}

void result_demand_marks(struct test *test)
{
    double throughput;
    if (test->settings.count == 0 && !window_throughput_bit_per_s(&test->window, &throughput))
        test_fail(test, "too-few-messages", 0, "fewer than 20 marks in the window");
}

void result_window(struct test *test, struct json *record)
{
    const struct window *window = &test->window;
    double throughput;
    json_u64(record, "window_open_ns", window->a_ns);
    json_u64(record, "window_close_ns", window->b_ns);
    json_u64(record, "elapsed_ns", window->b_ns - window->a_ns);
    json_u64(record, "received_bytes", window->b.bytes - window->a.bytes);
    json_u64(record, "received_messages", window->b.messages - window->a.messages);
    if (window_throughput_bit_per_s(window, &throughput))
        json_double(record, "throughput_bit_per_s", throughput);
    json_u64(record, "marks", window_marks(window));
    json_flag(record, "closed_by_silence", window->closed_by_silence);
}

static void add_accounting(struct test *test, struct json *record)
{
    struct window_sum total = window_total(&test->window);
    uint64_t duplicates = 0, reordered = 0, late = 0, foreign = 0, losses, jitter_ns;
    bool full = dataport_header_bytes(test->settings.message_bytes) > 0;
    for (unsigned i = 0; i < test->settings.streams; i++) {
        duplicates += test->stream[i].sequence.duplicates;
        reordered += test->stream[i].sequence.reordered;
        late += test->stream[i].sequence.late;
        foreign += test->stream[i].foreign;
    }
    if (test->sent_known && sequence_lost(test->sent_messages, total.messages, &losses))
        json_u64(record, "lost_messages", losses);
    json_text(record, "sequence", full ? "full" : "none");
    json_u64(record, "foreign_messages", foreign);
    if (!full)
        return;
    json_u64(record, "duplicate_messages", duplicates);
    json_u64(record, "reordered_messages", reordered);
    json_u64(record, "late_messages", late);
    if (sequence_jitter_ns(&test->stream[0].sequence, &jitter_ns))
        json_u64(record, "jitter_ns", jitter_ns);
}

static void add_resolution(struct test *test, struct json *record)
{
    const struct window *window = &test->window;
    const struct queue *open = &test->samples.queue_open, *close = &test->samples.queue_close;
    if (!test->settings.udp)
        json_u64(record, "receive_call_bytes", test->settings.receive_call_bytes);
    if (test->samples.open.is_sampled && test->samples.close.is_sampled) {
        json_u64(record, "receive_calls", test->samples.close.looks - test->samples.open.looks);
        json_u64(record, "empty_receives", test->samples.close.empty - test->samples.open.empty);
    }
    json_u64(record, "largest_receive_bytes", window->largest_bytes);
    json_u64(record, "longest_gap_ns", window->longest_gap_ns);
    if (open->is_known)
        json_u64(record, "queue_open_bytes", open->bytes);
    if (close->is_known)
        json_u64(record, "queue_close_bytes", close->bytes);
    if (test->samples.fill.looks > 0) {
        json_u64(record, "queue_looks", test->samples.fill.looks);
        json_double(record, "queue_full_share",
                    (double)test->samples.fill.full / (double)test->samples.fill.looks);
    }
    json_flag(record, "coarse",
              window_coarse(window->b.bytes - window->a.bytes, window->largest_bytes,
                            open->is_known ? open->bytes : 0, close->is_known ? close->bytes : 0));
    json_u64(record, "interval_ns", window->interval_ns);
    json_u64s(record, "interval_bytes", window->interval_bytes, window->intervals);
}

static void add_gaps(const struct test *test, struct json *record)
{
    const struct gaps *gaps = &test->window.gaps;
    const uint64_t origin_ns = window_origin_ns(&test->window);
    uint64_t pairs[2 * GAPS_KEPT], full[GAPS_KEPT];
    for (unsigned i = 0; i < gaps->longest_count; i++)
        full[i] = gaps->longest[i].full;
    json_u64(record, "gap_count", gaps->count);
    json_u64(record, "gap_total_ns", gaps->total_ns);
    if (gaps->longest_count > 0) {
        json_u64s(record, "gaps", pairs, gaps_pairs(gaps, origin_ns, pairs));
        json_u64s(record, "gap_queue_full", full, gaps->longest_count);
    }
    result_late_ticks(test, origin_ns, record);
}

static const char *methods_of_receiving(const struct settings *settings)
{
    return settings->adapt  ? "adaptive"
           : settings->poll ? "polling"
           : settings->spin ? "spinning"
                            : "blocking";
}

/* Adds how the receiver waited for data: the requested way, the way that an adaptive receiver
 * chose, and the average sleep of a polling receiver. */
static void add_way(const struct test *test, struct json *record)
{
    const struct settings *settings = &test->settings;
    uint64_t pauses = 0, paused_ns = 0, polling = 0;
    bool blocks = !settings->poll && !settings->spin && !settings->adapt;
    json_text(record, "receive_method", methods_of_receiving(settings));
    for (unsigned i = 0; i < settings->streams; i++) {
        pauses += test->stream[i].pauses;
        paused_ns += test->stream[i].paused_ns;
        polling += test->stream[i].waiting.now == WAY_POLLING;
    }
    if (settings->adapt) {
        json_text(record, "receive_chosen", polling == 0                   ? "blocking"
                                            : polling == settings->streams ? "polling"
                                                                           : "both");
        blocks = polling == 0;
    }
    if (settings->udp)
        json_u64(record, "receive_call_messages", blocks ? 1 : traffic_receive_most(settings));
    if (pauses > 0)
        json_u64(record, "receive_pause_ns", paused_ns / pauses);
}

void result_receiving(struct test *test, struct json *record)
{
    const struct samples *samples = &test->samples;
    struct window_sum total = window_total(&test->window);
    result_window(test, record);
    json_u64(record, "total_bytes", total.bytes);
    json_u64(record, "total_messages", total.messages);
    if (test->sent_known)
        json_u64(record, "sent_messages", test->sent_messages);
    add_way(test, record);
    if (test->settings.udp) {
        if (test->settings.capture)
            json_text(record, "receive_from", "packet");
        json_text(record, "receive_steering",
                  samples->opened.steering[0] != 0 ? samples->opened.steering : NULL);
        add_accounting(test, record);
    }
    json_u64(record, "strangers", result_unexpected(test));
    add_resolution(test, record);
    add_gaps(test, record);
    json_u64(record, "drain_ns", test->drain_ns);
    if (samples->closing.drops)
        json_u64(record, "queue_drops", samples->closing.queue_drops);
    if (samples->open.errors && samples->close.errors)
        json_u64(record, "udp_receive_buffer_errors",
                 samples->close.receive_buffer_errors - samples->open.receive_buffer_errors);
}

/* ---- sending ---- */

/* Sets *bytes to the number of bytes sent in the window. For UDP, and for TCP in a test of a fixed
 * number of messages (`count`), these are the bytes that send calls accepted; with `count`, TCP
 * delivers all of them. For TCP without `count`, these are the acknowledged bytes; bytes that are
 * still in the send buffer do not count. Returns false if the system does not report acknowledged
 * bytes. */
static bool result_sent_bytes(const struct test *test, uint64_t *bytes)
{
    const struct edge *open = &test->samples.open, *close = &test->samples.close;
    const bool acknowledged = !test->settings.udp && test->settings.count == 0;
    *bytes = acknowledged ? close->acked_bytes - open->acked_bytes : close->bytes - open->bytes;
    return !acknowledged || (close->acked && open->acked);
}

/* Return the name of the test's method, as in docs/protocol.md. */
static const char *methods_of_sending(const struct settings *settings)
{
    static const char *const words[] = {
        [METHOD_PLAIN] = "plain", [METHOD_BATCH] = "batch", [METHOD_PACKET] = "packet",
        [METHOD_XDP] = "xdp"};
    return words[settings->method];
}

static void add_method(struct test *test, struct json *record)
{
    uint64_t calls = 0;
    if (!test->settings.udp && test->settings.method == METHOD_PLAIN)
        return;
    json_text(record, "send_method", methods_of_sending(&test->settings));
    if (test->settings.method == METHOD_PLAIN)
        return;
    for (unsigned i = 0; i < test->settings.streams; i++)
        calls += send_batch_calls(&test->stream[i]);
    json_u64(record, "send_calls", calls);
}

/* Adds the durations of the send calls, and how often the socket had room, for all streams and the
 * whole test. */
static void add_calls(struct test *test, struct json *record)
{
    struct calltime calls = test->stream[0].calls;
    uint64_t median_ns, p90_ns, pairs[2 * CALLTIME_BUCKETS];
    for (unsigned i = 1; i < test->settings.streams; i++)
        calltime_merge(&calls, &test->stream[i].calls);
    if (calltime_percentile(&calls, 500, &median_ns) && calltime_percentile(&calls, 900, &p90_ns)) {
        json_u64(record, "send_call_median_ns", median_ns);
        json_u64(record, "send_call_p90_ns", p90_ns);
        json_u64s(record, "send_call_histogram", pairs, calltime_pairs(&calls, pairs));
        json_u64(record, "send_call_histogram_bits", CALLTIME_BITS);
    }
    json_u64(record, "send_calls_sampled", calls.sampled);
    json_u64(record, "send_room_looks", calls.looks);
    if (calls.looks > 0)
        json_double(record, "send_room_share", (double)calls.rooms / (double)calls.looks);
}

static void add_pacing(struct test *test, struct json *record)
{
    uint64_t skipped = 0, largest = 0, late[PACING_BUCKETS] = {0};
    unsigned buckets = 0;
    for (unsigned i = 0; i < test->settings.streams; i++) {
        const struct pacing *pacing = &test->stream[i].pacing;
        uint64_t burst = pacing_largest_burst(pacing);
        skipped += pacing->skipped;
        largest = burst > largest ? burst : largest;
        buckets = pacing_buckets(pacing) > buckets ? pacing_buckets(pacing) : buckets;
        for (unsigned bucket = 0; bucket < PACING_BUCKETS; bucket++)
            late[bucket] += pacing->late[bucket];
    }
    json_u64(record, "skipped_messages", skipped);
    json_u64(record, "largest_burst", largest);
    json_u64s(record, "late_histogram_ns", late, buckets);
}

void result_sending(struct test *test, struct json *record)
{
    const struct edge *open = &test->samples.open, *close = &test->samples.close;
    uint64_t elapsed_ns = close->now_ns - open->now_ns, bytes;
    uint64_t drops = 0, refused = 0, first_ns = NEVER_NS, last_ns = 0;
    struct window_sum total = window_total(&test->window);
    for (unsigned i = 0; i < test->settings.streams; i++) {
        const struct stream *stream = &test->stream[i];
        uint64_t ended_ns = atomic_load(&stream->last_send_ns);
        drops += stream->local_drops;
        refused += stream->refused;
        first_ns = stream->first_ns < first_ns ? stream->first_ns : first_ns;
        last_ns = ended_ns > last_ns ? ended_ns : last_ns;
    }
    json_u64(record, "window_open_ns", open->now_ns);
    json_u64(record, "window_close_ns", close->now_ns);
    json_u64(record, "elapsed_ns", elapsed_ns);
    json_u64(record, "sent_messages_window", close->messages - open->messages);
    if (result_sent_bytes(test, &bytes)) {
        json_u64(record, "sent_bytes", bytes);
        if (elapsed_ns > 0)
            json_double(record, "sent_bit_per_s", 8e9 * (double)bytes / (double)elapsed_ns);
    }
    json_u64(record, "sent_messages", total.messages);
    json_u64(record, "total_bytes", total.bytes);
    json_u64(record, "first_send_ns", first_ns);
    json_u64(record, "last_send_ns", last_ns);
    json_u64(record, "local_drops", drops);
    json_u64(record, "refused_messages", refused);
    add_method(test, record);
    if (test->settings.method == METHOD_PLAIN)
        add_calls(test, record);
    if (test->settings.rate_numerator != 0)
        add_pacing(test, record);
    result_late_ticks(test, test_sending_opens_ns(test), record);
}

void result_tcp_series(const struct test *test, struct json *record)
{
    static const char *const keys[] = {
        [TCP_SERIES_CWND_BYTES] = "tcp_series_cwnd_bytes",
        [TCP_SERIES_RTT_US] = "tcp_series_rtt_us",
        [TCP_SERIES_PACING_BIT_PER_S] = "tcp_series_pacing_bit_per_s",
        [TCP_SERIES_RETRANSMISSIONS] = "tcp_series_retransmissions",
        [TCP_SERIES_DELIVERED_BYTES] = "tcp_series_delivered_bytes"};
    const struct tcp_series *series = &test->samples.series;
    if (series->points == 0)
        return;
    json_u64s(record, "tcp_series_time_us", series->time_us, series->points);
    for (unsigned fact = 0; fact < TCP_SERIES_FACTS; fact++)
        if (series->present & 1u << fact)
            json_u64s(record, keys[fact], series->value[fact], series->points);
}

/* ---- streams ---- */

/* Sets bytes[] to the bytes of each stream in the window. A receiver counts the bytes between the
 * first and the last mark of its window, so that their sum is `received_bytes`. A sender counts the
 * bytes between the edges, so that their sum is `sent_bytes`. Returns false if the system does not
 * report the bytes. */
static bool bytes_of_streams(const struct test *test, uint64_t bytes[STREAMS_MAX])
{
    const struct edge *open = &test->samples.open, *close = &test->samples.close;
    const struct window *window = &test->window;
    const bool sends = test->settings.role == ROLE_SEND;
    uint64_t sent;
    if (sends && !result_sent_bytes(test, &sent))
        return false;
    for (unsigned i = 0; i < test->settings.streams; i++)
        bytes[i] = sends ? close->stream_bytes[i] - open->stream_bytes[i]
                         : window->closed_bytes[i] - window->opened_bytes[i];
    return true;
}

/* Sets cpus[] to the number of the CPU on which each stream's thread ran at an edge. If the system
 * does not report that about another thread, the number is used that the thread itself read at its
 * start or end. Returns false if a number is unknown. */
static bool cpus_of_streams(const struct test *test, const struct edge *edge, bool opens,
                            uint64_t cpus[STREAMS_MAX])
{
    for (unsigned i = 0; i < test->settings.streams; i++) {
        const unsigned number = i % test->workers;
        const struct worker *worker = &test->worker[number];
        int cpu = edge->thread_cpu[number];
        if (cpu < 0)
            cpu = atomic_load(opens ? &worker->first_cpu : &worker->last_cpu);
        if (cpu < 0)
            return false;
        cpus[i] = (uint64_t)cpu;
    }
    return true;
}

void result_streams(const struct test *test, struct json *record)
{
    const unsigned streams = test->settings.streams;
    const struct samples *samples = &test->samples;
    uint64_t values[STREAMS_MAX];
    double index;
    if (!samples->open.is_sampled || !samples->close.is_sampled)
        return;
    if (bytes_of_streams(test, values)) {
        json_u64s(record, "stream_bytes", values, streams);
        if (fairness_index(values, streams, &index))
            json_double(record, "fairness_index", index);
    }
    if (cpus_of_streams(test, &samples->open, true, values))
        json_u64s(record, "stream_cpus_open", values, streams);
    if (cpus_of_streams(test, &samples->close, false, values))
        json_u64s(record, "stream_cpus_close", values, streams);
}

/* ---- round trips ---- */

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
    gaps_judge(&gaps, ask->until_ns - ask->from_ns, ask->heard + 1);
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
    json_u64(record, "reordered_messages", ask->reordered);
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
    json_u64(record, "reordered_messages", mirror->reordered);
    const struct way_there *way = &mirror->way;
    if (way->count > 0) {
        json_u64(record, "later_mean_ns",
                 (uint64_t)(way->sum_ns / (int64_t)way->count - way->fastest_ns));
        json_u64(record, "later_max_ns", (uint64_t)(way->slowest_ns - way->fastest_ns));
    }
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
