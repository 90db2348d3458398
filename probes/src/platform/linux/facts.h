/* Declares the parts of plat_facts on Linux; each part writes some keys of the record `facts`. The
 * record is a JSON object that describes this host. */
#ifndef PLAT_LINUX_FACTS_H
#define PLAT_LINUX_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pure/json.h"

/* Reads the first line of a small file, without the line end. False: the file is unreadable, or the
 * line is empty. */
bool facts_line_of(const char *path, char *into, size_t capacity);
/* Reads the number in a file that contains only a number. False: there is no number, or it is
 * negative. */
bool facts_number_in(const char *path, uint64_t *value);
/* Write the line or the number of a file as a key. If the file has none, they write nothing. */
void facts_text(struct json *out, const char *key, const char *path);
void facts_number(struct json *out, const char *key, const char *path);
/* Writes the words of a file, which are separated by blanks there, joined by `separator`. */
void facts_list(struct json *out, const char *key, const char *path, char separator);

/* Writes the CPUs' governors, turbo setting and deepest idle state, and the number of NUMA
 * nodes. */
void facts_cpu(struct json *out);
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
/* Writes the numbers of pause frames of the interface with this index, if its driver counts
 * them. */
void facts_pause_frames(struct json *out, unsigned interface);
/* Writes only the counters of facts_route, without those that take long to read. */
void facts_counters(struct json *out, const char *to, const char *interface);

#endif
