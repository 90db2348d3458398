/* Identity and capabilities of this process on Windows. */
#include "platform/windows/windows.h"

#include <stdio.h>
#include <string.h>

static bool has_ipv6(void)
{
    SOCKET probe = socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP);
    if (probe == INVALID_SOCKET)
        return false;
    closesocket(probe);
    return true;
}

static bool has_no_checksum(void)
{
    SOCKET probe = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    BOOL on = TRUE;
    if (probe == INVALID_SOCKET)
        return false;
    int refused = setsockopt(probe, IPPROTO_UDP, UDP_NOCHECKSUM, (const char *)&on, sizeof on);
    closesocket(probe);
    return refused == 0;
}

static const char *architecture(void)
{
    SYSTEM_INFO info;
    GetNativeSystemInfo(&info);
    switch (info.wProcessorArchitecture) {
    case PROCESSOR_ARCHITECTURE_AMD64:
        return "x86_64";
    case PROCESSOR_ARCHITECTURE_ARM64:
        return "aarch64";
    case PROCESSOR_ARCHITECTURE_INTEL:
        return "x86";
    default:
        return "";
    }
}

void plat_identify(struct plat_identity *out)
{
    static char capabilities[128];
    unsigned major, minor, build;
    memset(out, 0, sizeof *out);
    out->os = "windows";
    out->clock = "QueryPerformanceCounter";
    /* Capabilities are words for what the system supports. Among others, these are absent:
     * congestion and dscp, which Windows takes only from its policies; queue-drops, which Windows
     * does not report; raw-clock, because NTP does not adjust the performance counter anyway. */
    snprintf(capabilities, sizeof capabilities,
             "stream,tcp,udp,ipv4,%s%sdont-fragment,interface,pin,lock,facts,cpu,poll%s",
             has_ipv6() ? "ipv6," : "", windows_tcp_info_known() ? "tcp-info," : "",
             has_no_checksum() ? ",no-checksum" : "");
    out->capabilities = capabilities;
    windows_version(&major, &minor, &build);
    snprintf(out->os_release, sizeof out->os_release, "%u.%u.%u", major, minor, build);
    snprintf(out->architecture, sizeof out->architecture, "%s", architecture());
    windows_registry_text(L"SOFTWARE\\Microsoft\\Cryptography", L"MachineGuid", out->machine_id,
                          sizeof out->machine_id);
    out->pid = GetCurrentProcessId();
    out->cpu_count = windows_usable_cpus();
}
