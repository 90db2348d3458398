/* Classifies error numbers of Winsock and of Windows. */
#include "platform/windows/windows.h"

#include <stdio.h>

const char *plat_word(int error)
{
    switch (error) {
    case WSAECONNREFUSED:
        return "connect-refused";
    case WSAENETUNREACH:
    case WSAEHOSTUNREACH:
    case WSAENETDOWN:
    case WSAEHOSTDOWN:
        return "unreachable";
    case WSAETIMEDOUT:
    case WSAEINPROGRESS:
        return "connect-timeout";
    case WSAEADDRINUSE:
        return "address-in-use";
    case WSAEADDRNOTAVAIL:
        return "address-not-available";
    case ERROR_DEV_NOT_EXIST:
        return "no-such-interface";
    case WSAEACCES:
    case ERROR_ACCESS_DENIED:
    case ERROR_PRIVILEGE_NOT_HELD:
        return "permission-denied";
    case WSAEMSGSIZE:
        return "message-too-long";
    case WSAENOBUFS:
        return "no-buffers";
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
        return "out-of-memory";
    case WSAECONNRESET:
    case WSAECONNABORTED:
    case WSAENETRESET:
    case WSAESHUTDOWN:
    case WSAEDISCON:
        return "peer-vanished";
    case WSAENOPROTOOPT:
    case WSAEAFNOSUPPORT:
    case WSAEPROTONOSUPPORT:
    case WSAEOPNOTSUPP:
        return "capability-missing";
    default:
        return "system";
    }
}

void plat_describe(int error, char *into, size_t capacity)
{
    wchar_t wide[256];
    DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
                                  (DWORD)error, 0, wide, sizeof wide / sizeof wide[0], NULL);
    while (length > 0 && (wide[length - 1] <= L' ' || wide[length - 1] == L'.'))
        length--;
    wide[length] = 0;
    windows_text(wide, into, capacity);
    if (into[0] == 0)
        snprintf(into, capacity, "Windows error %d", error);
}

bool plat_is_no_buffers(int error)
{
    /* wine turns Linux's ENOBUFS into WSAEINVAL, which has no other cause on a connected socket. */
    return error == WSAENOBUFS || error == WSAEINVAL || error == ERROR_NOT_ENOUGH_MEMORY;
}

bool plat_is_transient(int error)
{
    return error == WSAEWOULDBLOCK || error == WSAEINTR || error == WSA_OPERATION_ABORTED;
}

bool plat_is_peer_gone(int error)
{
    return error == WSAECONNRESET || error == WSAECONNABORTED || error == WSAENETRESET ||
           error == WSAECONNREFUSED || error == WSAENOTCONN || error == WSAESHUTDOWN ||
           error == WSAEDISCON || error == WSAETIMEDOUT;
}

bool plat_is_unreachable(int error)
{
    return error == WSAEHOSTUNREACH || error == WSAENETUNREACH || error == WSAEHOSTDOWN ||
           error == WSAENETDOWN;
}

/* Some ports are reserved by the system, mainly for Hyper-V, and some by programs for exclusive
 * use. The error for such a port is "access denied"; another port of the range may be available. */
bool plat_is_address_in_use(int error)
{
    return error == WSAEADDRINUSE || error == WSAEACCES;
}

bool plat_is_missing(int error)
{
    return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
}
