/* Runs the program of an entry of the undo log to its end. */
#ifndef UNDO_RUN_H
#define UNDO_RUN_H

#include "pure/undo/undo_entry.h"

struct plat_program_end;
#define UNDO_NOT_STARTED 127 /* exit code of a program that could not be started, as of a shell */

/* Runs it within its deadline. What it prints is dropped. */
struct undo_try undo_run(struct undo_entry *entry);

/* What is kept of the end of a program; `killed`: by us. */
struct undo_try undo_try_of(const struct plat_program_end *end, bool killed);

#endif
