/* Tells what CPU time a Linux thread had and waited for, and what a quota of it has cost. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <stdio.h>
#include <string.h>

#define PATH_BYTES 1024

/* The kernel's own number of a thread is a part of its clock (man 2 clock_getres): for processes and
 * threads, ~number with three bits behind it that say which clock. Of a thread that has ended musl
 * makes the clock of number 0, which to the kernel is that of whoever asks. */
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
    FILE *file = fopen(path, "re"); /* not there where the kernel does not count it */
    if (file == NULL)
        return false;
    bool told = fscanf(file, "%*u %llu", &delay_ns) == 1;
    fclose(file);
    if (told)
        *out = delay_ns;
    return told;
}

/* ---- control groups ---- */

/* Adds what one group tells. False: nothing. */
static bool add_group(const char *folder, struct plat_throttling *out)
{
    char path[PATH_BYTES + 16], line[128];
    unsigned long long value;
    bool told = false;
    snprintf(path, sizeof path, "%s/cpu.stat", folder);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "nr_periods %llu", &value) == 1) {
            out->periods += value;
            told = true;
        } else if (sscanf(line, "nr_throttled %llu", &value) == 1)
            out->throttled_periods += value;
        else if (sscanf(line, "throttled_time %llu", &value) == 1) /* version 1 */
            out->throttled_ns += value;
        else if (sscanf(line, "throttled_usec %llu", &value) == 1)
            out->throttled_ns += value * 1000;
    }
    fclose(file);
    return told;
}

/* A group, and all that it is in: each of them may have a quota. Of a container the outer ones are
 * not to be seen, and its own may be the root. */
static bool add_groups(const char *mount, const char *group, struct plat_throttling *out)
{
    char folder[PATH_BYTES];
    size_t least = strlen(mount);
    bool told = false;
    int length = snprintf(folder, sizeof folder, "%s%s", mount, strcmp(group, "/") == 0 ? "" : group);
    if (length < 0 || (size_t)length >= sizeof folder)
        return false;
    for (;;) {
        told |= add_group(folder, out);
        char *last = strrchr(folder, '/');
        if (strlen(folder) <= least || last == NULL)
            return told;
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
    bool told = false;
    memset(out, 0, sizeof *out);
    FILE *file = fopen("/proc/self/cgroup", "re");
    if (file == NULL)
        return false;
    while (!told && fgets(line, sizeof line, file) != NULL) { /* NUMBER:CONTROLLERS:PATH */
        line[strcspn(line, "\n")] = 0;
        char *words = strchr(line, ':');
        char *group = words == NULL ? NULL : strchr(words + 1, ':');
        if (group == NULL)
            continue;
        *group++ = 0;
        words++;
        if (words[0] == 0) /* version 2, beside which version 1 may have the controller */
            told = add_groups("/sys/fs/cgroup", group, out);
        else if (has_word(words, "cpu")) {
            snprintf(mount, sizeof mount, "/sys/fs/cgroup/%s", words);
            told = add_groups(mount, group, out);
        }
    }
    fclose(file);
    return told;
}
