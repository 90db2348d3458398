/* The parts that are specific to macOS, such as times of threads, CPUs and counters. */
#include "platform/bsd/bsd.h"

#include <net/if.h>
#include <net/if_dl.h>
#include <net/route.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/sysctl.h>
#include <unistd.h>

#include <mach/mach.h>
#include <uuid/uuid.h>

const char bsd_name[] = "macos", bsd_clock[] = "CLOCK_UPTIME_RAW";
/* Capabilities are words for what the system supports. Among others, these are absent: pin,
 * congestion and queue-drops, which macOS does not support; raw-clock, because plat_now_ns already
 * reads the hardware's clock. */
const char bsd_capabilities[] =
    "stream,tcp,udp,ipv4,ipv6,tcp-info,dont-fragment,dscp,interface,lock,facts,cpu,poll,no-checksum";

void bsd_machine_id(char *into, size_t capacity)
{
    uuid_t id;
    uuid_string_t text;
    struct timespec patience = {.tv_sec = 1};
    if (gethostuuid(id, &patience) != 0)
        return;
    uuid_unparse_lower(id, text);
    snprintf(into, capacity, "%s", text);
}

/* On macOS, CLOCK_MONOTONIC is the wall clock minus the time of boot, in whole microseconds
 * (clock_gettime(3): "in the same manner as CLOCK_REALTIME"). So an adjustment of the wall clock
 * changes CLOCK_MONOTONIC, but not CLOCK_UPTIME_RAW, which counts the hardware's ticks. */
uint64_t plat_now_ns(void)
{
    return clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
}

bool plat_raw_now_ns(uint64_t *out)
{
    (void)out;
    return false;
}

/* CLOCK_UPTIME_RAW stops while the host is suspended; CLOCK_MONOTONIC_RAW continues
 * (clock_gettime(3)). */
bool plat_suspended_ns(uint64_t *out)
{
    uint64_t awake_ns = clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
    *out = clock_gettime_nsec_np(CLOCK_MONOTONIC_RAW) - awake_ns;
    return true;
}

bool plat_thread_cpu_ns(plat_thread thread, uint64_t *out)
{
    thread_basic_info_data_t info;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    if (thread_info(pthread_mach_thread_np(thread), THREAD_BASIC_INFO, (thread_info_t)&info,
                    &count) != KERN_SUCCESS)
        return false;
    *out = ((uint64_t)info.user_time.seconds + (uint64_t)info.system_time.seconds) * SECOND_NS +
           ((uint64_t)info.user_time.microseconds + (uint64_t)info.system_time.microseconds) * 1000;
    return true;
}

int plat_pin(unsigned cpu)
{
    (void)cpu;
    return ENOTSUP;
}

bool plat_cpu_usable(unsigned cpu)
{
    (void)cpu;
    return false;
}

unsigned bsd_usable_cpus(void)
{
    return 0; /* all CPUs that are online */
}

/* Condition variables of macOS take a time of the wall clock, or a duration from now. */
void plat_cond_init(plat_cond *cond)
{
    pthread_cond_init(cond, NULL);
}

void plat_cond_wait(plat_cond *cond, plat_mutex *mutex, uint64_t until_ns)
{
    uint64_t now = plat_now_ns();
    if (now >= until_ns)
        return;
    uint64_t left_ns = until_ns - now;
    if (left_ns > 3600 * SECOND_NS)
        left_ns = 3600 * SECOND_NS;
    struct timespec span = posix_timespec(left_ns);
    pthread_cond_timedwait_relative_np(cond, mutex, &span);
}

void plat_cpu_times(struct plat_cpu_times *out)
{
    natural_t cpus = 0;
    processor_info_array_t info = NULL;
    mach_msg_type_number_t words = 0;
    host_t host = mach_host_self();
    out->count = 0;
    out->tells_steal = false;
    if (host_processor_info(host, PROCESSOR_CPU_LOAD_INFO, &cpus, &info, &words) == KERN_SUCCESS) {
        const processor_cpu_load_info_t load = (processor_cpu_load_info_t)(void *)info;
        for (natural_t i = 0; i < cpus && i < PLAT_CPUS; i++) {
            uint64_t busy = (uint64_t)load[i].cpu_ticks[CPU_STATE_USER] +
                            load[i].cpu_ticks[CPU_STATE_SYSTEM] + load[i].cpu_ticks[CPU_STATE_NICE];
            out->core[i].cpu = i;
            out->core[i].busy = busy;
            out->core[i].steal = 0;
            out->core[i].total = busy + load[i].cpu_ticks[CPU_STATE_IDLE];
            out->count++;
        }
        vm_deallocate(mach_task_self(), (vm_address_t)info, words * sizeof *info);
    }
    mach_port_deallocate(mach_task_self(), host);
}

/* ---- programs ---- */

/* macOS cannot signal to a child that its parent has ended. Instead, when the parent ends, the
 * program is killed by its keeper (another child of the parent; posix/program.c). */
void posix_child_begins(int parent)
{
    if (getppid() != parent)
        _exit(1);
}

bool posix_close_from(int first)
{
    (void)first;
    return false;
}

/* ---- sockets ---- */

