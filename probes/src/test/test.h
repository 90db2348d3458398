/* A test with its streams, its threads, and the state that its supervisor shares with them. The
 * supervisor is the thread that leads the test. The window is the time that is measured. After the
 * window, a receiver waits for the rest of the data (the drain). A UDP sender ends each stream by
 * an end marker, a datagram with the number of messages sent. */
#ifndef TEST_H
#define TEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "platform/plat.h"
#include "protocol/settings.h"
#include "pure/call_time.h"
#include "pure/nanoseconds.h"
#include "pure/pacing.h"
#include "pure/sequence.h"
#include "pure/waiting.h"
#include "pure/window.h"
#include "test/samples.h"

#define NEVER_NS UINT64_MAX
#define TAIL_NS WINDOW_TAIL_NS                /* longest sending after the window, until `stop` */
#define QUIET_NS (200 * MILLISECOND_NS)       /* a drain ends after this much silence */
#define MARKED_QUIET_NS (20 * MILLISECOND_NS) /* the same after an end marker was received */
#define DRAIN_NS (2 * SECOND_NS)              /* longest drain */
#define LATE_NS (4 * SECOND_NS)               /* longest drain minus the requested drain time */
#define OPEN_NS (5 * SECOND_NS)               /* time limit to connect, or to be answered */
#define OPEN_STREAM_NS (5 * MILLISECOND_NS)   /* added to OPEN_NS per stream */
#define NOTICE_NS (20 * MILLISECOND_NS)       /* longest sleep, so that a thread notices a halt */
#define TICK_NS (10 * MILLISECOND_NS)         /* interval at which the supervisor wakes (ticks) */
#define CACHE_LINE 64

struct test;
struct ask;
struct mirror;
struct send_batch;

/* A thread of a test, which serves one stream. With more than WORKERS_MAX streams, it serves
 * several: their numbers are its own number plus multiples of the number of workers. */
struct worker {
    struct test *test;
    unsigned number;
    plat_thread thread;
    bool running;          /* the thread has been started and not joined */
    bool spins;            /* of a paced sender: may spin until a message is due */
    uint64_t cpu_ns;       /* CPU time of the thread, known after it has ended */
    bool cpu_known;
    unsigned char *buffer; /* shared by its streams if it serves many; else NULL */
    _Atomic int first_cpu, last_cpu; /* its CPU when it began and when it ended; -1: unknown */
};

/* One data flow. Counters have one writer, the stream's own thread; others only read them. */
struct stream {
    struct test *test;
    unsigned number;
    plat_socket socket;
    bool has_begun; /* its first message has been received */
    bool over;      /* this stream is finished (only if its thread serves many) */
    unsigned char *buffer; /* its own; NULL if its thread serves many streams */
    uint32_t tag;
    unsigned char bare[DATAPORT_BARE_MAX]; /* content of every message without a header */

    unsigned char apart_before[CACHE_LINE];
    /* Bytes and messages so far: received first copies, or those that send calls accepted. */
    struct window_stream marks;
    _Atomic uint64_t last_send_ns;    /* when the last send call returned */
    _Atomic uint64_t marked_messages; /* number of sent messages in the peer's end marker */
    _Atomic bool marked;              /* an end marker has arrived */
    /* Receive calls that did not wait, and how many of them found no data. */
    _Atomic uint64_t looks, empty;
    unsigned char apart_after[CACHE_LINE];

