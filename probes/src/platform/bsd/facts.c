/* Writes facts of a macOS or FreeBSD host. They come from sysctl; the route to a peer comes from
 * the routing socket. Facts that cannot be read are left out. */
#include "platform/bsd/bsd.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <net/if_dl.h>
#include <net/route.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/sysctl.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "platform/shared.h"
#include "pure/json.h"

/* ---- sysctl ---- */

static bool text_in(const char *name, char *into, size_t capacity)
{
    size_t length = capacity - 1;
    memset(into, 0, capacity);
    return sysctlbyname(name, into, &length, NULL, 0) == 0 && into[0] != 0;
}

static void text_of(struct json *out, const char *key, const char *name)
{
    char text[256];
    if (text_in(name, text, sizeof text))
        json_text(out, key, text);
}

static void number_of(struct json *out, const char *key, const char *name)
{
    union {
        int32_t narrow;
        int64_t wide;
    } value = {.wide = 0};
    size_t length = sizeof value;
    if (sysctlbyname(name, &value, &length, NULL, 0) != 0)
        return;
    int64_t number = length == sizeof value.narrow ? value.narrow : value.wide;
    if (number >= 0)
        json_u64(out, key, (uint64_t)number);
}

/* ---- the route: one query of the kernel's routing table ---- */

struct route_message {
    struct rt_msghdr header;
    char addresses[512];
};

