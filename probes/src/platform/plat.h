/* The platform contract has all that netprobe asks of an operating system.
 *
 * Each system implements it in a folder beside this file; no other file knows which system it
 * runs on. Errors: functions that can fail return 0, or the system's own error number (errno,
 * WSAGetLastError); transfers return the bytes moved, or the negative error number. plat_word()
 * turns the number into a word of the protocol. Nothing here allocates memory that the caller has
 * to free. */
#ifndef PLAT_H
#define PLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pure/cpu/cpu_times.h"

#if defined(__linux__) || defined(__FreeBSD__) || defined(__APPLE__)
#include <pthread.h>
typedef pthread_t plat_thread;
typedef pthread_mutex_t plat_mutex;
typedef pthread_cond_t plat_cond;
#elif defined(_WIN32)
/* A HANDLE, an SRWLOCK, a CONDITION_VARIABLE: a pointer each. Its headers stay out of the core, for
 * they turn many plain words, `interface` among them, into macros. */
typedef void *plat_thread;
typedef struct {
    void *lock;
} plat_mutex;
typedef struct {
    void *condition;
} plat_cond;
#else
#error "netprobe has no platform file for this operating system: add its folder beside plat.h"
#endif

/* ---- the process ---- */

/* Once, before all else: sockets, binary output, no signal for a closed pipe. */
int plat_start(void);

/* The next bytes of standard input. Returns their number, 0 at its end (or when it is broken),
 * PLAT_TIMED_OUT when none came within timeout_ms. Never busy. */
#define PLAT_TIMED_OUT (-1)
ptrdiff_t plat_input_read(void *into, size_t capacity, int timeout_ms);

/* Writes all of it to standard output. Not 0: nobody reads any more. */
int plat_output_write(const void *bytes, size_t length);

/* Bytes that a stranger cannot guess. */
int plat_random(void *into, size_t length);

/* Who we are, as `hello` says it. Strings that the system does not have are empty. */
struct plat_identity {
    const char *os;           /* linux, windows, macos, freebsd */
    const char *clock;        /* name of the clock behind plat_now_ns */
    const char *capabilities; /* words with commas, docs/protocol.md */
    char os_release[128];
    char architecture[32];
    char machine_id[64];
    uint64_t network_id; /* 0: none */
    unsigned pid;
    unsigned cpu_count; /* CPUs that this process may use, at least 1 */
};
void plat_identify(struct plat_identity *out);

/* Facts of this host as keys of a record that the caller has begun; those of the way to a peer, by the
 * interface of that name or by that of the route. Both may be NULL. */
struct json;
void plat_facts(struct json *out, const char *to, const char *interface);
/* Of these what counts what the host and that way carry and drop: read around each test, and so
 * without what takes milliseconds to read. */
void plat_counters(struct json *out, const char *to, const char *interface);

/* The lock of docs/protocol.md, one a network namespace, gone with this process.
 * 0: taken (or ours already). PLAT_LOCKED: another holds it, `holder` has its owner line.
 * Else an error number. */
#define PLAT_LOCKED (-2)
int plat_lock_take(const char *owner, char *holder, size_t holder_capacity);
void plat_lock_release(void);

/* The protocol's word for an error number; "system" where it has none. */
const char *plat_word(int error);
/* A sentence for people. */
void plat_describe(int error, char *into, size_t capacity);

/* ---- clocks ---- */

uint64_t plat_now_ns(void);              /* monotonic, never steps back, rate as disciplined */
bool plat_raw_now_ns(uint64_t *out);     /* undisciplined hardware clock; false where there is none */
uint64_t plat_wall_ns(void);             /* since 1970, UTC */
/* How long this host was suspended; only differences mean anything. False: not told. */
bool plat_suspended_ns(uint64_t *out);
void plat_sleep_ns(uint64_t nanoseconds); /* may take longer, never busy */

/* ---- threads ---- */

