/* Prints the records of a test, and writes the common part of every result. These are addresses,
 * options, CPU and clocks. A record is one line of JSON. The window is the time that is measured;
 * its edges are its begin and its end. */
#include <string.h>

#include "agent/result.h"
#include "test/records.h"

static void add_addresses(struct test *test, struct json *record)
{
    char text[PLAT_ADDRESS_TEXT];
    plat_address_text(&test->local, text);
    json_text(record, "local_address", text);
    json_u64(record, "local_port", plat_address_port(&test->local));
    plat_address_text(&test->peer, text);
    json_text(record, "peer_address", text);
    json_u64(record, "peer_port", plat_address_port(&test->peer));
    json_text(record, "opened", test->settings.listen ? "listen" : "connect");
    json_u64(record, "setup_ns", test->setup_ns);
}

struct buffer_keys {
    const char *requested, *effective, *doubled, *capped;
};

static void add_buffer(struct test *test, struct json *record, int effective,
                       const struct buffer_keys *keys)
{
    uint64_t requested = test->settings.socket_buffer_bytes;
    if (requested > 0)
        json_u64(record, keys->requested, requested);
    if (effective < 0)
        return;
    json_u64(record, keys->effective, (uint64_t)effective);
    if (requested == 0)
        return;
    uint64_t expected_bytes = requested * (uint64_t)plat_buffer_factor;
    json_flag(record, keys->doubled,
              plat_buffer_factor == 2 && (uint64_t)effective == expected_bytes);
    json_flag(record, keys->capped, (uint64_t)effective < expected_bytes);
}

static void add_option(struct json *record, const char *key, int value)
{
    if (value >= 0)
        json_u64(record, key, (uint64_t)value);
}

static void add_cpus(const struct settings *settings, struct json *record)
{
    uint64_t cpus[WORKERS_MAX];
    for (unsigned i = 0; i < settings->cpu_count; i++)
        cpus[i] = settings->cpus[i];
    if (settings->cpu < 0 && settings->cpu_count > 0)
        json_u64s(record, "cpus", cpus, settings->cpu_count);
}

static void add_options(struct test *test, struct json *record)
{
    static const struct buffer_keys send = {"send_buffer_requested_bytes", "send_buffer_bytes",
                                            "send_buffer_doubled", "send_buffer_capped"};
    static const struct buffer_keys receive = {
        "receive_buffer_requested_bytes", "receive_buffer_bytes", "receive_buffer_doubled",
        "receive_buffer_capped"};
    const struct opened *opened = &test->samples.opened;
    add_buffer(test, record, opened->send_buffer_bytes, &send);
    add_buffer(test, record, opened->receive_buffer_bytes, &receive);
    json_text(record, "congestion", opened->congestion[0] != 0 ? opened->congestion : NULL);
    add_option(record, "nodelay", opened->nodelay);
    add_option(record, "dont_fragment", opened->dont_fragment);
    add_option(record, "dscp", opened->dscp);
    add_option(record, "cpu", test->settings.cpu);
    add_cpus(&test->settings, record);
    if (test->settings.role != ROLE_SEND)
        json_u64(record, "spin", test->settings.spin);
}

static void add_threads(struct test *test, struct json *record)
{
    const struct edge *open = &test->samples.open, *close = &test->samples.close;
    uint64_t busiest_ns = 0;
    bool any = false;
    if (open->process && close->process) {
        json_u64(record, "user_ns", close->user_ns - open->user_ns);
        json_u64(record, "system_ns", close->system_ns - open->system_ns);
    }
    for (unsigned i = 0; i < test->workers; i++) {
        const struct worker *worker = &test->worker[i];
        uint64_t end_ns = close->thread[i] ? close->thread_ns[i] : worker->cpu_ns;
        if (!open->thread[i] || !(close->thread[i] || worker->cpu_known))
            continue;
        any = true;
        /* A thread reads its own CPU time shortly before it ends. If the first edge was sampled
         * after that, end_ns may be less than the sample. In this case the thread did nothing in
         * the window. */
        if (end_ns > open->thread_ns[i] && end_ns - open->thread_ns[i] > busiest_ns)
            busiest_ns = end_ns - open->thread_ns[i];
    }
    if (any)
        json_u64(record, "thread_ns", busiest_ns);
}

