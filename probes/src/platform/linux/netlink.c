/* Queries the Linux kernel for routes and interfaces, by one netlink message and its answer. */
#define _GNU_SOURCE
#include "platform/linux/netlink.h"

#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void netlink_begin(struct netlink_question *question, unsigned short type, size_t body)
{
    memset(question, 0, sizeof *question);
    question->header.nlmsg_len = (uint32_t)NLMSG_LENGTH(body);
    question->header.nlmsg_type = type;
    question->header.nlmsg_flags = NLM_F_REQUEST;
}

void netlink_add(struct netlink_question *question, unsigned short type, const void *value,
                 size_t size)
{
    char *place = (char *)question + NLMSG_ALIGN(question->header.nlmsg_len);
    struct rtattr attribute = {.rta_len = (unsigned short)RTA_LENGTH(size), .rta_type = type};
    memcpy(place, &attribute, sizeof attribute);
    memcpy(place + RTA_LENGTH(0), value, size);
    question->header.nlmsg_len =
        (uint32_t)(NLMSG_ALIGN(question->header.nlmsg_len) + RTA_LENGTH(size));
}

bool netlink_ask(const struct netlink_question *question, union netlink_answer *answer,
                 unsigned short expected, size_t body, struct rtattr **attributes, unsigned types)
{
    return netlink_ask_of(NETLINK_ROUTE, question, answer, expected, body, attributes, types);
}

bool netlink_ask_of(int protocol, const struct netlink_question *question,
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

bool netlink_u32(const struct rtattr *attribute, uint32_t *value)
{
    if (attribute == NULL || RTA_PAYLOAD(attribute) < sizeof *value)
        return false;
    memcpy(value, RTA_DATA(attribute), sizeof *value);
    return true;
}

/* ---- the route ---- */

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

unsigned netlink_route(const struct plat_address *from, const struct plat_address *to, unsigned by,
                       union netlink_answer *answer, struct rtattr *attributes[RTA_MAX + 1])
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

bool plat_carrier_changes(const char *name, uint64_t *out)
{
    struct netlink_question question;
    union netlink_answer answer;
    struct rtattr *attributes[IFLA_MAX + 1];
    uint32_t changes;
    netlink_begin(&question, RTM_GETLINK, sizeof question.body.link);
    question.body.link.ifi_index = (int)if_nametoindex(name);
    if (question.body.link.ifi_index == 0 ||
        !netlink_ask(&question, &answer, RTM_NEWLINK, sizeof(struct ifinfomsg), attributes,
                     IFLA_MAX + 1) ||
        !netlink_u32(attributes[IFLA_CARRIER_CHANGES], &changes))
        return false;
    *out = changes;
    return true;
}
