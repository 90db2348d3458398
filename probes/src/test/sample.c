/* Reads counters at the edges of a window. The window is the time that is measured; its edges are
 * its begin and its end. */
#include "test/sample.h"

#include <string.h>

static void sample_tcp(struct test *test, struct edge *edge)
{
    const uint64_t bit = UINT64_C(1) << PLAT_TCP_BYTES_ACKED;
    edge->acked = true;
    edge->all.present = UINT64_MAX;
    for (unsigned i = 0; i < test->settings.streams; i++) {
        struct plat_tcp_info info;
        plat_tcp_info(test->stream[i].socket, &info);
        if (i == 0)
            edge->tcp = info;
        edge->acked = edge->acked && (info.present & bit) != 0;
        edge->acked_bytes += info.value[PLAT_TCP_BYTES_ACKED];
        if (test->settings.role == ROLE_SEND && test->settings.count == 0)
            edge->stream_bytes[i] = info.value[PLAT_TCP_BYTES_ACKED];
        edge->all.present &= info.present;
        for (unsigned fact = 0; fact < PLAT_TCP_FACTS; fact++)
            edge->all.value[fact] += info.value[fact];
    }
}

static void sample_threads(struct test *test, struct edge *edge)
{
    for (unsigned i = 0; i < test->workers; i++) {
        const struct worker *worker = &test->worker[i];
        unsigned cpu;
        edge->delay[i] =
            worker->running && plat_thread_delay_ns(worker->thread, &edge->delay_ns[i]);
        edge->thread_cpu[i] = worker->running && plat_thread_place(worker->thread, &cpu) ? (int)cpu : -1;
    }
}

void sample_edge(struct test *test, struct edge *edge)
{
    memset(edge, 0, offsetof(struct edge, cpu));
    edge->now_ns = plat_now_ns();
    for (unsigned i = 0; i < test->settings.streams; i++) {
        struct stream *stream = &test->stream[i];
        edge->stream_bytes[i] = atomic_load_explicit(&stream->marks.bytes, memory_order_relaxed);
        edge->bytes += edge->stream_bytes[i];
        edge->messages += atomic_load_explicit(&stream->marks.messages, memory_order_relaxed);
        edge->looks += atomic_load_explicit(&stream->looks, memory_order_relaxed);
        edge->empty += atomic_load_explicit(&stream->empty, memory_order_relaxed);
    }
    for (unsigned i = 0; i < test->workers; i++)
        edge->thread[i] = test->worker[i].running &&
                          plat_thread_cpu_ns(test->worker[i].thread, &edge->thread_ns[i]);
    edge->clock_ns = plat_now_ns();
    edge->raw = plat_raw_now_ns(&edge->raw_ns);
    edge->wall_ns = plat_wall_ns();
    edge->slept = plat_suspended_ns(&edge->slept_ns);
    edge->stalled_ns = test->stalled_ns;
    if (!test->settings.udp && test->settings.kind != KIND_CONNECT) /* its sockets live briefly */
        sample_tcp(test, edge);
    edge->process = plat_process_cpu_ns(&edge->user_ns, &edge->system_ns);
    sample_threads(test, edge);
    edge->throttling = plat_throttling(&edge->throttled);
    plat_cpu_times(&edge->cpu);
    if (test->settings.udp && test->settings.role != ROLE_SEND)
        edge->errors = plat_udp_receive_buffer_errors(&edge->receive_buffer_errors);
    if (test->samples.opened.counted) {
        edge->counted = plat_interface_counts(test->samples.opened.interface, &edge->interface);
        edge->counted_ns = plat_now_ns();
    }
    edge->is_sampled = true;
}

void sample_refresh(const struct test *test, struct refresh *refresh)
{
    struct plat_interface_counts now;
    if (!test->samples.opened.counted || refresh->changes >= REFRESHES ||
        !plat_interface_counts(test->samples.opened.interface, &now))
        return;
    const uint64_t bytes = now.sent_bytes + now.received_bytes, now_ns = plat_now_ns();
    if (refresh->changed_ns != 0 && bytes == refresh->bytes)
        return;
    if (refresh->changed_ns != 0 && refresh->changes++ > 0 &&
        now_ns - refresh->changed_ns > refresh->step_ns)
        refresh->step_ns = now_ns - refresh->changed_ns;
    refresh->bytes = bytes;
    refresh->changed_ns = now_ns;
}

void sample_queues(struct test *test, struct queue *queue)
{
    queue->is_known = true;
    queue->bytes = 0;
    for (unsigned i = 0; queue->is_known && i < test->settings.streams; i++) {
        uint64_t bytes = 0;
        queue->is_known = !test->settings.capture &&
                          plat_queue_bytes(test->stream[i].socket, test->settings.udp, &bytes);
        queue->bytes += bytes;
    }
}

