/* Runs another program for a request, in a separate thread, and prints the program's output. A
 * record is one line of JSON. The undo log has an entry for each change of this host: a command
 * that undoes the change. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/undoing/undo_log.h"
#include "protocol/error.h"
#include "protocol/request.h"

struct program;

/* Reads the request and starts the thread. The thread starts the program and prints all records
 * about the program, also an error if it cannot be started. If `undo` is NULL, the request has the
 * program's name and arguments. Otherwise the request names an entry of the undo log, which has the
 * name and the arguments. */
struct error program_start(struct program **out, const struct request *request,
                           struct undo_log *undo, uint64_t requested_ns);
const char *program_id(const struct program *program);
/* Asks the program to end. If `abort` is set, kills it; then the last record is an error. */
void program_tell(struct program *program, bool abort);
/* Whether the last record about the program has been printed, or is about to be printed. */
bool program_answered(const struct program *program);
/* Waits for the thread and frees the program. Returns false if the last record was an error. */
bool program_join(struct program *program);

#endif
