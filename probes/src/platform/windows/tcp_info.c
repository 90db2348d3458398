/* Reads SIO_TCP_INFO of a connection on Windows. Its versions: 2 since Windows 11, 1 since Windows 10
 * 2004, 0 since 1703. Values that an older system or wine refuses are absent. */
#include "platform/windows/windows.h"

#include <stdio.h>
#include <string.h>

#define SIO_TCP_INFO_CODE _WSAIORW(IOC_VENDOR, 39)
#define FIRST_BUILD 15063u

/* TCP_INFO_v2 of mstcpip.h; versions 0 and 1 are shorter forms of it. Compilers' headers differ in
 * the versions that they have. */
struct tcp_info_v2 {
    int32_t state;
    uint32_t mss;
    uint64_t connection_time_ms;
    uint8_t timestamps_enabled;
    uint32_t rtt_us, min_rtt_us, bytes_in_flight, cwnd, snd_wnd, rcv_wnd, rcv_buf;
    uint64_t bytes_out, bytes_in;
    uint32_t bytes_reordered, bytes_retrans, fast_retrans, dup_acks_in, timeout_episodes;
    uint8_t syn_retrans;
    /* version 1: numbers of transitions, milliseconds, bytes */
    uint32_t snd_lim_trans_rwin, snd_lim_time_rwin;
    uint64_t snd_lim_bytes_rwin;
    uint32_t snd_lim_trans_cwnd, snd_lim_time_cwnd;
    uint64_t snd_lim_bytes_cwnd;
    uint32_t snd_lim_trans_snd, snd_lim_time_snd;
    uint64_t snd_lim_bytes_snd;
    /* version 2 */
    uint32_t out_of_order_pkts_in;
    uint8_t ecn_negotiated;
    uint32_t ece_acks_in, pto_episodes;
};
_Static_assert(offsetof(struct tcp_info_v2, snd_lim_trans_rwin) == 88 &&
                   offsetof(struct tcp_info_v2, out_of_order_pkts_in) == 136 &&
                   sizeof(struct tcp_info_v2) == 152,
               "the layout of TCP_INFO_v2");

/* Requests this version of the structure. Returns 0, or Winsock's error. */
static int request_info(SOCKET socket, DWORD version, struct tcp_info_v2 *info)
{
    static const DWORD sizes[] = {offsetof(struct tcp_info_v2, snd_lim_trans_rwin),
                                  offsetof(struct tcp_info_v2, out_of_order_pkts_in),
                                  sizeof(struct tcp_info_v2)};
    DWORD filled = 0;
    memset(info, 0, sizeof *info);
    return WSAIoctl(socket, SIO_TCP_INFO_CODE, &version, sizeof version, info, sizes[version], &filled, NULL,
                    NULL) == SOCKET_ERROR
               ? WSAGetLastError()
               : 0;
}

/* Whether Windows knows the request. If so, the error here is that the socket is not connected. */
bool windows_tcp_info_known(void)
{
    struct tcp_info_v2 info;
    unsigned major, minor, build;
    windows_version(&major, &minor, &build);
    SOCKET probe = build >= FIRST_BUILD ? socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) : INVALID_SOCKET;
    if (probe == INVALID_SOCKET)
        return false;
    bool is_known = request_info(probe, 0, &info) != WSAEOPNOTSUPP;
    closesocket(probe);
    return is_known;
}

static void add_fact(struct plat_tcp_info *out, enum plat_tcp_fact fact, uint64_t value)
{
    out->present |= UINT64_C(1) << fact;
    out->value[fact] = value;
}

/* Leaves out values whose names or definitions differ from those of other systems. BytesOut counts
 * sent bytes; Windows does not report how many of them were acknowledged. */
void plat_tcp_info(plat_socket socket, struct plat_tcp_info *out)
{
    struct tcp_info_v2 info;
    int version = 2;
    memset(out, 0, sizeof *out);
    while (version >= 0 && request_info(windows_socket(socket)->socket, (DWORD)version, &info) != 0)
        version--;
    if (version < 0)
        return;
    add_fact(out, PLAT_TCP_SND_MSS, info.mss);
    add_fact(out, PLAT_TCP_RTT_US, info.rtt_us);
    add_fact(out, PLAT_TCP_MIN_RTT_US, info.min_rtt_us);
    if (info.mss > 0)
        add_fact(out, PLAT_TCP_SND_CWND, info.cwnd / info.mss); /* in segments, as elsewhere */
    add_fact(out, PLAT_TCP_SND_WND, info.snd_wnd);
    add_fact(out, PLAT_TCP_BYTES_SENT, info.bytes_out);
    add_fact(out, PLAT_TCP_BYTES_RECEIVED, info.bytes_in);
    add_fact(out, PLAT_TCP_BYTES_RETRANS, info.bytes_retrans);
    if (version >= 1) {
        add_fact(out, PLAT_TCP_RWND_LIMITED_US, (uint64_t)info.snd_lim_time_rwin * 1000);
        add_fact(out, PLAT_TCP_SNDBUF_LIMITED_US, (uint64_t)info.snd_lim_time_snd * 1000);
    }
    if (version >= 2)
        add_fact(out, PLAT_TCP_RCV_OOOPACK, info.out_of_order_pkts_in);
    snprintf(out->options, sizeof out->options, "%s%s%s",
             info.timestamps_enabled ? "timestamps" : "",
             info.timestamps_enabled && info.ecn_negotiated ? "," : "",
             version >= 2 && info.ecn_negotiated ? "ecn" : "");
}
