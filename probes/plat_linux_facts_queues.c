/* Linux: where the work of a network card is done: its queues, and the CPUs that its interrupts and
 * the kernel's own spreading (RPS) take. */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plat.h"
#include "plat_linux_facts.h"

struct cpus {
    bool member[PLAT_CPUS];
    bool known;
};

/* "0-3,8": as the kernel writes a list of CPUs. */
static void add_list(struct cpus *cpus, const char *list)
{
    char *end;
    for (const char *at = list; *at >= '0' && *at <= '9'; at = *end == ',' ? end + 1 : end) {
        unsigned long first = strtoul(at, &end, 10), last = first;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        for (unsigned long cpu = first; cpu <= last && cpu < PLAT_CPUS; cpu++)
            cpus->member[cpu] = true;
    }
    cpus->known = true;
}

/* "00000000,0000000f": hexadecimal words of 32 CPUs, the highest first. */
static void add_mask(struct cpus *cpus, const char *mask)
{
    unsigned cpu = 0;
    for (size_t at = strlen(mask); at-- > 0;) {
        if (mask[at] == ',')
            continue;
        char digit[2] = {mask[at], 0};
        unsigned bits = (unsigned)strtoul(digit, NULL, 16);
        for (unsigned i = 0; i < 4; i++, cpu++)
            if (cpu < PLAT_CPUS && (bits >> i & 1) != 0)
                cpus->member[cpu] = true;
    }
    cpus->known = true;
}

/* Written as a list with ranges; "none" where there is no member, nothing where nothing is known. */
static void say(struct json *out, const char *key, const struct cpus *cpus)
{
    char list[512] = "";
    size_t used = 0;
    if (!cpus->known)
        return;
    for (unsigned first = 0; first < PLAT_CPUS && used + 16 < sizeof list; first++) {
        unsigned last = first;
        if (!cpus->member[first])
            continue;
        while (last + 1 < PLAT_CPUS && cpus->member[last + 1])
            last++;
        used += (size_t)snprintf(list + used, sizeof list - used, first == last ? "%s%u" : "%s%u-%u",
                                 used > 0 ? "," : "", first, last);
        first = last;
    }
    json_text(out, key, used > 0 ? list : "none");
}

/* ---- the card on its bus, which is the same one in every network namespace ---- */

static void add_interrupt(struct cpus *cpus, const char *number)
{
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/irq/%.16s/effective_affinity_list", number);
    if (!facts_line_of(path, line, sizeof line)) {
        snprintf(path, sizeof path, "/proc/irq/%.16s/smp_affinity_list", number);
        if (!facts_line_of(path, line, sizeof line))
            return;
    }
    add_list(cpus, line);
}

void facts_bus(struct json *out, const char *bus)
{
    char path[128], line[64];
    struct cpus cpus = {.known = false};
    if (bus[0] == 0 || strchr(bus, '/') != NULL || strlen(bus) > 32)
        return;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", bus);
    /* -1: the machine does not say, or has one node. */
    uint64_t node;
    if (facts_number_in(path, &node))
        json_u64(out, "interface_numa_node", node);
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/msi_irqs", bus);
    DIR *folder = opendir(path);
    if (folder == NULL) {
        snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/irq", bus);
        if (facts_line_of(path, line, sizeof line) && strcmp(line, "0") != 0)
            add_interrupt(&cpus, line);
    } else {
        for (const struct dirent *entry; (entry = readdir(folder)) != NULL;)
            if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9')
                add_interrupt(&cpus, entry->d_name);
        closedir(folder);
    }
    say(out, "interface_irq_cpus", &cpus);
}

/* ---- the interface in /sys ---- */

static bool is_ours(const char *name, unsigned index, const char *hardware)
{
    char path[96], address[64];
    uint64_t found;
    /* Loopback is the same everywhere. */
    if (strcmp(hardware, "00:00:00:00:00:00") == 0)
        return false;
    snprintf(path, sizeof path, "/sys/class/net/%.32s/ifindex", name);
    if (!facts_number_in(path, &found) || found != index)
        return false;
    snprintf(path, sizeof path, "/sys/class/net/%.32s/address", name);
    return facts_line_of(path, address, sizeof address) && strcmp(address, hardware) == 0;
}

void facts_spreading(struct json *out, const char *name, unsigned index, const char *hardware)
{
    char path[96], line[512];
    struct cpus cpus = {.known = false};
    if (!is_ours(name, index, hardware))
        return;
    for (unsigned queue = 0; queue < 1024; queue++) {
        snprintf(path, sizeof path, "/sys/class/net/%.32s/queues/rx-%u/rps_cpus", name, queue);
        if (!facts_line_of(path, line, sizeof line))
            break;
        add_mask(&cpus, line);
    }
    say(out, "interface_rps_cpus", &cpus);
}
