/* The receiver's window, which is the time whose data count for the throughput. It covers all
 * streams of the receiver, and usually begins and ends with a mark.
 *
 * A mark is a pair (t, B): the time right after a receive call returned, and the payload bytes
 * received so far.
 *   w0: time of the first mark of the stream that begins last, plus the warm-up; or a given time
 *   w1: w0 plus the duration; or a given time
 *   a, b: the first mark at or after w0, and the first mark at or after w1
 *   throughput: 8 (B_b - B_a)/(t_b - t_a)
 * The time begins with mark a, so the bytes of mark a are not counted. If there is no mark within
 * max(50 ms, 20 mean distances between marks) after w1, then t_b = w1, because silence counts as
 * time. In a test of a fixed number of messages (by_count), a and b are the first and last mark.
 *
 * Threads: each stream's thread makes its marks by window_mark, without a lock. If window_mark
 * returns true, the same thread calls window_cross. The caller must hold its lock for window_cross
 * and for all other functions except window_mark. Marks of different threads can be out of order by
 * the time of a function call. */
#ifndef WINDOW_H
#define WINDOW_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pure/gaps.h"

#define WINDOW_STREAMS_MAX 1000
#define WINDOW_INTERVALS_MAX 1000
#define WINDOW_MARKS_MIN 20 /* from a to b inclusive; with fewer, there is no throughput */
#define WINDOW_SILENCE_NS UINT64_C(50000000)
#define WINDOW_SILENCE_GAPS 20
/* A sender that gets no stop request continues to send for this long after w1. */
#define WINDOW_TAIL_NS UINT64_C(100000000)
#define WINDOW_NEVER_NS UINT64_MAX

/* One stream's marks; all zero before its first mark. Only the stream's thread writes; all threads
 * read. */
struct window_stream {
    _Atomic uint64_t bytes;    /* payload so far, first copies only */
    _Atomic uint64_t messages;
    _Atomic uint64_t marks;
    _Atomic uint64_t last_ns;  /* time of the last mark */
    _Atomic uint64_t longest_gap_ns, largest_bytes; /* since the window opened */
    _Atomic bool within;       /* the two values above belong to the window */
    _Atomic uint64_t silent_from_ns, silent_until_ns; /* the last silence of GAP_LEAST_NS or more */
    uint64_t edge_seen_ns; /* the edge that the stream's thread knows; only this thread uses it */
    uint64_t gap_from_ns; /* time of the mark before the one for which window_cross is called */
    bool queue_full; /* the receive queue was full; the caller sets it at the end of a silence */
    bool has_begun;            /* protected by the lock */
};

struct window_plan {
    unsigned streams;       /* 1 to WINDOW_STREAMS_MAX */
    bool by_count;          /* from the first mark to the last; the next two lines are not used */
    uint64_t warm_up_ns, duration_ns; /* duration above 0 */
    uint64_t open_ns, close_ns;       /* a given window, by the receiver's clock; 0: not given */
    /* Length of an interval, above 0; a longer one is used if there would be more than
     * WINDOW_INTERVALS_MAX intervals. */
    uint64_t interval_ns;
};

/* Results of window_cross, window_look and window_finish. They are bits; both may be set. */
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
    struct gaps gaps;          /* times since w0 without a mark of any stream */
    uint64_t gaps_until_ns;    /* end of the last gap */
    uint64_t largest_bytes;    /* largest receive call after a, up to b */
    uint64_t interval_ns;      /* length of an interval, as it is used */
    uint64_t interval_base_bytes;
    unsigned intervals;
    /* Bytes between a + k intervals and a + (k + 1) intervals; their sum is b.bytes - a.bytes. The
     * last interval ends at b; it is half to one and a half intervals long, unless it is the only
     * one. */
    uint64_t interval_bytes[WINDOW_INTERVALS_MAX];
};

/* Each streams[i] points to a window_stream that is all zero and lives as long as the window. */
void window_init(struct window *window, const struct window_plan *plan,
                 struct window_stream *const *streams);

/* Call this after a receive call that returned at t_ns with this many bytes and messages (both 0:
 * only duplicates). True: take the lock and call window_cross with the same arguments, before the
 * next mark. */
static inline bool window_mark(struct window *window, struct window_stream *stream, uint64_t t_ns,
                               uint64_t bytes, uint64_t messages)
{
    uint64_t last = atomic_load_explicit(&stream->last_ns, memory_order_relaxed);
    const bool silent = t_ns - last >= GAP_LEAST_NS && last > 0;
    if (silent) {
        atomic_store_explicit(&stream->silent_from_ns, last, memory_order_relaxed);
        atomic_store_explicit(&stream->silent_until_ns, t_ns, memory_order_relaxed);
    }
    /* Release order: a thread that sees this mark also sees the silence that the mark ended. */
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

/* The rare part of a mark, which handles edges and silences. Returns window_event bits. If the
 * window was opened or closed, the caller must immediately sample what it reports about this edge,
 * such as the receive queues. */
unsigned window_cross(struct window *window, struct window_stream *stream, uint64_t t_ns,
                      uint64_t bytes, uint64_t messages);

/* Returns the time at which to call window_look if no mark arrives before; WINDOW_NEVER_NS: there
 * is no such time, or not yet. Call this function again after each window_look, and after the
 * window has opened. */
uint64_t window_look_at_ns(const struct window *window);
/* Closes the window by silence if the time of window_look_at_ns has passed without a mark at or
 * after w1. If the sender has reported its end (`over`), closes the window already at w1. Returns
 * WINDOW_CLOSED or WINDOW_NOTHING. */
unsigned window_look(struct window *window, uint64_t now_ns, bool over);

/* In a test of a fixed number of messages: closes the window after the last mark, which becomes b.
 * Returns WINDOW_CLOSED, or WINDOW_NOTHING if the window is already closed, if there was never a
 * mark, or in any other test. */
unsigned window_finish(struct window *window);

/* Returns w0, or in a test of a fixed number of messages the time of the first mark.
 * WINDOW_NEVER_NS: the time is not known yet. */
uint64_t window_origin_ns(const struct window *window);

/* Sums of the bytes, messages and marks of all streams so far. */
struct window_sum window_total(const struct window *window);

/* The throughput of a closed window. False: there is none, because there were fewer than
 * WINDOW_MARKS_MIN marks or no time passed. */
bool window_throughput_bit_per_s(const struct window *window, double *out);
/* Number of marks from a to b inclusive; 0 if the window never opened. */
uint64_t window_marks(const struct window *window);
/* Whether the largest receive call + the change of the receive queue exceed 0.1 % of the window's
 * bytes. */
bool window_coarse(uint64_t bytes, uint64_t largest_bytes, uint64_t queue_open_bytes,
                   uint64_t queue_close_bytes);

/* Jain's index, (sum x)^2 / (n sum x^2): 1 if all streams have the same throughput, k/n if k of n
 * streams share everything equally and the others have none. False: fewer than two streams, or no
 * throughput. */
bool fairness_index(const uint64_t *bytes, size_t count, double *out);

#endif
