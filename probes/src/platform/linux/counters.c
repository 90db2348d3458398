/* Reads counters of the whole machine or network namespace from Linux's /proc. */
#define _GNU_SOURCE
#include "platform/plat.h"

#include <stdio.h>
#include <string.h>

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
