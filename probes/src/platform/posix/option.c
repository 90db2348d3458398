/* Sets and reads options of sockets on Linux, macOS and FreeBSD. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/time.h>

bool posix_is_v6(int socket)
{
    struct plat_address address;
    return plat_local_address(socket, &address) == 0 && plat_address_v6(&address);
}

/* Level and name of the options whose value is one integer in the system's own form. */
static bool plain_option(int socket, enum plat_option option, int *level, int *name)
{
    *level = SOL_SOCKET;
    switch (option) {
    case PLAT_SEND_BUFFER:
        *name = SO_SNDBUF;
        return true;
    case PLAT_RECEIVE_BUFFER:
        *name = SO_RCVBUF;
        return true;
    case PLAT_REUSE:
        *name = SO_REUSEADDR;
        return true;
    case PLAT_NODELAY:
        *level = IPPROTO_TCP;
        *name = TCP_NODELAY;
        return true;
    case PLAT_DSCP:
        *level = posix_is_v6(socket) ? IPPROTO_IPV6 : IPPROTO_IP;
        *name = *level == IPPROTO_IPV6 ? IPV6_TCLASS : IP_TOS;
        return true;
    default:
        return false;
    }
}

static int set_time(int socket, int name, int milliseconds)
{
    struct timeval time = {.tv_sec = milliseconds / 1000, .tv_usec = milliseconds % 1000 * 1000};
    return posix_failed(setsockopt(socket, SOL_SOCKET, name, &time, sizeof time));
}

/* macOS has this option under another name, also in seconds. */
#if !defined(TCP_KEEPIDLE)
#define TCP_KEEPIDLE TCP_KEEPALIVE
#endif

/* A host that only receives notices a dead peer by keep-alive packets. If no data arrive, the first
 * is sent after half of the time limit; at most five are sent. */
static int set_give_up(int socket, int seconds)
{
    const struct {
        int level, name, value;
    } options[] = {{IPPROTO_TCP, TCP_KEEPIDLE, seconds - seconds / 2},
                   {IPPROTO_TCP, TCP_KEEPINTVL, seconds / 10 > 0 ? seconds / 10 : 1},
                   {IPPROTO_TCP, TCP_KEEPCNT, 5},
                   {SOL_SOCKET, SO_KEEPALIVE, 1}};
    int error = posix_set_unanswered(socket, seconds);
    for (size_t i = 0; error == 0 && i < sizeof options / sizeof options[0]; i++)
        error = posix_failed(setsockopt(socket, options[i].level, options[i].name,
                                        &options[i].value, sizeof options[i].value));
    return error;
}

int plat_option_set(plat_socket handle, enum plat_option option, int value)
{
    int socket = (int)handle, level, name;
    if (option == PLAT_BLOCKING) {
        int nonblocking = !value;
        return posix_failed(ioctl(socket, FIONBIO, &nonblocking));
    }
    if (option == PLAT_SEND_TIMEOUT_MS)
        return set_time(socket, SO_SNDTIMEO, value);
    if (option == PLAT_RECEIVE_TIMEOUT_MS)
        return set_time(socket, SO_RCVTIMEO, posix_receive_timeout_ms(value));
    if (option == PLAT_RESET_ON_CLOSE) {
        struct linger linger = {.l_onoff = value, .l_linger = 0};
        return posix_failed(setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
    }
    if (option == PLAT_DONT_FRAGMENT)
        return posix_set_dont_fragment(socket, value != 0);
    if (option == PLAT_GIVE_UP_S)
        return set_give_up(socket, value);
    if (option == PLAT_REPORT_DROPS)
        return posix_set_report_drops(socket, value != 0);
    if (!plain_option(socket, option, &level, &name))
        return ENOPROTOOPT;
    if (option == PLAT_DSCP)
        value <<= 2;
    return posix_failed(setsockopt(socket, level, name, &value, sizeof value));
}

int plat_option_get(plat_socket handle, enum plat_option option, int *value)
{
    int socket = (int)handle, level, name;
    socklen_t length = sizeof *value;
    if (option == PLAT_DONT_FRAGMENT)
        return posix_get_dont_fragment(socket, value);
    if (!plain_option(socket, option, &level, &name))
        return ENOPROTOOPT;
    if (getsockopt(socket, level, name, value, &length) < 0)
        return errno;
    if (option == PLAT_DSCP)
        *value >>= 2;
    else if (option == PLAT_NODELAY || option == PLAT_REUSE)
        *value = *value != 0; /* on some systems, the value of a set flag is not 1 */
    return 0;
}

/* macOS has no TCP_CONGESTION. */
#if defined(TCP_CONGESTION)
int plat_congestion_set(plat_socket socket, const char *name)
{
    return posix_failed(
        setsockopt((int)socket, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)));
}

int plat_congestion_get(plat_socket socket, char *into, size_t capacity)
{
    socklen_t length = (socklen_t)capacity - 1;
    int error = posix_failed(getsockopt((int)socket, IPPROTO_TCP, TCP_CONGESTION, into, &length));
    into[error == 0 ? length : 0] = 0;
    return error;
}
#else
int plat_congestion_set(plat_socket socket, const char *name)
{
    (void)socket;
    (void)name;
    return ENOPROTOOPT;
}

int plat_congestion_get(plat_socket socket, char *into, size_t capacity)
{
    (void)socket;
    (void)capacity;
    into[0] = 0;
    return ENOPROTOOPT;
}
#endif
