/* The requests of one asker that are under way: which answer is whose, what is lost, late, double.
 * Pure arithmetic; times are of the caller's clock. One user, the asking thread. */
#ifndef UNDERWAY_H
#define UNDERWAY_H

#include <stdbool.h>
#include <stdint.h>

#define UNDERWAY_MAX 1024   /* waiting at once */
#define UNDERWAY_SLOTS 4096 /* remembered */

struct underway_request {
    uint64_t sequence;
    uint64_t from_ns; /* where its latency begins: intended or real time of sending */
    uint64_t sent_ns;
    bool measured; /* sent within the window */
    uint8_t state; /* the room's own */
};

/* All zero before the first request. */
struct underway {
    uint64_t next;    /* the next request's sequence number */
    uint64_t oldest;  /* no earlier request is waiting */
    unsigned waiting; /* sent, and neither answered nor lost */
    struct underway_request slot[UNDERWAY_SLOTS];
};

/* The sequence number of the next request; fewer than UNDERWAY_MAX are waiting. Numbers are left
 * out where their place is still taken by one that waits. */
uint64_t underway_next(struct underway *underway);
/* The request with that number has been sent. */
static inline void underway_sent(struct underway *underway, uint64_t from_ns, uint64_t sent_ns,
                                 bool measured);

enum underway_fate {
    UNDERWAY_ANSWERED,  /* of a request that waited, in time */
    UNDERWAY_LATE,      /* of one that was lost by its time-out, or too old to tell */
    UNDERWAY_DUPLICATE, /* of one that was answered before */
    UNDERWAY_UNKNOWN    /* of none that was ever sent */
};
/* An answer with that sequence number has come; ask underway_lost first what had run out by then.
 * *request is the request where the answer is in time, else NULL. */
enum underway_fate underway_answer(struct underway *underway, uint64_t sequence,
                                   const struct underway_request **request);

/* The next request whose time has run out, which is lost from here on; NULL: none (any more). */
const struct underway_request *underway_lost(struct underway *underway, uint64_t now_ns,
                                             uint64_t timeout_ns);
/* The oldest request is given up before its time: the peer's host has refused it. NULL: none
 * waits. */
const struct underway_request *underway_give_up(struct underway *underway);

/* ---- the states of a slot, for the inline function below ---- */

enum underway_state {
    UNDERWAY_FREE,
    UNDERWAY_WAITING,
    UNDERWAY_DONE, /* answered */
    UNDERWAY_GONE, /* lost */
    UNDERWAY_OVER  /* lost, and its answer came late */
};

static inline void underway_sent(struct underway *underway, uint64_t from_ns, uint64_t sent_ns,
                                 bool measured)
{
    underway->slot[underway->next % UNDERWAY_SLOTS] =
        (struct underway_request){underway->next, from_ns, sent_ns, measured, UNDERWAY_WAITING};
    if (underway->waiting++ == 0)
        underway->oldest = underway->next;
    underway->next++;
}

#endif
