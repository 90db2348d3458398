/* Declares what the platform files of Linux ask of one another. */
#ifndef PLAT_LINUX_H
#define PLAT_LINUX_H

#include <stdbool.h>

/* Whether this kernel, or whoever plays it, takes the request for stamps. */
bool linux_stamps_known(int socket);

/* CPUs that this process may use, 1 at least. */
unsigned linux_usable_cpus(void);
/* Of each of the first `most` CPUs, whether this process may use it. */
void linux_usable(bool *usable, unsigned most);

#endif
