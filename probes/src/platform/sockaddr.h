/* Shows the system's socket address behind a plat_address. For the platform's files alone. */
#ifndef PLAT_SOCKADDR_H
#define PLAT_SOCKADDR_H

#if defined(_WIN32)
#include "platform/windows/windows.h"
#else
#include <sys/types.h>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#endif

#include <string.h>

#include "platform/plat.h"

static inline const struct sockaddr *sockaddr_of(const struct plat_address *address)
{
    return (const struct sockaddr *)(const void *)address->at.bytes;
}

/* Room for the system to write an address into, as long as `length` says. */
static inline struct sockaddr *sockaddr_into(struct plat_address *address)
{
    memset(address, 0, sizeof *address);
    address->length = sizeof address->at.bytes;
    return (struct sockaddr *)(void *)address->at.bytes;
}

#endif
