/* Prepares what a child needs to become another program, and lets the child become it. */
#ifndef POSIX_LAUNCH_H
#define POSIX_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>

/* It is made before the fork: other threads may hold any lock at that time, so a child must not
 * allocate. */
struct posix_launch {
    const char *path; /* the variable PATH */
    char *paths;      /* under which the program is looked for, each with its NUL; the last is empty */
    char **environment;
    int descriptors; /* upper limit of their numbers */
};

/* Makes room for a name of that length. It must be ended even if it failed. */
int posix_launch_prepare(struct posix_launch *launch, size_t name_length);
void posix_launch_end(struct posix_launch *launch);

/* ---- in a child as well: only calls that are safe in a signal handler ---- */

/* Fills in the paths of a program. */
void posix_launch_find(struct posix_launch *launch, const char *name);
/* Closes all descriptors from that one on. */
void posix_launch_close(const struct posix_launch *launch, int first);
/* Unblocks all signals and resets them to their default actions. */
void posix_launch_reset_signals(void);
/* Becomes the program. It returns only if that failed, with the error number. */
int posix_launch_execute(const struct posix_launch *launch, char *const *words);

#endif