/* Adds what kept threads from running: the whole process was stopped, or a thread was ready to run,
 * but had to wait for other threads on the CPU or for its CPU quota (cgroup). */
static void add_waiting(struct test *test, struct json *record)
{
    const struct edge *open = &test->samples.open, *close = &test->samples.close;
    uint64_t longest_ns = 0;
    bool any = false;
    json_u64(record, "stalled_ns", close->stalled_ns - open->stalled_ns);
    for (unsigned i = 0; i < test->workers; i++) {
        if (!open->delay[i] || !close->delay[i])
            continue;
        uint64_t delay_ns = close->delay_ns[i] - open->delay_ns[i];
        any = true;
        longest_ns = delay_ns > longest_ns ? delay_ns : longest_ns;
    }
    if (any)
        json_u64(record, "run_queue_delay_ns", longest_ns);
    if (!open->throttling || !close->throttling ||
        close->throttled.throttled_ns < open->throttled.throttled_ns) /* moved to another cgroup */
        return;
    json_u64(record, "quota_periods", close->throttled.periods - open->throttled.periods);
    json_u64(record, "quota_throttled_periods",
             close->throttled.throttled_periods - open->throttled.throttled_periods);
    json_u64(record, "quota_throttled_ns",
             close->throttled.throttled_ns - open->throttled.throttled_ns);
}

static void add_host_cpu(const struct plat_cpu_times *open, const struct plat_cpu_times *close,
                         struct json *record)
{
    struct cpu_shares shares;
    if (close->count == 0 || open->count == 0)
        return;
    json_u64(record, "cpu_count", close->count);
    if (!cpu_shares_between(open->core, open->count, close->core, close->count, &shares))
        return;
    json_double(record, "host_busy_share", shares.busy);
    if (close->tells_steal)
        json_double(record, "host_steal_share", shares.steal);
    json_double(record, "host_busiest_core_share", shares.busiest);
    json_u64(record, "host_busiest_core", shares.busiest_cpu);
}

static void add_clocks(struct test *test, struct json *record)
{
    const struct edge *open = &test->samples.open, *close = &test->samples.close;
    /* `now_ns` of the first edge is not used: in a test with `count` it may be the time of the
     * first send call instead of the time of the sample. */
    int64_t monotonic_ns = (int64_t)(close->clock_ns - open->clock_ns);
    const bool has_sleep = open->slept && close->slept;
    int64_t slept_ns = has_sleep ? (int64_t)(close->slept_ns - open->slept_ns) : 0;
    int64_t step_ns = (int64_t)(close->wall_ns - open->wall_ns) - monotonic_ns - slept_ns;
    if (open->raw && close->raw && close->raw_ns > open->raw_ns)
        json_double(record, "raw_clock_ppm",
                    ((double)monotonic_ns / (double)(close->raw_ns - open->raw_ns) - 1) * 1e6);
    if (step_ns > (int64_t)SECOND_NS / 2 || step_ns < -(int64_t)SECOND_NS / 2)
        json_i64(record, "wall_step_ns", step_ns);
    if (slept_ns >= (int64_t)GAP_LEAST_NS)
        json_i64(record, "suspended_ns", slept_ns);
}

/* Adds the system-wide counters of IP fragments, for the whole test. */
static void add_fragments(const struct samples *samples, struct json *record)
{
    const struct fragments *fragments = &samples->fragments;
    const struct plat_fragments *before = &fragments->before, *after = &fragments->after;
    if (!fragments->told_before || !fragments->told_after)
        return;
    json_u64(record, "ip_fragments_created", after->created - before->created);
    json_u64(record, "ip_fragments_failed", after->failed - before->failed);
    json_u64(record, "ip_reassembled", after->reassembled - before->reassembled);
    json_u64(record, "ip_reassembly_failures",
             after->reassembly_failures - before->reassembly_failures);
}

