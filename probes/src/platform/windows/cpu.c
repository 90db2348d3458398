/* The CPUs of Windows, and the CPU time of threads and the process. */
#include "platform/windows/windows.h"

#include <iphlpapi.h>
#include <stdlib.h>
#include <string.h>

#include "pure/cpu.h"

/* ---- which CPUs: Windows keeps them in groups of up to 64 ---- */

/* If Windows does not report its groups, the first 64 CPUs are one group. */
static void read_groups(struct cpu_groups *out)
{
    DWORD bytes = 0;
    memset(out, 0, sizeof *out);
    GetLogicalProcessorInformationEx(RelationGroup, NULL, &bytes);
    SYSTEM_LOGICAL_PROCESSOR_INFORMATION_EX *relation = bytes > 0 ? malloc(bytes) : NULL;
    if (relation != NULL && GetLogicalProcessorInformationEx(RelationGroup, relation, &bytes) &&
        relation->Relationship == RelationGroup)
        for (WORD i = 0; i < relation->Group.ActiveGroupCount && i < CPU_GROUPS_MAX; i++)
            out->masks[out->count++] = relation->Group.GroupInfo[i].ActiveProcessorMask;
    free(relation);
    if (out->count > 0)
        return;
    const DWORD cpus = GetActiveProcessorCount(0);
    out->count = 1;
    out->masks[0] = cpus >= 64 ? UINT64_MAX : (UINT64_C(1) << cpus) - 1;
}

/* Whether this process may use a CPU. If the process is in one group, its affinity mask limits only
 * the CPUs of this group; threads may be moved to the CPUs of other groups. If the process is in
 * several groups, the mask is 0, and it may use all CPUs. */
static bool is_usable(unsigned group, unsigned bit)
{
    DWORD_PTR ours, all;
    USHORT groups[CPU_GROUPS_MAX], count = CPU_GROUPS_MAX;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &ours, &all) || ours == 0)
        return true;
    if (!GetProcessGroupAffinity(GetCurrentProcess(), &count, groups))
        groups[0] = 0;
    else if (count != 1)
        return true;
    return group != groups[0] || (ours >> bit & 1) != 0;
}

bool plat_cpu_usable(unsigned cpu)
{
    struct cpu_groups groups;
    unsigned group, bit;
    read_groups(&groups);
    return cpu_groups_place(&groups, cpu, &group, &bit) && is_usable(group, bit);
}

unsigned windows_usable_cpus(void)
{
    struct cpu_groups groups;
    unsigned usable = 0;
    read_groups(&groups);
    for (unsigned group = 0; group < groups.count; group++)
        for (unsigned bit = 0; bit < 64; bit++)
            usable += (groups.masks[group] >> bit & 1) != 0 && is_usable(group, bit);
    return usable > 0 ? usable : 1;
}

int plat_pin(unsigned cpu)
{
    GROUP_AFFINITY place;
    struct cpu_groups groups;
    unsigned group, bit;
    memset(&place, 0, sizeof place);
    read_groups(&groups);
    if (!cpu_groups_place(&groups, cpu, &group, &bit))
        return ERROR_INVALID_PARAMETER;
    place.Group = (WORD)group;
    place.Mask = (KAFFINITY)1 << bit;
    return SetThreadGroupAffinity(GetCurrentThread(), &place, NULL) ? 0 : (int)GetLastError();
}

/* Windows does not report the CPU of another thread. */
bool plat_thread_place(plat_thread thread, unsigned *cpu)
{
    (void)thread;
    (void)cpu;
    return false;
}

bool plat_own_place(unsigned *cpu)
{
    PROCESSOR_NUMBER place;
    struct cpu_groups groups;
    read_groups(&groups);
    GetCurrentProcessorNumberEx(&place);
    return cpu_groups_number(&groups, place.Group, place.Number, cpu);
}

/* ---- CPU time ---- */

/* The resolution is the scheduler's tick, usually 15.6 ms. */
bool plat_thread_cpu_ns(plat_thread thread, uint64_t *out)
{
    FILETIME created, ended, in_kernel, in_user;
    if (!GetThreadTimes(thread, &created, &ended, &in_kernel, &in_user))
        return false;
    *out = (windows_hundred_ns(in_kernel) + windows_hundred_ns(in_user)) * 100;
    return true;
}

