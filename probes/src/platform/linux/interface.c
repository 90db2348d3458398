/* Writes the route to a peer, and settings and counters of the route's interface, on Linux. Routes
 * and counters are read by netlink, which works in the current network namespace and has 64-bit
 * counters. Settings of the driver are read by SIOCETHTOOL. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/linux/linux.h"
#include "platform/linux/newer.h"

/* ---- netlink: one query at a time ---- */

struct netlink_question {
    struct nlmsghdr header;
    union {
        struct rtmsg route;
        struct ifinfomsg link;
        struct tcmsg queue;
        struct genlmsghdr generic;
    } body;
    char attributes[96];
};

union netlink_answer {
    struct nlmsghdr header;
    char bytes[16384];
};

static void netlink_begin(struct netlink_question *question, unsigned short type, size_t body)
{
    memset(question, 0, sizeof *question);
    question->header.nlmsg_len = (uint32_t)NLMSG_LENGTH(body);
    question->header.nlmsg_type = type;
    question->header.nlmsg_flags = NLM_F_REQUEST;
}

static void netlink_add(struct netlink_question *question, unsigned short type, const void *value,
                        size_t size)
{
    char *place = (char *)question + NLMSG_ALIGN(question->header.nlmsg_len);
    struct rtattr attribute = {.rta_len = (unsigned short)RTA_LENGTH(size), .rta_type = type};
    memcpy(place, &attribute, sizeof attribute);
    memcpy(place + RTA_LENGTH(0), value, size);
    question->header.nlmsg_len =
        (uint32_t)(NLMSG_ALIGN(question->header.nlmsg_len) + RTA_LENGTH(size));
}

/* Sends the question by the given netlink protocol, such as NETLINK_GENERIC, and reads the answer.
 * attributes[t] becomes the answer's attribute of type t, for t below `types` (NULL: the answer has
 * none). False: there is no answer of the type `expected`. */
static bool netlink_ask_of(int protocol, const struct netlink_question *question,
                           union netlink_answer *answer, unsigned short expected, size_t body,
                           struct rtattr **attributes, unsigned types)
{
    ssize_t got = -1;
    int asker = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
    if (asker < 0)
        return false;
    if (send(asker, question, question->header.nlmsg_len, 0) > 0)
        got = recv(asker, answer, sizeof *answer, 0);
    close(asker);
    if (got < (ssize_t)NLMSG_LENGTH(body) || answer->header.nlmsg_type != expected ||
        answer->header.nlmsg_len > (size_t)got)
        return false;
    memset(attributes, 0, types * sizeof *attributes);
    char *at = (char *)NLMSG_DATA(&answer->header) + NLMSG_ALIGN(body);
    size_t remaining_bytes = answer->header.nlmsg_len - NLMSG_LENGTH(body);
    for (struct rtattr *attribute = (struct rtattr *)(void *)at; RTA_OK(attribute, remaining_bytes);
         attribute = RTA_NEXT(attribute, remaining_bytes))
        if ((attribute->rta_type & NLA_TYPE_MASK) < types)
            attributes[attribute->rta_type & NLA_TYPE_MASK] = attribute;
    return true;
}

static bool netlink_ask(const struct netlink_question *question, union netlink_answer *answer,
                        unsigned short expected, size_t body, struct rtattr **attributes,
                        unsigned types)
{
    return netlink_ask_of(NETLINK_ROUTE, question, answer, expected, body, attributes, types);
}

/* Reads the number in an attribute. False: the attribute is missing (NULL) or too short. */
static bool netlink_u32(const struct rtattr *attribute, uint32_t *value)
{
    if (attribute == NULL || RTA_PAYLOAD(attribute) < sizeof *value)
        return false;
    memcpy(value, RTA_DATA(attribute), sizeof *value);
    return true;
}

/* ---- routes and interfaces, by netlink ---- */

/* Adds an address. Returns its length in bits. */
static unsigned char add_address(struct netlink_question *question, unsigned short type,
                                 const struct plat_address *address)
{
    const bool v6 = plat_address_v6(address);
    const size_t size = v6 ? sizeof(struct in6_addr) : sizeof(struct in_addr);
    const size_t offset =
        v6 ? offsetof(struct sockaddr_in6, sin6_addr) : offsetof(struct sockaddr_in, sin_addr);
    netlink_add(question, type, address->at.bytes + offset, size);
    return (unsigned char)(size * 8);
}

