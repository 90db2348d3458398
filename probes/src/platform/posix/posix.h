/* Declares the common code of Linux, macOS and FreeBSD, and what each must provide for it. */
#ifndef PLAT_POSIX_H
#define PLAT_POSIX_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "platform/address.h"
#include "pure/nanoseconds.h"

/* ---- shared ---- */

static inline int posix_failed(int result)
{
    return result < 0 ? errno : 0;
}

static inline ptrdiff_t posix_moved(ssize_t result)
{
    return result < 0 ? -(ptrdiff_t)errno : result;
}

static inline uint64_t posix_in_ns(struct timespec time)
{
    return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec;
}

static inline struct timespec posix_timespec(uint64_t nanoseconds)
{
    return (struct timespec){.tv_sec = (time_t)(nanoseconds / SECOND_NS),
                             .tv_nsec = (long)(nanoseconds % SECOND_NS)};
}

static inline uint64_t posix_clock_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return posix_in_ns(now);
}

/* The time until until_ns in milliseconds, rounded up and at most an hour, for calls such as
 * `poll`. */
static inline int posix_until_ms(uint64_t until_ns)
{
    uint64_t now = until_ns > 0 ? plat_now_ns() : 0;
    uint64_t left_ms = until_ns > now ? (until_ns - now + 999999) / 1000000 : 0;
    return left_ms > 3600000 ? 3600000 : (int)left_ms;
}

bool posix_is_v6(int socket);

struct rusage;
/* The user and system CPU time in `usage`. */
void posix_cpu_ns(const struct rusage *usage, uint64_t *user, uint64_t *system);

struct json;
/* Writes the key of the record `facts` that has the addresses of all interfaces. */
void posix_facts_addresses(struct json *out);

/* ---- provided by each system ---- */

/* Called at the start of each thread that netprobe starts. */
void posix_thread_begins(void);
/* Called in a forked child that will be another program; makes only async-signal-safe calls. Ends
 * the child if the process `parent` has ended already. If the system can do so, it kills the child
 * when the thread or the process that forked the child ends. */
void posix_child_begins(int parent);
/* Closes all descriptors of a child from `first` on. False: the system has no call for that. */
bool posix_close_from(int first);
/* Called for each new socket. */
void posix_prepare_socket(int socket);
/* Returns the time limit to set for blocking receive calls if asked_ms is requested; 0: no
 * limit. */
int posix_receive_timeout_ms(int asked_ms);
/* Set or read PLAT_DONT_FRAGMENT and PLAT_REPORT_DROPS, which have different names on each
 * system. */
int posix_set_dont_fragment(int socket, bool on);
int posix_get_dont_fragment(int socket, int *on);
int posix_set_report_drops(int socket, bool on);
/* Sets PLAT_GIVE_UP_S for unacknowledged data; posix/socket.c sets it for idle connections. */
int posix_set_unanswered(int socket, int seconds);

/* ---- programs and keepers ---- */

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

/* ---- the undo log ---- */

/* The undo log has commands that undo changes of this host. Its keeper is a child process that runs
 * these commands after the agent was killed. The keeper notices the agent's end by a pipe. Returns
 * the writing end of this pipe; -1: there is no keeper. */
int posix_undo_lifeline(void);

#endif
