/* Runs another program for a request, in a thread of its own, and prints what it prints. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/undoing/undo_log.h"
#include "protocol/error.h"
#include "protocol/request.h"

struct program;

/* Reads the request and starts the thread. The thread starts the program, and prints all records about
 * it, also why it cannot be started. With `undo` the program is that of the entry of the undo log that
 * the request names, otherwise that of the request itself. */
struct error program_start(struct program **out, const struct request *request,
                           struct undo_log *undo, uint64_t requested_ns);
const char *program_id(const struct program *program);
/* Asks the program to end, or kills it: then its last record is an error. */
void program_tell(struct program *program, bool abort);
/* Whether its last record has been printed, or is about to be. */
bool program_answered(const struct program *program);
/* Waits for the thread and frees the program. False: its last record was an error. */
bool program_join(struct program *program);

#endif
