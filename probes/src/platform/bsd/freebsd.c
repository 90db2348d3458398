/* The parts that are specific to FreeBSD, such as CPUs, options of sockets and counters. */
#include "platform/bsd/bsd.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_dl.h>
#include <netinet/in_systm.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/cpuset.h>
#include <sys/procctl.h>
#include <sys/resource.h>
#include <sys/sysctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <netinet/ip.h>
#include <netinet/ip_var.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <netinet/udp_var.h>
#include <netinet6/ip6_var.h>
#include <pthread_np.h>

const char bsd_name[] = "freebsd", bsd_clock[] = "CLOCK_MONOTONIC";
/* Capabilities are words for what the system supports. FreeBSD lacks, among others, interface (a
 * socket cannot be bound to a device), no-checksum, queue-drops and raw-clock. */
const char bsd_capabilities[] =
    "stream,tcp,udp,ipv4,ipv6,tcp-info,congestion,dont-fragment,dscp,pin,lock,facts,cpu,"
    "poll";

void bsd_machine_id(char *into, size_t capacity)
{
    size_t length = capacity - 1;
    if (sysctlbyname("kern.hostuuid", into, &length, NULL, 0) != 0)
        into[0] = 0;
}

bool plat_raw_now_ns(uint64_t *out)
{
    (void)out;
    return false;
}

/* The time of suspension is unknown, because CLOCK_MONOTONIC keeps running while the host is
 * suspended. */
bool plat_suspended_ns(uint64_t *out)
{
    (void)out;
    return false;
}

/* If the thread has ended, the kernel has set its number to 1. No thread has this number, so this
 * function returns false. */
bool plat_thread_cpu_ns(plat_thread thread, uint64_t *out)
{
    clockid_t clock;
    struct timespec used;
    if (pthread_getcpuclockid(thread, &clock) != 0 || clock_gettime(clock, &used) != 0)
        return false;
    *out = posix_in_ns(used);
    return true;
}

int plat_pin(unsigned cpu)
{
    cpuset_t one;
    if (cpu >= CPU_SETSIZE)
        return EINVAL;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    return pthread_setaffinity_np(pthread_self(), sizeof one, &one);
}

static bool read_usable(cpuset_t *usable)
{
    return cpuset_getaffinity(CPU_LEVEL_WHICH, CPU_WHICH_PID, -1, sizeof *usable, usable) == 0;
}

bool plat_cpu_usable(unsigned cpu)
{
    cpuset_t usable;
    return cpu < CPU_SETSIZE && read_usable(&usable) && CPU_ISSET(cpu, &usable);
}

unsigned bsd_usable_cpus(void)
{
    cpuset_t usable;
    return read_usable(&usable) ? (unsigned)CPU_COUNT(&usable) : 0;
}

void plat_cpu_times(struct plat_cpu_times *out)
{
    long times[PLAT_CPUS][CPUSTATES];
    size_t length = sizeof times;
    out->count = 0;
    out->tells_steal = false;
    if (sysctlbyname("kern.cp_times", times, &length, NULL, 0) != 0)
        return;
    for (unsigned i = 0; i < length / sizeof times[0]; i++) {
        uint64_t busy = (uint64_t)times[i][CP_USER] + (uint64_t)times[i][CP_NICE] +
                        (uint64_t)times[i][CP_SYS] + (uint64_t)times[i][CP_INTR];
        out->core[i].cpu = i;
        out->core[i].busy = busy;
        out->core[i].steal = 0;
        out->core[i].total = busy + (uint64_t)times[i][CP_IDLE];
        out->count++;
    }
}

/* ---- programs ---- */

/* PROC_PDEATHSIG_CTL exists in FreeBSD 11.2 and newer. */
void posix_child_begins(int parent)
{
#if defined(PROC_PDEATHSIG_CTL)
    int number = SIGKILL;
    procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &number);
#endif
    if (getppid() != parent)
        _exit(1);
}

bool posix_close_from(int first)
{
    closefrom(first);
    return true;
}

/* ---- sockets ---- */

int plat_interface_set(plat_socket socket, const char *name)
{
    (void)socket;
    (void)name;
    return ENOPROTOOPT;
}

/* TCP_MAXUNACKTIME exists in FreeBSD 14 and newer (tcp(4)). In older versions, a connection ends
 * after a number of retransmissions. */
int posix_set_unanswered(int socket, int seconds)
{
#if defined(TCP_MAXUNACKTIME)
    return posix_failed(
        setsockopt(socket, IPPROTO_TCP, TCP_MAXUNACKTIME, &seconds, sizeof seconds));
#else
    (void)socket;
    (void)seconds;
    return 0;
#endif
}

bool plat_udp_receive_buffer_errors(uint64_t *out)
{
    struct udpstat counted;
    size_t length = sizeof counted;
    if (sysctlbyname("net.inet.udp.stats", &counted, &length, NULL, 0) != 0 ||
        length < offsetof(struct udpstat, udps_fullsock) + sizeof counted.udps_fullsock)
        return false;
    *out = counted.udps_fullsock;
    return true;
}

