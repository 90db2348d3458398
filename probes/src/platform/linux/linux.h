/* Declares what the platform files of Linux ask of one another. */
#ifndef PLAT_LINUX_H
#define PLAT_LINUX_H

#include <stdbool.h>

/* Whether this kernel, or whoever plays it, takes the request for stamps. */
bool linux_stamps_known(int socket);
/* Whether this account may send frames of its own. */
bool linux_frames_allowed(void);

#endif
