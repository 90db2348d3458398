/* A played clock, and a played loop with its test, its stream and its socket. The Makefile puts these
 * calls in the place of plat.h's, so that waiting advances the clock and takes no time. The socket
 * fails with Linux's error numbers, because this is built for Linux only. */
#ifndef PLAYED_H
#define PLAYED_H

#include "harness.h"
#include "loops/traffic.h"

/* One table per file. */
extern const struct unit_test agent_time_tests[], send_time_tests[], send_batch_tests[],
    send_error_tests[], send_flow_tests[], ask_time_tests[], ask_schedule_tests[];

#define PLAYED_BEGIN_NS (1000 * SECOND_NS)
#define PLAYED_MESSAGE_BYTES 100
#define PLAYED_READING_NS 100 /* a reading of the clock takes time, so that spinning ends */
#define PLAYED_SOON_NS 1000   /* a few readings */

/* All times count from PLAYED_BEGIN_NS. */
extern struct played {
    uint64_t now_ns;
    uint64_t abort_ns;     /* the test is aborted at this time */
    uint64_t call_ns;      /* duration of a send call */
    uint64_t oversleep_ns; /* sleeps and waits last so much longer than requested */
    uint64_t pause_at_ns, pause_ns; /* once, from then on, the process does not run for so long */
    int (*error_at)(uint64_t now_ns); /* of a send call; 0 or no function: the socket accepts */
    void (*accept)(const struct dataport_data *message); /* called for each accepted message */

    uint64_t calls; /* send calls for messages */
    uint64_t sleeps, in_a_row, most_in_a_row; /* messages of send calls without a sleep between */
    uint64_t end_markers, last_end_marker_ns;

    struct test test;
    struct stream stream;
    struct worker worker;
} played;

void played_advance(uint64_t nanoseconds);
/* Advances the clock by a sleep or a wait of the loop. */
void played_wait(uint64_t nanoseconds);

/* Makes a test with one stream over UDP; the caller may change its settings. `rate` is in messages
 * per second; 0: there is none. */
void played_make(enum role role, uint64_t rate, uint64_t abort_ns);
/* Runs a loop. Returns the word of the test's failure: "stopped" if the loop went on until it was
 * aborted; NULL if it ended by itself. */
const char *played_run(void (*loop)(struct stream *stream));
/* Whether the loop ended at this time; a call, a short sleep or a round trip may have come between. */
bool played_ended_at(uint64_t at_ns);
/* An `error_at`: this host's buffers accept nothing. */
int played_no_buffers(uint64_t now_ns);

#endif
