/* Runs the program of an entry of the undo log to its end. The undo log has an entry for each
 * change of this host: a command that undoes the change. */
#ifndef UNDO_RUN_H
#define UNDO_RUN_H

#include "pure/undo_entry.h"

struct plat_program_end;
#define UNDO_NOT_STARTED 127 /* as in shells: exit code if the program could not be started */

/* Runs the program, and kills it at the entry's deadline. Drops the program's output. */
struct undo_try undo_run(struct undo_entry *entry);

/* Returns the outcome to keep in the log after a program has ended. `killed`: we have killed the
 * program. */
struct undo_try undo_try_of(const struct plat_program_end *end, bool killed);

#endif
