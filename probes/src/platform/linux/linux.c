/* Identity, clocks, input, CPUs, CPU times and counters of this process and machine on Linux. */
#define _GNU_SOURCE
#include "platform/linux/linux.h"

#include "platform/posix/posix.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- threads and CPUs ---- */

#define PATH_BYTES 1024

/* The kernel's number of a thread is a part of the thread's clock (clock_getres(2)): the clock of a
 * process or a thread is ~number, followed by three bits for the kind of clock. For a thread that
 * has ended, musl returns the clock of number 0, which to the kernel means the calling thread; so 0
 * counts as a failure. */
static bool number_of_thread(plat_thread thread, clockid_t *clock, int *number)
{
    if (pthread_getcpuclockid(thread, clock) != 0)
        return false;
    *number = ~(*clock >> 3);
    return *number > 0;
}

bool plat_thread_cpu_ns(plat_thread thread, uint64_t *out)
{
    clockid_t clock;
    struct timespec used;
    int number;
    if (!number_of_thread(thread, &clock, &number) || clock_gettime(clock, &used) != 0)
        return false;
    *out = posix_in_ns(used);
    return true;
}

bool plat_thread_delay_ns(plat_thread thread, uint64_t *out)
{
    char path[64];
    unsigned long long delay_ns;
    clockid_t clock;
    int number;
    if (!number_of_thread(thread, &clock, &number))
        return false;
    snprintf(path, sizeof path, "/proc/self/task/%d/schedstat", number);
    FILE *file = fopen(path, "re"); /* exists only if the kernel counts the delay */
    if (file == NULL)
        return false;
    bool ok = fscanf(file, "%*u %llu", &delay_ns) == 1;
    fclose(file);
    if (ok)
        *out = delay_ns;
    return ok;
}

/* The CPU is word 39 of the thread's file `stat` (proc(5)). Words are counted after the thread's
 * name, because the name may contain spaces. */
bool plat_thread_place(plat_thread thread, unsigned *cpu)
{
    enum { WORDS_BEFORE = 36 };
    char path[64], line[1024];
    clockid_t clock;
    int number;
    if (!number_of_thread(thread, &clock, &number))
        return false;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", number);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    const char *at = fgets(line, sizeof line, file) != NULL ? strrchr(line, ')') : NULL;
    fclose(file);
    for (int word = 0; at != NULL && word <= WORDS_BEFORE; word++)
        at = strchr(at + 1, ' ');
    return at != NULL && sscanf(at, "%u", cpu) == 1;
}

bool plat_own_place(unsigned *cpu)
{
    const int number = sched_getcpu();
    *cpu = (unsigned)number;
    return number >= 0;
}

/* ---- which CPUs: sets of any size ---- */

#define CPUS_MOST (1u << 20) /* more than any kernel has */

/* The CPUs that this process may use, as a set of the size that this kernel requires. The caller
 * must free it with CPU_FREE. NULL: unknown. */
static cpu_set_t *usable_set(size_t *bytes)
{
    for (unsigned cpus = CPU_SETSIZE; cpus <= CPUS_MOST; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC(cpus);
        if (set == NULL)
            return NULL;
        *bytes = CPU_ALLOC_SIZE(cpus);
        CPU_ZERO_S(*bytes, set);
        if (sched_getaffinity(0, *bytes, set) == 0)
            return set;
        CPU_FREE(set);
        if (errno != EINVAL) /* EINVAL: the set is too small (sched_setaffinity(2)) */
            return NULL;
    }
    return NULL;
}

/* Number of CPUs that this process may use, at least 1. */
static unsigned linux_usable_cpus(void)
{
    size_t bytes;
    cpu_set_t *set = usable_set(&bytes);
    const int count = set != NULL ? CPU_COUNT_S(bytes, set) : 0;
    if (set != NULL)
        CPU_FREE(set);
    return count > 0 ? (unsigned)count : 1;
}

