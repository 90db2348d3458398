/* Prepares what a forked child needs to become another program, and lets the child become it. Also
 * forks keepers, which must outlive their parent. */
#ifndef POSIX_LAUNCH_H
#define POSIX_LAUNCH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What a child needs, made before the fork. At the fork, other threads may hold locks of the C
 * library, so a child must not allocate memory. */
struct posix_launch {
    const char *path; /* the variable PATH */
    char *paths;      /* paths to try, each ended by a NUL; an empty path ends the list */
    char **environment;
    int descriptors; /* limit of their numbers, for closing them one by one */
};

/* Prepares for program names of up to name_length bytes. Call posix_launch_end even if this
 * failed. */
int posix_launch_prepare(struct posix_launch *launch, size_t name_length);
void posix_launch_end(struct posix_launch *launch);
/* Forks a keeper: a child in which all signals stay blocked, so that from its first instruction only
 * SIGKILL can end it. */
pid_t posix_fork_keeper(void);

/* ---- for a child as well: these functions make only async-signal-safe calls ---- */

/* Fills in the paths of a program. */
void posix_launch_find(struct posix_launch *launch, const char *name);
/* Closes all descriptors from `first` on. */
void posix_launch_close(const struct posix_launch *launch, int first);
/* Unblocks all signals and resets them to their default actions. */
void posix_launch_reset_signals(void);
/* Becomes the program. It returns only if that failed, with the error number. */
int posix_launch_execute(const struct posix_launch *launch, char *const *words);

#endif
