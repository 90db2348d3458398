/* Writes the route to a peer and the settings of the route's interface, on Linux. Routes and
 * counters are read by netlink, which works in the current network namespace and has 64-bit
 * counters. Settings of the driver are read by SIOCETHTOOL. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/linux/facts.h"
#include "platform/linux/netlink.h"
#include "platform/plat.h"

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
    struct netlink_question question;
    struct rtattr *attributes[IFLA_MAX + 1];
    uint32_t value;
    netlink_begin(&question, RTM_GETLINK, sizeof question.body.link);
    question.body.link.ifi_index = (int)index;
    if (!netlink_ask(&question, &answer, RTM_NEWLINK, sizeof(struct ifinfomsg), attributes,
                     IFLA_MAX + 1))
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
