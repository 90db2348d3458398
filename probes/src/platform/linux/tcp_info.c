/* Linux: TCP_INFO and the way to a peer, the two structures of the kernel that grow with it. */
#define _GNU_SOURCE
#include "platform/plat.h"

#include <arpa/inet.h>
#include <linux/rtnetlink.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Where each fact stands in the kernel's structure, and how wide it is. An older kernel returns
 * a shorter structure: what lies behind its end is absent. */
#define FIELD(fact, name)                                                                          \
    [fact] = {offsetof(struct tcp_info, name), sizeof(((struct tcp_info *)NULL)->name)}

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
};

static void name_options(const struct tcp_info *info, char *into, size_t capacity)
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
    struct tcp_info info;
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
    /* A bit field has no offset; it is as old as the delivery rate. */
    if (out->present & UINT64_C(1) << PLAT_TCP_DELIVERY_RATE) {
        out->present |= UINT64_C(1) << PLAT_TCP_DELIVERY_RATE_APP_LIMITED;
        out->value[PLAT_TCP_DELIVERY_RATE_APP_LIMITED] = info.tcpi_delivery_rate_app_limited;
    }
    name_options(&info, out->options, sizeof out->options);
}

/* ---- the route ---- */

static const void *ip_of(const struct plat_address *address, unsigned *family, size_t *size)
{
    if (plat_address_v6(address)) {
        *family = AF_INET6;
        *size = sizeof(struct in6_addr);
        return &((const struct sockaddr_in6 *)(const void *)address->at.bytes)->sin6_addr;
    }
    *family = AF_INET;
    *size = sizeof(struct in_addr);
    return &((const struct sockaddr_in *)(const void *)address->at.bytes)->sin_addr;
}

struct route_question {
    struct nlmsghdr header;
    struct rtmsg route;
    char attributes[128];
};

static void add_attribute(struct route_question *question, unsigned short type, const void *value,
                          size_t size)
{
    struct rtattr *place =
        (struct rtattr *)(void *)((char *)question + NLMSG_ALIGN(question->header.nlmsg_len));
    place->rta_type = type;
    place->rta_len = (unsigned short)RTA_LENGTH(size);
    memcpy(RTA_DATA(place), value, size);
    question->header.nlmsg_len =
        (uint32_t)(NLMSG_ALIGN(question->header.nlmsg_len) + RTA_LENGTH(size));
}

bool plat_interface_between(const struct plat_address *local, const struct plat_address *peer,
                            char into[PLAT_INTERFACE_NAME])
{
    struct route_question question = {
        .header = {.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
                   .nlmsg_type = RTM_GETROUTE,
                   .nlmsg_flags = NLM_F_REQUEST}};
    unsigned family;
    size_t size;
    const void *ip = ip_of(peer, &family, &size);
    question.route.rtm_family = (unsigned char)family;
    question.route.rtm_dst_len = (unsigned char)(size * 8);
    add_attribute(&question, RTA_DST, ip, size);
    ip = ip_of(local, &family, &size);
    question.route.rtm_src_len = (unsigned char)(size * 8);
    add_attribute(&question, RTA_SRC, ip, size);

    _Alignas(struct nlmsghdr) char answer[4096];
    int asker = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    if (asker < 0)
        return false;
    ssize_t got = -1;
    if (send(asker, &question, question.header.nlmsg_len, 0) > 0)
        got = recv(asker, answer, sizeof answer, 0);
    close(asker);
    const struct nlmsghdr *header = (const struct nlmsghdr *)(const void *)answer;
    if (got < (ssize_t)NLMSG_LENGTH(sizeof(struct rtmsg)) || header->nlmsg_type != RTM_NEWROUTE)
        return false;
    size_t left = (size_t)got - NLMSG_LENGTH(sizeof(struct rtmsg));
    for (const struct rtattr *at = RTM_RTA(NLMSG_DATA(header)); RTA_OK(at, left);
         at = RTA_NEXT(at, left)) {
        unsigned index;
        if (at->rta_type != RTA_OIF)
            continue;
        memcpy(&index, RTA_DATA(at), sizeof index);
        char name[IF_NAMESIZE];
        if (if_indextoname(index, name) == NULL)
            return false;
        snprintf(into, PLAT_INTERFACE_NAME, "%s", name);
        return true;
    }
    return false;
}
