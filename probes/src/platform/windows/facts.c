/* Writes facts of a Windows host, from the registry and system calls, and finds its CPUs. Facts
 * that cannot be read are left out. */
#include "platform/windows/windows.h"

#include <iphlpapi.h>
#include <powrprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/shared.h"
#include "pure/cpu.h"
#include "pure/json.h"

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

/* Windows counts all errors of received datagrams together, and those of segments, too. */
bool plat_checksum_errors(bool udp, uint64_t *out)
{
    (void)udp;
    (void)out;
    return false;
}

bool plat_arrived(enum plat_arrived which, uint64_t *out)
{
    (void)which;
    (void)out;
    return false;
}

#define WINDOWS L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion"
#define SERVICES L"SYSTEM\\CurrentControlSet\\Services\\"

/* ---- the machine ---- */

/* A name such as "Windows 10 Pro 22H2". The registry of Windows 11 says "Windows 10"; only the
 * build number differs. Wine, which has a function of its own, is called by its name. */
static void distribution(struct json *out, unsigned build)
{
    typedef const char *(CDECL *wine_version)(void);
    void *function = windows_native("wine_get_version");
    char name[128], update[32], text[192];
    wine_version version;
    memcpy(&version, &function, sizeof version);
    if (!windows_registry_text(WINDOWS, L"ProductName", name, sizeof name))
        return;
    if (!windows_registry_text(WINDOWS, L"DisplayVersion", update, sizeof update))
        windows_registry_text(WINDOWS, L"ReleaseId", update, sizeof update);
    if (build >= 22000 && strncmp(name, "Windows 10", 10) == 0)
        name[9] = '1';
    if (version != NULL)
        snprintf(text, sizeof text, "wine %.16s, as %s", version(), name);
    else
        snprintf(text, sizeof text, "%s%s%s", name, update[0] != 0 ? " " : "", update);
    json_text(out, "distribution", text);
}

static void timer_resolution(struct json *out)
{
    typedef LONG(WINAPI *query_resolution)(ULONG *, ULONG *, ULONG *);
    ULONG coarsest, finest, now = 0;
    void *function = windows_native("NtQueryTimerResolution");
    query_resolution query;
    memcpy(&query, &function, sizeof query);
    if (query != NULL && query(&coarsest, &finest, &now) == 0 && now > 0)
        json_u64(out, "timer_resolution_ns", (uint64_t)now * 100);
}

static void power_plan(struct json *out)
{
    GUID *plan = NULL;
    wchar_t wide[128];
    DWORD bytes = sizeof wide;
    char name[128];
    if (PowerGetActiveScheme(NULL, &plan) != ERROR_SUCCESS || plan == NULL)
        return;
    if (PowerReadFriendlyName(NULL, plan, NULL, NULL, (UCHAR *)wide, &bytes) == ERROR_SUCCESS) {
        windows_text(wide, name, sizeof name);
        json_text(out, "power_plan", name[0] != 0 ? name : NULL);
    }
    LocalFree(plan);
}

static void machine(struct json *out)
{
    struct plat_identity identity;
    unsigned major, minor, build;
    char text[256];
    wchar_t host[MAX_COMPUTERNAME_LENGTH + 1];
    DWORD length = sizeof host / sizeof host[0];
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    const char *hypervisor = plat_hypervisor();
    plat_identify(&identity);
    windows_version(&major, &minor, &build);
    json_text(out, "kernel", identity.os_release);
    distribution(out, build);
    if (GetComputerNameW(host, &length)) {
        windows_text(host, text, sizeof text);
        json_text(out, "hostname", text);
    }
    if (windows_registry_text(L"HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                              L"ProcessorNameString", text, sizeof text))
        json_text(out, "cpu_model", text + strspn(text, " "));
    json_u64(out, "cpu_count", GetActiveProcessorCount(ALL_PROCESSOR_GROUPS));
    if (GlobalMemoryStatusEx(&memory))
        json_u64(out, "memory_bytes", memory.ullTotalPhys);
    json_text(out, "machine_id", identity.machine_id[0] != 0 ? identity.machine_id : NULL);
    json_text(out, "virtual", hypervisor);
    power_plan(out);
    timer_resolution(out);
}

/* ---- the network stack ---- */

static void registry_number(struct json *out, const char *key, const wchar_t *path,
                            const wchar_t *name)
{
    uint64_t value;
    if (windows_registry_number(path, name, &value))
        json_u64(out, key, value);
}

/* Sums of IPv4 and IPv6. It is uncertain whether a datagram for a full socket counts as an
 * error. */
static void udp_counters(struct json *out)
{
    static const ULONG families[] = {AF_INET, AF_INET6};
    uint64_t received = 0, sent = 0, errors = 0, no_port = 0;
    bool any = false;
    for (int i = 0; i < 2; i++) {
        MIB_UDPSTATS counted;
        if (GetUdpStatisticsEx(&counted, families[i]) != NO_ERROR)
            continue;
        any = true;
        received += counted.dwInDatagrams;
        sent += counted.dwOutDatagrams;
        errors += counted.dwInErrors;
        no_port += counted.dwNoPorts;
    }
    if (!any)
        return;
    json_u64(out, "udp_received_datagrams", received);
    json_u64(out, "udp_sent_datagrams", sent);
    json_u64(out, "udp_receive_errors", errors);
    json_u64(out, "udp_no_ports", no_port);
}

static void ip_counters(struct json *out)
{
    static const ULONG families[] = {AF_INET, AF_INET6};
    uint64_t discarded = 0, unsent = 0, unassembled = 0;
    bool any = false;
    for (int i = 0; i < 2; i++) {
        MIB_IPSTATS counted;
        if (GetIpStatisticsEx(&counted, families[i]) != NO_ERROR)
            continue;
        any = true;
        discarded += counted.dwInDiscards;
        unsent += counted.dwOutDiscards;
        unassembled += counted.dwReasmFails;
    }
    if (!any)
        return;
    json_u64(out, "ip_receive_discards", discarded);
    json_u64(out, "ip_send_discards", unsent);
    json_u64(out, "ip_reassembly_failures", unassembled);
}

/* Writes values that administrators can set. If a value is absent, Windows uses its own default. */
static void stack(struct json *out)
{
    static const wchar_t multimedia[] = WINDOWS L"\\Multimedia\\SystemProfile";
    registry_number(out, "udp_fast_send_threshold_bytes", SERVICES L"AFD\\Parameters",
                    L"FastSendDatagramThreshold");
    registry_number(out, "udp_default_receive_window_bytes", SERVICES L"AFD\\Parameters",
                    L"DefaultReceiveWindow");
    registry_number(out, "tcp_1323_options", SERVICES L"Tcpip\\Parameters", L"Tcp1323Opts");
    registry_number(out, "network_throttling_index", multimedia, L"NetworkThrottlingIndex");
    udp_counters(out);
    ip_counters(out);
}

void plat_counters(struct json *out, const char *to, const char *device)
{
    struct plat_address address;
    udp_counters(out);
    ip_counters(out);
    if (to != NULL && plat_address_parse(to, 0, &address))
        windows_facts_route(out, &address, device);
}

void plat_facts(struct json *out, const char *to, const char *device)
{
    struct plat_address address;
    machine(out);
    stack(out);
    if (to != NULL && plat_address_parse(to, 0, &address))
        windows_facts_route(out, &address, device);
    windows_facts_addresses(out);
}
