/* Linux: the process, clocks, threads, CPU and counters. Sockets: plat_linux_socket.c. */
#define _GNU_SOURCE
#include "plat.h"
#include "plat_coarse_sleep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#define SECOND_NS 1000000000ULL

/* ---- the process ---- */

int plat_start(void)
{
    return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? errno : 0;
}

ptrdiff_t plat_input_read(void *into, size_t capacity, int timeout_ms)
{
    struct pollfd wait = {.fd = STDIN_FILENO, .events = POLLIN};
    int ready = poll(&wait, 1, timeout_ms);
    if (ready <= 0)
        return ready == 0 || errno == EINTR ? PLAT_TIMED_OUT : 0;
    ssize_t got = read(STDIN_FILENO, into, capacity);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN ? PLAT_TIMED_OUT : 0;
    return got;
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

int plat_random(void *into, size_t length)
{
    return getrandom(into, length, 0) == (ssize_t)length ? 0 : EIO;
}

static void read_word(const char *path, char *into, size_t capacity)
{
    into[0] = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fgets(into, (int)capacity, file) == NULL)
        into[0] = 0;
    into[strcspn(into, " \t\r\n")] = 0;
    fclose(file);
}

/* What an emulated Linux lacks, though its kernel has it, is found by trying. */
static char capabilities[256];

static void name_capabilities(void)
{
    int trial = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(capabilities, sizeof capabilities,
             "stream,tcp,udp,ipv4,ipv6,tcp-info,congestion,dont-fragment,dscp,interface,pin,"
             "queue-drops,raw-clock,lock,facts,cpu%s%s",
             trial >= 0 && plat_set_no_checksum(trial) == 0 ? ",no-checksum" : "",
             trial >= 0 && plat_stamps_on(trial, NULL) == 0 ? ",stamps" : "");
    if (trial >= 0)
        close(trial);
}

void plat_identify(struct plat_identity *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    memset(out, 0, sizeof *out);
    out->os = "linux";
    out->clock = "CLOCK_MONOTONIC";
    pthread_once(&once, name_capabilities);
    out->capabilities = capabilities;
    struct utsname name;
    if (uname(&name) == 0) {
        snprintf(out->os_release, sizeof out->os_release, "%s", name.release);
        snprintf(out->architecture, sizeof out->architecture, "%.31s", name.machine);
    }
    read_word("/etc/machine-id", out->machine_id, sizeof out->machine_id);
    if (out->machine_id[0] == 0)
        read_word("/var/lib/dbus/machine-id", out->machine_id, sizeof out->machine_id);
    struct stat netns;
    if (stat("/proc/self/ns/net", &netns) == 0)
        out->network_id = netns.st_ino;
    out->pid = (unsigned)getpid();
    cpu_set_t usable;
    out->cpu_count = 1;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0)
        out->cpu_count = (unsigned)CPU_COUNT(&usable);
}

/* ---- the lock: a listening socket in the abstract namespace of this network namespace ---- */

static const char lock_name[] = "\0netlab/host";
static int lock_socket = -1;
static char lock_owner[256];
static plat_thread lock_thread;

static struct sockaddr_un lock_address(socklen_t *length)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, lock_name, sizeof lock_name - 1);
    *length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + sizeof lock_name - 1);
    return address;
}

/* Tells everybody who connects who holds the lock. */
static void answer_for_the_lock(void *argument)
{
    int listener = *(int *)argument;
    for (;;) {
        int asker = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (asker < 0 && (errno == EINTR || errno == ECONNABORTED))
            continue;
        if (asker < 0)
            return;
        (void)!send(asker, lock_owner, strlen(lock_owner), MSG_NOSIGNAL | MSG_DONTWAIT);
        close(asker);
    }
}

