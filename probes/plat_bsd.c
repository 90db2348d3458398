/* macOS and FreeBSD: the process, the lock, clocks, threads, CPU. Sockets: plat_bsd_socket.c, facts
 * and interfaces: plat_bsd_facts.c. What the two do differently stands in a section for each. */
#include "plat.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/types.h>

#include <sys/resource.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/sysctl.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "plat_coarse_sleep.h"

#define SECOND_NS 1000000000ULL

static uint64_t in_ns(struct timespec time)
{
    return (uint64_t)time.tv_sec * SECOND_NS + (uint64_t)time.tv_nsec;
}

static uint64_t read_clock(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return in_ns(now);
}

/* ---- what the two do differently ---- */

#if defined(__APPLE__)
#include <mach/mach.h>
#include <uuid/uuid.h>

static const char system_name[] = "macos";
/* Absent: pin, which macOS has none of; queue-drops, which it does not tell. */
static const char system_capabilities[] =
    "stream,tcp,udp,ipv4,ipv6,tcp-info,dont-fragment,dscp,interface,raw-clock,lock,facts,cpu,"
    "no-checksum";

static void read_machine_id(char *into, size_t capacity)
{
    uuid_t id;
    uuid_string_t text;
    struct timespec patience = {.tv_sec = 1};
    if (gethostuuid(id, &patience) != 0)
        return;
    uuid_unparse_lower(id, text);
    snprintf(into, capacity, "%s", text);
}

static bool read_raw_clock(uint64_t *out)
{
    *out = read_clock(CLOCK_MONOTONIC_RAW);
    return true;
}

bool plat_thread_cpu_ns(plat_thread thread, uint64_t *out)
{
    thread_basic_info_data_t info;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    if (thread_info(pthread_mach_thread_np(thread), THREAD_BASIC_INFO, (thread_info_t)&info,
                    &count) != KERN_SUCCESS)
        return false;
    *out = ((uint64_t)info.user_time.seconds + (uint64_t)info.system_time.seconds) * SECOND_NS +
           ((uint64_t)info.user_time.microseconds + (uint64_t)info.system_time.microseconds) * 1000;
    return true;
}

int plat_pin(unsigned cpu)
{
    (void)cpu;
    return ENOTSUP;
}

bool plat_cpu_usable(unsigned cpu)
{
    (void)cpu;
    return false;
}

static unsigned usable_cpus(void)
{
    return 0; /* as many as are online */
}

/* Its condition variables know the wall clock alone, or a span from now on. */
void plat_cond_init(plat_cond *cond)
{
    pthread_cond_init(cond, NULL);
}

void plat_cond_wait(plat_cond *cond, plat_mutex *mutex, uint64_t until_ns)
{
    uint64_t now = plat_now_ns();
    if (now >= until_ns)
        return;
    uint64_t left_ns = until_ns - now;
    if (left_ns > 3600 * SECOND_NS)
        left_ns = 3600 * SECOND_NS;
    struct timespec span = {.tv_sec = (time_t)(left_ns / SECOND_NS),
                            .tv_nsec = (long)(left_ns % SECOND_NS)};
    pthread_cond_timedwait_relative_np(cond, mutex, &span);
}

void plat_cpu_times(struct plat_cpu_times *out)
{
    natural_t cpus = 0;
    processor_info_array_t info = NULL;
    mach_msg_type_number_t words = 0;
    host_t host = mach_host_self();
    out->count = 0;
    out->tells_steal = false;
    if (host_processor_info(host, PROCESSOR_CPU_LOAD_INFO, &cpus, &info, &words) == KERN_SUCCESS) {
        const processor_cpu_load_info_t load = (processor_cpu_load_info_t)(void *)info;
        for (natural_t i = 0; i < cpus && i < PLAT_CPUS; i++) {
            uint64_t busy = (uint64_t)load[i].cpu_ticks[CPU_STATE_USER] +
                            load[i].cpu_ticks[CPU_STATE_SYSTEM] + load[i].cpu_ticks[CPU_STATE_NICE];
            out->core[i].cpu = i;
            out->core[i].busy = busy;
            out->core[i].steal = 0;
            out->core[i].total = busy + load[i].cpu_ticks[CPU_STATE_IDLE];
            out->count++;
        }
        vm_deallocate(mach_task_self(), (vm_address_t)info, words * sizeof *info);
    }
    mach_port_deallocate(mach_task_self(), host);
}

#else /* FreeBSD */
#include <sys/cpuset.h>

#include <pthread_np.h>

static const char system_name[] = "freebsd";
/* Absent: interface, for a socket cannot be bound to a device; queue-drops; raw-clock. */
static const char system_capabilities[] =
    "stream,tcp,udp,ipv4,ipv6,tcp-info,congestion,dont-fragment,dscp,pin,lock,facts,cpu";

static void read_machine_id(char *into, size_t capacity)
{
    size_t length = capacity - 1;
    if (sysctlbyname("kern.hostuuid", into, &length, NULL, 0) != 0)
        into[0] = 0;
}

static bool read_raw_clock(uint64_t *out)
{
    (void)out;
    return false;
}

bool plat_thread_cpu_ns(plat_thread thread, uint64_t *out)
{
    clockid_t clock;
    struct timespec used;
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return false;
    *out = in_ns(used);
    return true;
}

