/* Binds Linux threads to CPUs. Reports where they run, their CPU time, their waiting time and the
 * throttling by quotas. */
#define _GNU_SOURCE
#include "platform/linux/linux.h"
#include "platform/posix/posix.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

unsigned linux_usable_cpus(void)
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
