/* Declares the functions that platform files of Linux use from each other. */
#ifndef PLAT_LINUX_H
#define PLAT_LINUX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "platform/plat.h"
#include "pure/json.h"

/* Whether this kernel, or the system that emulates Linux, can put time stamps on datagrams of the
 * socket. */
bool linux_stamps_known(int socket);

/* Whether this kernel has rings for sending frames (AF_XDP), and this account may use one. */
bool linux_rings_known(void);
/* For each of the first `most` CPUs, whether this process may use it. */
void linux_usable(bool *usable, unsigned most);

/* ---- facts: parts of the record `facts`, a JSON object that describes this host ---- */

/* Reads the first line of a small file, without the line end. False: the file is unreadable, or the
 * line is empty. */
bool facts_line_of(const char *path, char *into, size_t capacity);

/* Writes the NUMA node of the network card at the PCI address `bus` (as ethtool reports it), and
 * the CPUs that handle the card's interrupts. False: no device has this address. */
bool facts_bus(struct json *out, const char *bus);
/* Writes the NUMA node of the device of an interface that has no PCI address. */
void facts_device(struct json *out, const char *name);
/* Writes the numbers of receive and transmit queues of an interface whose driver does not report
 * them. */
void facts_queues(struct json *out, const char *name);

/* Writes the route to a numeric address `to`, and the facts of `interface` (NULL: the interface of
 * the route). */
void facts_route(struct json *out, const char *to, const char *interface);
/* Writes only the counters of facts_route, without those that take long to read. */
void facts_counters(struct json *out, const char *to, const char *interface);

#endif
