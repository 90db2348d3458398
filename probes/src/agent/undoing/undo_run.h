/* Runs the program of an entry of the undo log to its end. */
#ifndef UNDO_RUN_H
#define UNDO_RUN_H

#include "pure/undo/undo_entry.h"

struct plat_program_end;
#define UNDO_NOT_STARTED 127 /* as in shells: exit code if the program could not be started */

/* Runs the program, which has the entry's deadline. The program's output is dropped. */
struct undo_try undo_run(struct undo_entry *entry);

/* The outcome to keep in the log, for the end of a program. `killed`: we killed the program. */
struct undo_try undo_try_of(const struct plat_program_end *end, bool killed);

#endif