/* Returns the index of the interface by which packets to `to` leave; 0: there is no route. `from`
 * is their source address (NULL: any), `by` the interface to use (0: any). `attributes` becomes the
 * attributes of the route, which point into `answer`. */
static unsigned netlink_route(const struct plat_address *from, const struct plat_address *to,
                              unsigned by, union netlink_answer *answer,
                              struct rtattr *attributes[RTA_MAX + 1])
{
    struct netlink_question question;
    struct sockaddr_in6 v6;
    uint32_t index;
    netlink_begin(&question, RTM_GETROUTE, sizeof question.body.route);
    question.body.route.rtm_family = plat_address_v6(to) ? AF_INET6 : AF_INET;
    question.body.route.rtm_dst_len = add_address(&question, RTA_DST, to);
    if (from != NULL)
        question.body.route.rtm_src_len = add_address(&question, RTA_SRC, from);
    memcpy(&v6, to->at.bytes, sizeof v6);
    if (by == 0 && plat_address_v6(to))
        by = v6.sin6_scope_id;
    if (by != 0)
        netlink_add(&question, RTA_OIF, &by, sizeof by);
    return netlink_ask(&question, answer, RTM_NEWROUTE, sizeof(struct rtmsg), attributes,
                       RTA_MAX + 1) &&
                   netlink_u32(attributes[RTA_OIF], &index)
               ? index
               : 0;
}

bool plat_interface_between(const struct plat_address *local, const struct plat_address *peer,
                            char into[PLAT_INTERFACE_NAME])
{
    union netlink_answer answer;
    struct rtattr *attributes[RTA_MAX + 1];
    char name[IF_NAMESIZE];
    unsigned index = netlink_route(local, peer, 0, &answer, attributes);
    if (index == 0 || if_indextoname(index, name) == NULL)
        return false;
    snprintf(into, PLAT_INTERFACE_NAME, "%s", name);
    return true;
}

/* Asks for an interface by its index. False: there is none, or the system does not answer. */
static bool ask_link(unsigned index, union netlink_answer *answer,
                     struct rtattr *attributes[IFLA_MAX + 1])
{
    struct netlink_question question;
    netlink_begin(&question, RTM_GETLINK, sizeof question.body.link);
    question.body.link.ifi_index = (int)index;
    return index != 0 && netlink_ask(&question, answer, RTM_NEWLINK, sizeof(struct ifinfomsg),
                                     attributes, IFLA_MAX + 1);
}

/* A number of an interface by its type. */
static bool link_number(const char *name, unsigned short type, uint64_t *out)
{
    union netlink_answer answer;
    struct rtattr *attributes[IFLA_MAX + 1];
    uint32_t value;
    if (!ask_link(if_nametoindex(name), &answer, attributes) ||
        !netlink_u32(attributes[type], &value))
        return false;
    *out = value;
    return true;
}

bool plat_carrier_changes(const char *name, uint64_t *out)
{
    return link_number(name, IFLA_CARRIER_CHANGES, out);
}

uint64_t plat_interface_mtu(const char *name)
{
    uint64_t mtu_bytes;
    return link_number(name, IFLA_MTU, &mtu_bytes) ? mtu_bytes : 0;
}

/* ---- pause frames ---- */

/* How many pause frames (IEEE 802.3 annex 31B) an interface sent and received. The numbers are the
 * counters of the standard (30.3.4.2, 30.3.4.3), which Linux 5.10 and newer report by ethtool's
 * netlink family. Private statistics of drivers have no defined meaning and are not read. */

/* Constants of <linux/ethtool_netlink.h>, which older systems lack. */
enum {
    PAUSE_GET = 21,
    PAUSE_GET_REPLY = 22,
    PAUSE_HEADER = 1,
    PAUSE_STATISTICS = 5,
    HEADER_INDEX = 1,
    HEADER_FLAGS = 3,
    STATISTICS_TOO = 1 << 2,
    FRAMES_SENT = 2,
    FRAMES_RECEIVED = 3,
};

