/* The receiver's window over the sum of its streams, from one mark to another. The window is the
 * time whose data count for the throughput.
 *
 * A mark is (t, B): the clock right after a receive call returned, and the payload bytes received
 * so far. w0 = first mark of the last stream to begin + warm-up (or as given), w1 = w0 + duration;
 * a = first mark at or after w0, b = first mark at or after w1;
 * throughput = 8 (B_b - B_a)/(t_b - t_a). Mark a starts the clock, so its bytes are not counted. If
 * there is no mark within max(50 ms, 20 mean gaps) after w1, then t_b = w1, because silence counts
 * as time. If a number of messages bounds the test (a count), a and b are the first and last mark.
 *
 * Threads: each stream's thread makes its marks by window_mark, without a lock. If window_mark
 * returns true, the same thread calls window_cross. The caller must hold its lock for window_cross
 * and for all other functions except window_mark. Marks of different threads can be out of order by
 * the time of a function call. */
#ifndef WINDOW_H
#define WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "pure/window/gaps.h"

#define WINDOW_STREAMS_MAX 1000
#define WINDOW_INTERVALS_MAX 1000
#define WINDOW_MARKS_MIN 20                   /* from a to b inclusive; with fewer: no throughput */
#define WINDOW_SILENCE_NS UINT64_C(50000000)
#define WINDOW_SILENCE_GAPS 20
#define WINDOW_TAIL_NS UINT64_C(100000000) /* how long a sender without a stop continues after w1 */
#define WINDOW_NEVER_NS UINT64_MAX

/* One stream's marks; all zero before its first. Only the stream's thread writes; all threads read. */
struct window_stream {
    _Atomic uint64_t bytes;    /* payload so far, first copies only */
    _Atomic uint64_t messages;
    _Atomic uint64_t marks;
    _Atomic uint64_t last_ns;  /* of the last mark */
    _Atomic uint64_t longest_gap_ns, largest_bytes; /* since the window opened */
    _Atomic bool within;       /* these two values are of the window */
    _Atomic uint64_t silent_from_ns, silent_until_ns; /* the last silence of GAP_LEAST_NS or more */
    uint64_t edge_seen_ns;     /* used only by the stream's thread */
    uint64_t gap_from_ns;      /* the mark before the one that window_cross is called for */
    bool queue_full;           /* set by the caller at the end of a silence; kept with the gap */
    bool has_begun;            /* protected by the lock */
};

struct window_plan {
    unsigned streams;       /* 1 to WINDOW_STREAMS_MAX */
    bool by_count;          /* first mark to last; the times below are not used */
    uint64_t warm_up_ns, duration_ns; /* duration above 0 */
    uint64_t open_ns, close_ns;       /* a given window, by the receiver's clock; 0: not given */
    uint64_t interval_ns;   /* above 0; longer if there would be more than WINDOW_INTERVALS_MAX */
};

/* Result of one mark or one look; bits, both may be set. */
enum window_event { WINDOW_NOTHING = 0, WINDOW_OPENED = 1, WINDOW_CLOSED = 2 };

struct window_sum {
    uint64_t bytes, messages, marks;
};

struct window {
    _Atomic uint64_t edge_ns; /* next edge: begin or end of the window, or end of an interval */
    struct window_plan plan;
    struct window_stream *stream[WINDOW_STREAMS_MAX];
    unsigned begun_streams;    /* streams that had their first mark */
    uint64_t w0_ns, w1_ns;     /* WINDOW_NEVER_NS while unknown */
    bool opened, closed, closed_by_silence;
    uint64_t a_ns, b_ns;
    struct window_sum a, b;
    /* Bytes of each stream at a and at b; their sums are a.bytes and b.bytes. */
    uint64_t opened_bytes[WINDOW_STREAMS_MAX], closed_bytes[WINDOW_STREAMS_MAX];
    uint64_t longest_gap_ns;   /* longest silence of a stream between a and b */
    struct gaps gaps;          /* silences of all streams since w0, judged when the window is closed */
    uint64_t gaps_until_ns;    /* end of the last gap */
    uint64_t largest_bytes;    /* largest receive call after a, up to b */
    uint64_t interval_ns;      /* the effective value */
    uint64_t interval_base_bytes;
    unsigned intervals;
    /* Bytes between a + k intervals and a + (k + 1) intervals; their sum is b.bytes - a.bytes.
     * The last one ends at b and is half to one and a half intervals long, unless it is the only one. */
    uint64_t interval_bytes[WINDOW_INTERVALS_MAX];
};

