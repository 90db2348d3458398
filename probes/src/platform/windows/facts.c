/* Writes facts of a Windows host, from the registry and system calls. Facts that cannot be read are
 * left out. */
#include "platform/windows/windows.h"

#include <iphlpapi.h>
#include <powrprof.h>
#include <stdio.h>
#include <string.h>

#include "platform/hypervisor.h"
#include "pure/json.h"

#define WINDOWS L"SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion"
#define SERVICES L"SYSTEM\\CurrentControlSet\\Services\\"

/* ---- the machine ---- */

/* A name such as "Windows 10 Pro 22H2". The registry of Windows 11 says "Windows 10"; only the
 * build number differs. */
static void distribution(struct json *out, unsigned build)
{
    char name[128], update[32], text[192];
    if (!windows_registry_text(WINDOWS, L"ProductName", name, sizeof name))
        return;
    if (!windows_registry_text(WINDOWS, L"DisplayVersion", update, sizeof update))
        windows_registry_text(WINDOWS, L"ReleaseId", update, sizeof update);
    if (build >= 22000 && strncmp(name, "Windows 10", 10) == 0)
        name[9] = '1';
    snprintf(text, sizeof text, "%s%s%s", name, update[0] != 0 ? " " : "", update);
    json_text(out, "distribution", text);
}

static void timer_resolution(struct json *out)
{
    typedef LONG(WINAPI *query_resolution)(ULONG *, ULONG *, ULONG *);
    ULONG coarsest, finest, now = 0;
    HMODULE library = GetModuleHandleW(L"ntdll.dll");
    FARPROC function = library != NULL ? GetProcAddress(library, "NtQueryTimerResolution") : NULL;
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
