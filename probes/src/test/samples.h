/* The values that a test reads at the edges of its window, such as CPU times and TCP's state. The
 * window is the time that is measured; its edges are its begin and its end. */
#ifndef SAMPLES_H
#define SAMPLES_H

#include "platform/plat.h"
#include "protocol/settings.h"
#include "pure/tcp_series.h"

/* All values at one edge. The members of type bool say which values the system reports. */
struct edge {
    bool is_sampled;
    uint64_t now_ns, clock_ns, wall_ns, raw_ns; /* clock_ns: read with raw_ns and wall_ns */
    bool raw, slept;
    uint64_t slept_ns; /* time that this host was suspended so far */
    uint64_t stalled_ns; /* time of this test so far in which its process did not run */
    uint64_t bytes, messages; /* of all streams */
    uint64_t looks, empty;    /* receive calls that did not wait, and those without data */
    uint64_t user_ns, system_ns;
    bool process;
    uint64_t stream_bytes[STREAMS_MAX]; /* per stream; their sum is `bytes` or acked_bytes */
    uint64_t thread_ns[WORKERS_MAX];
    bool thread[WORKERS_MAX];
    uint64_t delay_ns[WORKERS_MAX]; /* time in which a thread was ready and waited for a CPU */
    bool delay[WORKERS_MAX];
    int thread_cpu[WORKERS_MAX]; /* the CPU on which the thread ran last; -1: unknown */
    bool throttling;
    struct plat_throttling throttled;
    bool errors;
    uint64_t receive_buffer_errors; /* system-wide */
    bool acked;
    uint64_t acked_bytes;     /* TCP, of all streams */
    struct plat_tcp_info tcp; /* of the first stream */
    struct plat_tcp_info all; /* sums over all streams of the values that each of them reports */
    bool counted;
    uint64_t counted_ns; /* when the interface's counters were read */
    struct plat_interface_counts interface;
    struct plat_cpu_times cpu;
};

/* Bytes in the receive queues of all streams, as plat_queue_bytes reports them. */
struct queue {
    bool is_known;
    uint64_t bytes;
};

/* Samples of the receive queues of all streams while the window is open. */
struct fill {
    uint64_t looks, full; /* looks: samples; full: those with QUEUE_FULL_PERCENT or more */
};
#define QUEUE_FULL_PERCENT 80

/* How often the interface's counters change during a transfer. On some cards, they change only once
 * a second. */
struct refresh {
    uint64_t bytes, changed_ns; /* last sum of the counters; when it changed */
    uint64_t changes;           /* observed changes, without the first reading */
    uint64_t step_ns;           /* longest time between two changes */
};
/* Sampling stops after this many changes. Each sample reads a file of the system; on the CPU of a
 * pinned receiver, this costs throughput (docs/benchmarks.md). */
#define REFRESHES 5

/* State of the sockets and counters of the interface, right after the sockets were opened. */
struct opened {
    char interface[PLAT_INTERFACE_NAME]; /* empty: unknown */
    bool counted;
    struct plat_interface_counts interface_before;
    bool carrier;
    uint64_t carrier_changes;
    struct plat_tcp_info tcp;
    int send_buffer_bytes, receive_buffer_bytes, nodelay, dont_fragment, dscp; /* -1: unknown */
    char congestion[32];
    char steering[PLAT_STEERING]; /* CPUs that get a UDP receiver's packets; empty: unknown */
};

/* State of the sockets before they are closed. */
struct closing {
    bool counted, carrier, drops;
    struct plat_interface_counts interface_after;
    uint64_t carrier_changes, queue_drops;
};

/* The system's fragment counters before the first packet of the test, and after its last. */
struct fragments {
    bool told_before, told_after;
    struct plat_fragments before, after;
};

/* A counter of the system, at the same moments: of wrong checksums of the test's protocol, or of
 * packets that arrived. */
struct counted {
    bool told_before, told_after;
    uint64_t before, after;
};

/* All samples of one test; too large for a stack. */
struct samples {
    struct fragments fragments;
    struct counted damage, arrived[PLAT_ARRIVED]; /* the latter of tests over TCP */
    struct opened opened;
    struct refresh refresh;
    struct edge open, close;
    struct queue queue_open, queue_close;
    struct fill fill;
    struct tcp_series series; /* of a TCP sender's first stream, in its window */
    struct closing closing;
};

#endif
