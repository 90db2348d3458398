/* Holds what a test reads at the edges of its window, from CPU times to TCP's own view. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include "platform/plat.h"
#include "protocol/settings.h"
#include "pure/window/tcp_series.h"

/* Everything at one edge; what a system does not tell is marked as absent. */
struct edge {
    bool taken;
    uint64_t now_ns, clock_ns, wall_ns, raw_ns; /* clock_ns: right beside raw and wall */
    bool raw, slept;
    uint64_t slept_ns; /* of this host so far, suspended */
    uint64_t stalled_ns; /* of this test so far, without its process running */
    uint64_t bytes, messages; /* of all streams */
    uint64_t looks, empty;    /* of all streams: receive calls that did not wait, and found nothing */
    uint64_t user_ns, system_ns;
    bool process;
    uint64_t stream_bytes[STREAMS_MAX]; /* of each stream: what `bytes`, or acked_bytes, is the sum of */
    uint64_t thread_ns[WORKERS_MAX];
    bool thread[WORKERS_MAX];
    uint64_t delay_ns[WORKERS_MAX]; /* ready to run, and in a queue for a CPU */
    bool delay[WORKERS_MAX];
    int thread_cpu[WORKERS_MAX]; /* where the thread ran, or ran last; -1: not told */
    bool throttling;
    struct plat_throttling throttled;
    bool errors;
    uint64_t receive_buffer_errors; /* system-wide */
    bool acked;
    uint64_t acked_bytes;     /* TCP, of all streams */
    struct plat_tcp_info tcp; /* of the first stream */
    struct plat_tcp_info all; /* summed over all streams: what every one of them tells */
    bool counted;
    uint64_t counted_ns; /* when the interface was read */
    struct plat_interface_counts interface;
    struct plat_cpu_times cpu;
};

/* Bytes that stand in the receive queues of all streams; for UDP as memory (plat_queue_bytes). */
struct queue {
    bool known;
    uint64_t bytes;
};

/* Looks at the receive queues of all streams while the window is open. */
struct fill {
    uint64_t looks, full; /* full: to QUEUE_FULL_PERCENT and more */
};
#define QUEUE_FULL_PERCENT 80

/* How often the interface's counters move while data flow: some cards' do once a second. */
struct refresh {
    uint64_t bytes, changed_ns; /* as last read; when that was new */
    uint64_t changes;           /* seen, the first reading not among them */
    uint64_t step_ns;           /* the longest between two of them */
};
/* After so many it is known. Each look reads a file of the system, on the CPU that a pinned
 * receiver has, and costs it throughput (docs/benchmarks.md). */
#define REFRESHES 5

/* What the sockets say, and what the interface had carried, right after they were opened. */
struct opened {
    char interface[PLAT_INTERFACE_NAME]; /* empty: unknown */
    bool counted;
    struct plat_interface_counts interface_before;
    bool carrier;
    uint64_t carrier_changes;
    struct plat_tcp_info tcp;
    int send_buffer_bytes, receive_buffer_bytes, nodelay, dont_fragment, dscp; /* -1: unknown */
    char congestion[32];
    char steering[PLAT_STEERING]; /* of a UDP receiver's interface; empty: unknown */
};

/* Before the sockets are closed. */
struct closing {
    bool counted, carrier, drops;
    struct plat_interface_counts interface_after;
    uint64_t carrier_changes, queue_drops;
};

/* Fragments of all that this system carries: before the first packet of the test, and after its
 * last. */
struct fragments {
    bool told_before, told_after;
    struct plat_fragments before, after;
};

/* All that one test samples; too large for a stack. */
struct samples {
    struct fragments fragments;
    struct opened opened;
    struct refresh refresh;
    struct edge open, close;
    struct queue queue_open, queue_close;
    struct fill fill;
    struct tcp_series series; /* a TCP sender's first stream, in its window */
    struct closing closing;
};

#endif
