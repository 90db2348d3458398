/* Keeps the requests in flight of one asker, the side that sends requests. Matches answers to
 * requests, and detects lost requests and late and duplicate answers. Times are of the caller's
 * clock. Only the asking thread uses it. */
#ifndef IN_FLIGHT_H
#define IN_FLIGHT_H

#include <stdbool.h>
#include <stdint.h>

#define IN_FLIGHT_MAX 1024   /* requests that wait at once */
#define IN_FLIGHT_SLOTS 4096 /* requests that are remembered */

struct in_flight_request {
    uint64_t sequence;
    uint64_t from_ns; /* begin of its latency: intended or real time of sending */
    uint64_t sent_ns;
    bool measured; /* sent within the window */
    uint8_t state; /* enum in_flight_state */
};

/* All zero before the first request. */
struct in_flight {
    uint64_t next;    /* the next request's sequence number */
    uint64_t oldest;  /* no earlier request is waiting */
    unsigned waiting; /* sent, and neither answered nor lost */
    struct in_flight_request slot[IN_FLIGHT_SLOTS];
};

/* The sequence number of the next request; fewer than IN_FLIGHT_MAX must be waiting. Numbers whose slot
 * still has a waiting request are skipped. */
uint64_t in_flight_next(struct in_flight *in_flight);
/* Notes that the request with the next sequence number has been sent. */
static inline void in_flight_sent(struct in_flight *in_flight, uint64_t from_ns, uint64_t sent_ns,
                                  bool measured);

enum in_flight_fate {
    IN_FLIGHT_ANSWERED,  /* its request was waiting, and it is in time */
    IN_FLIGHT_LATE,      /* its request was lost by time-out, or is too old to be known */
    IN_FLIGHT_DUPLICATE, /* its request was answered before */
    IN_FLIGHT_UNKNOWN    /* its request was never sent */
};
/* Handles an answer with this sequence number; call in_flight_lost first for earlier time-outs.
 * *request is the request if the answer is in time, else NULL. */
enum in_flight_fate in_flight_answer(struct in_flight *in_flight, uint64_t sequence,
                                     const struct in_flight_request **request);

/* The next request whose time-out has passed, and which is lost from now on. NULL: there is none. */
const struct in_flight_request *in_flight_lost(struct in_flight *in_flight, uint64_t now_ns,
                                               uint64_t timeout_ns);
/* Gives up the oldest request before its time-out, because the peer's host refused it. NULL: none is
 * waiting. */
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
