/* Keeps the requests in flight of one asker (the side that sends requests). Matches answers to
 * requests, and detects lost requests and late and duplicate answers. Times are of the caller's
 * clock. Only the thread that sends the requests uses this structure. */
#ifndef IN_FLIGHT_H
#define IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#define IN_FLIGHT_MAX 1024   /* maximum number of requests that wait for an answer at once */
#define IN_FLIGHT_SLOTS 4096 /* requests that are remembered */

struct in_flight_request {
    uint64_t sequence;
    /* start of the latency: time at which sending was due, or real time of sending */
    uint64_t from_ns;
    uint64_t sent_ns;
    bool measured; /* sent within the window (the time that is measured) */
    uint8_t state; /* enum in_flight_state */
};

/* All zero before the first request. */
struct in_flight {
    uint64_t next;    /* the next request's sequence number */
    uint64_t oldest;  /* no request with a lower number is waiting */
    unsigned waiting; /* requests that were sent and are neither answered nor lost */
    struct in_flight_request slot[IN_FLIGHT_SLOTS];
};

/* Returns the sequence number of the next request. Fewer than IN_FLIGHT_MAX requests must be
 * waiting. Numbers whose slot still has a waiting request are skipped. */
uint64_t in_flight_next(struct in_flight *in_flight);
/* Notes that the request with the next sequence number has been sent. */
static inline void in_flight_sent(struct in_flight *in_flight, uint64_t from_ns, uint64_t sent_ns,
                                  bool measured);

enum in_flight_fate {
    IN_FLIGHT_ANSWERED,  /* the request was waiting: the answer is in time */
    IN_FLIGHT_LATE,      /* the request was counted as lost, or is too old to be remembered */
    IN_FLIGHT_DUPLICATE, /* an answer to the request arrived before */
    IN_FLIGHT_UNKNOWN    /* no request with this number was sent */
};
/* Handles an answer with this sequence number. First call in_flight_lost until it returns NULL, so
 * that requests that have timed out count as lost. *request becomes the request if the answer is in
 * time, else NULL. */
enum in_flight_fate in_flight_answer(struct in_flight *in_flight, uint64_t sequence,
                                     const struct in_flight_request **request);

/* Returns the next request whose time-out has passed; it counts as lost from now on. NULL: no
 * further request has timed out. */
const struct in_flight_request *in_flight_lost(struct in_flight *in_flight, uint64_t now_ns,
                                               uint64_t timeout_ns);
/* Gives up the oldest waiting request before its time-out, because the peer's host refused it, and
 * returns the request. NULL: no request is waiting. */
const struct in_flight_request *in_flight_give_up(struct in_flight *in_flight);

/* ---- the states of a slot, for the inline function below ---- */

enum in_flight_state {
    IN_FLIGHT_FREE,
    IN_FLIGHT_WAITING,
    IN_FLIGHT_DONE, /* answered */
    IN_FLIGHT_GONE, /* lost */
    IN_FLIGHT_OVER  /* lost, and its answer came late */
};

static inline void in_flight_sent(struct in_flight *in_flight, uint64_t from_ns, uint64_t sent_ns,
                                  bool measured)
{
    in_flight->slot[in_flight->next % IN_FLIGHT_SLOTS] =
        (struct in_flight_request){in_flight->next, from_ns, sent_ns, measured, IN_FLIGHT_WAITING};
    if (in_flight->waiting++ == 0)
        in_flight->oldest = in_flight->next;
    in_flight->next++;
}

#endif