static void ask_the_holder(char *holder, size_t capacity)
{
    socklen_t length;
    struct sockaddr_un address = lock_address(&length);
    int asker = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct timeval patience = {.tv_usec = 200000};
    holder[0] = 0;
    if (asker < 0)
        return;
    setsockopt(asker, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    setsockopt(asker, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    if (connect(asker, (struct sockaddr *)&address, length) == 0) {
        ssize_t got = recv(asker, holder, capacity - 1, 0);
        holder[got > 0 ? got : 0] = 0;
        holder[strcspn(holder, "\n")] = 0;
    }
    close(asker);
}

int plat_lock_take(const char *owner, char *holder, size_t holder_capacity)
{
    socklen_t length;
    struct sockaddr_un address = lock_address(&length);
    if (lock_socket >= 0)
        return 0;
    int fresh = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fresh < 0)
        return errno;
    int error = 0;
    if (bind(fresh, (struct sockaddr *)&address, length) < 0 || listen(fresh, 16) < 0)
        error = errno;
    if (error != 0) {
        close(fresh);
        if (error != EADDRINUSE)
            return error;
        ask_the_holder(holder, holder_capacity);
        return PLAT_LOCKED;
    }
    snprintf(lock_owner, sizeof lock_owner, "%.250s\n", owner);
    lock_socket = fresh;
    error = plat_thread_start(&lock_thread, answer_for_the_lock, &lock_socket);
    if (error != 0) {
        close(fresh);
        lock_socket = -1;
    }
    return error;
}

void plat_lock_release(void)
{
    if (lock_socket < 0)
        return;
    shutdown(lock_socket, SHUT_RDWR);
    plat_thread_join(lock_thread);
    close(lock_socket);
    lock_socket = -1;
}

/* ---- clocks ---- */

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

uint64_t plat_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

bool plat_raw_now_ns(uint64_t *out)
{
    *out = read_clock(CLOCK_MONOTONIC_RAW);
    return true;
}

uint64_t plat_wall_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

void plat_sleep_ns(uint64_t nanoseconds)
{
    nanoseconds = plat_coarse_sleep_ns(nanoseconds);
    struct timespec span = {.tv_sec = (time_t)(nanoseconds / SECOND_NS),
                            .tv_nsec = (long)(nanoseconds % SECOND_NS)};
    nanosleep(&span, NULL);
}

/* ---- threads ---- */

struct thread_start {
    plat_routine routine;
    void *argument;
};

#define THREAD_STACK ((size_t)1 << 20)

static void *enter_thread(void *given)
{
    struct thread_start start = *(struct thread_start *)given;
    free(given);
    /* Sleeps end 50 us late by default, for the sake of batteries. */
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    start.routine(start.argument);
    return NULL;
}

int plat_thread_start(plat_thread *out, plat_routine routine, void *argument)
{
    struct thread_start *start = malloc(sizeof *start);
    if (start == NULL)
        return ENOMEM;
    *start = (struct thread_start){routine, argument};
    /* A record is a line of 64 KiB on the stack, and some systems' default is twice that. */
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

bool plat_thread_cpu_ns(plat_thread thread, uint64_t *out)
{
    clockid_t clock;
    struct timespec used;
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return false;
    *out = (uint64_t)used.tv_sec * SECOND_NS + (uint64_t)used.tv_nsec;
    return true;
}

bool plat_own_cpu_ns(uint64_t *out)
{
    *out = read_clock(CLOCK_THREAD_CPUTIME_ID);
    return true;
}

int plat_pin(unsigned cpu)
{
    cpu_set_t one;
    if (cpu >= CPU_SETSIZE)
        return EINVAL;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

bool plat_cpu_usable(unsigned cpu)
{
    cpu_set_t usable;
    return cpu < CPU_SETSIZE && sched_getaffinity(0, sizeof usable, &usable) == 0 &&
           CPU_ISSET(cpu, &usable);
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

void plat_cond_init(plat_cond *cond)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attributes);
    pthread_condattr_destroy(&attributes);
}

void plat_cond_destroy(plat_cond *cond)
{
    pthread_cond_destroy(cond);
}

void plat_cond_wait(plat_cond *cond, plat_mutex *mutex, uint64_t until_ns)
{
    struct timespec until = {.tv_sec = (time_t)(until_ns / SECOND_NS),
                             .tv_nsec = (long)(until_ns % SECOND_NS)};
    pthread_cond_timedwait(cond, mutex, &until);
}

void plat_cond_wake(plat_cond *cond)
{
    pthread_cond_broadcast(cond);
}

/* ---- CPU and counters ---- */

static uint64_t in_ns(struct timeval time)
{
    return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_usec * 1000;
}

bool plat_process_cpu_ns(uint64_t *user, uint64_t *system)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return false;
    *user = in_ns(usage.ru_utime);
    *system = in_ns(usage.ru_stime);
    return true;
}

void plat_cpu_times(struct plat_cpu_times *out)
{
    char line[512];
    FILE *file = fopen("/proc/stat", "re");
    out->count = 0;
    out->tells_steal = true;
    if (file == NULL)
        return;
    while (out->count < PLAT_CPUS && fgets(line, sizeof line, file) != NULL) {
        unsigned cpu;
        unsigned long long t[8] = {0}; /* user nice system idle iowait irq softirq steal */
        if (strncmp(line, "cpu", 3) != 0)
            break;
        if (line[3] < '0' || line[3] > '9')
            continue; /* the sum of all */
        if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &t[0], &t[1],
                   &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) < 5)
            continue;
        uint64_t busy = t[0] + t[1] + t[2] + t[5] + t[6];
        out->core[out->count].cpu = cpu;
        out->core[out->count].busy = busy;
        out->core[out->count].steal = t[7];
        out->core[out->count].total = busy + t[3] + t[4] + t[7];
        out->count++;
    }
    fclose(file);
}