static bool ask_route(const struct plat_address *to, struct route_message *message)
{
    static int number;
    int asker = socket(PF_ROUTE, SOCK_RAW, 0), sent = ++number;
    struct timeval patience = {.tv_sec = 1};
    ssize_t got = -1;
    if (asker < 0)
        return false;
    memset(message, 0, sizeof *message);
    message->header.rtm_version = RTM_VERSION;
    message->header.rtm_type = RTM_GET;
    message->header.rtm_addrs = RTA_DST | RTA_IFP | RTA_IFA;
    message->header.rtm_seq = sent;
    memcpy(message->addresses, to->at.bytes, to->length);
    size_t length = sizeof message->header + bsd_rounded(to->length);
    message->header.rtm_msglen = (unsigned short)length;
    setsockopt(asker, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (write(asker, message, length) == (ssize_t)length)
        do
            got = read(asker, message, sizeof *message);
        while (got > 0 && (message->header.rtm_seq != sent || message->header.rtm_pid != getpid()));
    close(asker);
    return got >= (ssize_t)sizeof message->header && message->header.rtm_errno == 0;
}

/* The address of the given kind (RTA_…) in the answer; NULL: there is none. */
static const struct sockaddr *in_route(const struct route_message *message, int kind)
{
    const char *at = message->addresses, *end = (const char *)message + message->header.rtm_msglen;
    for (int bit = 1; bit != 0 && bit <= RTA_BRD && at < end; bit <<= 1) {
        const struct sockaddr *address = (const struct sockaddr *)(const void *)at;
        if ((message->header.rtm_addrs & bit) == 0)
            continue;
        if (bit == kind)
            return address;
        at += bsd_rounded(address->sa_len);
    }
    return NULL;
}

static bool name_of_route(const struct route_message *message, char into[PLAT_INTERFACE_NAME])
{
    char name[IF_NAMESIZE];
    if (if_indextoname(message->header.rtm_index, name) == NULL)
        return false;
    snprintf(into, PLAT_INTERFACE_NAME, "%s", name);
    return true;
}

/* Ignores `local`, because neither macOS nor FreeBSD chooses the route by the source address. */
bool plat_interface_between(const struct plat_address *local, const struct plat_address *peer,
                            char into[PLAT_INTERFACE_NAME])
{
    struct route_message message;
    struct sockaddr_in6 v6;
    char name[IF_NAMESIZE];
    (void)local;
    memcpy(&v6, peer->at.bytes, sizeof v6);
    if (plat_address_v6(peer) && v6.sin6_scope_id != 0) {
        if (if_indextoname(v6.sin6_scope_id, name) == NULL)
            return false;
        snprintf(into, PLAT_INTERFACE_NAME, "%s", name);
        return true;
    }
    return ask_route(peer, &message) && name_of_route(&message, into);
}

/* ---- interfaces ---- */

bool plat_carrier_changes(const char *name, uint64_t *out)
{
    (void)name;
    (void)out;
    return false;
}

bool plat_interface_counts(const char *name, struct plat_interface_counts *out)
{
    struct bsd_interface_counters counters;
    if (!bsd_interface_counters(name, &counters))
        return false;
    *out = (struct plat_interface_counts){counters.sent_bytes, counters.received_bytes,
                                          counters.sent_packets, counters.received_packets};
    return true;
}

uint64_t plat_interface_mtu(const char *name)
{
    struct bsd_interface_counters counters;
    return bsd_interface_counters(name, &counters) ? counters.mtu_bytes : 0;
}

bool plat_window_scaling(bool *out)
{
    (void)out;
    return false;
}

static void route_address(struct json *out, const char *key, const struct sockaddr *address)
{
    char text[PLAT_ADDRESS_TEXT];
    struct plat_address copy;
    if (address == NULL || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
        return;
    memset(&copy, 0, sizeof copy);
    memcpy(copy.at.bytes, address, address->sa_len);
    copy.length = address->sa_len;
    plat_address_text(&copy, text);
    json_text(out, key, text[0] != 0 ? text : NULL);
}

static void write_interface(struct json *out, const char *name)
{
    struct bsd_interface_counters counters;
    if (if_nametoindex(name) == 0)
        return;
    json_text(out, "route_interface", name);
    if (!bsd_interface_counters(name, &counters))
        return;
    json_u64(out, "interface_mtu_bytes", counters.mtu_bytes);
    if (counters.speed_bit_per_s > 0)
        json_u64(out, "interface_speed_bit_per_s", counters.speed_bit_per_s);
    json_u64(out, "interface_sent_bytes", counters.sent_bytes);
    json_u64(out, "interface_received_bytes", counters.received_bytes);
    json_u64(out, "interface_sent_packets", counters.sent_packets);
    json_u64(out, "interface_received_packets", counters.received_packets);
    json_u64(out, "interface_dropped_packets", counters.dropped);
    json_u64(out, "interface_errors", counters.errors);
}

static void route(struct json *out, const char *to, const char *interface)
{
    struct plat_address address;
    struct route_message message;
    char name[PLAT_INTERFACE_NAME];
    if (interface != NULL) {
        write_interface(out, interface);
        return;
    }
    if (!plat_address_parse(to, 0, &address) || !ask_route(&address, &message))
        return;
    route_address(out, "route_source", in_route(&message, RTA_IFA));
    if (message.header.rtm_flags & RTF_GATEWAY)
        route_address(out, "route_gateway", in_route(&message, RTA_GATEWAY));
    if (name_of_route(&message, name))
        write_interface(out, name);
}

/* ---- the machine ---- */

static void machine(struct json *out)
{
    struct utsname names;
    struct plat_identity identity;
    char text[256];
    plat_identify(&identity);
    if (uname(&names) == 0) {
        json_text(out, "kernel", names.release);
        json_text(out, "hostname", names.nodename);
        bsd_distribution(text, sizeof text);
        json_text(out, "distribution", text[0] != 0 ? text : NULL);
    }
    text_of(out, "cpu_model", bsd_cpu_model);
    json_u64(out, "cpu_count", identity.cpu_count);
    number_of(out, "memory_bytes", bsd_memory);
    json_text(out, "machine_id", identity.machine_id[0] != 0 ? identity.machine_id : NULL);
    json_text(out, "virtual", plat_hypervisor());
    text_of(out, "congestion", "net.inet.tcp.cc.algorithm");
    number_of(out, "ecn", "net.inet.tcp.ecn.enable");
    number_of(out, "rmem_max_bytes", "kern.ipc.maxsockbuf");
    number_of(out, "wmem_max_bytes", "kern.ipc.maxsockbuf");
    number_of(out, "tcp_timestamps", "net.inet.tcp.rfc1323");
}

void plat_counters(struct json *out, const char *to, const char *interface)
{
    if (to != NULL)
        route(out, to, interface);
}

void plat_facts(struct json *out, const char *to, const char *interface)
{
    machine(out);
    if (to != NULL)
        route(out, to, interface);
    posix_facts_addresses(out);
}