static void put_point(struct tcp_point *point, enum tcp_series_fact fact, bool is_known,
                      uint64_t value)
{
    point->value[fact] = is_known ? value : 0;
    point->present |= is_known ? 1u << fact : 0;
}

void sample_series(struct test *test)
{
    struct plat_tcp_info info;
    struct tcp_point point = {.present = 0};
    plat_tcp_info(test->stream[0].socket, &info);
#define TOLD(fact) ((info.present & UINT64_C(1) << PLAT_TCP_##fact) != 0)
#define VALUE(fact) info.value[PLAT_TCP_##fact]
    put_point(&point, TCP_SERIES_CWND_BYTES, TOLD(SND_CWND) && TOLD(SND_MSS),
              VALUE(SND_CWND) * VALUE(SND_MSS));
    put_point(&point, TCP_SERIES_RTT_US, TOLD(RTT_US), VALUE(RTT_US));
    /* The largest possible number means that there is no limit. */
    put_point(&point, TCP_SERIES_PACING_BIT_PER_S,
              TOLD(PACING_RATE) && VALUE(PACING_RATE) <= INT64_MAX / 8, 8 * VALUE(PACING_RATE));
    put_point(&point, TCP_SERIES_RETRANSMISSIONS, TOLD(TOTAL_RETRANS), VALUE(TOTAL_RETRANS));
    put_point(&point, TCP_SERIES_DELIVERED_BYTES, TOLD(BYTES_ACKED), VALUE(BYTES_ACKED));
#undef TOLD
#undef VALUE
    tcp_series_add(&test->samples.series, plat_now_ns(), &point);
}

void sample_fill(struct test *test, struct fill *fill)
{
    uint64_t memory_bytes = 0, most_bytes = 0;
    for (unsigned i = 0; i < test->settings.streams; i++) {
        uint64_t memory, most;
        if (test->settings.capture ||
            !plat_queue_fill(test->stream[i].socket, &memory, &most))
            return;
        memory_bytes += memory;
        most_bytes += most;
    }
    fill->looks++;
    fill->full += memory_bytes * 100 >= most_bytes * QUEUE_FULL_PERCENT;
}

static int option_of(plat_socket socket, enum plat_option option)
{
    int value;
    bool is_known = socket != PLAT_NO_SOCKET && plat_option_get(socket, option, &value) == 0;
    return is_known ? value : -1;
}

void sample_opened(struct test *test, struct opened *opened)
{
    plat_socket socket = test->stream[0].socket;
    memset(opened, 0, sizeof *opened);
    opened->send_buffer_bytes = option_of(socket, PLAT_SEND_BUFFER);
    opened->receive_buffer_bytes = option_of(socket, PLAT_RECEIVE_BUFFER);
    opened->dscp = option_of(socket, PLAT_DSCP);
    opened->nodelay = test->settings.udp ? -1 : option_of(socket, PLAT_NODELAY);
    opened->dont_fragment = test->settings.udp ? option_of(socket, PLAT_DONT_FRAGMENT) : -1;
    if (!test->settings.udp) {
        plat_congestion_get(socket, opened->congestion, sizeof opened->congestion);
        if (test->settings.kind != KIND_CONNECT || test->settings.role == ROLE_ASK)
            plat_tcp_info(socket, &opened->tcp); /* reports nothing for a listener */
    }
    if (test_interface(test, opened->interface))
        opened->counted =
            plat_interface_counts(opened->interface, &opened->interface_before);
    else
        opened->interface[0] = 0;
    opened->carrier = opened->interface[0] != 0 &&
                      plat_carrier_changes(opened->interface, &opened->carrier_changes);
    if (!test->settings.udp || test->settings.role != ROLE_RECEIVE ||
        !plat_receive_steering(opened->interface, opened->steering))
        opened->steering[0] = 0;
}

void sample_closing(struct test *test, const struct opened *opened, struct closing *closing)
{
    memset(closing, 0, sizeof *closing);
    if (opened->counted)
        closing->counted = plat_interface_counts(opened->interface, &closing->interface_after);
    closing->carrier = opened->carrier &&
                       plat_carrier_changes(opened->interface, &closing->carrier_changes);
    closing->drops = test->settings.udp && test->settings.role != ROLE_SEND;
    for (unsigned i = 0; closing->drops && i < test->settings.streams; i++) {
        uint64_t drops;
        if (test->settings.capture) { /* the UDP socket drops everything on purpose */
            closing->queue_drops += plat_capture_drops(&test->stream[i].capture);
            continue;
        }
        closing->drops = plat_queue_drops(test->stream[i].socket, &drops);
        closing->queue_drops += closing->drops ? drops : 0;
    }
}