typedef void (*plat_routine)(void *argument);
int plat_thread_start(plat_thread *out, plat_routine routine, void *argument);
void plat_thread_join(plat_thread thread);
/* CPU time of a thread that has not been joined; false where it cannot be read. */
bool plat_thread_cpu_ns(plat_thread thread, uint64_t *out);
/* CPU time of the calling thread. */
bool plat_own_cpu_ns(uint64_t *out);
/* Ties the calling thread to one CPU, numbered as the system does. */
int plat_pin(unsigned cpu);
/* Whether this process may run on that CPU. */
bool plat_cpu_usable(unsigned cpu);
/* The CPU on which a thread that has not been joined runs, or ran last; that of the calling one.
 * False: not told. */
bool plat_thread_place(plat_thread thread, unsigned *cpu);
bool plat_own_place(unsigned *cpu);

void plat_mutex_init(plat_mutex *mutex);
void plat_mutex_destroy(plat_mutex *mutex);
void plat_mutex_lock(plat_mutex *mutex);
void plat_mutex_unlock(plat_mutex *mutex);
void plat_cond_init(plat_cond *cond);
void plat_cond_destroy(plat_cond *cond);
/* Waits for plat_cond_wake, at the longest until plat_now_ns() reaches until_ns; may wake early. */
void plat_cond_wait(plat_cond *cond, plat_mutex *mutex, uint64_t until_ns);
void plat_cond_wake(plat_cond *cond); /* all who wait */

/* ---- CPU and counters ---- */

/* CPU time of this process so far. */
bool plat_process_cpu_ns(uint64_t *user, uint64_t *system);

#define PLAT_CPUS 4096
struct plat_cpu_times {
    unsigned count; /* entries, ascending by their CPU; 0 where the system does not say */
    bool tells_steal; /* whether `steal` means anything */
    struct cpu_time core[PLAT_CPUS]; /* in the system's own unit */
};
void plat_cpu_times(struct plat_cpu_times *out);

/* How long a thread that has not been joined was ready to run and stood in a queue for a CPU.
 * False: not told. */
bool plat_thread_delay_ns(plat_thread thread, uint64_t *out);

/* What quotas of CPU time have cost this process and those that share them with it, so far. Without
 * a quota there are no periods. False: not told. */
struct plat_throttling {
    uint64_t periods;           /* of quotas, in which one of them wanted to run */
    uint64_t throttled_periods; /* in which it was made to wait for the next one */
    uint64_t throttled_ns;      /* of all CPUs together */
};
bool plat_throttling(struct plat_throttling *out);

/* UDP datagrams that found their receive buffer full, system-wide. */
bool plat_udp_receive_buffer_errors(uint64_t *out);

/* Fragments of IPv4 and IPv6, system-wide (Linux: of the network namespace), since it started.
 * False: not told. */
struct plat_fragments {
    uint64_t created;             /* sent */
    uint64_t failed;              /* packets that DF forbade to cut, or that could not be */
    uint64_t reassembled;         /* packets put together */
    uint64_t reassembly_failures; /* packets given up: parts missing in time, or at odds */
};
bool plat_fragments(struct plat_fragments *out);

/* ---- addresses ---- */

struct plat_address {
    union {
        unsigned char bytes[128]; /* the system's socket address */
        uint64_t alignment;
    } at;
    unsigned length; /* 0: no address */
};
/* A numeric address, IPv6 without brackets, with its zone where it needs one. False: not one. */
bool plat_address_parse(const char *text, unsigned port, struct plat_address *out);
bool plat_address_v6(const struct plat_address *address);
unsigned plat_address_port(const struct plat_address *address);
void plat_address_set_port(struct plat_address *address, unsigned port);
bool plat_address_equal(const struct plat_address *one, const struct plat_address *other);
#define PLAT_ADDRESS_TEXT 80
void plat_address_text(const struct plat_address *address, char into[PLAT_ADDRESS_TEXT]);

/* Name of the interface by which a packet from `local` leaves for `peer`. */
#define PLAT_INTERFACE_NAME 64
bool plat_interface_between(const struct plat_address *local, const struct plat_address *peer,
                            char into[PLAT_INTERFACE_NAME]);
