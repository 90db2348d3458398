/* Queries the kernel by netlink, one query at a time, in the current network namespace. */
#ifndef PLAT_LINUX_NETLINK_H
#define PLAT_LINUX_NETLINK_H

#include <linux/genetlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>

#include "platform/linux/newer.h"
#include "platform/plat.h"

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

void netlink_begin(struct netlink_question *question, unsigned short type, size_t body);
void netlink_add(struct netlink_question *question, unsigned short type, const void *value,
                 size_t size);
/* Sends the question and reads the answer. attributes[t] becomes the answer's attribute of type t,
 * for t below `types` (NULL: the answer has none). False: there is no answer of the type
 * `expected`. */
bool netlink_ask(const struct netlink_question *question, union netlink_answer *answer,
                 unsigned short expected, size_t body, struct rtattr **attributes, unsigned types);
/* Works as netlink_ask does, but with the given netlink protocol, such as NETLINK_GENERIC, in place
 * of NETLINK_ROUTE. */
bool netlink_ask_of(int protocol, const struct netlink_question *question,
                    union netlink_answer *answer, unsigned short expected, size_t body,
                    struct rtattr **attributes, unsigned types);
/* Reads the number in an attribute. False: the attribute is missing (NULL) or too short. */
bool netlink_u32(const struct rtattr *attribute, uint32_t *value);

/* Returns the index of the interface by which packets to `to` leave; 0: there is no route. `from`
 * is their source address (NULL: any), `by` the interface to use (0: any). `attributes` becomes the
 * attributes of the route, which point into `answer`. */
unsigned netlink_route(const struct plat_address *from, const struct plat_address *to, unsigned by,
                       union netlink_answer *answer, struct rtattr *attributes[RTA_MAX + 1]);

#endif