void linux_usable(bool *usable, unsigned most)
{
    size_t bytes = 0;
    cpu_set_t *set = usable_set(&bytes);
    for (unsigned cpu = 0; cpu < most; cpu++)
        usable[cpu] = cpu < bytes * 8 && set != NULL && CPU_ISSET_S(cpu, bytes, set);
    if (set != NULL)
        CPU_FREE(set);
}

bool plat_cpu_usable(unsigned cpu)
{
    size_t bytes;
    cpu_set_t *set = usable_set(&bytes);
    const bool usable = set != NULL && cpu < bytes * 8 && CPU_ISSET_S(cpu, bytes, set);
    if (set != NULL)
        CPU_FREE(set);
    return usable;
}

int plat_pin(unsigned cpu)
{
    if (cpu >= CPUS_MOST)
        return EINVAL;
    const size_t bytes = CPU_ALLOC_SIZE(cpu + 1);
    cpu_set_t *one = CPU_ALLOC(cpu + 1);
    if (one == NULL)
        return ENOMEM;
    CPU_ZERO_S(bytes, one);
    CPU_SET_S(cpu, bytes, one);
    int error = pthread_setaffinity_np(pthread_self(), bytes, one);
    CPU_FREE(one);
    return error;
}

/* ---- control groups ---- */

/* Adds the counters of one group. False: the group has none. */
static bool add_group(const char *folder, struct plat_throttling *out)
{
    char path[PATH_BYTES + 16], line[128];
    unsigned long long value;
    bool ok = false;
    snprintf(path, sizeof path, "%s/cpu.stat", folder);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "nr_periods %llu", &value) == 1) {
            out->periods += value;
            ok = true;
        } else if (sscanf(line, "nr_throttled %llu", &value) == 1)
            out->throttled_periods += value;
        else if (sscanf(line, "throttled_time %llu", &value) == 1) /* version 1 */
            out->throttled_ns += value;
        else if (sscanf(line, "throttled_usec %llu", &value) == 1)
            out->throttled_ns += value * 1000;
    }
    fclose(file);
    return ok;
}

/* Adds the counters of a group and of all groups around it, because each of them may have a quota.
 * In a container the outer groups are invisible, and the container's own group may be the root. */
static bool add_groups(const char *mount, const char *group, struct plat_throttling *out)
{
    char folder[PATH_BYTES];
    size_t least = strlen(mount);
    bool ok = false;
    int length = snprintf(folder, sizeof folder, "%s%s", mount, strcmp(group, "/") == 0 ? "" : group);
    if (length < 0 || (size_t)length >= sizeof folder)
        return false;
    for (;;) {
        ok |= add_group(folder, out);
        char *last = strrchr(folder, '/');
        if (strlen(folder) <= least || last == NULL)
            return ok;
        *last = 0;
    }
}

static bool has_word(const char *words, const char *word)
{
    for (;;) {
        size_t length = strcspn(words, ",");
        if (length == strlen(word) && strncmp(words, word, length) == 0)
            return true;
        if (words[length] == 0)
            return false;
        words += length + 1;
    }
}

bool plat_throttling(struct plat_throttling *out)
{
    char line[PATH_BYTES], mount[PATH_BYTES];
    bool ok = false;
    memset(out, 0, sizeof *out);
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == NULL)
        return false;
    while (!ok && fgets(line, sizeof line, file) != NULL) { /* NUMBER:CONTROLLERS:PATH */
        line[strcspn(line, "\n")] = 0;
        char *words = strchr(line, ':');
        char *group = words == NULL ? NULL : strchr(words + 1, ':');
        if (group == NULL)
            continue;
        *group++ = 0;
        words++;
        /* cgroup version 2; if version 1 is mounted, too, it may have the cpu controller */
        if (words[0] == 0)
            ok = add_groups("/sys/fs/cgroup", group, out);
        else if (has_word(words, "cpu")) {
            snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", words);
            ok = add_groups(mount, group, out);
        }
    }
    fclose(file);
    return ok;
}

