/* The platform contract declares everything that netprobe needs from an operating system.
 *
 * Each system implements it in a folder next to this file; no other code depends on the system.
 * Errors: functions that can fail return 0, or the system's error number (errno, WSAGetLastError);
 * functions that send or receive return the number of bytes, or the negative error number. A record
 * is one line of output, a JSON object. Nothing here allocates memory that the caller must free. */
#ifndef PLAT_H
#define PLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pure/cpu.h"

#if defined(__linux__) || defined(__FreeBSD__) || defined(__APPLE__)
#include <pthread.h>
typedef pthread_t plat_thread;
typedef pthread_mutex_t plat_mutex;
typedef pthread_cond_t plat_cond;
#elif defined(_WIN32)
/* Each type is a pointer: a HANDLE, an SRWLOCK, a CONDITION_VARIABLE. Windows' headers are not
 * included, because they define many ordinary words, such as `interface`, as macros. */
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

/* Call this function first, once: it sets up sockets and binary output, and disables SIGPIPE. */
int plat_start(void);

/* Reads the next bytes of standard input. Returns their number, 0 at its end (or when it is broken),
 * PLAT_TIMED_OUT if none arrived within timeout_ms. It never spins. */
#define PLAT_TIMED_OUT (-1)
ptrdiff_t plat_input_read(void *into, size_t capacity, int timeout_ms);

/* Writes all bytes to standard output. Not 0: nobody reads standard output any more. */
int plat_output_write(const void *bytes, size_t length);

/* Cryptographically random bytes. */
int plat_random(void *into, size_t length);

/* Identity of this probe and host, for the record `hello`. Strings that are unknown are empty. */
struct plat_identity {
    const char *os;           /* linux, windows, macos, freebsd */
    const char *clock;        /* name of the clock behind plat_now_ns */
    const char *capabilities; /* supported functions, separated by commas (docs/protocol.md) */
    char os_release[128];
    char architecture[32];
    char machine_id[64];
    uint64_t network_id; /* 0: none */
    unsigned pid;
    unsigned cpu_count; /* CPUs that this process may use, at least 1 */
};
void plat_identify(struct plat_identity *out);

/* Writes facts of this host as keys of a record that the caller has begun, and facts of the path to
 * the peer `to` (NULL: none) through `interface` (NULL: the interface of the route). */
struct json;
void plat_facts(struct json *out, const char *to, const char *interface);
/* Writes only the counters of this host and that path. They are read before and after each test, so
 * counters that take milliseconds to read are left out. */
void plat_counters(struct json *out, const char *to, const char *interface);

/* Takes the host's lock (docs/protocol.md), which this process holds until it ends. Each network
 * namespace has one lock. Returns 0 (taken, or already ours), an error number, or PLAT_LOCKED:
 * another process holds the lock; `holder` becomes the text about its owner. */
#define PLAT_LOCKED (-2)
int plat_lock_take(const char *owner, char *holder, size_t holder_capacity);
void plat_lock_release(void);

/* The word of docs/protocol.md for an error number; "system" if there is none. */
const char *plat_word(int error);
/* Describes an error number in words for people. */
void plat_describe(int error, char *into, size_t capacity);

/* ---- clocks ---- */

uint64_t plat_now_ns(void);              /* monotonic, never steps back; NTP may adjust its rate */
bool plat_raw_now_ns(uint64_t *out);     /* hardware clock that NTP does not adjust; false: none */
uint64_t plat_wall_ns(void);             /* since 1970, UTC */
/* How long this host was suspended so far; only differences have a meaning. False: unknown. */
bool plat_suspended_ns(uint64_t *out);
void plat_sleep_ns(uint64_t nanoseconds); /* may take longer; never busy-waits */

/* ---- threads ---- */

