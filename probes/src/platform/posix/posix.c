/* The process, clocks and threads on Linux, macOS and FreeBSD. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "platform/coarse_sleep.h"

/* ---- the process ---- */

/* A test of a thousand streams needs a thousand sockets, and a login usually may open 1024 files.
 * No test needs more than this limit; macOS refuses an unlimited number. */
static void allow_sockets(void)
{
    const rlim_t limit = 10240;
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= limit)
        return;
    files.rlim_cur = files.rlim_max < limit ? files.rlim_max : limit;
    setrlimit(RLIMIT_NOFILE, &files);
}

int plat_start(void)
{
    allow_sockets();
    signal(SIGCHLD, SIG_DFL); /* if it is ignored, exit codes of children are lost */
    return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? errno : 0;
}

int plat_output_write(const void *bytes, size_t length)
{
    const char *next = bytes;
    while (length > 0) {
        ssize_t put = write(STDOUT_FILENO, next, length);
        if (put < 0) {
            struct pollfd wait = {.fd = STDOUT_FILENO, .events = POLLOUT};
            if (errno == EAGAIN)
                poll(&wait, 1, -1);
            else if (errno != EINTR)
                return errno;
            continue;
        }
        next += put;
        length -= (size_t)put;
    }
    return 0;
}

static uint64_t in_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_usec * 1000;
}

void posix_cpu_ns(const struct rusage *usage, uint64_t *user, uint64_t *system)
{
    *user = in_ns(usage->ru_utime);
    *system = in_ns(usage->ru_stime);
}

bool plat_process_cpu_ns(uint64_t *user, uint64_t *system)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return false;
    posix_cpu_ns(&usage, user, system);
    return true;
}

/* ---- clocks ---- */

uint64_t plat_wall_ns(void)
{
    return posix_clock_ns(CLOCK_REALTIME);
}

void plat_sleep_ns(uint64_t nanoseconds)
{
    nanoseconds = plat_coarse_sleep_ns(nanoseconds);
    struct timespec span = posix_timespec(nanoseconds);
    nanosleep(&span, NULL);
}

/* ---- threads ---- */

struct thread_start {
    plat_routine routine;
    void *argument;
};

#define THREAD_STACK ((size_t)1 << 20)

static void *enter_thread(void *argument)
{
    struct thread_start start = *(struct thread_start *)argument;
    free(argument);
    posix_thread_begins();
    start.routine(start.argument);
    return NULL;
}

int plat_thread_start(plat_thread *out, plat_routine routine, void *argument)
{
    struct thread_start *start = malloc(sizeof *start);
    if (start == NULL)
        return ENOMEM;
    *start = (struct thread_start){routine, argument};
    /* A record (a line of output, struct json) takes 64 KiB of the stack, and the default stack of
     * some systems is only twice that. */
    pthread_attr_t attributes;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        error = pthread_attr_setstacksize(&attributes, THREAD_STACK);
        if (error == 0)
            error = pthread_create(out, &attributes, enter_thread, start);
        pthread_attr_destroy(&attributes);
    }
    if (error != 0)
        free(start);
    return error;
}

void plat_thread_join(plat_thread thread)
{
    pthread_join(thread, NULL);
}

bool plat_own_cpu_ns(uint64_t *out)
{
    *out = posix_clock_ns(CLOCK_THREAD_CPUTIME_ID);
    return true;
}

void plat_mutex_init(plat_mutex *mutex)
{
    pthread_mutex_init(mutex, NULL);
}

void plat_mutex_destroy(plat_mutex *mutex)
{
    pthread_mutex_destroy(mutex);
}

void plat_mutex_lock(plat_mutex *mutex)
{
    pthread_mutex_lock(mutex);
}

void plat_mutex_unlock(plat_mutex *mutex)
{
    pthread_mutex_unlock(mutex);
}

void plat_cond_destroy(plat_cond *cond)
{
    pthread_cond_destroy(cond);
}

void plat_cond_wake(plat_cond *cond)
{
    pthread_cond_broadcast(cond);
}

/* ---- functions that macOS implements in another way: bsd/macos.c ---- */

#if !defined(__APPLE__)
uint64_t plat_now_ns(void)
{
    return posix_clock_ns(CLOCK_MONOTONIC);
}

void plat_cond_init(plat_cond *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

void plat_cond_wait(plat_cond *cond, plat_mutex *mutex, uint64_t until_ns)
{
    struct timespec until = posix_timespec(until_ns);
    pthread_cond_timedwait(cond, mutex, &until);
}
#endif