bool plat_own_cpu_ns(uint64_t *out)
{
    return plat_thread_cpu_ns(GetCurrentThread(), out);
}

bool plat_process_cpu_ns(uint64_t *user, uint64_t *system)
{
    FILETIME created, ended, in_kernel, in_user;
    if (!GetProcessTimes(GetCurrentProcess(), &created, &ended, &in_kernel, &in_user))
        return false;
    *user = windows_hundred_ns(in_user) * 100;
    *system = windows_hundred_ns(in_kernel) * 100;
    return true;
}

/* SystemProcessorPerformanceInformation: one entry for each CPU of a processor group. */
struct processor_times {
    uint64_t idle, kernel /* includes idle */, user, deferred, interrupt;
    uint32_t interrupts;
};
enum { PERFORMANCE = 8, GROUP_CPUS = 64 };

typedef LONG(WINAPI *query_system)(int, void *, ULONG, ULONG *);
typedef LONG(WINAPI *query_group)(int, void *, ULONG, void *, ULONG, ULONG *);

/* Reads the entries of a group; returns their number. NtQuerySystemInformation, for older systems,
 * reads only the group of the calling thread, so it is used only if there is no other group
 * (`only`). */
static unsigned read_group(USHORT group, bool only, struct processor_times times[GROUP_CPUS])
{
    const ULONG room = GROUP_CPUS * sizeof times[0];
    ULONG bytes = 0;
    void *function = windows_native("NtQuerySystemInformationEx");
    query_group of_group;
    query_system of_own;
    memcpy(&of_group, &function, sizeof of_group);
    memset(times, 0, room);
    if (of_group != NULL &&
        of_group(PERFORMANCE, &group, sizeof group, times, room, &bytes) == 0)
        return bytes / sizeof times[0];
    function = windows_native("NtQuerySystemInformation");
    memcpy(&of_own, &function, sizeof of_own);
    if (!only || of_own == NULL || of_own(PERFORMANCE, times, room, &bytes) != 0)
        return 0;
    return bytes / sizeof times[0];
}

/* The k-th entry of a group belongs to the k-th existing CPU of the group. */
void plat_cpu_times(struct plat_cpu_times *out)
{
    struct processor_times times[GROUP_CPUS];
    struct cpu_groups groups;
    out->count = 0;
    out->tells_steal = false;
    read_groups(&groups);
    for (unsigned group = 0; group < groups.count; group++) {
        const unsigned first = cpu_groups_first(&groups, group);
        const unsigned entries = read_group((USHORT)group, groups.count == 1, times);
        for (unsigned i = 0; i < entries && i < GROUP_CPUS && out->count < PLAT_CPUS; i++)
            out->core[out->count++] = (struct cpu_time){
                .cpu = first + i,
                .busy = times[i].kernel - times[i].idle + times[i].user,
                .total = times[i].kernel + times[i].user};
    }
}

/* Windows does not report how long a thread has waited for a CPU. */
bool plat_thread_delay_ns(plat_thread thread, uint64_t *out)
{
    (void)thread;
    (void)out;
    return false;
}

/* Job objects can have a quota, but do not report its effect. */
bool plat_throttling(struct plat_throttling *out)
{
    (void)out;
    return false;
}

/* ---- counters ---- */

/* Windows counts all errors of received datagrams together, and it is uncertain whether a full
 * socket is one of them. The record `facts` has this counter as udp_receive_errors. */
bool plat_udp_receive_buffer_errors(uint64_t *out)
{
    (void)out;
    return false;
}

bool plat_fragments(struct plat_fragments *out)
{
    static const ULONG families[] = {AF_INET, AF_INET6};
    bool any = false;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 2; i++) {
        MIB_IPSTATS counted;
        if (GetIpStatisticsEx(&counted, families[i]) != NO_ERROR)
            continue;
        any = true;
        out->created += counted.dwFragCreates;
        out->failed += counted.dwFragFails;
        out->reassembled += counted.dwReasmOks;
        out->reassembly_failures += counted.dwReasmFails;
    }
    return any;
}