typedef void (*plat_routine)(void *argument);
int plat_thread_start(plat_thread *out, plat_routine routine, void *argument);
void plat_thread_join(plat_thread thread);
/* CPU time of a thread that has not been joined; false if it cannot be read. */
bool plat_thread_cpu_ns(plat_thread thread, uint64_t *out);
/* CPU time of the calling thread. */
bool plat_own_cpu_ns(uint64_t *out);
/* Binds the calling thread to one CPU, which has this number in the system. */
int plat_pin(unsigned cpu);
/* Whether this process may run on that CPU. */
bool plat_cpu_usable(unsigned cpu);
/* The CPU on which a thread that has not been joined runs, or ran last. plat_own_place: the CPU of
 * the calling thread. False: unknown. */
bool plat_thread_place(plat_thread thread, unsigned *cpu);
bool plat_own_place(unsigned *cpu);

void plat_mutex_init(plat_mutex *mutex);
void plat_mutex_destroy(plat_mutex *mutex);
void plat_mutex_lock(plat_mutex *mutex);
void plat_mutex_unlock(plat_mutex *mutex);
void plat_cond_init(plat_cond *cond);
void plat_cond_destroy(plat_cond *cond);
/* Waits for plat_cond_wake, at most until plat_now_ns() reaches until_ns; may wake early. */
void plat_cond_wait(plat_cond *cond, plat_mutex *mutex, uint64_t until_ns);
void plat_cond_wake(plat_cond *cond); /* wakes all threads that wait */

/* ---- programs ---- */

/* Another program, a child of this process. It is killed when this process ends, in whatever way.
 * It inherits no descriptor, and not the variable NETPROBE_TOKEN; LC_ALL is C, and its standard
 * input is empty. */
struct plat_program {
    unsigned pid;
    intptr_t system[4]; /* the system's own handles */
};
struct plat_program_end {
    bool known, by_signal, timed; /* its end is known; a signal ended it; the CPU times are known */
    unsigned code;                /* the signal's number, or the exit code */
    uint64_t user_ns, system_ns;
};
/* Starts a program. `words`: its name (an absolute path, or a name to find in PATH), its arguments,
 * NULL. The calling thread must live until plat_program_close. */
int plat_program_start(struct plat_program *out, char *const *words);
bool plat_is_missing(int error); /* no such program, file or folder */
/* Reads from descriptor 1 or 2, never waits. 0: the output is closed; below 0: no output yet. */
ptrdiff_t plat_program_read(struct plat_program *program, unsigned descriptor, void *into, size_t most);
/* Waits for output, the end, or plat_now_ns() >= until_ns. Returns whether the program ended. */
bool plat_program_wait(struct plat_program *program, uint64_t until_ns);
/* Asks the program and its children to end, or kills them (also children of an ended program). */
void plat_program_stop(struct plat_program *program, bool at_once);
void plat_program_close(struct plat_program *program, struct plat_program_end *out);

/* ---- CPU and counters ---- */

/* CPU time of this process so far. */
bool plat_process_cpu_ns(uint64_t *user, uint64_t *system);

#define PLAT_CPUS 4096
struct plat_cpu_times {
    unsigned count; /* entries, ascending by their CPU; 0 if the system does not report them */
    bool tells_steal; /* whether `steal` is meaningful */
    struct cpu_time core[PLAT_CPUS]; /* in the system's own unit */
};
void plat_cpu_times(struct plat_cpu_times *out);

/* How long a thread that has not been joined was ready to run and waited for a CPU.
 * False: unknown. */
bool plat_thread_delay_ns(plat_thread thread, uint64_t *out);

/* How much CPU quotas have throttled this process and the others of its control groups so far.
 * Without a quota, these values do not grow. False: unknown. */
struct plat_throttling {
    uint64_t periods;           /* periods of the quotas in which one of the processes was ready */
    uint64_t throttled_periods; /* periods in which a process waited for the next period */
    uint64_t throttled_ns;      /* total waiting time, on all CPUs together */
};
bool plat_throttling(struct plat_throttling *out);

/* Number of UDP datagrams dropped because a receive buffer was full, system-wide. */
bool plat_udp_receive_buffer_errors(uint64_t *out);

