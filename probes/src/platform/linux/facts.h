/* Declares the parts of plat_facts on Linux, each of which writes its keys of `facts`. */
#ifndef PLAT_LINUX_FACTS_H
#define PLAT_LINUX_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pure/json.h"

/* The first line of a small file without its end. False: unreadable or empty. */
bool facts_line_of(const char *path, char *into, size_t capacity);
/* A file that holds one number and nothing else; a negative one is none. */
bool facts_number_in(const char *path, uint64_t *value);
/* The same as a key of `facts`, left out where the file tells nothing. */
void facts_text(struct json *out, const char *key, const char *path);
void facts_number(struct json *out, const char *key, const char *path);
/* A list that the file separates by blanks, separated by `separator`. */
void facts_list(struct json *out, const char *key, const char *path, char separator);

/* Governor, turbo, idle states, memory nodes. */
void facts_cpu(struct json *out);
/* Of the card at a PCI address, as ethtool names its bus: its memory node and its interrupts. False: no
 * such address. */
bool facts_bus(struct json *out, const char *bus);
/* Of an interface that has none: the memory node of its device. */
void facts_device(struct json *out, const char *name);
/* How many queues an interface has each way, where its driver does not tell. */
void facts_queues(struct json *out, const char *name);

/* The route to a numeric address, and the interface that it leaves by. */
void facts_route(struct json *out, const char *to, const char *interface);
/* Pause frames of the interface with that number, where its driver counts them. */
void facts_pause_frames(struct json *out, unsigned interface);
/* Of that what counts, and nothing that takes long to ask for. */
void facts_counters(struct json *out, const char *to, const char *interface);

#endif
