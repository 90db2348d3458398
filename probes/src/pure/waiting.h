/* The ways in which a stream's receiver waits for data, and the choice between two of them. During
 * the warm-up (the time before the measurement), an adaptive receiver alternates between `blocking`
 * and `polling` in slices of 10 ms, and counts the bytes received in each slice. After the warm-up
 * it keeps `polling` if polling received clearly more, otherwise `blocking`. If the link or the
 * sender is the limit, both ways receive the same, and the receiver blocks, as most applications
 * do. */
#ifndef WAITING_H
#define WAITING_H

#include <stdbool.h>
#include <stdint.h>

enum way {
    WAY_BLOCKING, /* it waits in a receive call, and the system wakes it */
    WAY_POLLING,  /* it checks for data every WAITING_POLL_NS, and is not woken */
    WAY_SPINNING  /* it checks for data without a pause */
};

/* Interval of a receiver that polls. At a million datagrams per second, a socket buffer of the default
 * size has room for the datagrams of two intervals. */
#define WAITING_POLL_NS UINT64_C(100000)

#define WAITING_SLICE_NS UINT64_C(10000000)
#define WAITING_SLICES 8       /* the last 8 slices of each way are compared */
#define WAITING_SLICES_LEAST 3 /* with fewer slices of a way the comparison is inconclusive */
#define WAITING_GAIN 1.05      /* factor by which polling must receive more */
#define WAITING_NEVER_NS UINT64_MAX

/* Only the receiving thread uses this structure; other threads may read it after that thread has
 * ended. */
struct waiting {
    enum way now;
    uint64_t next_ns; /* the end of the slice; WAITING_NEVER_NS: the way is final */
    uint64_t until_ns, since_ns, since_bytes;
    unsigned slices[2];
    double rate[2][WAITING_SLICES]; /* bytes per ns of each slice; the newest replaces the oldest */
};

/* Sets the way of waiting for the whole test. */
void waiting_keep(struct waiting *waiting, enum way way);
/* Starts the first slice at now_ns. `bytes` is the number of bytes received so far. The ways
 * alternate until until_ns. */
void waiting_try(struct waiting *waiting, uint64_t now_ns, uint64_t bytes, uint64_t until_ns);
/* The rare part of waiting_look: ends a slice. */
void waiting_review(struct waiting *waiting, uint64_t now_ns, uint64_t bytes);

/* Call this after each receive call, also if the call returned no data. `bytes` is the number of
 * bytes received so far. The way waiting->now may change. */
static inline void waiting_look(struct waiting *waiting, uint64_t now_ns, uint64_t bytes)
{
    if (now_ns >= waiting->next_ns)
        waiting_review(waiting, now_ns, bytes);
}

#endif