/* Fragments of IPv4 and IPv6 since the start of the system (Linux: of the network namespace).
 * False: unknown. */
struct plat_fragments {
    uint64_t created;             /* sent */
    uint64_t failed;              /* packets not fragmented because of DF or an error */
    uint64_t reassembled;         /* packets reassembled */
    uint64_t reassembly_failures; /* packets dropped: fragments missing or inconsistent */
};
bool plat_fragments(struct plat_fragments *out);

/* Number of received datagrams (`udp`) or TCP segments with a wrong checksum, system-wide as above.
 * False: unknown. */
bool plat_checksum_errors(bool udp, uint64_t *out);

/* Numbers of received packets of IPv4 and IPv6, system-wide as above. False: unknown. */
enum plat_arrived {
    PLAT_OLD_SEGMENTS, /* of TCP, refused because a later one had arrived before (PAWS, RFC 7323) */
    PLAT_ECN_PACKETS,  /* whose sender takes part in ECN (RFC 3168): marked or not */
    PLAT_ECN_MARKED,   /* marked as having met congestion (CE) */
    PLAT_ARRIVED
};
bool plat_arrived(enum plat_arrived which, uint64_t *out);

/* ---- addresses ---- */

struct plat_address {
    union {
        unsigned char bytes[128]; /* the system's socket address */
        uint64_t alignment;
    } at;
    unsigned length; /* 0: no address */
};
/* Parses a numeric address, IPv6 without brackets, with a zone if needed. False: it is no
 * address. */
bool plat_address_parse(const char *text, unsigned port, struct plat_address *out);
bool plat_address_v6(const struct plat_address *address);
unsigned plat_address_port(const struct plat_address *address);
void plat_address_set_port(struct plat_address *address, unsigned port);
bool plat_address_equal(const struct plat_address *first, const struct plat_address *second);
#define PLAT_ADDRESS_TEXT 80
void plat_address_text(const struct plat_address *address, char into[PLAT_ADDRESS_TEXT]);

/* Name of the interface on which a packet from `local` to `peer` leaves. */
#define PLAT_INTERFACE_NAME 64
bool plat_interface_between(const struct plat_address *local, const struct plat_address *peer,
                            char into[PLAT_INTERFACE_NAME]);
/* Counters of an interface so far. False: unknown. */
struct plat_interface_counts {
    uint64_t sent_bytes, received_bytes, sent_packets, received_packets;
};
bool plat_interface_counts(const char *name, struct plat_interface_counts *out);
/* MTU of an interface now, in bytes; 0: unknown. */
uint64_t plat_interface_mtu(const char *name);
/* Whether the system offers to scale TCP's windows now (RFC 7323). False: unknown. */
bool plat_window_scaling(bool *out);
/* How often an interface lost or regained its carrier. False: unknown. */
bool plat_carrier_changes(const char *name, uint64_t *out);
/* CPUs to which the system distributes received packets of an interface: "0-3,8", or "none". */
#define PLAT_STEERING 256
bool plat_receive_steering(const char *name, char into[PLAT_STEERING]);

/* ---- sockets ---- */

typedef intptr_t plat_socket;
#define PLAT_NO_SOCKET ((plat_socket)-1)

/* Opens a socket of the address's family. It is blocking, and children do not inherit it. */
int plat_socket_open(plat_socket *out, bool udp, const struct plat_address *family);
void plat_close(plat_socket socket);
int plat_bind(plat_socket socket, const struct plat_address *address);
int plat_listen(plat_socket socket, int backlog);
int plat_accept(plat_socket socket, plat_socket *out, struct plat_address *peer);
/* TCP: makes the handshake, at most until until_ns. UDP: lets only the peer's datagrams arrive. */
int plat_connect(plat_socket socket, const struct plat_address *peer, uint64_t until_ns);
int plat_local_address(plat_socket socket, struct plat_address *out);
int plat_peer_address(plat_socket socket, struct plat_address *out);