int plat_interface_set(plat_socket socket, const char *name)
{
    unsigned index = if_nametoindex(name);
    if (index == 0)
        return ENXIO;
    return posix_failed(posix_is_v6((int)socket)
                      ? setsockopt((int)socket, IPPROTO_IPV6, IPV6_BOUND_IF, &index, sizeof index)
                      : setsockopt((int)socket, IPPROTO_IP, IP_BOUND_IF, &index, sizeof index));
}

/* tcp(4): a connection whose retransmissions are not answered is dropped after this time. */
int posix_set_unanswered(int socket, int seconds)
{
    return posix_failed(setsockopt(socket, IPPROTO_TCP, TCP_RXT_CONNDROPTIME, &seconds,
                                   sizeof seconds));
}

bool plat_udp_receive_buffer_errors(uint64_t *out)
{
    (void)out; /* the statistics' layout is not public */
    return false;
}

bool plat_fragments(struct plat_fragments *out)
{
    memset(out, 0, sizeof *out);
    return false;
}

bool plat_arrived(enum plat_arrived which, uint64_t *out)
{
    (void)which;
    (void)out;
    return false;
}

bool plat_checksum_errors(bool udp, uint64_t *out)
{
    (void)udp;
    (void)out;
    return false;
}

int plat_set_no_checksum(plat_socket socket)
{
    int on = 1;
    return posix_failed(setsockopt((int)socket, IPPROTO_UDP, UDP_NOCKSUM, &on, sizeof on));
}

void plat_tcp_info(plat_socket socket, struct plat_tcp_info *out)
{
    struct tcp_connection_info info;
    socklen_t length = sizeof info;
    memset(out, 0, sizeof *out);
    if (getsockopt((int)socket, IPPROTO_TCP, TCP_CONNECTION_INFO, &info, &length) < 0 ||
        length < sizeof info)
        return;
    bsd_put_window(out, info.tcpi_snd_cwnd, info.tcpi_maxseg);
    bsd_put(out, PLAT_TCP_RTT_US, (uint64_t)info.tcpi_srtt * 1000);
    bsd_put(out, PLAT_TCP_RTTVAR_US, (uint64_t)info.tcpi_rttvar * 1000);
    bsd_put(out, PLAT_TCP_RTO_US, (uint64_t)info.tcpi_rto * 1000);
    bsd_put(out, PLAT_TCP_SND_WND, info.tcpi_snd_wnd);
    bsd_put(out, PLAT_TCP_TOTAL_RETRANS, info.tcpi_txretransmitpackets);
    bsd_put(out, PLAT_TCP_BYTES_SENT, info.tcpi_txbytes);
    bsd_put(out, PLAT_TCP_BYTES_RECEIVED, info.tcpi_rxbytes);
    bsd_put(out, PLAT_TCP_BYTES_RETRANS, info.tcpi_txretransmitbytes);
    bsd_name_option(out, info.tcpi_options & TCPCI_OPT_TIMESTAMPS, "timestamps");
    bsd_name_option(out, info.tcpi_options & TCPCI_OPT_SACK, "sack");
    bsd_name_option(out, info.tcpi_options & TCPCI_OPT_WSCALE, "wscale");
    bsd_name_option(out, info.tcpi_options & TCPCI_OPT_ECN, "ecn");
}

/* ---- interfaces and facts ---- */

size_t bsd_rounded(size_t length)
{
    return length > 0 ? 1 + ((length - 1) | (sizeof(uint32_t) - 1)) : sizeof(uint32_t);
}

/* Uses NET_RT_IFLIST2, which has 64-bit counters; the counters of getifaddrs have 32 bits on
 * macOS. */
bool bsd_interface_counters(const char *name, struct bsd_interface_counters *out)
{
    int path[] = {CTL_NET, PF_ROUTE, 0, 0, NET_RT_IFLIST2, (int)if_nametoindex(name)};
    struct if_msghdr2 message;
    size_t length = 0;
    bool is_found = false;
    if (path[5] == 0 || sysctl(path, 6, NULL, &length, NULL, 0) != 0 || length < sizeof message)
        return false;
    char *list = malloc(length);
    if (list != NULL && sysctl(path, 6, list, &length, NULL, 0) == 0 && length >= sizeof message) {
        memcpy(&message, list, sizeof message);
        is_found = message.ifm_type == RTM_IFINFO2;
    }
    free(list);
    if (!is_found)
        return false;
    const struct if_data64 *data = &message.ifm_data;
    *out = (struct bsd_interface_counters){
        .mtu_bytes = data->ifi_mtu, .speed_bit_per_s = data->ifi_baudrate,
        .sent_bytes = data->ifi_obytes, .received_bytes = data->ifi_ibytes,
        .sent_packets = data->ifi_opackets, .received_packets = data->ifi_ipackets,
        .dropped = data->ifi_iqdrops + (uint64_t)message.ifm_snd_drops,
        .errors = data->ifi_ierrors + data->ifi_oerrors};
    return true;
}

void bsd_distribution(char *into, size_t capacity)
{
    char version[64];
    size_t length = sizeof version - 1;
    memset(version, 0, sizeof version);
    into[0] = 0;
    if (sysctlbyname("kern.osproductversion", version, &length, NULL, 0) == 0 && version[0] != 0)
        snprintf(into, capacity, "macOS %s", version);
}

const char bsd_cpu_model[] = "machdep.cpu.brand_string", bsd_memory[] = "hw.memsize";