/* What an interface has carried so far. False: not told. */
struct plat_interface_counts {
    uint64_t sent_bytes, received_bytes, sent_packets, received_packets;
};
bool plat_interface_counts(const char *name, struct plat_interface_counts *out);
/* How often an interface lost its carrier or got it back. False: not told. */
bool plat_carrier_changes(const char *name, uint64_t *out);
/* CPUs that the system spreads over what an interface receives: "0-3,8", or "none". */
#define PLAT_STEERING 256
bool plat_receive_steering(const char *name, char into[PLAT_STEERING]);

/* ---- sockets ---- */

typedef intptr_t plat_socket;
#define PLAT_NO_SOCKET ((plat_socket)-1)

/* A socket of the address's family, blocking, not inherited by children. */
int plat_socket_open(plat_socket *out, bool udp, const struct plat_address *family);
void plat_close(plat_socket socket);
int plat_bind(plat_socket socket, const struct plat_address *address);
int plat_listen(plat_socket socket, int backlog);
int plat_accept(plat_socket socket, plat_socket *out, struct plat_address *peer);
/* TCP: the handshake, at the longest until until_ns; UDP: all others are kept out from here on. */
int plat_connect(plat_socket socket, const struct plat_address *peer, uint64_t until_ns);
int plat_local_address(plat_socket socket, struct plat_address *out);
int plat_peer_address(plat_socket socket, struct plat_address *out);

/* One call, as the mode of the socket has it. UDP: one datagram. */
ptrdiff_t plat_send(plat_socket socket, const void *bytes, size_t length);
/* plat_send without blocking: what of it there is room for now. */
ptrdiff_t plat_send_now(plat_socket socket, const void *bytes, size_t length);
ptrdiff_t plat_receive(plat_socket socket, void *into, size_t capacity);
/* plat_receive that gives up limit_ns from now: minus a transient error. Its resolution is the
 * system's: well below a millisecond on Linux and the BSDs, Windows rounds up to its tick. */
ptrdiff_t plat_receive_within(plat_socket socket, void *into, size_t capacity, uint64_t limit_ns);
/* The same without blocking, and without taking it out of the queue. */
ptrdiff_t plat_receive_now(plat_socket socket, void *into, size_t capacity);
ptrdiff_t plat_peek_now(plat_socket socket, void *into, size_t capacity);
/* UDP: the datagrams that stand in the queue, `batch->count` of them at most, by one call where the
 * system has such a call, else one. Waits for the first as plat_receive does, unless `wait` is
 * false. Returns how many came, each with its `length`, or the negative error number. */
#define PLAT_BATCH 32
struct plat_batch {
    unsigned char *bytes; /* `count` places of `room` bytes each */
    size_t room;
    unsigned count; /* 1 to PLAT_BATCH */
    size_t length[PLAT_BATCH];
    bool prepared;                    /* false before the first call; then the rest is fixed */
    uint64_t system[PLAT_BATCH * 10]; /* what the system wants to be told in */
};
ptrdiff_t plat_receive_many(plat_socket socket, struct plat_batch *batch, bool wait);
/* Most datagrams that one call of it brings: PLAT_BATCH where the system has such a call, else 1. */
extern const unsigned plat_receive_most;
/* Sends what stands in `count` places from the place `first` on, each as long as its room, by one
 * call where the system has such a call (capability "batch"), else one. Returns how many it took,
 * 1 or more, or the negative error number of the first; of an error behind it the next call tells. */
ptrdiff_t plat_send_many(plat_socket socket, struct plat_batch *batch, unsigned first,
                         unsigned count);
/* TCP: sends `count` messages (PLAT_BATCH at most) that are all alike, without the first `done` bytes of
 * all of them: by one call with a place for each where the system has such a call (capability
 * "batch"), else one message. Returns the bytes that it took, or the negative error number. */
ptrdiff_t plat_send_gathered(plat_socket socket, const void *message, size_t length, unsigned count,
                             size_t done);