/* Makes one send call, blocking or not, as the socket is set. UDP: sends one datagram. */
ptrdiff_t plat_send(plat_socket socket, const void *bytes, size_t length);
/* Works as plat_send, but never blocks: accepts as many bytes as there is room for. */
ptrdiff_t plat_send_now(plat_socket socket, const void *bytes, size_t length);
ptrdiff_t plat_receive(plat_socket socket, void *into, size_t capacity);
/* Works as plat_receive, but gives up after limit_ns with a negative transient error. The limit's
 * resolution is far below 1 ms on Linux and the BSDs; Windows rounds up to its tick. */
ptrdiff_t plat_receive_within(plat_socket socket, void *into, size_t capacity, uint64_t limit_ns);
/* Work as plat_receive, but never block; plat_peek_now leaves the data in the queue. */
ptrdiff_t plat_receive_now(plat_socket socket, void *into, size_t capacity);
ptrdiff_t plat_peek_now(plat_socket socket, void *into, size_t capacity);
/* UDP: receives up to batch->count queued datagrams by one call if the system has such a call,
 * otherwise one datagram. Waits for the first one as plat_receive does, unless `wait` is false.
 * Returns their number and sets the length of each, or returns the negative error number. */
#define PLAT_BATCH 32
struct plat_batch {
    unsigned char *bytes; /* `count` places of `room` bytes each */
    size_t room;
    unsigned count; /* 1 to PLAT_BATCH */
    size_t length[PLAT_BATCH];
    bool prepared;                    /* false at first; if true, bytes, room and count are fixed */
    uint64_t system[PLAT_BATCH * 10]; /* the system's own structures */
};
ptrdiff_t plat_receive_many(plat_socket socket, struct plat_batch *batch, bool wait);
/* The most datagrams that plat_receive_many returns: PLAT_BATCH, or 1 without such a call. */
extern const unsigned plat_receive_most;
/* Sends the datagrams in `count` places from `first` on, each as long as a place, by one call if
 * the system has such a call (capability "batch"), otherwise one datagram. Returns how many were
 * sent, or the negative error of the first; the next call reports errors of later ones. */
ptrdiff_t plat_send_many(plat_socket socket, struct plat_batch *batch, unsigned first,
                         unsigned count);
/* TCP: sends the rest of `count` identical messages (at most PLAT_BATCH) after their first
 * sent_bytes bytes, by one call if the system has such a call (capability "batch"), otherwise the
 * rest of one message. Returns how many bytes the system accepted, or the negative error number. */
ptrdiff_t plat_send_gathered(plat_socket socket, const void *message, size_t length, unsigned count,
                             size_t sent_bytes);
/* Receives a datagram on a UDP socket before plat_connect. */
ptrdiff_t plat_receive_from(plat_socket socket, void *into, size_t capacity,
                            struct plat_address *from);

/* TCP: ends the sending direction; the peer reads the end of the data. */
void plat_finish(plat_socket socket);
/* Makes blocking calls on this socket in other threads return, now and later.
 * Nothing more can be sent or received afterwards. */
void plat_wake(plat_socket socket);

struct plat_wait {
    plat_socket socket;
    bool sending; /* in: wait for room to send as well */
    bool ready;   /* out: a call to receive, accept or send would not block, or would fail */
};
/* Waits until one of at most PLAT_WAITS sockets is ready, or plat_now_ns() reaches until_ns. */
#define PLAT_WAITS 1024
void plat_wait_any(struct plat_wait *waits, unsigned count, uint64_t until_ns);

/* ---- waiting for many sockets, in one thread ---- */

struct plat_watch {
    intptr_t system; /* the system's object; -1: none */
};
/* Call plat_watch_close in any case, also after an error. */
int plat_watch_open(struct plat_watch *out);
void plat_watch_close(struct plat_watch *watch);
/* Watches a socket under a number of the caller. It is ready if a receive call (`sending`: a send
 * call) would not block, or would fail. At most PLAT_WAITS; remove a socket before closing it. */
