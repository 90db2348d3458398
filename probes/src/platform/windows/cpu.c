/* Tells the CPUs of Windows, and the time that threads and the process took of them. */
#include "platform/windows/windows.h"

#include <iphlpapi.h>
#include <string.h>

/* ---- which CPUs ---- */

/* CPUs of the groups before this one: Windows numbers them by groups of up to 64. */
static unsigned first_of_group(WORD group)
{
    unsigned first = 0;
    for (WORD i = 0; i < group; i++)
        first += GetActiveProcessorCount(i);
    return first;
}

/* The group of a CPU and its bit in it. False: there is no such CPU. */
static bool place_of_cpu(unsigned cpu, WORD *group, KAFFINITY *bit)
{
    WORD groups = GetActiveProcessorGroupCount();
    for (*group = 0; *group < groups; (*group)++) {
        unsigned first = first_of_group(*group), count = GetActiveProcessorCount(*group);
        if (cpu >= first && cpu - first < count) {
            *bit = (KAFFINITY)1 << (cpu - first);
            return true;
        }
    }
    return false;
}

bool plat_cpu_usable(unsigned cpu)
{
    DWORD_PTR ours, all;
    WORD group;
    KAFFINITY bit;
    if (!place_of_cpu(cpu, &group, &bit))
        return false;
    /* A process of one group has a mask; that of a process of several reads 0: it may use all. */
    if (!GetProcessAffinityMask(GetCurrentProcess(), &ours, &all) || ours == 0)
        return true;
    return group > 0 || (ours & bit) != 0;
}

int plat_pin(unsigned cpu)
{
    GROUP_AFFINITY place;
    memset(&place, 0, sizeof place);
    if (!place_of_cpu(cpu, &place.Group, &place.Mask))
        return ERROR_INVALID_PARAMETER;
    return SetThreadGroupAffinity(GetCurrentThread(), &place, NULL) ? 0 : (int)GetLastError();
}

/* ---- CPU time ---- */

/* In ticks of the scheduler, 15.6 ms as a rule. */
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

/* SystemProcessorPerformanceInformation: one entry a CPU of the caller's processor group. */
struct processor_times {
    uint64_t idle, kernel /* with idle */, user, deferred, interrupt;
    uint32_t interrupts;
};

typedef LONG(WINAPI *query_system)(int, void *, ULONG, ULONG *);

void plat_cpu_times(struct plat_cpu_times *out)
{
    struct processor_times times[64];
    PROCESSOR_NUMBER here;
    ULONG bytes = 0;
    void *found = windows_native("NtQuerySystemInformation");
    query_system query;
    memcpy(&query, &found, sizeof query);
    out->count = 0;
    out->tells_steal = false;
    memset(times, 0, sizeof times);
    if (query == NULL || query(8, times, sizeof times, &bytes) != 0)
        return;
    GetCurrentProcessorNumberEx(&here);
    unsigned first = first_of_group(here.Group);
    for (unsigned i = 0; i < bytes / sizeof times[0]; i++) {
        out->core[i].cpu = first + i;
        out->core[i].busy = times[i].kernel - times[i].idle + times[i].user;
        out->core[i].steal = 0;
        out->core[i].total = times[i].kernel + times[i].user;
        out->count++;
    }
}

/* Not told of a thread. */
bool plat_thread_delay_ns(plat_thread thread, uint64_t *out)
{
    (void)thread;
    (void)out;
    return false;
}

/* Job objects can have a quota, and say nothing of what it cost. */
bool plat_throttling(struct plat_throttling *out)
{
    (void)out;
    return false;
}

/* ---- counters ---- */

/* The counters of the machine have one for all errors of reception, and a full socket is not surely
 * among them: `facts` shows it under its own name. */
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
