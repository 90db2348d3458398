/* Declares the interface between the asking loop and its parts for UDP and TCP. */
#ifndef ASK_LOOP_H
#define ASK_LOOP_H

#include "loops/round_trip.h"
#include "loops/traffic.h"

struct loop {
    struct stream *stream;
    struct ask *ask;
    const struct settings *settings;
    const struct ask_way *way;
    uint64_t now_ns;      /* the clock, as last read */
    uint64_t next_due_ns; /* the time of the next send; NEVER_NS: after the next answer */
    bool over;            /* nothing more is sent */
    uint64_t unsent_bytes, come_bytes; /* TCP: unsent part of the request; received of responses */
    uint64_t echoed_bytes;             /* TCP to an echo: all received bytes */
};

/* The parts that differ between protocols. */
struct ask_way {
    /* Sends a request; returns its bytes, or the negative error number. */
    ptrdiff_t (*put)(struct loop *loop, uint64_t sequence, uint64_t due_ns);
    /* Sends the rest of a request that found no room; returns more than 0, or the negative error
     * number. NULL: never needed. */
    ptrdiff_t (*put_rest)(struct loop *loop);
    /* Room for one receive call. */
    size_t (*room)(const struct loop *loop);
    void (*take)(struct loop *loop, size_t length);
    /* Counts requests as lost whose time-out has passed at loop->now_ns. False: the loop ends. NULL:
     * requests are never lost. */
    bool (*expire)(struct loop *loop);
    /* Handles the end of the exchange by the peer or its host. `error` is a call's error number; 0 means
     * that a receive call returned no data. False: the loop ends. */
    bool (*gone)(struct loop *loop, int error);
};
extern const struct ask_way ask_udp, ask_tcp, ask_tcp_pipelined;

/* Accounts for an answer with that sequence number that arrived at loop->now_ns. */
void ask_match(struct loop *loop, uint64_t sequence);
/* Bounds the blocking receive calls of a UDP socket by the time-out. */
void ask_limit_receives(const struct loop *loop);
/* Counts a request as lost if it belongs to the window. */
void ask_lost(struct loop *loop, const struct in_flight_request *request);

#endif