/* Adds a system-wide count, for the whole test. */
static void add_counted(const struct counted *counted, const char *key, struct json *record)
{
    if (counted->told_before && counted->told_after && counted->after >= counted->before)
        json_u64(record, key, counted->after - counted->before);
}

/* Whether no counter has decreased. If an interface is removed and added again during the test, its
 * counters start from 0, and nothing is reported. */
static bool grown(const struct plat_interface_counts *before,
                  const struct plat_interface_counts *after)
{
    return after->sent_bytes >= before->sent_bytes &&
           after->received_bytes >= before->received_bytes &&
           after->sent_packets >= before->sent_packets &&
           after->received_packets >= before->received_packets;
}

static void add_interface_window(const struct samples *samples, struct json *record)
{
    const struct edge *open = &samples->open, *close = &samples->close;
    const struct plat_interface_counts *before = &open->interface, *after = &close->interface;
    if (!open->counted || !close->counted || !grown(before, after))
        return;
    json_u64(record, "interface_window_ns", close->counted_ns - open->counted_ns);
    json_u64(record, "interface_window_sent_bytes", after->sent_bytes - before->sent_bytes);
    json_u64(record, "interface_window_received_bytes",
             after->received_bytes - before->received_bytes);
    json_u64(record, "interface_window_sent_packets", after->sent_packets - before->sent_packets);
    json_u64(record, "interface_window_received_packets",
             after->received_packets - before->received_packets);
    if (samples->refresh.changes >= 2)
        json_u64(record, "interface_counter_step_ns", samples->refresh.step_ns);
}

static void add_interface(const struct samples *samples, struct json *record)
{
    const struct opened *opened = &samples->opened;
    const struct closing *closing = &samples->closing;
    json_text(record, "interface", opened->interface[0] != 0 ? opened->interface : NULL);
    const uint64_t mtu_bytes = opened->interface[0] != 0 ? plat_interface_mtu(opened->interface) : 0;
    if (mtu_bytes > 0)
        json_u64(record, "interface_mtu_bytes", mtu_bytes);
    if (opened->carrier && closing->carrier && closing->carrier_changes >= opened->carrier_changes)
        json_u64(record, "interface_carrier_changes",
                 closing->carrier_changes - opened->carrier_changes);
    const struct plat_interface_counts *before = &opened->interface_before;
    const struct plat_interface_counts *after = &closing->interface_after;
    if (!opened->counted || !closing->counted || !grown(before, after))
        return;
    json_u64(record, "interface_sent_bytes", after->sent_bytes - before->sent_bytes);
    json_u64(record, "interface_received_bytes", after->received_bytes - before->received_bytes);
}

#define TCP_KEYS(X)                                                                                \
    X(SND_MSS, "snd_mss") X(ADVMSS, "advmss") X(PMTU, "pmtu") X(RTT_US, "rtt_us")                  \
    X(RTTVAR_US, "rttvar_us") X(MIN_RTT_US, "min_rtt_us") X(SND_CWND, "snd_cwnd")                  \
    X(SND_SSTHRESH, "snd_ssthresh") X(SND_WND, "snd_wnd") X(RCV_SPACE, "rcv_space")                \
    X(TOTAL_RETRANS, "total_retrans") X(BYTES_SENT, "bytes_sent") X(BYTES_ACKED, "bytes_acked")    \
    X(BYTES_RECEIVED, "bytes_received") X(BYTES_RETRANS, "bytes_retrans")                          \
    X(SEGS_OUT, "segs_out") X(SEGS_IN, "segs_in") X(DATA_SEGS_OUT, "data_segs_out")                \
    X(DATA_SEGS_IN, "data_segs_in") X(NOTSENT_BYTES, "notsent_bytes")                              \
    X(DELIVERY_RATE, "delivery_rate")                                                              \
    X(DELIVERY_RATE_APP_LIMITED, "delivery_rate_app_limited") X(PACING_RATE, "pacing_rate")        \
    X(BUSY_TIME_US, "busy_time_us") X(RWND_LIMITED_US, "rwnd_limited_us")                          \
    X(SNDBUF_LIMITED_US, "sndbuf_limited_us") X(DELIVERED_CE, "delivered_ce")                      \
    X(DSACK_DUPS, "dsack_dups") X(REORD_SEEN, "reord_seen") X(RCV_OOOPACK, "rcv_ooopack")          \
    X(RTO_US, "rto_us")

