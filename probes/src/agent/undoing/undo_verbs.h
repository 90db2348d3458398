/* Answers the requests `guard` and `leftovers`. The undo log has an entry for each change of this
 * host: a command that undoes the change. An agent is a netprobe process that a controller (netlab)
 * drives. */
#ifndef UNDO_VERBS_H
#define UNDO_VERBS_H

#include "agent/undoing/undo_log.h"
#include "protocol/request.h"

/* Registers a command in the undo log, and answers with the entry's id. */
struct error undo_guard(struct undo_log *log, const struct request *request);
/* Prints the entries of the undo log of agents that no longer live. */
struct error undo_leftovers(const struct request *request);

#endif