int plat_pin(unsigned cpu)
{
    cpuset_t one;
    if (cpu >= CPU_SETSIZE)
        return EINVAL;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static bool read_usable(cpuset_t *usable)
{
    return cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_PID, -1, sizeof *usable, usable) == 0;
}

bool plat_cpu_usable(unsigned cpu)
{
    cpuset_t usable;
    return cpu < CPU_SETSIZE && read_usable(&usable) && CPU_ISSET(cpu, &usable);
}

static unsigned usable_cpus(void)
{
    cpuset_t usable;
    return read_usable(&usable) ? (unsigned)CPU_COUNT(&usable) : 0;
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
    struct timespec until = {.tv_sec = (time_t)(until_ns / SECOND_NS),
                             .tv_nsec = (long)(until_ns % SECOND_NS)};
    pthread_cond_timedwait(cond, mutex, &until);
}

void plat_cpu_times(struct plat_cpu_times *out)
{
    long times[PLAT_CPUS][CPUSTATES];
    size_t length = sizeof times;
    out->count = 0;
    out->tells_steal = false;
    if (sysctlbyname("kern.cp_times", times, &length, NULL, 0) != 0)
        return;
    for (unsigned i = 0; i < length / sizeof times[0]; i++) {
        uint64_t busy = (uint64_t)times[i][CP_USER] + (uint64_t)times[i][CP_NICE] +
                        (uint64_t)times[i][CP_SYS] + (uint64_t)times[i][CP_INTR];
        out->core[i].cpu = i;
        out->core[i].busy = busy;
        out->core[i].steal = 0;
        out->core[i].total = busy + (uint64_t)times[i][CP_IDLE];
        out->count++;
    }
}

#endif

/* ---- the process ---- */

int plat_start(void)
{
    return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? errno : 0;
}

/* `select`, for macOS cannot poll a terminal. */
ptrdiff_t plat_input_read(void *into, size_t capacity, int timeout_ms)
{
    fd_set readable;
    struct timeval patience = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    FD_ZERO(&readable);
    FD_SET(STDIN_FILENO, &readable);
    int ready = select(STDIN_FILENO + 1, &readable, NULL, NULL, &patience);
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
    arc4random_buf(into, length);
    return 0;
}

/* The names that other systems give to the same processors. */
static const char *architecture(const char *machine)
{
    if (strcmp(machine, "arm64") == 0)
        return "aarch64";
    return strcmp(machine, "amd64") == 0 ? "x86_64" : machine;
}

void plat_identify(struct plat_identity *out)
{
    struct utsname name;
    memset(out, 0, sizeof *out);
    out->os = system_name;
    out->clock = "CLOCK_MONOTONIC";
    out->capabilities = system_capabilities;
    if (uname(&name) == 0) {
        snprintf(out->os_release, sizeof out->os_release, "%.127s", name.release);
        snprintf(out->architecture, sizeof out->architecture, "%.31s", architecture(name.machine));
    }
    read_machine_id(out->machine_id, sizeof out->machine_id);
    out->pid = (unsigned)getpid();
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    out->cpu_count = usable_cpus();
    if (out->cpu_count == 0)
        out->cpu_count = online > 0 ? (unsigned)online : 1;
}

/* ---- the lock: a file that the kernel locks for this process, and unlocks when it ends ---- */

static const char lock_path[] = "/tmp/netlab-host.lock";
static int lock_file = -1;

static void read_holder(int file, char *holder, size_t capacity)
{
    ssize_t got = pread(file, holder, capacity - 1, 0);
    holder[got > 0 ? got : 0] = 0;
    holder[strcspn(holder, "\n")] = 0;
}

/* The file stays: whoever removed it would let two processes lock two files of one name. */
int plat_lock_take(const char *owner, char *holder, size_t holder_capacity)
{
    char line[256];
    if (lock_file >= 0)
        return 0;
    int fresh = open(lock_path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fresh < 0)
        return errno;
    fchmod(fresh, 0666); /* so that all users exclude each other */
    if (flock(fresh, LOCK_EX | LOCK_NB) != 0) {
        int error = errno;
        if (error == EWOULDBLOCK)
            read_holder(fresh, holder, holder_capacity);
        close(fresh);
        return error == EWOULDBLOCK ? PLAT_LOCKED : error;
    }
    int length = snprintf(line, sizeof line, "%.250s\n", owner);
    if (ftruncate(fresh, 0) != 0 || pwrite(fresh, line, (size_t)length, 0) != length) {
        int error = errno;
        close(fresh);
        return error;
    }
    lock_file = fresh;
    return 0;
}

void plat_lock_release(void)
{
    if (lock_file >= 0)
        close(lock_file);
    lock_file = -1;
}

/* ---- clocks ---- */

uint64_t plat_now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

bool plat_raw_now_ns(uint64_t *out)
{
    return read_raw_clock(out);
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

bool plat_own_cpu_ns(uint64_t *out)
{
    *out = read_clock(CLOCK_THREAD_CPUTIME_ID);
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

/* ---- CPU ---- */

bool plat_process_cpu_ns(uint64_t *user, uint64_t *system)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return false;
    *user = (uint64_t)usage.ru_utime.tv_sec * SECOND_NS + (uint64_t)usage.ru_utime.tv_usec * 1000;
    *system = (uint64_t)usage.ru_stime.tv_sec * SECOND_NS + (uint64_t)usage.ru_stime.tv_usec * 1000;
    return true;
}