int plat_watch_add(struct plat_watch *watch, plat_socket socket, unsigned number, bool sending);
void plat_watch_remove(struct plat_watch *watch, plat_socket socket);
/* Waits until a watched socket is ready, or plat_now_ns() reaches until_ns (0: no wait). Writes the
 * numbers of ready sockets, at most `capacity`; further ones follow in later calls. Returns how
 * many, or the negative error number. */
ptrdiff_t plat_watch_wait(struct plat_watch *watch, unsigned *numbers, unsigned capacity,
                          uint64_t until_ns);

enum plat_option {
    PLAT_SEND_BUFFER,      /* bytes; read back as the system counts them */
    PLAT_RECEIVE_BUFFER,
    PLAT_NODELAY,
    PLAT_DONT_FRAGMENT,
    PLAT_DSCP,             /* 0 to 63 */
    PLAT_REUSE,            /* allows a port whose last connection is still in TIME_WAIT */
    PLAT_BLOCKING,
    PLAT_SEND_TIMEOUT_MS,
    PLAT_RECEIVE_TIMEOUT_MS, /* plat_receive gives up after about this time, or earlier */
    PLAT_RESET_ON_CLOSE,
    PLAT_GIVE_UP_S,        /* TCP: without an answer for this long, the connection fails */
    PLAT_REPORT_DROPS      /* UDP: send calls fail if this host dropped the datagram */
};
int plat_option_set(plat_socket socket, enum plat_option option, int value);
int plat_option_get(plat_socket socket, enum plat_option option, int *value);
/* Factor by which the system enlarges a requested buffer below its limit: 2 if it doubles, else 1. */
extern const int plat_buffer_factor;
int plat_congestion_set(plat_socket socket, const char *name);
int plat_congestion_get(plat_socket socket, char *into, size_t capacity);
/* Writes, in one line, why plat_congestion_set returned this error, and what an administrator of
 * this host can do about it. */
void plat_congestion_refusal(int error, const char *name, char *into, size_t capacity);
int plat_interface_set(plat_socket socket, const char *name);

/* UDP over IPv4: lets the socket send without checksums. The error is capability-missing
 * (plat_word) if the system cannot do it; capability "no-checksum". */
int plat_set_no_checksum(plat_socket socket);

/* The system's value of the path MTU to the peer of a connected socket (IP_MTU, IPV6_MTU,
 * IPV6_PATHMTU). False: unknown. */
bool plat_path_mtu(plat_socket socket, unsigned *mtu_bytes);

/* Bytes in the receive queue. UDP: memory on Linux, payload on Windows. False: unknown. */
bool plat_queue_bytes(plat_socket socket, bool udp, uint64_t *out);
/* Memory used by the receive queue, and its limit. False: unknown. */
bool plat_queue_fill(plat_socket socket, uint64_t *memory_bytes, uint64_t *most_bytes);
/* Number of datagrams for which this socket's receive queue had no room. */
bool plat_queue_drops(plat_socket socket, uint64_t *out);

/* Kinds of errors that the code that sends and receives (src/loops) must distinguish. */
bool plat_is_no_buffers(int error);       /* no memory or queue room; may be temporary */
bool plat_is_transient(int error);        /* nothing happened: interrupted, timed out, would block */
bool plat_is_peer_gone(int error);        /* reset, refused, silent, or closed by our own plat_wake */
bool plat_is_unreachable(int error);      /* a host or router reports no route; may be temporary */
bool plat_is_address_in_use(int error);

/* ---- time in the stack: stamps of datagrams, capability "stamps" ---- */

/* The difference of two stamps is a time only if both are of one kind: hardware stamps use the network
 * card's clock, software stamps the system's wall clock. */
struct plat_stamp {
    uint64_t ns; /* 0: there is no stamp */
    bool hardware;
    uint32_t number; /* of transmit stamps: number of the datagram since plat_stamps_on, from 0 */
};
/* Stamps datagrams received and sent on a UDP socket from now on. `interface` is the network card
 * to ask for hardware stamps (NULL: none). If the card has none, or this process may not enable
 * them, software stamps are used. Returns 0 or an error, such as capability-missing. */
