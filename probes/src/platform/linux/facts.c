/* Writes facts of a Linux host, from /proc, /sys and system calls. Facts that cannot be read are
 * left out. */
#define _GNU_SOURCE
#include "platform/linux/facts.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "platform/hypervisor.h"
#include "platform/plat.h"
#include "platform/posix/posix.h"

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