bool plat_udp_receive_buffer_errors(uint64_t *out)
{
    char line[1024];
    unsigned long long found;
    bool any = false;
    *out = 0;
    FILE *file = fopen("/proc/self/net/snmp", "re");
    if (file != NULL) {
        /* Two lines begin with "Udp:", the names and the values. */
        while (fgets(line, sizeof line, file) != NULL)
            if (sscanf(line, "Udp: %*u %*u %*u %*u %llu", &found) == 1) {
                *out += found;
                any = true;
            }
        fclose(file);
    }
    file = fopen("/proc/self/net/snmp6", "re");
    if (file != NULL) {
        while (fgets(line, sizeof line, file) != NULL)
            if (sscanf(line, "Udp6RcvbufErrors %llu", &found) == 1)
                *out += found;
        fclose(file);
    }
    return any;
}

bool plat_fragments(struct plat_fragments *out)
{
    char line[1024];
    unsigned long long joined, unjoined, failed, created;
    bool any = false;
    memset(out, 0, sizeof *out);
    FILE *file = fopen("/proc/self/net/snmp", "re");
    if (file != NULL) {
        /* The last five of the first nineteen: ReasmOKs ReasmFails FragOKs FragFails FragCreates. */
        while (fgets(line, sizeof line, file) != NULL)
            if (sscanf(line,
                       "Ip: %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %llu %llu %*u "
                       "%llu %llu",
                       &joined, &unjoined, &failed, &created) == 4) {
                *out = (struct plat_fragments){created, failed, joined, unjoined};
                any = true;
            }
        fclose(file);
    }
    file = fopen("/proc/self/net/snmp6", "re");
    if (file != NULL) {
        while (fgets(line, sizeof line, file) != NULL) {
            out->created += sscanf(line, "Ip6FragCreates %llu", &created) == 1 ? created : 0;
            out->failed += sscanf(line, "Ip6FragFails %llu", &failed) == 1 ? failed : 0;
            out->reassembled += sscanf(line, "Ip6ReasmOKs %llu", &joined) == 1 ? joined : 0;
            out->reassembly_failures +=
                sscanf(line, "Ip6ReasmFails %llu", &unjoined) == 1 ? unjoined : 0;
        }
        fclose(file);
    }
    return any;
}
