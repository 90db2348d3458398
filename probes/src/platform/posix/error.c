/* Classifies error numbers on Linux, macOS and FreeBSD. */
#define _GNU_SOURCE
#include "platform/plat.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

_Static_assert(EWOULDBLOCK == EAGAIN, "plat_is_transient tells one of them");

const char *plat_word(int error)
{
    switch (error) {
    case ECONNREFUSED:
        return "connect-refused";
    case ENETUNREACH:
    case EHOSTUNREACH:
    case ENETDOWN:
    case EHOSTDOWN:
        return "unreachable";
    case ETIMEDOUT:
    case EINPROGRESS:
        return "connect-timeout";
    case EADDRINUSE:
        return "address-in-use";
    case EADDRNOTAVAIL:
        return "address-not-available";
    case ENODEV:
    case ENXIO:
        return "no-such-interface";
    case EACCES:
    case EPERM:
        return "permission-denied";
    case EMSGSIZE:
        return "message-too-long";
    case ENOBUFS:
        return "no-buffers";
    case ENOMEM:
        return "out-of-memory";
    case ECONNRESET:
    case EPIPE:
        return "peer-vanished";
    case ENOPROTOOPT:
    case EAFNOSUPPORT:
    case EPROTONOSUPPORT:
    case EOPNOTSUPP:
#if ENOTSUP != EOPNOTSUPP
    case ENOTSUP:
#endif
        return "capability-missing";
    default:
        return "system";
    }
}

void plat_describe(int error, char *into, size_t capacity)
{
    /* strerror_r differs between C libraries; strerror is safe between threads in all of them. */
    snprintf(into, capacity, "%s", strerror(error));
}

bool plat_is_no_buffers(int error)
{
    return error == ENOBUFS || error == ENOMEM;
}

bool plat_is_transient(int error)
{
    return error == EAGAIN || error == EINTR;
}

bool plat_is_peer_gone(int error)
{
    return error == ECONNRESET || error == EPIPE || error == ECONNREFUSED || error == ENOTCONN ||
           error == ECONNABORTED || error == ETIMEDOUT;
}

bool plat_is_unreachable(int error)
{
    return error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN || error == ENETDOWN;
}

bool plat_is_address_in_use(int error)
{
    return error == EADDRINUSE;
}

bool plat_is_missing(int error)
{
    return error == ENOENT;
}