int plat_stamps_on(plat_socket socket, const char *interface);
/* Call this once for each plat_stamps_on with that interface; the last call restores the card. */
void plat_stamps_off(const char *interface);
/* Receives one datagram as plat_receive does, with its stamp of arrival. */
ptrdiff_t plat_receive_stamped(plat_socket socket, void *into, size_t capacity, bool wait,
                               struct plat_stamp *received);
/* The transmit stamp of the oldest datagram whose stamp has not been fetched. False: none arrived
 * within wait_ns; a later call returns a late stamp, with its number. */
bool plat_sent_stamp(plat_socket socket, uint64_t wait_ns, struct plat_stamp *sent);

/* ---- TCP's state as the system reports it ---- */

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
    uint64_t present; /* bit k: the system returned value[k]; 0: it returned none */
    uint64_t value[PLAT_TCP_FACTS];
    char options[64]; /* timestamps,sack,wscale,ecn: the effective ones; empty if unknown */
};
void plat_tcp_info(plat_socket socket, struct plat_tcp_info *out);

/* ---- frames that netprobe builds, bypassing the system's UDP and IP: capability "packet" ---- */

#define PLAT_HEADERS 128
struct plat_headers {
    unsigned char bytes[PLAT_HEADERS]; /* link, IP and UDP headers of a sent frame */
    unsigned length;
};
/* Sends `bytes` on a connected UDP socket, captures the outgoing frame and copies the headers
 * before `bytes` from this frame. *out becomes a socket that sends whole frames on the same
 * interface, by plat_send and plat_send_many, with the send buffer and the send timeout of `udp`;
 * it receives nothing. Returns 0 or an error, such as PLAT_NO_WIRE: the interface is loopback,
 * which accepts frames only from the system itself. */
#define PLAT_NO_WIRE (-3)
int plat_frames_open(plat_socket *out, plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers);
/* Returns the error with which the system refuses a socket for frames to this account; an
 * administrator can allow such sockets. 0: the system does not refuse it, or has no such
 * sockets. */
int plat_frames_refusal(void);

/* ---- received frames, before the system's IP and UDP: capability "capture" ---- */

struct plat_capture {
    plat_socket socket;
    unsigned char *slots; /* NULL: the capture is not open */
    size_t bytes, slot_bytes;
    unsigned slots_a_block, blocks, block, slot; /* block, slot: the next slot to read */
    bool alone; /* only the capture receives the datagrams, no longer the UDP socket */
    uint64_t drops;
};
/* Captures the unfragmented datagrams for a connected UDP socket from now on. Datagrams with more
 * than message_bytes bytes of payload may be truncated. The memory for the datagrams has about the
 * size of the socket's receive buffer. Until the first plat_capture_take the socket receives the
 * datagrams as well. Returns 0 or an error. */
int plat_capture_open(struct plat_capture *out, plat_socket udp, size_t message_bytes);
void plat_capture_close(struct plat_capture *capture);
/* Works as plat_receive_many does without waiting. The first call discards the datagrams that the
 * socket has received so far, and the socket receives no more. Skips datagrams with a wrong
 * checksum, as the system does. */
ptrdiff_t plat_capture_take(struct plat_capture *capture, plat_socket udp, struct plat_batch *batch);
/* Number of frames dropped for lack of room so far. */
uint64_t plat_capture_drops(struct plat_capture *capture);

/* ---- frames that netprobe builds in memory shared with the system: capability "xdp" ---- */

struct plat_ring {
    unsigned char *bytes; /* `count` places of `room` bytes each */
    size_t room;
    unsigned count;
    uint64_t dropped; /* frames accepted and then dropped because the interface had no room */
    plat_socket socket;
    void *system;
};
/* Works as plat_frames_open does, for frames with message_bytes bytes after their headers. The
 * frames bypass the interface's queueing discipline. The error message-too-long (plat_word) means
 * that such a frame does not fit into a place. */
