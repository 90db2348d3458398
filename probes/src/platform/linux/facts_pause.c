/* Writes how many pause frames (IEEE 802.3 annex 31B) an interface sent and received. The numbers
 * are the counters of the standard (30.3.4.2, 30.3.4.3), which Linux 5.10 and newer report by
 * ethtool's netlink family. Private statistics of drivers have no defined meaning and are not
 * read. */
#define _GNU_SOURCE
#include <linux/genetlink.h>
#include <string.h>

#include "platform/linux/facts.h"
#include "platform/linux/netlink.h"

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

void facts_pause_frames(struct json *out, unsigned interface)
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