#define TCP_KEY(fact, name) [PLAT_TCP_##fact] = "tcp_open_" name,
static const char *const tcp_open_keys[] = {TCP_KEYS(TCP_KEY)};
#undef TCP_KEY
#define TCP_KEY(fact, name) [PLAT_TCP_##fact] = "tcp_begin_" name,
static const char *const tcp_begin_keys[] = {TCP_KEYS(TCP_KEY)};
#undef TCP_KEY
#define TCP_KEY(fact, name) [PLAT_TCP_##fact] = "tcp_end_" name,
static const char *const tcp_end_keys[] = {TCP_KEYS(TCP_KEY)};

static void add_tcp(const struct plat_tcp_info *info, const char *const *keys,
                    const char *options_key, struct json *record)
{
    if (info->present == 0)
        return;
    json_text(record, options_key, info->options);
    for (unsigned fact = 0; fact < PLAT_TCP_FACTS; fact++)
        if (info->present & UINT64_C(1) << fact)
            json_u64(record, keys[fact], info->value[fact]);
}

/* Adds the bytes and segments that this host's TCP sent and received in the window, for all
 * streams. */
static void add_segments(const struct samples *samples, struct json *record)
{
    static const struct {
        enum plat_tcp_fact fact;
        const char *key;
    } sums[] = {
        {PLAT_TCP_BYTES_SENT, "tcp_window_sent_bytes"},
        {PLAT_TCP_BYTES_RECEIVED, "tcp_window_received_bytes"},
        {PLAT_TCP_SEGS_OUT, "tcp_window_segs_out"},
        {PLAT_TCP_SEGS_IN, "tcp_window_segs_in"},
        {PLAT_TCP_DATA_SEGS_OUT, "tcp_window_data_segs_out"},
        {PLAT_TCP_DATA_SEGS_IN, "tcp_window_data_segs_in"},
    };
    const struct plat_tcp_info *open = &samples->open.all, *close = &samples->close.all;
    for (unsigned i = 0; i < sizeof sums / sizeof sums[0]; i++) {
        const enum plat_tcp_fact fact = sums[i].fact;
        if ((open->present & close->present & UINT64_C(1) << fact) != 0 &&
            close->value[fact] >= open->value[fact])
            json_u64(record, sums[i].key, close->value[fact] - open->value[fact]);
    }
}

void result_late_ticks(const struct test *test, uint64_t origin_ns, struct json *record)
{
    uint64_t pairs[2 * GAPS_KEPT];
    unsigned used = gaps_pairs(&test->late_ticks, origin_ns, pairs);
    if (used > 0)
        json_u64s(record, "late_ticks", pairs, used);
}

static void result_common(struct test *test, struct json *record)
{
    static const char *const arrived_keys[] = {[PLAT_OLD_SEGMENTS] = "tcp_old_segments",
                                               [PLAT_ECN_PACKETS] = "ecn_packets",
                                               [PLAT_ECN_MARKED] = "ecn_marked_packets"};
    const struct samples *samples = &test->samples;
    add_addresses(test, record);
    add_options(test, record);
    add_interface(samples, record);
    add_fragments(samples, record);
    add_counted(&test->samples.damage,
                test->settings.udp ? "udp_checksum_errors" : "tcp_checksum_errors", record);
    for (unsigned which = 0; which < PLAT_ARRIVED; which++)
        add_counted(&samples->arrived[which], arrived_keys[which], record);
    if (test->path_mtu_bytes > 0)
        json_u64(record, "path_mtu_bytes", test->path_mtu_bytes);
    bool is_scaling;
    if (!test->settings.udp && plat_window_scaling(&is_scaling))
        json_u64(record, "tcp_window_scaling", is_scaling);
    if (samples->open.is_sampled && samples->close.is_sampled) {
        add_threads(test, record);
        add_waiting(test, record);
        add_host_cpu(&samples->open.cpu, &samples->close.cpu, record);
        add_clocks(test, record);
        add_interface_window(samples, record);
        add_segments(samples, record);
    }
    add_tcp(&samples->opened.tcp, tcp_open_keys, "tcp_open_options", record);
    add_tcp(&samples->open.tcp, tcp_begin_keys, "tcp_begin_options", record);
    add_tcp(&samples->close.tcp, tcp_end_keys, "tcp_end_options", record);
}