/* Number of ethtool's netlink family; 0: the kernel has no such family. */
static unsigned short ethtool_family(void)
{
    static const char name[] = "ethtool";
    struct netlink_question question;
    union netlink_answer answer;
    struct rtattr *attributes[CTRL_ATTR_FAMILY_ID + 1];
    unsigned short family;
    netlink_begin(&question, GENL_ID_CTRL, sizeof question.body.generic);
    question.body.generic = (struct genlmsghdr){.cmd = CTRL_CMD_GETFAMILY, .version = 1};
    netlink_add(&question, CTRL_ATTR_FAMILY_NAME, name, sizeof name);
    if (!netlink_ask_of(NETLINK_GENERIC, &question, &answer, GENL_ID_CTRL,
                        sizeof question.body.generic, attributes, CTRL_ATTR_FAMILY_ID + 1) ||
        attributes[CTRL_ATTR_FAMILY_ID] == NULL ||
        RTA_PAYLOAD(attributes[CTRL_ATTR_FAMILY_ID]) < sizeof family)
        return 0;
    memcpy(&family, RTA_DATA(attributes[CTRL_ATTR_FAMILY_ID]), sizeof family);
    return family;
}

static bool frames_in(const struct rtattr *statistics, unsigned short type, uint64_t *frames)
{
    size_t remaining_bytes = RTA_PAYLOAD(statistics);
    for (const struct rtattr *attribute = RTA_DATA(statistics); RTA_OK(attribute, remaining_bytes);
         attribute = RTA_NEXT(attribute, remaining_bytes)) {
        if ((attribute->rta_type & NLA_TYPE_MASK) != type ||
            RTA_PAYLOAD(attribute) < sizeof *frames)
            continue;
        memcpy(frames, RTA_DATA(attribute), sizeof *frames);
        return true;
    }
    return false;
}

/* Writes the numbers of pause frames of the interface with this index, if its driver counts
 * them. */
static void facts_pause_frames(struct json *out, unsigned interface)
{
    struct netlink_question question;
    union netlink_answer answer;
    struct rtattr *attributes[PAUSE_STATISTICS + 1];
    const struct {
        struct rtattr index_head;
        uint32_t index;
        struct rtattr flags_head;
        uint32_t flags;
    } header = {{RTA_LENGTH(sizeof(uint32_t)), HEADER_INDEX},
                interface,
                {RTA_LENGTH(sizeof(uint32_t)), HEADER_FLAGS},
                STATISTICS_TOO};
    const unsigned short family = ethtool_family();
    uint64_t frames;
    if (family == 0)
        return;
    netlink_begin(&question, family, sizeof question.body.generic);
    question.body.generic = (struct genlmsghdr){.cmd = PAUSE_GET, .version = 1};
    netlink_add(&question, PAUSE_HEADER | NLA_F_NESTED, &header, sizeof header);
    if (!netlink_ask_of(NETLINK_GENERIC, &question, &answer, family, sizeof question.body.generic,
                        attributes, PAUSE_STATISTICS + 1) ||
        ((const struct genlmsghdr *)NLMSG_DATA(&answer.header))->cmd != PAUSE_GET_REPLY ||
        attributes[PAUSE_STATISTICS] == NULL)
        return;
    if (frames_in(attributes[PAUSE_STATISTICS], FRAMES_SENT, &frames))
        json_u64(out, "interface_pause_frames_sent", frames);
    if (frames_in(attributes[PAUSE_STATISTICS], FRAMES_RECEIVED, &frames))
        json_u64(out, "interface_pause_frames_received", frames);
}

/* ---- the route ---- */

static void route_address(struct json *out, const char *key, int family,
                          const struct rtattr *attribute)
{
    char text[INET6_ADDRSTRLEN];
    size_t size = family == AF_INET6 ? 16 : 4;
    if (attribute != NULL && RTA_PAYLOAD(attribute) >= size &&
        inet_ntop(family, RTA_DATA(attribute), text, sizeof text) != NULL)
        json_text(out, key, text);
}

/* Writes the route to an address. Returns the index of the interface by which packets to this
 * address leave; 0: there is no route. `by` is the index of the only interface to consider; 0: all
 * interfaces. */