int plat_ring_open(struct plat_ring *out, plat_socket udp, size_t message_bytes, const void *bytes,
                   size_t length, struct plat_headers *headers);
/* A closed ring has no places, and nothing is sent from it. */
void plat_ring_close(struct plat_ring *ring);
/* Number of free places; 0 if none became free within the send timeout. */
unsigned plat_ring_free(struct plat_ring *ring);
/* The free place with this number. */
unsigned char *plat_ring_place(const struct plat_ring *ring, unsigned number);
/* Sends `length` bytes of each of the first `count` free places. These places are in use until the
 * system has sent their bytes. Returns `count`, which may be 0, or the negative error number of an
 * earlier send. */
ptrdiff_t plat_ring_send(struct plat_ring *ring, unsigned count, size_t length);
/* Call this after the last plat_ring_send. Returns the number of frames that the system has not
 * accepted and will not accept. */
unsigned plat_ring_left(struct plat_ring *ring);

/* ---- the folder: private, of this account, on a disk, so that it is there after a restart ---- */

#define PLAT_UNDO_PATH 1024
struct plat_undo_folder {
    intptr_t system;
    char path[PLAT_UNDO_PATH];
};
/* Opens the folder; if it is missing and `make` is set, makes it and syncs it to the disk. A folder
 * is refused if it is a link, belongs to another account, or may be written by another account. If
 * the function fails, `why` becomes a sentence with the reason. */
int plat_undo_folder_open(struct plat_undo_folder *out, bool make, char *why, size_t capacity);
void plat_undo_folder_close(struct plat_undo_folder *folder);

#define PLAT_UNDO_NAME 16 /* hex digits of a file's name */
/* Writes the names of the folder's files to `names` in ascending order, at most `most` names.
 * Returns how many it wrote. */
unsigned plat_undo_names(const struct plat_undo_folder *folder, char (*names)[PLAT_UNDO_NAME + 1],
                         unsigned most);

/* ---- a file: locked as long as its agent or the keeper lives ---- */

struct plat_undo_file {
    intptr_t system;
    char name[PLAT_UNDO_NAME + 1];
};
/* Makes a new file under a random name, locks it, and syncs the folder. */
int plat_undo_create(const struct plat_undo_folder *folder, struct plat_undo_file *out);
/* Opens a file of an agent that no longer lives: to write to it if `alone` is set, otherwise to
 * read it. Returns PLAT_LOCKED if the agent or its keeper lives, or if another process works on the
 * file. A link or a file of another account is refused. */
int plat_undo_open(const struct plat_undo_folder *folder, const char *name, bool alone,
                   struct plat_undo_file *out);
/* Reads `length` bytes at the offset `at`. Returns the number of bytes, which is smaller at the end
 * of the file, or the negative error number. */
ptrdiff_t plat_undo_read(const struct plat_undo_file *file, uint64_t at, void *into, size_t length);
/* Writes `length` bytes at the offset `at`, and syncs the file to the disk. */
int plat_undo_write(const struct plat_undo_file *file, uint64_t at, const void *bytes, size_t length);
/* Closes the file and ends its lock; removes it if `remove` is set. */
void plat_undo_close(const struct plat_undo_folder *folder, struct plat_undo_file *file, bool remove);

/* ---- the keeper: a process that undoes a file's entries when its agent was killed ---- */

struct plat_undo_keeper {
    intptr_t process, lifeline; /* process 0: there is no keeper */
};
/* Starts the keeper of a file, unless the keeper lives already. If the agent ends before
 * plat_undo_dismiss, the keeper undoes the entries. Windows has no keeper: there the entries stay
 * for the next agent. */
int plat_undo_keep(struct plat_undo_keeper *keeper, const struct plat_undo_folder *folder,
                   const struct plat_undo_file *file);
/* Ends the keeper without undoing anything. */
void plat_undo_dismiss(struct plat_undo_keeper *keeper);

#endif