/* ---- counters of the machine or the network namespace, from /proc ---- */

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
            continue; /* the line with the sum of all CPUs */
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
    unsigned long long errors;
    bool any = false;
    *out = 0;
    FILE *file = fopen("/proc/self/net/snmp", "re");
    if (file != NULL) {
        /* Two lines begin with "Udp:", the names and the values. */
        while (fgets(line, sizeof line, file) != NULL)
            if (sscanf(line, "Udp: %*u %*u %*u %*u %llu", &errors) == 1) {
                *out += errors;
                any = true;
            }
        fclose(file);
    }
    file = fopen("/proc/self/net/snmp6", "re");
    if (file != NULL) {
        while (fgets(line, sizeof line, file) != NULL)
            if (sscanf(line, "Udp6RcvbufErrors %llu", &errors) == 1)
                *out += errors;
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
        /* Values 15 to 19 are ReasmOKs, ReasmFails, FragOKs, FragFails, FragCreates. */
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

bool plat_checksum_errors(bool udp, uint64_t *out)
{
    char line[1024];
    unsigned long long errors;
    bool any = false;
    *out = 0;
    FILE *file = fopen("/proc/self/net/snmp", "re");
    if (file != NULL) {
        /* InCsumErrors is value 7 of UDP, and value 15 of TCP, whose value 4 may be -1. The values
         * of TCP count IPv6, too. */
        while (fgets(line, sizeof line, file) != NULL)
            if (sscanf(line,
                       udp ? "Udp: %*u %*u %*u %*u %*u %*u %llu"
                           : "Tcp: %*u %*u %*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u %llu",
                       &errors) == 1) {
                *out += errors;
                any = true;
            }
        fclose(file);
    }
    file = udp ? fopen("/proc/self/net/snmp6", "re") : NULL;
    if (file != NULL) {
        while (fgets(line, sizeof line, file) != NULL)
            if (sscanf(line, "Udp6InCsumErrors %llu", &errors) == 1)
                *out += errors;
        fclose(file);
    }
    return any;
}

static bool add_if_named(enum plat_arrived which, const char *name, const char *value,
                         uint64_t *sum)
{
    static const char *const NAMES[PLAT_ARRIVED][3] = {
        [PLAT_OLD_SEGMENTS] = {"PAWSEstab"},
        [PLAT_ECN_PACKETS] = {"InECT0Pkts", "InECT1Pkts", "InCEPkts"},
        [PLAT_ECN_MARKED] = {"InCEPkts"},
    };
    bool any = false;
    for (unsigned i = 0; i < 3 && NAMES[which][i] != NULL && !any; i++)
        any = strcmp(NAMES[which][i], name) == 0;
    *sum += any ? strtoull(value, NULL, 10) : 0;
    return any;
}

/* The file netstat has lines in pairs, names and their values; snmp6 has one pair in each line. */
bool plat_arrived(enum plat_arrived which, uint64_t *out)
{
    char names[8192], values[8192], name[64];
    bool any = false;
    *out = 0;
    FILE *file = fopen("/proc/self/net/netstat", "re");
    if (file == NULL)
        return false;
    while (fgets(names, sizeof names, file) != NULL &&
           fgets(values, sizeof values, file) != NULL) {
        char *name_state = NULL, *value_state = NULL;
        const char *each = strtok_r(names, " \n", &name_state);
        const char *value = strtok_r(values, " \n", &value_state);
        for (; each != NULL && value != NULL; each = strtok_r(NULL, " \n", &name_state)) {
            any |= add_if_named(which, each, value, out);
            value = strtok_r(NULL, " \n", &value_state);
        }
    }
    fclose(file);
    file = fopen("/proc/self/net/snmp6", "re");
    if (file != NULL) {
        while (fgets(names, sizeof names, file) != NULL)
            if (sscanf(names, "Ip6%60s %20s", name, values) == 2)
                any |= add_if_named(which, name, values, out);
        fclose(file);
    }
    return any;
}

bool plat_interface_counts(const char *name, struct plat_interface_counts *out)
{
    char line[512];
    bool is_found = false;
    FILE *file = fopen("/proc/self/net/dev", "re");
    if (file == NULL)
        return false;
    while (!is_found && fgets(line, sizeof line, file) != NULL) {
        unsigned long long in, in_packets, sent, sent_packets;
        char *colon = strrchr(line, ':');
        if (colon == NULL)
            continue;
        *colon = 0;
        if (strcmp(line + strspn(line, " "), name) != 0)
            continue;
        is_found = sscanf(colon + 1, "%llu %llu %*u %*u %*u %*u %*u %*u %llu %llu", &in,
                          &in_packets, &sent, &sent_packets) == 4;
        if (is_found)
            *out = (struct plat_interface_counts){sent, in, sent_packets, in_packets};
    }
    fclose(file);
    return is_found;
}

/* ---- the process ---- */

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

#if defined __GLIBC__ && __GLIBC__ * 100 + __GLIBC_MINOR__ < 225
static ssize_t getrandom(void *into, size_t length, unsigned flags)
{
#ifdef SYS_getrandom
    return syscall(SYS_getrandom, into, length, flags);
#else
    (void)into, (void)length, (void)flags;
    return -1;
#endif
}
#else
#include <sys/random.h>
#endif

/* getrandom (Linux 3.17 and newer) needs no open file. Older kernels have /dev/urandom. */
int plat_random(void *into, size_t length)
{
    if (getrandom(into, length, 0) == (ssize_t)length)
        return 0;
    int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    ssize_t got = read(file, into, length);
    close(file);
    return got == (ssize_t)length ? 0 : EIO;
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

/* A capability is a word for a function that works on this host. An emulated or an old Linux lacks
 * some functions (SO_MEMINFO came with 4.12), and this account may not use some others. So each of
 * these functions is tried once. */
static char capabilities[256];

static void name_capabilities(void)
{
    uint64_t drops;
    int trial = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(capabilities, sizeof capabilities,
             "stream,tcp,udp,ipv4,ipv6,tcp-info,congestion,dont-fragment,dscp,interface,pin,"
             "raw-clock,lock,facts,cpu,poll,batch%s%s%s%s%s",
             trial >= 0 && plat_queue_drops(trial, &drops) ? ",queue-drops" : "",
             trial >= 0 && plat_set_no_checksum(trial) == 0 ? ",no-checksum" : "",
             trial >= 0 && linux_stamps_known(trial) ? ",stamps" : "",
             plat_frames_refusal() == 0 ? ",packet,capture" : "",
             linux_rings_known() ? ",xdp" : "");
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
    out->cpu_count = linux_usable_cpus();
}

/* ---- clocks ---- */

bool plat_raw_now_ns(uint64_t *out)
{
    *out = posix_clock_ns(CLOCK_MONOTONIC_RAW);
    return true;
}

bool plat_suspended_ns(uint64_t *out)
{
    uint64_t awake_ns = posix_clock_ns(CLOCK_MONOTONIC);
    *out = posix_clock_ns(CLOCK_BOOTTIME) - awake_ns;
    return true;
}

/* ---- threads ---- */

/* Sets the timer slack to 1 ns. By default, the kernel ends sleeps up to 50 us late, to save
 * power. */
void posix_thread_begins(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

/* ---- programs ---- */

/* The kernel kills the child when the thread that forked the child ends. If the parent has ended
 * before this was set up, the child already has another parent, and exits. The child inherits the
 * timer slack of the forking thread. So the kernel's default of 50 us is restored: sleeps of a
 * program end as late as usual. */
void posix_child_begins(int parent)
{
    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
    if (getppid() != parent)
        _exit(1);
    prctl(PR_SET_TIMERSLACK, 50000UL, 0UL, 0UL, 0UL);
}

/* close_range exists in Linux 5.9 and newer. */
bool posix_close_from(int first)
{
#ifdef SYS_close_range
    return syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0;
#else
    (void)first;
    return false;
#endif
}