/* streams[i] point to all-zero window_streams that live as long as the window. */
void window_init(struct window *window, const struct window_plan *plan,
                 struct window_stream *const *streams);

/* A receive call returned at t_ns with this many bytes and messages (both 0: a duplicate).
 * True: take the lock and call window_cross with the same arguments, before the next mark. */
static inline bool window_mark(struct window *window, struct window_stream *stream, uint64_t t_ns,
                               uint64_t bytes, uint64_t messages)
{
    uint64_t last = atomic_load_explicit(&stream->last_ns, memory_order_relaxed);
    const bool silent = t_ns - last >= GAP_LEAST_NS && last > 0;
    if (silent) {
        atomic_store_explicit(&stream->silent_from_ns, last, memory_order_relaxed);
        atomic_store_explicit(&stream->silent_until_ns, t_ns, memory_order_relaxed);
    }
    /* Release order: a thread that sees this mark also sees the silence that it ended. */
    atomic_store_explicit(&stream->last_ns, t_ns, memory_order_release);
    atomic_store_explicit(&stream->marks,
                          atomic_load_explicit(&stream->marks, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_store_explicit(&stream->messages,
                          atomic_load_explicit(&stream->messages, memory_order_relaxed) + messages,
                          memory_order_relaxed);
    /* Released last: a thread that sees these bytes also sees the mark's time t_ns. */
    atomic_store_explicit(&stream->bytes,
                          atomic_load_explicit(&stream->bytes, memory_order_relaxed) + bytes,
                          memory_order_release);
    uint64_t edge = atomic_load_explicit(&window->edge_ns, memory_order_relaxed);
    if (t_ns >= edge || edge != stream->edge_seen_ns || silent) {
        stream->gap_from_ns = last;
        return true;
    }
    if (t_ns - last > atomic_load_explicit(&stream->longest_gap_ns, memory_order_relaxed))
        atomic_store_explicit(&stream->longest_gap_ns, t_ns - last, memory_order_relaxed);
    if (bytes > atomic_load_explicit(&stream->largest_bytes, memory_order_relaxed))
        atomic_store_explicit(&stream->largest_bytes, bytes, memory_order_relaxed);
    return false;
}

/* The rare part of a mark. Returns window_event bits. If the window was opened or closed, the
 * caller must immediately sample what it reports about this edge, such as the receive queues. */
unsigned window_cross(struct window *window, struct window_stream *stream, uint64_t t_ns,
                      uint64_t bytes, uint64_t messages);

/* The time to call window_look if no mark arrives before; WINDOW_NEVER_NS: not yet. Call it again after
 * each look and after the window has opened. */
uint64_t window_look_at_ns(const struct window *window);
/* Closes the window by silence if the time of window_look_at_ns has passed without a mark at or
 * after w1. If the sender has reported its end (`over`), closes it already at w1. Returns
 * WINDOW_CLOSED or WINDOW_NOTHING. */
unsigned window_look(struct window *window, uint64_t now_ns, bool over);

/* With a count: closes the window when there are no more marks; b is the last one. Returns
 * WINDOW_CLOSED, or WINDOW_NOTHING if the window is already closed or there was never a mark. */
unsigned window_finish(struct window *window);

/* w0; with a count, the time of the first mark. WINDOW_NEVER_NS: not known yet. */
uint64_t window_origin_ns(const struct window *window);

/* Sum of all streams so far. */
struct window_sum window_total(const struct window *window);

/* The throughput of a closed window. False: there is none, because there were fewer than
 * WINDOW_MARKS_MIN marks or no time passed. */
bool window_throughput_bit_per_s(const struct window *window, double *out);
/* Number of marks from a to b inclusive; 0 if the window never opened. */
uint64_t window_marks(const struct window *window);
/* Whether the largest receive + the change of the queue exceed 0.1 % of the window's bytes. */
bool window_coarse(uint64_t bytes, uint64_t largest_bytes, uint64_t queue_open_bytes,
                   uint64_t queue_close_bytes);

#endif
