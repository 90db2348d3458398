/* Declares the state and the loops of round trips, of the asker and of the mirror. The asker sends
 * requests and receives answers; the mirror answers requests. The window is the time that is
 * measured. */
#ifndef ROUND_TRIP_H
#define ROUND_TRIP_H

#include "pure/histogram.h"
#include "pure/in_flight.h"
#include "test/test.h"

/* A request of the window with its outcome. */
struct trip {
    uint64_t at_ns; /* when the request was due; kind=connect: when connect was called */
    uint64_t ns;    /* duration of the round trip, or TRIP_LOST */
};
#define TRIP_LOST UINT64_MAX

/* State of an asker. Its thread writes it; others read it after that thread has ended. */
struct ask {
    struct in_flight in_flight;
    struct histogram rtt; /* of the window's requests that were answered */
    uint64_t first_rtt_ns[KEEP_MAX];
    unsigned first_rtt_count;
    struct trip *trips; /* in the order of their end, if each is reported; else NULL */
    uint64_t trips_kept;
    uint64_t open_ns, close_ns; /* the window; a request counts if it is due or sent in it */
    uint64_t from_ns, until_ns; /* the window's first request; its last answer or time-out */
    uint64_t sent, losses;      /* requests of the window; sent = answered + losses */
    uint64_t last_ns, heard;    /* the last answer in the window, 0: none; and how many came */
    struct gaps gaps;           /* times without an answer */
    uint64_t late, duplicates, mismatched; /* answers, over the whole test */
    uint64_t reordered, highest;           /* answers after a later one; the last one's number */
    uint64_t answered;                     /* over the whole test */
    uint64_t connect_sum_ns;               /* kind=connect: total time of the handshakes */
    unsigned char *into;                   /* buffer for answers */
    size_t into_bytes;
    unsigned char *opening; /* kind=connect: preface and request, sent by one call */
    size_t opening_bytes;
};

/* Counts a message that arrives after a later one. */
static inline void round_trip_order(uint64_t sequence, uint64_t *highest, uint64_t *reordered)
{
    if (sequence < *highest)
        ++*reordered;
    else
        *highest = sequence;
}

/* Times from when requests were due, by the asker's clock, to when they were received, by the
 * mirror's: what the clocks differ by is in all of them. */
struct way_there {
    uint64_t count;
    uint64_t first_ns;         /* of the first request; the others are differences from it */
    int64_t sum_ns, fastest_ns, slowest_ns;
};

/* State of a mirror. */
struct mirror {
    uint64_t received, answered;
    uint64_t reordered, highest; /* requests after a later one; the last one's number */
    uint64_t first_ns, last_ns; /* times of the first request and the last answer; 0: none */
    unsigned char *response;
    struct way_there way;
    struct histogram stack; /* receive stamp of a request to send stamp of its answer */
    bool hardware;          /* the stamps are the network card's */
    uint32_t stamped;       /* datagrams sent since stamping began */
    char card[PLAT_INTERFACE_NAME]; /* the card that was asked for stamps; empty: none */
};

/* Allocates the state and the buffers that the stream does not have. Returns false if there is no
 * memory. */
bool ask_prepare(struct stream *stream);
bool mirror_prepare(struct stream *stream);
void ask_free(struct ask *ask);
void mirror_free(struct mirror *mirror);

/* The loops run in the stream's thread until the work is done or the test is halted. */
void ask_run(struct stream *stream);
void ask_connect_run(struct stream *stream);
void mirror_run(struct stream *stream);
void mirror_connect_run(struct stream *stream);

#endif
