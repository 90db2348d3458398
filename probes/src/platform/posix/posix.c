/* The process, clocks, threads, error numbers and addresses on Linux, macOS and FreeBSD. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "platform/shared.h"
#include "pure/json.h"

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

/* ---- error numbers ---- */

_Static_assert(EWOULDBLOCK == EAGAIN, "plat_is_transient tells one of them");

const char *plat_word(int error)
{
    switch (error) {
    case ECONNREFUSED:
        return "connect-refused";
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
        return "unreachable";
    case ETIMEDOUT:
    case EINPROGRESS:
        return "connect-timeout";
    case EADDRINUSE:
        return "address-in-use";
    case EADDRNOTAVAIL:
        return "address-not-available";
    case ENODEV:
    case ENXIO:
        return "no-such-interface";
    case EACCES:
    case EPERM:
        return "permission-denied";
    case EMSGSIZE:
        return "message-too-long";
    case ENOBUFS:
        return "no-buffers";
    case ENOMEM:
        return "out-of-memory";
    case ECONNRESET:
    case EPIPE:
        return "peer-vanished";
    case ENOPROTOOPT:
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT:
    case EOPNOTSUPP:
#if ENOTSUP != EOPNOTSUPP
    case ENOTSUP:
#endif
        return "capability-missing";
    default:
        return "system";
    }
}

void plat_describe(int error, char *into, size_t capacity)
{
    /* strerror_r differs between C libraries; strerror is safe between threads in all of them. */
    snprintf(into, capacity, "%s", strerror(error));
}

bool plat_is_no_buffers(int error)
{
    return error == ENOBUFS || error == ENOMEM;
}

bool plat_is_transient(int error)
{
    return error == EAGAIN || error == EINTR;
}

bool plat_is_peer_gone(int error)
{
    return error == ECONNRESET || error == EPIPE || error == ECONNREFUSED || error == ENOTCONN ||
           error == ECONNABORTED || error == ETIMEDOUT;
}

bool plat_is_unreachable(int error)
{
    return error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN || error == ENETDOWN;
}

bool plat_is_address_in_use(int error)
{
    return error == EADDRINUSE;
}

bool plat_is_missing(int error)
{
    return error == ENOENT;
}

/* ---- addresses of interfaces ---- */

static unsigned prefix_of(const unsigned char *mask, size_t length)
{
    unsigned bits = 0;
    for (size_t i = 0; i < length * 8 && (mask[i / 8] >> (7 - i % 8) & 1) != 0; i++)
        bits++;
    return bits;
}

/* Writes DEVICE=ADDRESS/PREFIX. False: the address is neither IPv4 nor IPv6. */
static bool address_word(const struct ifaddrs *at, char *into, size_t capacity)
{
    char text[INET6_ADDRSTRLEN];
    const void *address, *mask;
    size_t length;
    if (at->ifa_addr == NULL || at->ifa_netmask == NULL)
        return false;
    if (at->ifa_addr->sa_family == AF_INET) {
        address = &((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr;
        mask = &((const struct sockaddr_in *)(const void *)at->ifa_netmask)->sin_addr;
        length = 4;
    } else if (at->ifa_addr->sa_family == AF_INET6) {
        address = &((const struct sockaddr_in6 *)(const void *)at->ifa_addr)->sin6_addr;
        mask = &((const struct sockaddr_in6 *)(const void *)at->ifa_netmask)->sin6_addr;
        length = 16;
    } else {
        return false;
    }
    if (inet_ntop(at->ifa_addr->sa_family, address, text, sizeof text) == NULL)
        return false;
    snprintf(into, capacity, "%s=%s/%u", at->ifa_name, text, prefix_of(mask, length));
    return true;
}

/* Writes as many addresses as fit. A host has only a few, so usually all fit. */
void posix_facts_addresses(struct json *out)
{
    struct ifaddrs *all;
    char list[8192], word[IF_NAMESIZE + INET6_ADDRSTRLEN + 8];
    size_t used = 0;
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next) {
        if (!address_word(at, word, sizeof word))
            continue;
        size_t length = strlen(word);
        if (used + 1 + length > sizeof list)
            break;
        if (used > 0)
            list[used++] = ',';
        memcpy(list + used, word, length);
        used += length;
    }
    freeifaddrs(all);
    if (used > 0)
        json_text_of(out, "addresses", list, used);
}
