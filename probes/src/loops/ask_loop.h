/* Declares the interface between the asking loop and its parts for UDP and TCP. The asker sends
 * requests and measures how long the answers take. The window is the time that is measured. */
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
    uint64_t unsent_bytes, come_bytes; /* TCP: request bytes to send, response bytes received */
    uint64_t echoed_bytes;             /* TCP to an echo: all received bytes */
};

/* The parts that differ between protocols. */
struct ask_way {
    /* Sends a request; returns its bytes, or the negative error number. */
    ptrdiff_t (*put)(struct loop *loop, uint64_t sequence, uint64_t due_ns);
    /* Sends the rest of a request for which the socket had no room, as far as there is room now.
     * Returns more than 0, or the negative error number. NULL: a request never has a rest. */
    ptrdiff_t (*put_rest)(struct loop *loop);
    /* Bytes of the buffer that one receive call may fill. */
    size_t (*room)(const struct loop *loop);
    void (*take)(struct loop *loop, size_t length);
    /* Counts each request as lost if its time-out has passed at loop->now_ns. Returns false if the
     * loop must end. NULL: requests are never lost. */
    bool (*expire)(struct loop *loop);
    /* Handles the end of the exchange by the peer or its host. `error` is a call's error number; 0
     * means that a receive call returned no data. Returns false if the loop must end. */
    bool (*gone)(struct loop *loop, int error);
};
extern const struct ask_way ask_udp, ask_tcp, ask_tcp_pipelined;

/* Accounts for an answer that arrived at loop->now_ns and has this sequence number. */
void ask_match(struct loop *loop, uint64_t sequence);
/* Limits how long receive calls on a UDP socket block, so that time-outs of requests are
 * noticed. */
void ask_limit_receives(const struct loop *loop);
/* Counts a request as lost if it belongs to the window. */
void ask_lost(struct loop *loop, const struct in_flight_request *request);

#endif