/* UDP before plat_connect. */
ptrdiff_t plat_receive_from(plat_socket socket, void *into, size_t capacity,
                            struct plat_address *from);

/* TCP: no more data, the peer reads an end. */
void plat_finish(plat_socket socket);
/* Makes calls that block on this socket in other threads return, now and from here on.
 * Nothing more can be sent or received afterwards. */
void plat_wake(plat_socket socket);

struct plat_wait {
    plat_socket socket;
    bool sending; /* in: waits for room to send as well */
    bool ready;   /* out: a call to receive or accept (or to send) would not block, or would fail */
};
/* Until one of them is ready, or plat_now_ns() reaches until_ns; PLAT_WAITS at most. */
#define PLAT_WAITS 1024
void plat_wait_any(struct plat_wait *waits, unsigned count, uint64_t until_ns);

/* ---- waiting for many sockets, in one thread ---- */

struct plat_watch {
    intptr_t system; /* what the system keeps for it; -1: nothing */
};
/* To be closed also where it failed. */
int plat_watch_open(struct plat_watch *out);
void plat_watch_close(struct plat_watch *watch);
/* Watches a socket under a number of the caller's: whether a receive call (or a send call) would not
 * block, or would fail. PLAT_WAITS at most; a socket is removed before it is closed. */
int plat_watch_add(struct plat_watch *watch, plat_socket socket, unsigned number, bool sending);
void plat_watch_remove(struct plat_watch *watch, plat_socket socket);
/* Until one of them is ready, or plat_now_ns() reaches until_ns (0: does not wait). The numbers of those
 * that are, `capacity` at most; where more are, all come in their turn. Returns how many, or the negative
 * error number. */
ptrdiff_t plat_watch_wait(struct plat_watch *watch, unsigned *numbers, unsigned capacity,
                          uint64_t until_ns);

enum plat_option {
    PLAT_SEND_BUFFER,      /* bytes; read back as the system counts them */
    PLAT_RECEIVE_BUFFER,
    PLAT_NODELAY,
    PLAT_DONT_FRAGMENT,
    PLAT_DSCP,             /* 0 to 63 */
    PLAT_REUSE,            /* a port whose last connection is not forgotten yet */
    PLAT_BLOCKING,
    PLAT_SEND_TIMEOUT_MS,
    PLAT_RECEIVE_TIMEOUT_MS, /* plat_receive gives up after about so long, or earlier */
    PLAT_RESET_ON_CLOSE,
    PLAT_GIVE_UP_S,        /* TCP: a peer that answers nothing for so long is gone */
    PLAT_REPORT_DROPS      /* UDP: send calls fail where this host dropped the datagram */
};
int plat_option_set(plat_socket socket, enum plat_option option, int value);
int plat_option_get(plat_socket socket, enum plat_option option, int *value);
/* What the system makes of a requested buffer where nothing caps it: 2 where it doubles, else 1. */
extern const int plat_buffer_factor;
int plat_congestion_set(plat_socket socket, const char *name);
int plat_congestion_get(plat_socket socket, char *into, size_t capacity);
/* Why plat_congestion_set gave that error, and what an administrator of this host can do about it:
 * one line. */
void plat_congestion_refusal(int error, const char *name, char *into, size_t capacity);
int plat_interface_set(plat_socket socket, const char *name);

/* UDP over IPv4, sending: without a checksum. An error that plat_word calls capability-missing
 * where the system cannot do it; capability "no-checksum". */
int plat_set_no_checksum(plat_socket socket);

/* What the system takes for the largest packet to the peer of a connected socket, header
 * included (IP_MTU, IPV6_MTU, IPV6_PATHMTU). False: not told. */
bool plat_path_mtu(plat_socket socket, unsigned *mtu_bytes);

