/* Writes on which CPUs Linux does the work of a network card. The card's queues, its interrupts and
 * the kernel's packet steering (RPS) determine these CPUs. */
#define _GNU_SOURCE
#include <dirent.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/linux/facts.h"
#include "platform/plat.h"

struct cpus {
    bool member[PLAT_CPUS];
    bool is_known;
};

/* Adds the CPUs of a list in the kernel's form, such as "0-3,8". */
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
    cpus->is_known = true;
}

/* Adds the CPUs of a mask such as "00000000,0000000f": each word has 32 CPUs, the highest first. */
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
    cpus->is_known = true;
}

/* Writes the CPUs as a list with ranges; "none" if there are none. False: they are not known. */
static bool write_list(const struct cpus *cpus, char *into, size_t capacity)
{
    size_t used = 0;
    snprintf(into, capacity, "%s", cpus->is_known ? "none" : "");
    for (unsigned first = 0; first < PLAT_CPUS && used + 16 < capacity; first++) {
        unsigned last = first;
        if (!cpus->member[first])
            continue;
        while (last + 1 < PLAT_CPUS && cpus->member[last + 1])
            last++;
        used += (size_t)snprintf(into + used, capacity - used, first == last ? "%s%u" : "%s%u-%u",
                                 used > 0 ? "," : "", first, last);
        first = last;
    }
    return cpus->is_known;
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

bool facts_bus(struct json *out, const char *bus)
{
    char path[128], line[64], list[512];
    struct cpus cpus = {.is_known = false};
    if (bus[0] == 0 || strchr(bus, '/') != NULL || strlen(bus) > 32)
        return false;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s", bus);
    if (access(path, F_OK) != 0)
        return false;
    snprintf(path, sizeof path, "/sys/bus/pci/devices/%s/numa_node", bus);
    /* -1: the machine has one node, or does not report it. */
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
    if (write_list(&cpus, list, sizeof list))
        json_text(out, "interface_irq_cpus", list);
    return true;
}

/* ---- the interface in /sys ---- */

/* /sys may have been mounted from another network namespace. So an interface in it is this
 * namespace's interface of that name only if both have the same index and hardware address. */
static bool is_ours(const char *name)
{
    struct ifreq request;
    char path[96], address[64], ours[24];
    uint64_t index;
    int asker = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (asker < 0)
        return false;
    memset(&request, 0, sizeof request);
    strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
    const bool has_address = ioctl(asker, SIOCGIFHWADDR, &request) == 0;
    close(asker);
    const unsigned char *byte = (const unsigned char *)request.ifr_hwaddr.sa_data;
    snprintf(ours, sizeof ours, "%02x:%02x:%02x:%02x:%02x:%02x", byte[0], byte[1], byte[2], byte[3],
             byte[4], byte[5]);
    /* Loopback looks the same in every namespace, so it is never accepted. */
    if (!has_address || strcmp(ours, "00:00:00:00:00:00") == 0)
        return false;
    snprintf(path, sizeof path, "/sys/class/net/%.32s/ifindex", name);
    if (!facts_number_in(path, &index) || index != if_nametoindex(name))
        return false;
    snprintf(path, sizeof path, "/sys/class/net/%.32s/address", name);
    return facts_line_of(path, address, sizeof address) && strcmp(address, ours) == 0;
}

void facts_device(struct json *out, const char *name)
{
    char path[96];
    uint64_t node;
    snprintf(path, sizeof path, "/sys/class/net/%.32s/device/numa_node", name);
    if (is_ours(name) && facts_number_in(path, &node)) /* false for -1, see facts_bus */
        json_u64(out, "interface_numa_node", node);
}

static unsigned queues_of(const char *name, const char *way)
{
    char path[96];
    unsigned count = 0;
    do
        snprintf(path, sizeof path, "/sys/class/net/%.32s/queues/%s-%u", name, way, count++);
    while (access(path, F_OK) == 0 && count < PLAT_CPUS);
    return count - 1;
}

void facts_queues(struct json *out, const char *name)
{
    const unsigned rx = is_ours(name) ? queues_of(name, "rx") : 0;
    if (rx == 0)
        return;
    json_u64(out, "interface_queues_rx", rx);
    json_u64(out, "interface_queues_tx", queues_of(name, "tx"));
}

bool plat_receive_steering(const char *name, char into[PLAT_STEERING])
{
    char path[96], line[512];
    struct cpus cpus = {.is_known = false};
    const bool ours = is_ours(name);
    for (unsigned queue = 0; queue < 1024 && ours; queue++) {
        snprintf(path, sizeof path, "/sys/class/net/%.32s/queues/rx-%u/rps_cpus", name, queue);
        if (!facts_line_of(path, line, sizeof line))
            break;
        add_mask(&cpus, line);
    }
    return write_list(&cpus, into, PLAT_STEERING);
}
