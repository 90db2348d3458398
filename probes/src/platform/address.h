/* Accesses the system's socket address in a plat_address. Only files of the folder platform include
 * this file. */
#ifndef PLAT_ADDRESS_H
#define PLAT_ADDRESS_H

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

/* Returns the memory of `address` for a call that writes an address into it. Sets address->length
 * to the size of this memory. */
static inline struct sockaddr *sockaddr_into(struct plat_address *address)
{
    memset(address, 0, sizeof *address);
    address->length = sizeof address->at.bytes;
    return (struct sockaddr *)(void *)address->at.bytes;
}

#endif
