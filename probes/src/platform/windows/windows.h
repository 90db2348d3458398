/* Declares the common code of the platform files of Windows. */
#ifndef PLAT_WINDOWS_H
#define PLAT_WINDOWS_H

/* Windows 10 and Server 2016 and later; newer functions are looked up at run time. */
#ifndef _WIN32_WINNT
#define _WIN32_WINNT 0x0A00
#endif
#define WIN32_LEAN_AND_MEAN
#include <winsock2.h>
#include <ws2tcpip.h>
#include <windows.h>

#include "platform/plat.h"
#include "pure/nanoseconds.h"

/* A waiting receive call returns after this time at the latest, so that its caller can check
 * whether to stop: plat_wake may not end the wait. */
#define WINDOWS_RECEIVE_WAIT_MS 50

/* The object behind a plat_socket. In Winsock a socket is either blocking or not, with no flag for
 * single calls, so the mode is switched when a call needs the other mode. */
struct windows_socket {
    SOCKET socket;
    bool udp, v6;
    bool listening;            /* accept without blocking */
    bool flowing;              /* UDP: the last receive found a datagram at once */
    unsigned receive_wait_ms;  /* 0: WINDOWS_RECEIVE_WAIT_MS */
    _Atomic bool nonblocking; /* the current mode */
};

static inline struct windows_socket *windows_socket(plat_socket socket)
{
    return (struct windows_socket *)socket;
}

/* 0, or Winsock's last error. */
static inline int windows_failed(int result)
{
    return result == SOCKET_ERROR ? WSAGetLastError() : 0;
}

/* Time that is left until until_ns, in ns, at most an hour. */
uint64_t windows_left_ns(uint64_t until_ns);

/* Puts the socket into the mode that a call needs. */
int windows_set_mode(struct windows_socket *own, bool nonblocking);

/* The real Windows version, without the compatibility mode of GetVersionEx. */
void windows_version(unsigned *major, unsigned *minor, unsigned *build);

/* Converts a UTF-16 text to UTF-8; the result is empty if it does not fit. */
void windows_text(const wchar_t *wide, char *into, size_t capacity);

/* Reads a value of HKEY_LOCAL_MACHINE in the 64-bit registry. False: it is missing, or of another
 * type. */
bool windows_registry_text(const wchar_t *key, const wchar_t *name, char *into, size_t capacity);
bool windows_registry_number(const wchar_t *key, const wchar_t *name, uint64_t *value);

/* Number of CPUs of all groups that this process may use, at least 1. */
unsigned windows_usable_cpus(void);

/* Whether this Windows supports SIO_TCP_INFO. */
bool windows_tcp_info_known(void);

/* Converts a FILETIME (a CPU time or the wall clock) to a number; the unit is 100 ns. */
static inline uint64_t windows_hundred_ns(FILETIME time)
{
    return (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

/* Returns a function of ntdll that is in no import library, as a data pointer; NULL: it is
 * missing. */
void *windows_native(const char *name);

struct json;
/* Write the keys of `facts` about the path to a peer, and about the addresses of all interfaces. */
void windows_facts_route(struct json *out, const struct plat_address *to, const char *device);
void windows_facts_addresses(struct json *out);

#endif
