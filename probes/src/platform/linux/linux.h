/* Declares the functions that platform files of Linux use from each other. */
#ifndef PLAT_LINUX_H
#define PLAT_LINUX_H

#include <stdbool.h>
#include <stddef.h>

#include "platform/frames.h"

/* Whether this kernel, or the system that emulates Linux, can put time stamps on datagrams of the
 * socket. */
bool linux_stamps_known(int socket);

/* Sends `bytes` on the connected socket `udp`. Finds the headers of the frame that leaves, and the
 * interface by which it leaves. Returns 0, or an error as plat_frames_open does. */
int linux_frames_way(plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers, int *interface);

/* Whether this kernel has rings for sending frames (AF_XDP), and this account may use one. */
bool linux_rings_known(void);
/* Number of CPUs that this process may use, at least 1. */
unsigned linux_usable_cpus(void);
/* For each of the first `most` CPUs, whether this process may use it. */
void linux_usable(bool *usable, unsigned most);

#endif
