/* Declares the parts of plat_facts on Linux; each part writes some keys of the record `facts`. */
#ifndef PLAT_LINUX_FACTS_H
#define PLAT_LINUX_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pure/json.h"

/* The first line of a small file without its line end. False: unreadable or empty. */
bool facts_line_of(const char *path, char *into, size_t capacity);
/* The number in a file that contains only a number. False: there is none, or it is negative. */
bool facts_number_in(const char *path, uint64_t *value);
/* Write the line or the number of a file as a key; without a line or a number, they write
 * nothing. */
void facts_text(struct json *out, const char *key, const char *path);
void facts_number(struct json *out, const char *key, const char *path);
/* Writes the words of a file, which are separated by blanks there, joined by `separator`. */
void facts_list(struct json *out, const char *key, const char *path, char separator);

/* Governor, turbo, idle states, memory nodes. */
void facts_cpu(struct json *out);
/* Memory node and interrupts of the card at a PCI address, as ethtool reports it. False: no such
 * address. */
bool facts_bus(struct json *out, const char *bus);
/* Memory node of the device of an interface that has no PCI address. */
void facts_device(struct json *out, const char *name);
/* Numbers of receive and transmit queues of an interface whose driver does not report them. */
void facts_queues(struct json *out, const char *name);

/* The route to a numeric address `to`, and the facts of `interface` (NULL: that of the route). */
void facts_route(struct json *out, const char *to, const char *interface);
/* Pause frames of the interface with that number, if its driver counts them. */
void facts_pause_frames(struct json *out, unsigned interface);
/* Writes only the counters of facts_route, without those that take long to read. */
void facts_counters(struct json *out, const char *to, const char *interface);

#endif