    uint64_t tried_ns, first_ns; /* before the first send call; before the first successful one */
    uint64_t partial_bytes; /* sent bytes of a message that is not sent completely */
    uint64_t foreign, unexpected, local_drops, refused;
    uint64_t answers;  /* answers to repeated hellos */
    unsigned refusals; /* refusals by the peer's host, in a row */
    /* Times of the last refusal, and of the last and the first report in a row that the path is
     * down. */
    uint64_t refused_ns, unreachable_ns, unreachable_from_ns;
    struct pacing pacing;
    struct calltime calls; /* of a sender: durations of its send calls */
    struct sequence sequence;
    struct plat_capture capture; /* of a receiver of frames */
    struct send_batch *batch; /* of a sender with many messages per call, else NULL */
    struct ask *ask;       /* of an asker, else NULL */
    struct mirror *mirror; /* of a mirror, else NULL */
    struct waiting waiting; /* of a receiver */
    uint64_t pauses, paused_ns; /* sleeps after polls without data */
    uint32_t look_left, look_random; /* of a blocking receiver: calls to its next look */
};

struct test {
    struct settings settings;
    uint64_t requested_ns, setup_ns;
    plat_thread thread; /* the supervisor */
    struct stream *stream;
    struct worker *worker;
    unsigned workers;
    struct plat_address local, peer; /* of the first stream */
    uint64_t unexpected;     /* connections that are not from the peer */
    unsigned spinners;       /* threads of this test that may spin */
    uint64_t worst_sleep_ns; /* how much too long a sleep takes at worst; only if paced */
    unsigned path_mtu_bytes; /* UDP: the path MTU that the system knows at the end; 0: unknown */
    struct samples samples;

    _Atomic bool halt;     /* tells all loops to end */
    _Atomic bool in_tail;  /* a sender's, or an asker's, window is over: the peer may leave */
    _Atomic bool answered; /* the last record is being printed */

    /* Used only by the supervisor. */
    uint64_t begun_ns, next_progress_ns, drain_ns;
    uint64_t tick_ns;       /* when the supervisor woke last */
    struct gaps late_ticks; /* times without a tick: the process was stalled */
    uint64_t stalled_ns;    /* total delay so far of ticks that were late by half a tick */
    uint64_t sent_messages; /* as reported by the peer */
    bool sent_known;

    plat_mutex lock; /* protects all following members */
    plat_cond changed;
    bool told_stop, told_count;
    uint64_t told_messages;
    unsigned begun_streams; /* streams that have sent or received their first message */
    unsigned ended;         /* streams whose threads have returned */
    struct window window;
    struct error failure;
};

/* The thread that serves a stream. */
static inline struct worker *test_worker(const struct stream *stream)
{
    return &stream->test->worker[stream->number % stream->test->workers];
}

/* Returns when the window of a sender opens; call this after all its streams have begun. It is the
 * given time, or else the time of the first message plus the warm-up. If threads serve many
 * streams, the first message of the stream that began last counts. */
uint64_t test_sending_opens_ns(const struct test *test);

/* Gives the stream another socket and returns the previous one. Only the stream's thread may call
 * this, between its calls on the socket. A halt wakes only the socket that the stream has at that
 * time, so check for a halt after this call. */
plat_socket test_swap_socket(struct stream *stream, plat_socket fresh);

/* Stops a test or aborts it. `messages` is the number of messages that the sender has sent, if
 * with_count is set. Called by the control thread. */
void test_tell(struct test *test, bool abort, bool with_count, uint64_t messages);

/* Fails and halts the test; only its first failure is reported. */
void test_fail(struct test *test, const char *word, int error, const char *detail);
/* The same as test_fail, with the word for the system's error number. */
void test_fail_system(struct test *test, int error, const char *call);
/* The same as test_fail, with a key of the request. */
void test_fail_saying(struct test *test, const char *word, int error, const char *key,
                      const char *detail);
/* The same as test_fail, with a key of the request, and with the text of the system's error
 * number. */
void test_fail_key(struct test *test, const char *word, int error, const char *key);
bool test_failed(struct test *test);
bool test_halted(const struct test *test);
/* Gets the requested interface of the test, or else the interface of the route to the peer. Returns
 * false if it is unknown. */
bool test_interface(const struct test *test, char into[PLAT_INTERFACE_NAME]);
bool test_told_stop(struct test *test);

#endif
