/* Holds a test, its streams with a thread each, and what its supervisor shares with them. */
#ifndef TEST_H
#define TEST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "platform/frames.h"
#include "platform/plat.h"
#include "protocol/settings.h"
#include "pure/call_time.h"
#include "pure/nanoseconds.h"
#include "pure/pacing.h"
#include "pure/sequence.h"
#include "pure/waiting.h"
#include "pure/window/window.h"
#include "test/samples.h"

#define NEVER_NS UINT64_MAX
#define TAIL_NS WINDOW_TAIL_NS                /* a sender that nobody stops goes on for this long */
#define QUIET_NS (200 * MILLISECOND_NS)       /* a drain ends after this much silence */
#define MARKED_QUIET_NS (20 * MILLISECOND_NS) /* the same once an end marker has come */
#define DRAIN_NS (2 * SECOND_NS)              /* a drain ends */
#define LATE_NS (4 * SECOND_NS)               /* beyond the time asked for it: of a sender's own queue */
#define OPEN_NS (5 * SECOND_NS)               /* to connect, or to be answered */
#define OPEN_STREAM_NS (5 * MILLISECOND_NS)   /* more for each stream */
#define NOTICE_NS (20 * MILLISECOND_NS)       /* longest sleep of a thread, to notice a halt */
#define TICK_NS (20 * MILLISECOND_NS)         /* the supervisor's ticks: one that is late shows a stop */
#define CACHE_LINE 64

struct test;
struct ask;
struct mirror;
struct send_batch;

/* A thread of a test. It serves one stream; where there are more than WORKERS_MAX, those whose number
 * is its own, or that and a multiple of how many workers there are. */
struct worker {
    struct test *test;
    unsigned number;
    plat_thread thread;
    bool running;          /* it has been started and not joined */
    bool spins;            /* of a paced sender: may spin until a message is due */
    uint64_t cpu_ns;       /* of the whole thread, once it has ended */
    bool cpu_known;
    unsigned char *buffer; /* of one that serves many, shared by its streams; else NULL */
    _Atomic int first_cpu, last_cpu; /* where it found itself when it began and ended; -1: not told */
};

/* One data flow. Counters have one writer, the stream's own thread; others only read them. */
struct stream {
    struct test *test;
    unsigned number;
    plat_socket socket;
    bool begun; /* its first message has come */
    bool over;  /* of a thread that serves many: this one has nothing more to do */
    unsigned char *buffer; /* its own; NULL where its thread serves many */
    uint32_t tag;
    unsigned char bare[DATAPORT_BARE_MAX]; /* what every message of a stream is that has no header */

    unsigned char apart_before[CACHE_LINE];
    /* Bytes and messages so far: first copies that came, or what send calls took. */
    struct window_stream marks;
    _Atomic uint64_t last_send_ns;    /* the return of the last send call */
    _Atomic uint64_t marked_messages; /* what the peer's end marker says it sent */
    _Atomic bool marked;
    /* Receive calls that did not wait, and those of them that found nothing. */
    _Atomic uint64_t looks, empty;
    unsigned char apart_after[CACHE_LINE];

    uint64_t tried_ns, first_ns; /* before the first send call; before the first that succeeded */
    uint64_t partial_bytes; /* of a message that was cut off by the end */
    uint64_t foreign, unexpected, local_drops, refused;
    uint64_t answers;  /* to hellos that came again */
    unsigned refusals; /* by the peer's host, in a row */
    uint64_t refused_ns, unreachable_ns, unreachable_from_ns; /* of the last; of the first in a row */
    struct pacing pacing;
    struct calltime calls; /* of a sender: what its send calls take */
    struct sequence sequence;
    struct plat_capture capture; /* of a receiver of frames */
    struct send_batch *batch; /* of a sender of many messages a call, else NULL */
    struct ask *ask;       /* of an asker, else NULL */
    struct mirror *mirror; /* of a mirror, else NULL */
    struct waiting waiting; /* of a receiver */
    uint64_t pauses, paused_ns; /* between looks that found nothing */
    uint32_t look_left, look_random; /* of a receiver that waits: calls to its next look */
};

struct test {
    struct settings settings;
    uint64_t requested_ns, setup_ns;
    plat_thread thread; /* the supervisor */
    struct stream *stream;
    struct worker *worker;
    unsigned workers;
    struct plat_address local, peer; /* of the first stream */
    uint64_t unexpected;     /* connections of others than the peer */
    unsigned spinners;       /* threads that this test may spin with */
    uint64_t worst_sleep_ns; /* only where paced */
    unsigned path_mtu_bytes; /* UDP, as the system knows it at the end; 0: it does not tell */
    struct samples samples;

    _Atomic bool halt;     /* all loops end */
    _Atomic bool in_tail;  /* a sender's, or an asker's, window is over: the peer may leave */
    _Atomic bool answered; /* the last record is being printed */

    /* The supervisor's own. */
    uint64_t begun_ns, next_progress_ns, drain_ns;
    uint64_t tick_ns;       /* its last tick */
    struct gaps late_ticks; /* times without one */
    uint64_t stalled_ns;    /* by which ticks came late so far: each by a tick and more */
    uint64_t sent_messages; /* as the peer told it */
    bool sent_known;

    plat_mutex lock; /* over all that follows */
    plat_cond changed;
    bool told_stop, told_count;
    uint64_t told_messages;
    unsigned begun; /* streams that have sent or received their first message */
    unsigned ended; /* streams whose threads have returned */
    struct window window;
    struct error failure;
};

/* The thread that serves a stream. */
static inline struct worker *test_worker(const struct stream *stream)
{
    return &stream->test->worker[stream->number % stream->test->workers];
}

/* Of a sender that has begun: when its window is to open. As given, or warm-up after the first message;
 * where a thread serves many, whose first messages come one after the other, that of the last stream. */
uint64_t test_sending_opens_ns(const struct test *test);

/* Gives the stream another socket, between calls of its own thread, and returns the one it had.
 * A halt wakes the socket that the stream has then: look for one afterwards. */
plat_socket test_swap_socket(struct stream *stream, plat_socket fresh);

/* From the control thread: a stop, with the sender's count where it has one, or an abort. */
void test_tell(struct test *test, bool abort, bool with_count, uint64_t messages);

/* The first failure of a test is the one that is told; it halts the test. */
void test_fail(struct test *test, const char *word, int error, const char *detail);
/* The same with the word that the system's number stands for. */
void test_fail_system(struct test *test, int error, const char *call);
/* The same for a key of the request, for a reason of our own. */
void test_fail_saying(struct test *test, const char *word, int error, const char *key,
                      const char *detail);
/* The same for a key of the request that cannot be had here. */
void test_fail_key(struct test *test, const char *word, int error, const char *key);
bool test_failed(struct test *test);
bool test_halted(const struct test *test);
/* The interface that the test was told to use, else that of the route to its peer. */
bool test_interface(const struct test *test, char into[PLAT_INTERFACE_NAME]);
bool test_told_stop(struct test *test);

#endif
