/* Writes facts of a Linux host, from /proc, /sys and system calls. Facts that cannot be read are
 * left out. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <dirent.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "platform/linux/linux.h"
#include "platform/shared.h"
#include "pure/text.h"

/* ---- small files that contain a line, a number or a list ---- */

bool facts_line_of(const char *path, char *into, size_t capacity)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return false;
    bool got = fgets(into, (int)capacity, file) != NULL;
    fclose(file);
    if (!got)
        return false;
    into[strcspn(into, "\n")] = 0;
    return into[0] != 0;
}

/* Write the line or the number of a file as a key. If the file has none, they write nothing. */
static void facts_text(struct json *out, const char *key, const char *path)
{
    char line[256];
    if (facts_line_of(path, line, sizeof line))
        json_text(out, key, line);
}

/* Reads the number in a file that contains only a number. False: there is no number, or it is
 * negative. */
static bool facts_number_in(const char *path, uint64_t *value)
{
    char line[64], *end;
    if (!facts_line_of(path, line, sizeof line) || line[0] < '0' || line[0] > '9')
        return false;
    *value = strtoull(line, &end, 10);
    return *end == 0;
}

bool plat_window_scaling(bool *out)
{
    uint64_t is_offered;
    if (!facts_number_in("/proc/sys/net/ipv4/tcp_window_scaling", &is_offered))
        return false;
    *out = is_offered != 0;
    return true;
}

static void facts_number(struct json *out, const char *key, const char *path)
{
    uint64_t value;
    if (facts_number_in(path, &value))
        json_u64(out, key, value);
}

