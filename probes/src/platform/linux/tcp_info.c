/* Reads Linux' TCP_INFO of a connection; its structure grows with kernel versions. */
#define _GNU_SOURCE
#include "platform/plat.h"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "platform/linux/newer.h"

/* Offset and width of each fact in the kernel's structure. An older kernel returns a shorter structure:
 * facts after its end are absent. */
#define FIELD(fact, name)                                                                          \
    [fact] = {offsetof(struct newer_tcp_info, name), sizeof(((struct newer_tcp_info *)NULL)->name)}

static const struct {
    size_t offset, size;
} fields[PLAT_TCP_FACTS] = {
    FIELD(PLAT_TCP_SND_MSS, tcpi_snd_mss),
    FIELD(PLAT_TCP_ADVMSS, tcpi_advmss),
    FIELD(PLAT_TCP_PMTU, tcpi_pmtu),
    FIELD(PLAT_TCP_RTT_US, tcpi_rtt),
    FIELD(PLAT_TCP_RTTVAR_US, tcpi_rttvar),
    FIELD(PLAT_TCP_MIN_RTT_US, tcpi_min_rtt),
    FIELD(PLAT_TCP_SND_CWND, tcpi_snd_cwnd),
    FIELD(PLAT_TCP_SND_SSTHRESH, tcpi_snd_ssthresh),
    FIELD(PLAT_TCP_SND_WND, tcpi_snd_wnd),
    FIELD(PLAT_TCP_RCV_SPACE, tcpi_rcv_space),
    FIELD(PLAT_TCP_TOTAL_RETRANS, tcpi_total_retrans),
    FIELD(PLAT_TCP_BYTES_SENT, tcpi_bytes_sent),
    FIELD(PLAT_TCP_BYTES_ACKED, tcpi_bytes_acked),
    FIELD(PLAT_TCP_BYTES_RECEIVED, tcpi_bytes_received),
    FIELD(PLAT_TCP_BYTES_RETRANS, tcpi_bytes_retrans),
    FIELD(PLAT_TCP_SEGS_OUT, tcpi_segs_out),
    FIELD(PLAT_TCP_SEGS_IN, tcpi_segs_in),
    FIELD(PLAT_TCP_DATA_SEGS_OUT, tcpi_data_segs_out),
    FIELD(PLAT_TCP_DATA_SEGS_IN, tcpi_data_segs_in),
    FIELD(PLAT_TCP_NOTSENT_BYTES, tcpi_notsent_bytes),
    FIELD(PLAT_TCP_DELIVERY_RATE, tcpi_delivery_rate),
    FIELD(PLAT_TCP_PACING_RATE, tcpi_pacing_rate),
    FIELD(PLAT_TCP_BUSY_TIME_US, tcpi_busy_time),
    FIELD(PLAT_TCP_RWND_LIMITED_US, tcpi_rwnd_limited),
    FIELD(PLAT_TCP_SNDBUF_LIMITED_US, tcpi_sndbuf_limited),
    FIELD(PLAT_TCP_DELIVERED_CE, tcpi_delivered_ce),
    FIELD(PLAT_TCP_DSACK_DUPS, tcpi_dsack_dups),
    FIELD(PLAT_TCP_REORD_SEEN, tcpi_reord_seen),
    FIELD(PLAT_TCP_RCV_OOOPACK, tcpi_rcv_ooopack),
    FIELD(PLAT_TCP_RTO_US, tcpi_rto),
};

static void name_options(const struct newer_tcp_info *info, char *into, size_t capacity)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{TCPI_OPT_TIMESTAMPS, "timestamps"},
                 {TCPI_OPT_SACK, "sack"},
                 {TCPI_OPT_WSCALE, "wscale"},
                 {TCPI_OPT_ECN, "ecn"}};
    size_t used = 0;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (info->tcpi_options & names[i].bit)
            used += (size_t)snprintf(into + used, capacity - used, "%s%s", used > 0 ? "," : "",
                                     names[i].name);
}

void plat_tcp_info(plat_socket socket, struct plat_tcp_info *out)
{
    struct newer_tcp_info info;
    socklen_t length = sizeof info;
    memset(out, 0, sizeof *out);
    memset(&info, 0, sizeof info);
    if (getsockopt((int)socket, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
        return;
    for (unsigned fact = 0; fact < PLAT_TCP_FACTS; fact++) {
        uint32_t narrow;
        const char *place = (const char *)&info + fields[fact].offset;
        if (fields[fact].size == 0 || fields[fact].offset + fields[fact].size > length)
            continue;
        out->present |= UINT64_C(1) << fact;
        if (fields[fact].size == sizeof out->value[fact]) {
            memcpy(&out->value[fact], place, sizeof out->value[fact]);
        } else {
            memcpy(&narrow, place, sizeof narrow);
            out->value[fact] = narrow;
        }
    }
    /* A bit field has no offset. Kernels that report the delivery rate also report this bit
     * field. */
    if (out->present & UINT64_C(1) << PLAT_TCP_DELIVERY_RATE) {
        out->present |= UINT64_C(1) << PLAT_TCP_DELIVERY_RATE_APP_LIMITED;
        out->value[PLAT_TCP_DELIVERY_RATE_APP_LIMITED] = info.tcpi_delivery_rate_app_limited;
    }
    name_options(&info, out->options, sizeof out->options);
}