static unsigned write_route(struct json *out, const struct plat_address *to, unsigned by)
{
    union netlink_answer answer;
    struct rtattr *attributes[RTA_MAX + 1];
    int family = plat_address_v6(to) ? AF_INET6 : AF_INET;
    unsigned index = netlink_route(NULL, to, by, &answer, attributes);
    if (index == 0)
        return 0;
    route_address(out, "route_source", family, attributes[RTA_PREFSRC]);
    route_address(out, "route_gateway", family, attributes[RTA_GATEWAY]);
    return index;
}

/* ---- the interface's counters and settings ---- */

static void statistics(struct json *out, const struct rtattr *attribute)
{
    struct rtnl_link_stats64 counted;
    memset(&counted, 0, sizeof counted);
    if (attribute == NULL || RTA_PAYLOAD(attribute) < offsetof(struct rtnl_link_stats64, multicast))
        return;
    memcpy(&counted, RTA_DATA(attribute),
           RTA_PAYLOAD(attribute) < sizeof counted ? RTA_PAYLOAD(attribute) : sizeof counted);
    json_u64(out, "interface_sent_bytes", counted.tx_bytes);
    json_u64(out, "interface_received_bytes", counted.rx_bytes);
    json_u64(out, "interface_sent_packets", counted.tx_packets);
    json_u64(out, "interface_received_packets", counted.rx_packets);
    /* Missed frames are frames for which the card had no room; the kernel counts them
     * separately. */
    json_u64(out, "interface_dropped_packets",
             counted.rx_dropped + counted.tx_dropped + counted.rx_missed_errors);
    json_u64(out, "interface_errors", counted.rx_errors + counted.tx_errors);
}

static void link_settings(struct json *out, unsigned index)
{
    union netlink_answer answer;
    struct rtattr *attributes[IFLA_MAX + 1];
    uint32_t value;
    if (!ask_link(index, &answer, attributes))
        return;
    if (netlink_u32(attributes[IFLA_MTU], &value))
        json_u64(out, "interface_mtu_bytes", value);
    if (netlink_u32(attributes[IFLA_TXQLEN], &value))
        json_u64(out, "interface_queue_length", value);
    if (attributes[IFLA_QDISC] != NULL)
        json_text_of(
            out, "interface_qdisc", RTA_DATA(attributes[IFLA_QDISC]),
            strnlen(RTA_DATA(attributes[IFLA_QDISC]), RTA_PAYLOAD(attributes[IFLA_QDISC])));
    if (attributes[IFLA_CARRIER] != NULL && RTA_PAYLOAD(attributes[IFLA_CARRIER]) >= 1)
        json_u64(out, "interface_carrier",
                 *(const unsigned char *)RTA_DATA(attributes[IFLA_CARRIER]));
    statistics(out, attributes[IFLA_STATS64]);
}

/* Writes the number of packets that the interface's queueing discipline dropped, because a shaper
 * or the card is slower than the sender. No counter of the interface contains these packets. */
static void queue_drops(struct json *out, unsigned index)
{
    union netlink_answer answer;
    struct netlink_question question;
    struct rtattr *attributes[TCA_MAX + 1];
    struct tc_stats counted;
    netlink_begin(&question, RTM_GETQDISC, sizeof question.body.queue);
    /* Older kernels answer only if ECHO is set. With ACK there is an answer in any case. */
    question.header.nlmsg_flags |= NLM_F_ECHO | NLM_F_ACK;
    question.body.queue.tcm_ifindex = (int)index;
    question.body.queue.tcm_parent = TC_H_ROOT;
    if (!netlink_ask(&question, &answer, RTM_NEWQDISC, sizeof(struct tcmsg), attributes,
                     TCA_MAX + 1))
        return;
    const struct rtattr *attribute = attributes[TCA_STATS];
    if (attribute == NULL || RTA_PAYLOAD(attribute) < offsetof(struct tc_stats, overlimits))
        return;
    memset(&counted, 0, sizeof counted);
    memcpy(&counted, RTA_DATA(attribute),
           RTA_PAYLOAD(attribute) < sizeof counted ? RTA_PAYLOAD(attribute) : sizeof counted);
    json_u64(out, "interface_queue_dropped_packets", counted.drops);
}

/* ---- the driver ---- */

struct device {
    int asker;
    char name[IF_NAMESIZE];
};

