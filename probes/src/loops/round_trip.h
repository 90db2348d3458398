/* Declares the state and the loops of round trips, of the asker and of the mirror. */
#ifndef ROUND_TRIP_H
#define ROUND_TRIP_H

#include "pure/histogram.h"
#include "pure/in_flight.h"
#include "test/test.h"

/* A request of the window and what became of it. */
struct trip {
    uint64_t at_ns; /* when it was due; of a connection: its connect call */
    uint64_t ns;    /* its round trip, or TRIP_LOST */
};
#define TRIP_LOST UINT64_MAX

/* An asker's. Written by its own thread, read by others once that has ended. */
struct ask {
    struct in_flight in_flight;
    struct histogram rtt; /* of the window's requests that were answered */
    uint64_t first_rtt_ns[KEEP_MAX];
    unsigned kept;
    struct trip *trips; /* as they ended, where each is to be told; else NULL */
    uint64_t trips_kept;
    uint64_t open_ns, close_ns; /* of the window: requests that are sent, or due, in between */
    uint64_t from_ns, until_ns; /* first request of the window; its last answer or time-out */
    uint64_t sent, lost;        /* requests of the window; sent = answered + lost */
    uint64_t last_ns;           /* the last answer of the window; 0: none */
    struct gaps gaps;           /* times without one */
    uint64_t late, duplicates, mismatched; /* answers, over the whole test */
    uint64_t answered;                     /* over the whole test */
    uint64_t connect_sum_ns;               /* kind=connect: handshakes of the window */
    unsigned char *into;                   /* what comes back */
    size_t into_bytes;
    unsigned char *opening; /* kind=connect: preface and request, sent as one */
    size_t opening_bytes;
};

/* A mirror's. */
struct mirror {
    uint64_t received, answered;
    uint64_t first_ns, last_ns; /* first request, last response; 0: none came */
    unsigned char *response;
    struct histogram stack; /* receive stamp to transmit stamp of the same datagram */
    bool hardware;          /* those stamps are the network card's */
    uint32_t stamped;       /* datagrams sent since stamps are taken */
    char card[PLAT_INTERFACE_NAME]; /* that was asked for stamps; empty: none */
};

/* Makes state and further buffers; the stream's own is there. False: no memory. */
bool ask_prepare(struct stream *stream);
bool mirror_prepare(struct stream *stream);
void ask_free(struct ask *ask);
void mirror_free(struct mirror *mirror);

/* The loops, in the stream's own thread: until the work is done or the test is halted. */
void ask_run(struct stream *stream);
void ask_connect_run(struct stream *stream);
void mirror_run(struct stream *stream);
void mirror_connect_run(struct stream *stream);

/* Waits for the start, and sets the window and the schedule. */
void ask_begin(struct stream *stream);
/* Whether a request of that time is not to be sent any more, nor any later one. */
bool ask_over(const struct stream *stream, uint64_t due_ns);
/* A request was sent; measured: within the window. */
void ask_sent(struct stream *stream, uint64_t sent_ns, bool measured);
/* What became of a request of the window is kept, where each is to be told. */
void ask_keep_trip(struct ask *ask, const struct settings *settings, uint64_t at_ns, uint64_t ns);
/* A request was answered at now_ns; from_ns is where its latency begins. */
void ask_answered(struct stream *stream, uint64_t from_ns, uint64_t now_ns, bool measured);
/* A whole request of the asker's has come. */
void mirror_requested(struct stream *stream);
/* TCP: sends the response. False: the connection or the test has ended. */
bool mirror_respond(struct stream *stream, plat_socket socket);
/* Spins for the time that a mirror is to hold each request. False: halted. */
bool mirror_hold(const struct stream *stream);

#endif