/* What stands in the receive queue; for UDP as memory, the only unit that systems tell. */
bool plat_queue_bytes(plat_socket socket, bool udp, uint64_t *out);
/* What stands in the receive queue as memory, and how much may. False: not told. */
bool plat_queue_fill(plat_socket socket, uint64_t *memory_bytes, uint64_t *most_bytes);
/* Datagrams that this socket had no room for. */
bool plat_queue_drops(plat_socket socket, uint64_t *out);

/* Kinds of failure that the loops must tell apart. */
bool plat_is_no_buffers(int error);       /* refused for want of memory or queue room, may pass */
bool plat_is_transient(int error);        /* nothing happened: interrupted, timed out, would block */
bool plat_is_peer_gone(int error);        /* reset, refused, silent, or closed by our own plat_wake */
bool plat_is_unreachable(int error);      /* a host or router says that there is no way; it may pass */
bool plat_is_address_in_use(int error);

/* ---- time in the stack: stamps of datagrams, capability "stamps" ---- */

/* A difference of two stamps is a time only where both are of one kind: those of hardware are of
 * the network card's own clock, those of software of the system's wall clock. */
struct plat_stamp {
    uint64_t ns; /* 0: no stamp came with it */
    bool hardware;
    uint32_t number; /* of sent stamps: which datagram since plat_stamps_on, from 0 */
};
/* Stamps what arrives and what is sent on a UDP socket, from here on. `interface` is the network
 * card to ask for stamps of its own (NULL: none): where it has them and this process may switch
 * them on; else software's. 0 or an error, capability-missing for one. */
int plat_stamps_on(plat_socket socket, const char *interface);
/* Once for each plat_stamps_on with that interface: the last puts the card back as it was found. */
void plat_stamps_off(const char *interface);
/* plat_receive of one datagram, with the time at which it came in. */
ptrdiff_t plat_receive_stamped(plat_socket socket, void *into, size_t capacity, bool wait,
                               struct plat_stamp *received);
/* When the oldest datagram left whose stamp has not been fetched. False: none came within
 * wait_ns; one that is late comes out of a later call, under its number. */
bool plat_sent_stamp(plat_socket socket, uint64_t wait_ns, struct plat_stamp *sent);

/* ---- TCP's own view ---- */

enum plat_tcp_fact {
    PLAT_TCP_SND_MSS, PLAT_TCP_ADVMSS, PLAT_TCP_PMTU, PLAT_TCP_RTT_US, PLAT_TCP_RTTVAR_US,
    PLAT_TCP_MIN_RTT_US, PLAT_TCP_SND_CWND, PLAT_TCP_SND_SSTHRESH, PLAT_TCP_SND_WND,
    PLAT_TCP_RCV_SPACE, PLAT_TCP_TOTAL_RETRANS, PLAT_TCP_BYTES_SENT, PLAT_TCP_BYTES_ACKED,
    PLAT_TCP_BYTES_RECEIVED, PLAT_TCP_BYTES_RETRANS, PLAT_TCP_SEGS_OUT, PLAT_TCP_SEGS_IN,
    PLAT_TCP_DATA_SEGS_OUT, PLAT_TCP_DATA_SEGS_IN, PLAT_TCP_NOTSENT_BYTES,
    PLAT_TCP_DELIVERY_RATE, PLAT_TCP_DELIVERY_RATE_APP_LIMITED, PLAT_TCP_PACING_RATE,
    PLAT_TCP_BUSY_TIME_US, PLAT_TCP_RWND_LIMITED_US, PLAT_TCP_SNDBUF_LIMITED_US,
    PLAT_TCP_DELIVERED_CE, PLAT_TCP_DSACK_DUPS, PLAT_TCP_REORD_SEEN, PLAT_TCP_RCV_OOOPACK,
    PLAT_TCP_RTO_US,
    PLAT_TCP_FACTS
};
struct plat_tcp_info {
    uint64_t present; /* bit k: value[k] was returned by the system; 0: nothing was */
    uint64_t value[PLAT_TCP_FACTS];
    char options[64]; /* timestamps,sack,wscale,ecn: those in effect; empty where unknown */
};
void plat_tcp_info(plat_socket socket, struct plat_tcp_info *out);

#endif
