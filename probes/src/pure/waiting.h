/* The ways in which a stream's receiver waits for more, and the choice between two of them.
 * A receiver that adapts tries `blocking` and `polling` in turns during the warm-up, a slice of time
 * each, and notes how much came in. When the warm-up ends it keeps `polling` where that brought
 * clearly more, else `blocking`; from then on it changes no more. Where the wire or the sender is
 * the limit both bring the same, and it blocks, as an application would. */
#ifndef WAITING_H
#define WAITING_H

#include <stdbool.h>
#include <stdint.h>

enum way {
    WAY_BLOCKING, /* the system wakes it */
    WAY_POLLING,  /* it looks at intervals, and nobody wakes it */
    WAY_SPINNING  /* it looks without end */
};

/* Between two looks of a receiver that polls: of what comes meanwhile, at a million a second, twice as
 * much has room in a socket of the default size. */
#define WAITING_POLL_NS UINT64_C(100000)

#define WAITING_SLICE_NS UINT64_C(10000000)
#define WAITING_SLICES 8       /* of each way that count: the last ones */
#define WAITING_SLICES_LEAST 3 /* with fewer of either nothing is shown */
#define WAITING_GAIN 1.05      /* by which polling must bring more */
#define WAITING_NEVER_NS UINT64_MAX

/* One user, the receiving thread; may be read once that has ended. */
struct waiting {
    enum way now;
    uint64_t next_ns; /* the end of the slice; WAITING_NEVER_NS: it changes no more */
    uint64_t until_ns, since_ns, since_bytes;
    unsigned slices[2];
    double rate[2][WAITING_SLICES]; /* bytes a nanosecond; the newest replaces the oldest */
};

/* For good. */
void waiting_keep(struct waiting *waiting, enum way way);
/* Tries in turns until until_ns; the first slice begins. */
void waiting_try(struct waiting *waiting, uint64_t now_ns, uint64_t bytes, uint64_t until_ns);
/* The rare part of waiting_look. */
void waiting_review(struct waiting *waiting, uint64_t now_ns, uint64_t bytes);

/* After a mark, or a look that found nothing, with the bytes so far: `now` may be another way. */
static inline void waiting_look(struct waiting *waiting, uint64_t now_ns, uint64_t bytes)
{
    if (now_ns >= waiting->next_ns)
        waiting_review(waiting, now_ns, bytes);
}

#endif