/* `command` begins with the number of the command, as all structures of ethtool do. */
static bool ethtool(const struct device *device, void *command)
{
    struct ifreq request;
    memset(&request, 0, sizeof request);
    memcpy(request.ifr_name, device->name, sizeof device->name);
    request.ifr_data = command;
    return ioctl(device->asker, SIOCETHTOOL, &request) == 0;
}

static void speed(struct json *out, const struct device *device)
{
    /* Three masks follow the structure; the first call returns their length. */
    union {
        struct ethtool_link_settings head;
        char room[sizeof(struct ethtool_link_settings) + 3 * 127 * 4];
    } link;
    memset(&link, 0, sizeof link);
    link.head.cmd = ETHTOOL_GLINKSETTINGS;
    if (!ethtool(device, &link) || link.head.link_mode_masks_nwords >= 0)
        return;
    link.head.link_mode_masks_nwords = (signed char)-link.head.link_mode_masks_nwords;
    link.head.cmd = ETHTOOL_GLINKSETTINGS;
    if (!ethtool(device, &link))
        return;
    if (link.head.speed != 0 && link.head.speed != (uint32_t)SPEED_UNKNOWN)
        json_u64(out, "interface_speed_bit_per_s", link.head.speed * UINT64_C(1000000));
    if (link.head.duplex == DUPLEX_FULL || link.head.duplex == DUPLEX_HALF)
        json_text(out, "interface_duplex", link.head.duplex == DUPLEX_FULL ? "full" : "half");
}

static void offloads(struct json *out, const struct device *device)
{
    static const struct {
        uint32_t command, bit;
        const char *name;
    } features[] = {{ETHTOOL_GRXCSUM, 1, "rx-checksum"},
                    {ETHTOOL_GTXCSUM, 1, "tx-checksum"},
                    {ETHTOOL_GSG, 1, "scatter-gather"},
                    {ETHTOOL_GTSO, 1, "tso"},
                    {ETHTOOL_GGSO, 1, "gso"},
                    {ETHTOOL_GGRO, 1, "gro"},
                    {ETHTOOL_GFLAGS, ETH_FLAG_LRO, "lro"}};
    char list[128] = "";
    bool any = false;
    for (size_t i = 0; i < sizeof features / sizeof features[0]; i++) {
        struct ethtool_value value = {.cmd = features[i].command};
        if (!ethtool(device, &value))
            continue;
        any = true;
        if ((value.data & features[i].bit) == 0)
            continue;
        if (list[0] != 0)
            strcat(list, ",");
        strcat(list, features[i].name);
    }
    if (any)
        json_text(out, "interface_offloads", list);
}

/* Writes the number of queues among which the card can distribute received and sent packets (RSS,
 * XPS). */
static void queues(struct json *out, const struct device *device)
{
    struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
    struct ethtool_rxnfc rings = {.cmd = ETHTOOL_GRXRINGS};
    if (ethtool(device, &channels)) {
        json_u64(out, "interface_queues_rx", channels.rx_count + channels.combined_count);
        json_u64(out, "interface_queues_tx", channels.tx_count + channels.combined_count);
    } else {
        facts_queues(out, device->name);
    }
    if (ethtool(device, &rings))
        json_u64(out, "interface_rss_queues", rings.data);
}

/* Writes the hash function, the hash key and the size of the table by which the card distributes
 * received packets to its queues. All packets of a flow arrive in the same queue, so the same CPU
 * handles them. */
static void receive_hash(struct json *out, const struct device *device)
{
    enum { PLACES = 4096, KEY = 256, HASHES = 3 };
    /* The name at place k belongs to bit k of `hash`. */
    static const char *const hashes[HASHES] = {"toeplitz", "xor", "crc32"};
    union {
        struct newer_rxfh head;
        char room[sizeof(struct newer_rxfh) + PLACES * sizeof(uint32_t) + KEY];
    } rss;
    char key[2 * KEY + 1] = "";
    memset(&rss, 0, sizeof rss.head);
    rss.head.cmd = ETHTOOL_GRSSH; /* without a table and a key, it only returns their sizes */
    if (!ethtool(device, &rss) || rss.head.table_places > PLACES || rss.head.key_bytes > KEY)
        return;
    rss.head.cmd = ETHTOOL_GRSSH;
    if (!ethtool(device, &rss) || rss.head.table_places + rss.head.key_bytes == 0)
        return;
    for (unsigned i = 0; i < HASHES; i++)
        if (rss.head.hash == 1u << i)
            json_text(out, "interface_rss_hash", hashes[i]);
    if (rss.head.table_places > 0)
        json_u64(out, "interface_rss_table_places", rss.head.table_places);
    const unsigned char *bytes = (const unsigned char *)&rss.head.config[rss.head.table_places];
    for (unsigned i = 0; i < rss.head.key_bytes; i++)
        snprintf(key + 2 * i, 3, "%02x", bytes[i]);
    json_text(out, "interface_rss_key", key[0] != 0 ? key : NULL);
}

