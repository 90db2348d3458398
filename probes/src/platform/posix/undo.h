/* Declares what the files of the undo log, its keeper and programs share on POSIX systems. */
#ifndef POSIX_UNDO_H
#define POSIX_UNDO_H

#include <stdbool.h>
#include <stddef.h>

/* The undo log has commands that undo changes of this host. Its keeper is a child process that runs
 * these commands after the agent was killed. The keeper notices the agent's end by a pipe. Returns
 * the writing end of this pipe; -1: there is no keeper. */
int posix_undo_lifeline(void);

/* Both functions are async-signal-safe, so a forked child may call them. posix_undo_write writes at
 * the offset `at`, and syncs. posix_undo_sync can also sync a folder. */
int posix_undo_write(int file, unsigned long long at, const void *bytes, size_t length);
int posix_undo_sync(int descriptor);

#endif