/* Writes the words of a file, which are separated by blanks there, joined by `separator`. */
static void facts_list(struct json *out, const char *key, const char *path, char separator)
{
    char line[256], list[256];
    size_t used = 0;
    if (!facts_line_of(path, line, sizeof line))
        return;
    for (char *rest, *word = strtok_r(line, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        if (used > 0)
            list[used++] = separator;
        size_t length = strlen(word);
        memcpy(list + used, word, length);
        used += length;
    }
    json_text_of(out, key, list, used);
}

/* ---- frequency settings and idle states of CPUs ---- */

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

/* Writes the CPUs' governors, turbo setting and deepest idle state, and the number of NUMA
 * nodes. */
static void facts_cpu(struct json *out)
{
    governors(out);
    turbo(out);
    idle(out);
    nodes(out);
}

/* ---- CPUs that do the work of a network card ---- */

/* The card's queues, its interrupts and the kernel's packet steering (RPS) determine these CPUs. */

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

/* ---- the machine ---- */

/* PRETTY_NAME of os-release(5); its value may be in quotes. */
static void distribution(struct json *out)
{
    char line[256];
    FILE *file = fopen("/etc/os-release", "re");
    if (file == NULL)
        file = fopen("/usr/lib/os-release", "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "PRETTY_NAME=", 12) != 0)
            continue;
        char *value = line + 12;
        value[strcspn(value, "\n")] = 0;
        if (value[0] == '"' || value[0] == '\'') {
            value[strcspn(value + 1, "\"'") + 1] = 0;
            value++;
        }
        json_text(out, "distribution", value);
        break;
    }
    fclose(file);
}

static void cpu_model(struct json *out)
{
    static const char *const names[] = {"model name", "cpu model", "Model", "Processor", "cpu"};
    char line[256];
    FILE *file = fopen("/proc/cpuinfo", "re");
    bool is_found = false;
    if (file == NULL)
        return;
    while (!is_found && fgets(line, sizeof line, file) != NULL)
        for (size_t i = 0; !is_found && i < sizeof names / sizeof names[0]; i++) {
            size_t length = strlen(names[i]);
            char *colon = strchr(line, ':');
            is_found = colon != NULL && strncmp(line, names[i], length) == 0 &&
                       strspn(line + length, " \t") == (size_t)(colon - line) - length;
            if (!is_found)
                continue;
            colon[strcspn(colon, "\n")] = 0;
            json_text(out, "cpu_model", colon + 1 + strspn(colon + 1, " \t"));
        }
    fclose(file);
}

/* Finds the hypervisor by the machine's maker, which the firmware's tables name. Used if the CPU
 * does not report its hypervisor. */
static const char *maker(void)
{
    static const char *const makers[][2] = {{"QEMU", "qemu"},     {"KVM", "kvm"},
                                            {"Amazon EC2", "kvm"}, {"VMware", "vmware"},
                                            {"Microsoft Corporation", "hyper-v"}, {"Xen", "xen"}};
    char line[128];
    if (access("/proc/device-tree/hypervisor", F_OK) == 0)
        return "kvm";
    if (!facts_line_of("/sys/class/dmi/id/sys_vendor", line, sizeof line))
        return NULL;
    for (size_t i = 0; i < sizeof makers / sizeof makers[0]; i++)
        if (strncmp(line, makers[i][0], strlen(makers[i][0])) == 0)
            return makers[i][1];
    return "none";
}

static void virtual(struct json *out)
{
    const char *name = plat_hypervisor();
    json_text(out, "virtual", name != NULL ? name : maker());
}

static void machine(struct json *out)
{
    struct utsname names;
    struct plat_identity identity;
    if (uname(&names) == 0) {
        json_text(out, "kernel", names.release);
        json_text(out, "hostname", names.nodename);
    }
    distribution(out);
    cpu_model(out);
    long cpus = sysconf(_SC_NPROCESSORS_ONLN), pages = sysconf(_SC_PHYS_PAGES);
    if (cpus > 0)
        json_u64(out, "cpu_count", (uint64_t)cpus);
    if (pages > 0)
        json_u64(out, "memory_bytes", (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE));
    plat_identify(&identity);
    if (identity.machine_id[0] != 0)
        json_text(out, "machine_id", identity.machine_id);
    if (identity.network_id != 0)
        json_u64(out, "network_id", identity.network_id);
    facts_text(out, "boot_id", "/proc/sys/kernel/random/boot_id");
    virtual(out);
    facts_cpu(out);
}

/* ---- the network stack; /proc/sys/net is this network namespace's own ---- */

#define IPV4 "/proc/sys/net/ipv4/"
#define CORE "/proc/sys/net/core/"

/* Number of frames that were dropped because a CPU's backlog was full: column 2 of each CPU's row,
 * in hexadecimal. It counts frames of the whole machine, in all network namespaces. */
static void softnet(struct json *out)
{
    char line[512];
    unsigned long long dropped = 0;
    bool ok = false;
    FILE *file = fopen("/proc/net/softnet_stat", "re");
    if (file == NULL)
        return;
    while (fgets(line, sizeof line, file) != NULL) {
        unsigned row = 0;
        if (sscanf(line, "%*x %x", &row) != 1)
            continue;
        dropped += row;
        ok = true;
    }
    fclose(file);
    if (ok)
        json_u64(out, "softnet_dropped_packets", dropped);
}

/* The congestion controls that this account may choose, found by setting each of them once. */
static void congestion_allowed(struct json *out)
{
    char list[256], allowed[256];
    size_t used = 0;
    if (!facts_line_of(IPV4 "tcp_available_congestion_control", list, sizeof list))
        return;
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0)
        return;
    for (char *rest, *word = strtok_r(list, " \t", &rest); word != NULL;
         word = strtok_r(NULL, " \t", &rest)) {
        const size_t length = strlen(word);
        if (setsockopt(descriptor, IPPROTO_TCP, TCP_CONGESTION, word, (socklen_t)length) != 0)
            continue;
        if (used > 0)
            allowed[used++] = ',';
        memcpy(allowed + used, word, length);
        used += length;
    }
    close(descriptor);
    json_text_of(out, "congestion_allowed", allowed, used);
}

static void stack(struct json *out)
{
    softnet(out);
    facts_text(out, "congestion", IPV4 "tcp_congestion_control");
    facts_list(out, "congestion_available", IPV4 "tcp_available_congestion_control", ',');
    congestion_allowed(out);
    facts_number(out, "ecn", IPV4 "tcp_ecn");
    facts_number(out, "rmem_max_bytes", CORE "rmem_max");
    facts_number(out, "wmem_max_bytes", CORE "wmem_max");
    facts_list(out, "tcp_rmem", IPV4 "tcp_rmem", ' ');
    facts_list(out, "tcp_wmem", IPV4 "tcp_wmem", ' ');
    facts_number(out, "tcp_no_metrics_save", IPV4 "tcp_no_metrics_save");
    facts_number(out, "tcp_timestamps", IPV4 "tcp_timestamps");
    facts_number(out, "tcp_window_scaling", IPV4 "tcp_window_scaling");
    facts_text(out, "default_qdisc", CORE "default_qdisc");
}

void plat_counters(struct json *out, const char *to, const char *interface)
{
    softnet(out);
    if (to != NULL)
        facts_counters(out, to, interface);
}

void plat_facts(struct json *out, const char *to, const char *interface)
{
    machine(out);
    stack(out);
    if (to != NULL)
        facts_route(out, to, interface);
    posix_facts_addresses(out);
}
