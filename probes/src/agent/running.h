/* Keeps the tests and the programs that an agent runs at present. An agent is a netprobe process
 * that a controller (netlab) drives. The undo log has an entry for each change of this host: a
 * command that undoes the change. */
#ifndef RUNNING_H
#define RUNNING_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/undo_log.h"
#include "protocol/error.h"
#include "protocol/request.h"
#include "protocol/settings.h"

#define RUNNING_TESTS_MAX 64
#define RUNNING_PROGRAMS_MAX 8

struct running {
    struct test *test[RUNNING_TESTS_MAX];
    struct program *program[RUNNING_PROGRAMS_MAX];
    unsigned tests, programs;
};

struct error running_start_test(struct running *running, const struct settings *settings,
                                uint64_t requested_ns);
/* Starts a program. If `undo` is NULL, the request has the program; otherwise the request names an
 * entry of the undo log, whose program is started. */
struct error running_start_program(struct running *running, const struct request *request,
                                   struct undo_log *undo, uint64_t requested_ns);

/* Removes the tests and programs that have ended. */
void running_reap(struct running *running);
bool running_any(const struct running *running);

/* The test or the program that has an id; both are NULL if none has it. */
struct running_one {
    struct test *test;
    struct program *program;
};
struct running_one running_find(const struct running *running, const char *id);

/* Ends all tests and programs at once, and waits until they have ended. */
void running_end(struct running *running);
/* Waits until all tests and programs have ended by themselves. Returns false if the last record of
 * at least one of them was an error. */
bool running_wait(struct running *running);

/* Asks the program to end. If `abort` is set, kills it; then the last record is an error. */
void program_tell(struct program *program, bool abort);

#endif
