/* Answers the requests `guard` and `leftovers`. */
#ifndef UNDO_VERBS_H
#define UNDO_VERBS_H

#include "agent/undoing/undo_log.h"
#include "protocol/request.h"

/* Registers a command that undoes a change, and answers with the entry's id. */
struct error undo_guard(struct undo_log *log, const struct request *request);
/* Prints the entries of agents that no longer live. */
struct error undo_leftovers(const struct request *request);

#endif
