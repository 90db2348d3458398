/* Writes the frequency settings and idle states of Linux CPUs, from /sys/devices/system/cpu. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "platform/linux/facts.h"
#include "platform/linux/linux.h"
#include "platform/plat.h"
#include "pure/text.h"

#define CPU "/sys/devices/system/cpu/"
#define IDLE_STATES 16

static void turbo(struct json *out)
{
    uint64_t value;
    if (facts_number_in(CPU "intel_pstate/no_turbo", &value))
        json_text(out, "turbo", value == 0 ? "on" : "off");
    else if (facts_number_in(CPU "cpufreq/boost", &value))
        json_text(out, "turbo", value != 0 ? "on" : "off");
}

/* Adds a word to a list with commas, unless the list contains it already or has no room. */
static void add_word(char *list, size_t capacity, const char *word)
{
    size_t used = strlen(list);
    if (!comma_list_has(list, word) && used + 1 + strlen(word) < capacity)
        snprintf(list + used, capacity - used, "%s%s", used > 0 ? "," : "", word);
}

/* Writes the governors of all CPUs that this process may use, each governor once. */
static void governors(struct json *out)
{
    char path[96], word[32], list[128] = "";
    bool usable[PLAT_CPUS];
    linux_usable(usable, PLAT_CPUS);
    for (unsigned cpu = 0; cpu < PLAT_CPUS; cpu++) {
        if (!usable[cpu])
            continue;
        snprintf(path, sizeof path, CPU "cpu%u/cpufreq/scaling_governor", cpu);
        if (facts_line_of(path, word, sizeof word))
            add_word(list, sizeof list, word);
    }
    if (list[0] != 0)
        json_text(out, "governor", list);
}

/* The enabled idle state from which a CPU takes longest to wake up. */
struct deepest {
    uint64_t latency_us;
    char name[32];
};

/* Looks at the idle state number `state` of a CPU, and keeps it if it is enabled and is the deepest
 * one so far. False: the CPU has no state with this number. */
static bool look_at_state(unsigned cpu, unsigned state, struct deepest *deepest)
{
    char path[96], name[32];
    uint64_t disabled, latency_us;
    int length = snprintf(path, sizeof path, CPU "cpu%u/cpuidle/state%u/", cpu, state);
    char *end = path + length;
    strcpy(end, "name");
    if (!facts_line_of(path, name, sizeof name))
        return false;
    strcpy(end, "disable");
    if (!facts_number_in(path, &disabled) || disabled != 0)
        return true;
    strcpy(end, "latency");
    if (facts_number_in(path, &latency_us) &&
        (deepest->name[0] == 0 || latency_us > deepest->latency_us)) {
        deepest->latency_us = latency_us;
        snprintf(deepest->name, sizeof deepest->name, "%s", name);
    }
    return true;
}

/* Writes the deepest idle state and its latency: a packet may have to wait this long for a CPU to
 * wake up. */
static void idle(struct json *out)
{
    struct deepest deepest = {.latency_us = 0};
    bool usable[PLAT_CPUS];
    linux_usable(usable, PLAT_CPUS);
    for (unsigned cpu = 0; cpu < PLAT_CPUS; cpu++)
        for (unsigned state = 0; state < IDLE_STATES && usable[cpu]; state++)
            if (!look_at_state(cpu, state, &deepest))
                break;
    if (deepest.name[0] == 0)
        return;
    json_text(out, "idle_state_deepest", deepest.name);
    json_u64(out, "idle_state_latency_us", deepest.latency_us);
}

/* Writes the number of NUMA nodes; 1 if all memory is equally far from all CPUs. */
static void nodes(struct json *out)
{
    char path[64];
    struct stat folder;
    uint64_t count = 0;
    for (unsigned node = 0; node < 1024; node++) {
        snprintf(path, sizeof path, "/sys/devices/system/node/node%u", node);
        count += stat(path, &folder) == 0;
    }
    if (count > 0)
        json_u64(out, "numa_nodes", count);
}

void facts_cpu(struct json *out)
{
    governors(out);
    turbo(out);
    idle(out);
    nodes(out);
}
