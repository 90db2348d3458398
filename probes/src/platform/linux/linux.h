/* Declares what the platform files of Linux ask of one another. */
#ifndef PLAT_LINUX_H
#define PLAT_LINUX_H

#include <stdbool.h>

/* Whether this kernel, or whoever plays it, takes the request for stamps. */
bool linux_stamps_known(int socket);

#endif