/* ---- the records of a test ---- */

void record_progress(struct test *test, uint64_t now_ns)
{
    struct json record;
    uint64_t bytes = 0, messages = 0;
    for (unsigned i = 0; i < test->settings.streams; i++) {
        bytes += atomic_load_explicit(&test->stream[i].marks.bytes, memory_order_relaxed);
        messages += atomic_load_explicit(&test->stream[i].marks.messages, memory_order_relaxed);
    }
    json_begin(&record, "progress", test->settings.id);
    json_u64(&record, "bytes", bytes);
    json_u64(&record, "messages", messages);
    json_u64(&record, "elapsed_ns", now_ns - test->begun_ns);
    record_print_news(&record);
}

void record_window(struct test *test)
{
    struct json record;
    json_begin(&record, "window", test->settings.id);
    result_window(test, &record);
    record_print(&record);
}

static void record_failure(struct test *test)
{
    struct json record;
    json_begin(&record, "error", test->settings.id);
    record_add_error(&record, &test->failure);
    if (strcmp(test->failure.word, "no-peer") == 0)
        json_u64(&record, "strangers", result_unexpected(test));
    if (test->path_mtu_bytes > 0)
        json_u64(&record, "path_mtu_bytes", test->path_mtu_bytes);
    record_print(&record);
}

/* For each role: its name, the check that may fail the test, and the function that writes the
 * result. */
static const struct {
    const char *name;
    void (*demand)(struct test *test);
    void (*add)(struct test *test, struct json *record);
} roles[] = {[ROLE_RECEIVE] = {"receive", result_demand_marks, result_receiving},
             [ROLE_SEND] = {"send", NULL, result_sending},
             [ROLE_ASK] = {"ask", result_demand_answers, result_asking},
             [ROLE_MIRROR] = {"mirror", NULL, result_mirroring}};

static void add_size(const struct settings *settings, struct json *record)
{
    json_u64(record, "message_bytes", settings->message_bytes);
    if (settings->kind == KIND_STREAM)
        json_u64(record, "streams", settings->streams);
    else
        json_u64(record, "response_bytes", settings->response_bytes);
}

/* Prints the round trips that are reported one by one, before the result, in as many records as
 * needed. */
static void record_trips(struct test *test)
{
    struct json record;
    uint64_t next = 0;
    for (;;) {
        json_begin(&record, "trips", test->settings.id);
        if (!result_trips(test, &next, &record))
            return;
        record_print(&record);
    }
}

void record_end(struct test *test)
{
    struct json record;
    const enum role role = test->settings.role;
    const bool check = test->settings.kind == KIND_CHECK;
    if (!check && roles[role].demand != NULL && !test_failed(test))
        roles[role].demand(test);
    if (test_failed(test)) {
        record_failure(test);
        return;
    }
    if (test->settings.trips > 0)
        record_trips(test);
    json_begin(&record, "result", test->settings.id);
    json_text(&record, "role", roles[role].name);
    json_text(&record, "protocol", test->settings.udp ? "udp" : "tcp");
    if (!check) {
        add_size(&test->settings, &record);
        roles[role].add(test, &record);
    }
    result_common(test, &record);
    if (test->settings.kind == KIND_STREAM)
        result_streams(test, &record);
    result_tcp_series(test, &record); /* last, because it is the longest: the others must fit */
    record_print(&record);
}
