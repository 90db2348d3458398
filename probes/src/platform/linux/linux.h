/* Declares the functions that platform files of Linux use from each other. */
#ifndef PLAT_LINUX_H
#define PLAT_LINUX_H

#include <stdbool.h>
#include <stddef.h>

#include "platform/frames.h"

/* Whether this kernel, or its emulator, accepts the request for stamps. */
bool linux_stamps_known(int socket);

/* Finds the headers with which a datagram of `bytes` leaves by that connected socket, and its
 * interface. Returns 0, or an error as plat_frames_open does. */
int linux_frames_way(plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers, int *interface);

/* Whether this kernel has rings for sending frames, and this account may use one. */
bool linux_rings_known(void);
/* Number of CPUs that this process may use, at least 1. */
unsigned linux_usable_cpus(void);
/* For each of the first `most` CPUs, whether this process may use it. */
void linux_usable(bool *usable, unsigned most);

#endif
