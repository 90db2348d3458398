/* Holds what a request for a test asks for, checked, in the units of the code. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/plat.h"
#include "protocol/data_port.h"
#include "protocol/error.h"
#include "protocol/request.h"

#define STREAMS_MAX 1000 /* WINDOW_STREAMS_MAX */
#define WORKERS_MAX 64   /* threads of a test: as many streams have one each, and as many CPUs a place */
#define MESSAGE_MAX_BYTES 16777216u
#define KEEP_MAX 1000 /* round trips told one by one */
#define TRIPS_MAX 1000000 /* the same with their times, after the window */

/* Verb and role: which of the four loops this side runs. */
enum role { ROLE_RECEIVE, ROLE_SEND, ROLE_ASK, ROLE_MIRROR };

enum kind {
    KIND_STREAM,
    KIND_CHECK,      /* the streams are opened, one packet goes each way */
    KIND_ROUND_TRIP, /* of `ask` and `mirror` */
    KIND_CONNECT     /* the same, with a TCP connection for each */
};

/* How a sender hands its messages to its system. */
enum method {
    METHOD_PLAIN,
    METHOD_BATCH,  /* many by one call */
    METHOD_PACKET, /* the same as frames of our own */
    METHOD_XDP     /* frames of our own from memory that the system reads */
};

struct settings {
    char id[REQUEST_ID_MAX + 1];
    enum role role;
    enum kind kind;
    enum method method;
    bool by_hand; /* there is no controller */
    bool udp, listen;
    bool nodelay, dont_fragment, spin, no_checksum;
    bool poll;  /* a receiver looks at intervals, and is never woken */
    bool adapt; /* a receiver chooses in the warm-up whether it polls */
    bool capture; /* a receiver takes frames before the system's UDP and IP */
    uint32_t message_bytes; /* of a round trip: the request's */
    uint64_t count;       /* 0: `seconds` bounds the test */
    uint64_t seconds_ns, warm_up_ns;
    uint64_t deadline_ns; /* from the request on */
    uint64_t drain_ns;    /* how long a receiver waits for what may still be on its way; 0: the usual */
    uint64_t start_ns, open_ns, close_ns; /* of our own clock; 0: not given */
    uint32_t socket_buffer_bytes; /* 0: the system's own tuning */
    uint32_t receive_call_bytes;
    uint64_t interval_ns;
    /* Messages a second and stream as a fraction; rate_numerator 0: as fast as the socket takes
     * them. */
    uint64_t rate_numerator, rate_denominator;
    uint64_t burst; /* 0: the default */
    unsigned streams;
    unsigned cpus[WORKERS_MAX]; /* CPUs that the test's threads are tied to, in turns */
    unsigned cpu_count;         /* 0: to none */
    int cpu, dscp; /* -1: not given */
    /* Round trips. */
    uint32_t response_bytes;
    unsigned outstanding; /* requests in flight at once */
    uint64_t timeout_ns;  /* UDP: a request without an answer is lost then */
    unsigned keep;        /* round trips whose time is told one by one */
    uint64_t trips;       /* requests of the window, each of which is told with its time; 0: none is */
    bool echo;            /* the peer is any RFC 862 echo, and knows nothing of us */
    bool orderly;         /* connections are closed in order, not by reset */
    bool stamps;
    uint64_t hold_ns; /* between a mirror's receive and its send */
    char congestion[32], interface[PLAT_INTERFACE_NAME];
    unsigned char token[DATAPORT_TOKEN];
    bool token_made;
    struct plat_address bind; /* length 0: not given */
    struct plat_address to;        /* of the first stream */
    uint16_t to_port[STREAMS_MAX]; /* of each: over TCP there is one */
    unsigned to_count;
    unsigned port_first, port_last;
};

/* All keys of `send` and `receive`, of `ask`, of `mirror`; NULL behind them. */
extern const char *const settings_keys[], *const settings_ask_keys[], *const settings_mirror_keys[];

/* By hand, loopback stands in for a missing `bind` and a made token for a missing one. */
struct error settings_read(const struct request *request, bool by_hand, struct settings *out);

/* Threads that run the test's streams: one each, or where there are more of these one a CPU. */
static inline unsigned settings_workers(const struct settings *settings)
{
    if (settings->streams <= WORKERS_MAX)
        return settings->streams;
    return settings->cpu_count > 0 ? settings->cpu_count : 1;
}

/* Where a stream connects to. */
static inline struct plat_address settings_to(const struct settings *settings, unsigned stream)
{
    struct plat_address to = settings->to;
    plat_address_set_port(&to, settings->to_port[settings->udp ? stream : 0]);
    return to;
}

struct keys;
/* `cpu` or `cpus`. */
void settings_read_cpus(struct keys *keys, struct settings *out);
/* The parts of settings_read. The last two need all that comes before them. */
void settings_read_addresses(struct keys *keys, struct settings *out);
void settings_read_round_trip(struct keys *keys, struct settings *out);

#endif
