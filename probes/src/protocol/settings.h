/* Declares the checked settings of a test or program, with times in ns and sizes in bytes. A test
 * runs on two hosts and has one or more data flows (streams) between them. The window is the time
 * that is measured. An asker sends requests and measures round trips; a mirror answers requests. */
#ifndef SETTINGS_H
#define SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "platform/plat.h"
#include "protocol/data_port.h"
#include "protocol/error.h"
#include "protocol/request.h"

#define STREAMS_MAX 1000 /* equal to WINDOW_STREAMS_MAX */
#define WORKERS_MAX 64   /* maximum per test; with more streams, a thread serves several */
#define MESSAGE_MAX_BYTES 16777216u
#define KEEP_MAX 1000 /* maximum number of round trips that `keep` reports one by one */
#define TRIPS_MAX 1000000 /* maximum number of round trips that `trips` reports */

/* What this side does in the test; the verb of the request says it. */
enum role { ROLE_RECEIVE, ROLE_SEND, ROLE_ASK, ROLE_MIRROR };

enum kind {
    KIND_STREAM,
    KIND_CHECK,      /* only opens the streams and sends one packet each way */
    KIND_ROUND_TRIP, /* of `ask` and `mirror` */
    KIND_CONNECT     /* of `ask` and `mirror`, with a TCP connection for each round trip */
};

/* How a sender passes its messages to the operating system. */
enum method {
    METHOD_PLAIN,
    METHOD_BATCH,  /* many messages per call */
    METHOD_PACKET, /* many messages per call, as frames that netprobe builds */
    METHOD_XDP     /* frames that netprobe builds, from memory shared with the system */
};

struct settings {
    char id[REQUEST_ID_MAX + 1];
    enum role role;
    enum kind kind;
    enum method method;
    bool by_hand; /* the request is from a command line, not from a controller (netlab) */
    bool udp, listen;
    bool nodelay, dont_fragment, spin, no_checksum;
    bool poll;  /* a receiver polls at intervals and is never woken */
    bool adapt; /* a receiver decides during the warm-up whether it polls */
    bool capture; /* a receiver captures frames before the system's UDP and IP */
    uint32_t message_bytes; /* round trips: size of the request */
    uint64_t count;       /* number of messages to send; 0: the test ends after a time */
    uint64_t seconds_ns, warm_up_ns;
    uint64_t deadline_ns; /* counted from the request */
    uint64_t drain_ns;    /* maximum wait of a receiver for data in flight; 0: the default */
    uint64_t start_ns, open_ns, close_ns; /* first send and window, by our clock; 0: not given */
    uint32_t socket_buffer_bytes; /* 0: the system's autotuning */
    uint32_t receive_call_bytes;
    uint64_t interval_ns;
    /* Messages per second of each stream, as a fraction. rate_numerator 0: there is no rate, and
     * messages are sent as fast as the socket accepts them. */
    uint64_t rate_numerator, rate_denominator;
    uint64_t burst; /* maximum number of late messages sent back to back; 0: the default */
    unsigned streams;
    unsigned cpus[WORKERS_MAX]; /* CPUs to which the test's threads are bound in turn */
    unsigned cpu_count;         /* 0: threads are not bound */
    int cpu, dscp; /* -1: not given */
    /* Round trips. */
    uint32_t response_bytes;
    unsigned outstanding; /* requests in flight at once */
    uint64_t timeout_ns;  /* UDP: time after which a request without an answer is lost */
    unsigned keep;        /* round trips that are reported one by one */
    uint64_t trips;       /* maximum number of requests that `trips` reports; 0: none */
    bool echo;            /* the peer is an RFC 862 echo service and does not know our protocol */
    bool orderly;         /* connections are closed by FIN, not by RST */
    bool stamps;
    uint64_t hold_ns; /* time that a mirror waits between receiving and sending */
    char congestion[32], interface[PLAT_INTERFACE_NAME];
    unsigned char token[DATAPORT_TOKEN];
    bool token_made;
    struct plat_address bind; /* length 0: not given */
    struct plat_address to;        /* the peer's address, with the port of the first stream */
    uint16_t to_port[STREAMS_MAX]; /* per stream; TCP has only one */
    unsigned to_count;
    unsigned port_first, port_last;
};

/* Three lists of keys: for `send` and `receive`, for `ask`, and for `mirror`. Each ends with
 * NULL. */
extern const char *const settings_keys[], *const settings_ask_keys[], *const settings_mirror_keys[];

/* Reads and checks all keys of a request. If `by_hand` is set (a request from a command line) and
 * this side listens, a missing `bind` becomes loopback, and a missing token is generated. */
struct error settings_read(const struct request *request, bool by_hand, struct settings *out);

/* Number of threads that serve the streams of the test. Up to WORKERS_MAX streams, each stream has
 * a thread. With more streams, there is one thread per requested CPU, or a single thread if no CPUs
 * are requested. */
static inline unsigned settings_workers(const struct settings *settings)
{
    if (settings->streams <= WORKERS_MAX)
        return settings->streams;
    return settings->cpu_count > 0 ? settings->cpu_count : 1;
}

/* The address to which a stream connects. */
static inline struct plat_address settings_to(const struct settings *settings, unsigned stream)
{
    struct plat_address to = settings->to;
    plat_address_set_port(&to, settings->to_port[settings->udp ? stream : 0]);
    return to;
}

/* ---- programs ---- */

#define PROGRAM_NAME_MAX 255
#define PROGRAM_ARGUMENTS_MAX 6000
#define PROGRAM_WORDS_MAX 64 /* arguments; the name is not counted */

struct program_settings {
    char id[REQUEST_ID_MAX + 1];
    uint64_t deadline_ns; /* counted from the request */
    char name[PROGRAM_NAME_MAX + 1];
    char arguments[PROGRAM_ARGUMENTS_MAX + 1]; /* with a NUL after each word */
    /* The name, the arguments and NULL. The pointers point into this structure, so it must not be
     * moved. */
    char *words[PROGRAM_WORDS_MAX + 2];
};

extern const char *const program_settings_keys[]; /* ended by NULL */

/* Sets the name, the arguments and the deadline. `words` (name first, NULL last) must be within the
 * limits above. */
void program_settings_set(struct program_settings *out, char *const *words, uint64_t deadline_ns);
struct error program_settings_read(const struct request *request, struct program_settings *out);

#endif