bool plat_arrived(enum plat_arrived which, uint64_t *out)
{
    (void)which;
    (void)out;
    return false;
}

bool plat_checksum_errors(bool udp, uint64_t *out)
{
    struct udpstat counted;
    size_t length = sizeof counted;
    if (!udp || sysctlbyname("net.inet.udp.stats", &counted, &length, NULL, 0) != 0 ||
        length < offsetof(struct udpstat, udps_badsum) + sizeof counted.udps_badsum)
        return false;
    *out = counted.udps_badsum;
    return true;
}

bool plat_fragments(struct plat_fragments *out)
{
    struct ipstat four;
    struct ip6stat six;
    size_t length = sizeof four;
    memset(out, 0, sizeof *out);
    if (sysctlbyname("net.inet.ip.stats", &four, &length, NULL, 0) != 0 || length < sizeof four)
        return false;
    out->created = four.ips_ofragments;
    out->failed = four.ips_cantfrag;
    out->reassembled = four.ips_reassembled;
    out->reassembly_failures = four.ips_fragdropped + four.ips_fragtimeout;
    length = sizeof six;
    if (sysctlbyname("net.inet6.ip6.stats", &six, &length, NULL, 0) != 0 || length < sizeof six)
        return true; /* the system has no IPv6 */
    out->created += six.ip6s_ofragments;
    out->failed += six.ip6s_cantfrag;
    out->reassembled += six.ip6s_reassembled;
    out->reassembly_failures += six.ip6s_fragdropped + six.ip6s_fragtimeout;
    return true;
}

/* FreeBSD can disable UDP checksums only for the whole system, by a sysctl. */
int plat_set_no_checksum(plat_socket socket)
{
    (void)socket;
    return ENOPROTOOPT;
}

/* Reads FreeBSD's struct tcp_info. */
void plat_tcp_info(plat_socket socket, struct plat_tcp_info *out)
{
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(out, 0, sizeof *out);
    memset(&info, 0, sizeof info);
    if (getsockopt((int)socket, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
        return;
    bsd_put_window(out, info.tcpi_snd_cwnd, info.tcpi_snd_mss);
    bsd_put(out, PLAT_TCP_RTT_US, info.tcpi_rtt);
    bsd_put(out, PLAT_TCP_RTTVAR_US, info.tcpi_rttvar);
    bsd_put(out, PLAT_TCP_RTO_US, info.tcpi_rto);
    bsd_put(out, PLAT_TCP_RCV_SPACE, info.tcpi_rcv_space);
    bsd_put(out, PLAT_TCP_SND_WND, info.tcpi_snd_wnd);
    bsd_put(out, PLAT_TCP_TOTAL_RETRANS, info.tcpi_snd_rexmitpack);
    bsd_put(out, PLAT_TCP_RCV_OOOPACK, info.tcpi_rcv_ooopack);
    bsd_name_option(out, info.tcpi_options & TCPI_OPT_TIMESTAMPS, "timestamps");
    bsd_name_option(out, info.tcpi_options & TCPI_OPT_SACK, "sack");
    bsd_name_option(out, info.tcpi_options & TCPI_OPT_WSCALE, "wscale");
    bsd_name_option(out, info.tcpi_options & TCPI_OPT_ECN, "ecn");
}

/* ---- interfaces and facts ---- */

size_t bsd_rounded(size_t length)
{
    return length > 0 ? 1 + ((length - 1) | (sizeof(long) - 1)) : sizeof(long);
}

bool bsd_interface_counters(const char *name, struct bsd_interface_counters *out)
{
    struct ifaddrs *all;
    bool is_found = false;
    if (getifaddrs(&all) != 0)
        return false;
    for (const struct ifaddrs *at = all; at != NULL && !is_found; at = at->ifa_next) {
        const struct if_data *data = at->ifa_data;
        if (at->ifa_addr == NULL || at->ifa_addr->sa_family != AF_LINK || data == NULL ||
            strcmp(at->ifa_name, name) != 0)
            continue;
        is_found = true;
        *out = (struct bsd_interface_counters){
            .mtu_bytes = data->ifi_mtu, .speed_bit_per_s = data->ifi_baudrate,
            .sent_bytes = data->ifi_obytes, .received_bytes = data->ifi_ibytes,
            .sent_packets = data->ifi_opackets, .received_packets = data->ifi_ipackets,
            .dropped = data->ifi_iqdrops + data->ifi_oqdrops,
            .errors = data->ifi_ierrors + data->ifi_oerrors};
    }
    freeifaddrs(all);
    return is_found;
}

void bsd_distribution(char *into, size_t capacity)
{
    struct utsname names;
    into[0] = 0;
    if (uname(&names) == 0)
        snprintf(into, capacity, "%.100s %.100s", names.sysname, names.release);
}

const char bsd_cpu_model[] = "hw.model", bsd_memory[] = "hw.physmem";
