/* Writes the results of receivers and of senders. The window is the time that is measured. A mark
 * is the time at which a receive call returned data. */
#include "agent/result.h"

#include "agent/methods.h"
#include "loops/traffic.h"

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

bool result_sent_bytes(const struct test *test, uint64_t *bytes)
{
    const struct edge *open = &test->samples.open, *close = &test->samples.close;
    const bool acknowledged = !test->settings.udp && test->settings.count == 0;
    *bytes = acknowledged ? close->acked_bytes - open->acked_bytes : close->bytes - open->bytes;
    return !acknowledged || (close->acked && open->acked);
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
