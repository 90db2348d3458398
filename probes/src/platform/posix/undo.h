/* Declares what the files of the undo log, its keeper and programs share on POSIX systems. */
#ifndef POSIX_UNDO_H
#define POSIX_UNDO_H

#include <stdbool.h>
#include <stddef.h>

/* The writing end of the pipe by which the keeper of the undo log notices the agent's end; -1: none. */
int posix_undo_lifeline(void);

/* Each is safe in a signal handler, so a child may call it. The second syncs a folder, too. */
int posix_undo_write(int file, unsigned long long at, const void *bytes, size_t length);
int posix_undo_sync(int descriptor);

#endif
