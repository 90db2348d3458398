/* Declares what the asking loop shares with its ways over UDP and TCP. */
#ifndef ASK_LOOP_H
#define ASK_LOOP_H

#include "loops/round_trip.h"
#include "loops/traffic.h"

struct loop {
    struct stream *stream;
    struct ask *ask;
    const struct settings *settings;
    const struct ask_way *way;
    uint64_t now_ns;      /* as last read */
    uint64_t next_due_ns; /* nothing is to be sent before; NEVER_NS: not before an answer comes */
    bool over;            /* nothing more is to be sent */
    uint64_t unsent_bytes, come_bytes; /* TCP: of the request, and of the response in flight */
    uint64_t echoed_bytes;             /* TCP to an echo: all that came */
};

/* What differs between protocols. */
struct ask_way {
    /* Hands a request to the system; its bytes, or the negative error number. */
    ptrdiff_t (*put)(struct loop *loop, uint64_t sequence, uint64_t due_ns);
    /* The rest of one that found no room; more than 0, or the negative error number. NULL: none. */
    ptrdiff_t (*put_rest)(struct loop *loop);
    /* Room for one receive call. */
    size_t (*room)(const struct loop *loop);
    void (*take)(struct loop *loop, size_t length);
    /* What has run out by loop->now_ns is lost. False: the loop ends. NULL: nothing ever is. */
    bool (*expire)(struct loop *loop);
    /* The peer or its host ends the talk: a call's error number, 0 where a receive call brought
     * nothing. False: the loop ends. */
    bool (*gone)(struct loop *loop, int error);
};
extern const struct ask_way ask_udp, ask_tcp, ask_tcp_pipelined;

/* An answer with that number came at loop->now_ns: whose is it? */
void ask_match(struct loop *loop, uint64_t sequence);
/* Bounds the blocking receive calls of a UDP socket by the time-out. */
void ask_limit_receives(const struct loop *loop);
/* A request of the window is lost. */
void ask_lost(struct loop *loop, const struct in_flight_request *request);

#endif