/* Energy-efficient Ethernet: a sleeping link takes microseconds to wake up. */
static void energy_saving(struct json *out, const struct device *device)
{
    struct ethtool_eee eee = {.cmd = ETHTOOL_GEEE};
    if (ethtool(device, &eee))
        json_text(out, "interface_eee",
                  eee.eee_enabled == 0  ? "off"
                  : eee.eee_active != 0 ? "active"
                                        : "enabled");
}

static bool driver_name(struct json *out, const struct device *device, struct ethtool_drvinfo *info)
{
    memset(info, 0, sizeof *info);
    info->cmd = ETHTOOL_GDRVINFO;
    if (!ethtool(device, info))
        return false;
    json_text_of(out, "interface_driver", info->driver, strnlen(info->driver, sizeof info->driver));
    return true;
}

static void driver(struct json *out, const struct device *device)
{
    struct ethtool_drvinfo info;
    struct ethtool_ringparam rings = {.cmd = ETHTOOL_GRINGPARAM};
    struct ethtool_coalesce coalesce = {.cmd = ETHTOOL_GCOALESCE};
    struct ethtool_pauseparam pause = {.cmd = ETHTOOL_GPAUSEPARAM};
    bool has_driver = driver_name(out, device, &info);
    info.bus_info[sizeof info.bus_info - 1] = 0;
    if (!has_driver || !facts_bus(out, info.bus_info))
        facts_device(out, device->name);
    speed(out, device);
    offloads(out, device);
    queues(out, device);
    receive_hash(out, device);
    energy_saving(out, device);
    if (ethtool(device, &rings)) {
        json_u64(out, "interface_ring_rx", rings.rx_pending);
        json_u64(out, "interface_ring_tx", rings.tx_pending);
    }
    if (ethtool(device, &coalesce))
        json_u64(out, "interface_coalesce_rx_us", coalesce.rx_coalesce_usecs);
    if (ethtool(device, &pause)) {
        json_u64(out, "interface_pause_rx", pause.rx_pause != 0);
        json_u64(out, "interface_pause_tx", pause.tx_pause != 0);
    }
}

/* Writes the facts of the given interface, or of the interface by which packets to a numeric
 * address leave. False: there is no such interface. */
static bool write_device(struct json *out, const char *to, const char *interface,
                         struct device *device)
{
    struct plat_address address;
    memset(device, 0, sizeof *device);
    if (!plat_address_parse(to, 0, &address))
        return false;
    const unsigned by = interface != NULL ? if_nametoindex(interface) : 0;
    unsigned index = write_route(out, &address, by);
    if (interface != NULL)
        index = by; /* even if no route uses it */
    if (index == 0 || if_indextoname(index, device->name) == NULL)
        return false;
    device->asker = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (device->asker < 0)
        return false;
    json_text(out, "route_interface", device->name);
    link_settings(out, index);
    queue_drops(out, index);
    facts_pause_frames(out, index);
    return true;
}

void facts_counters(struct json *out, const char *to, const char *interface)
{
    struct device device;
    struct ethtool_drvinfo info;
    if (!write_device(out, to, interface, &device))
        return;
    driver_name(out, &device, &info);
    close(device.asker);
}

void facts_route(struct json *out, const char *to, const char *interface)
{
    struct device device;
    char steering[PLAT_STEERING];
    if (!write_device(out, to, interface, &device))
        return;
    if (plat_receive_steering(device.name, steering))
        json_text(out, "interface_rps_cpus", steering);
    driver(out, &device);
    close(device.asker);
}
