/* Declares what the platform files of Linux ask of one another. */
#ifndef PLAT_LINUX_H
#define PLAT_LINUX_H

#include <stdbool.h>
#include <stddef.h>

#include "platform/frames.h"

/* Whether this kernel, or whoever plays it, takes the request for stamps. */
bool linux_stamps_known(int socket);

/* The headers with which a datagram of `bytes` leaves by that connected socket, and the interface; 0 or
 * an error, as plat_frames_open gives it. */
int linux_frames_way(plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers, int *interface);

/* Whether this kernel has rings that frames are sent from, and this account may have one. */
bool linux_rings_known(void);
/* CPUs that this process may use, 1 at least. */
unsigned linux_usable_cpus(void);
/* Of each of the first `most` CPUs, whether this process may use it. */
void linux_usable(bool *usable, unsigned most);

#endif
