/* Opens sockets, sets their options, sends and receives, on Linux, macOS and FreeBSD. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <assert.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- options ---- */

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

/* ---- opening and closing ---- */

int plat_socket_open(plat_socket *out, bool udp, const struct plat_address *family)
{
    int fresh = socket(sockaddr_of(family)->sa_family, udp ? SOCK_DGRAM : SOCK_STREAM, 0);
    *out = fresh;
    if (fresh < 0)
        return errno;
    fcntl(fresh, F_SETFD, FD_CLOEXEC);
    posix_prepare_socket(fresh);
    return 0;
}

void plat_close(plat_socket socket)
{
    if (socket != PLAT_NO_SOCKET)
        close((int)socket);
}

int plat_bind(plat_socket socket, const struct plat_address *address)
{
    return posix_failed(bind((int)socket, sockaddr_of(address), (socklen_t)address->length));
}

int plat_listen(plat_socket socket, int backlog)
{
    return posix_failed(listen((int)socket, backlog));
}

int plat_accept(plat_socket socket, plat_socket *out, struct plat_address *peer)
{
    struct sockaddr *place = sockaddr_into(peer);
    socklen_t length = (socklen_t)peer->length;
    int fresh = accept((int)socket, place, &length);
    *out = fresh;
    if (fresh < 0)
        return errno;
    peer->length = (unsigned)length;
    fcntl(fresh, F_SETFD, FD_CLOEXEC);
    posix_prepare_socket(fresh);
    /* On some systems, the new socket inherits the listener's blocking or non-blocking mode. */
    int error = plat_option_set(fresh, PLAT_BLOCKING, 1);
    if (error != 0)
        close(fresh);
    return error;
}

int plat_connect(plat_socket socket, const struct plat_address *peer, uint64_t until_ns)
{
    int error = plat_option_set(socket, PLAT_BLOCKING, 0);
    if (error != 0)
        return error;
    error = posix_failed(connect((int)socket, sockaddr_of(peer), (socklen_t)peer->length));
    if (error == EINPROGRESS) {
        struct pollfd wait = {.fd = (int)socket, .events = POLLOUT};
        socklen_t length = sizeof error;
        int ready;
        do
            ready = poll(&wait, 1, posix_until_ms(until_ns));
        while (ready < 0 && errno == EINTR);
        if (ready == 0)
            return ETIMEDOUT;
        if (getsockopt((int)socket, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
            return errno;
    }
    return error != 0 ? error : plat_option_set(socket, PLAT_BLOCKING, 1);
}

static int name_of(int (*ask)(int, struct sockaddr *restrict, socklen_t *restrict),
                   plat_socket socket, struct plat_address *out)
{
    struct sockaddr *place = sockaddr_into(out);
    socklen_t length = (socklen_t)out->length;
    int error = posix_failed(ask((int)socket, place, &length));
    out->length = (unsigned)length;
    return error;
}

int plat_local_address(plat_socket socket, struct plat_address *out)
{
    return name_of(getsockname, socket, out);
}

int plat_peer_address(plat_socket socket, struct plat_address *out)
{
    return name_of(getpeername, socket, out);
}

/* ---- sending and receiving; plat_start has disabled SIGPIPE ---- */

ptrdiff_t plat_send(plat_socket socket, const void *bytes, size_t length)
{
    return posix_moved(send((int)socket, bytes, length, 0));
}

ptrdiff_t plat_send_now(plat_socket socket, const void *bytes, size_t length)
{
    return posix_moved(send((int)socket, bytes, length, MSG_DONTWAIT));
}

ptrdiff_t plat_send_gathered(plat_socket socket, const void *message, size_t length, unsigned count,
                             size_t sent_bytes)
{
    struct iovec place[PLAT_BATCH];
    const unsigned first = (unsigned)(sent_bytes / length);
    for (unsigned i = first; i < count; i++)
        place[i - first] = (struct iovec){(void *)(uintptr_t)message, length};
    place[0].iov_base = (char *)place[0].iov_base + sent_bytes % length;
    place[0].iov_len -= sent_bytes % length;
    return posix_moved(writev((int)socket, place, (int)(count - first)));
}

ptrdiff_t plat_receive(plat_socket socket, void *into, size_t capacity)
{
    return posix_moved(recv((int)socket, into, capacity, 0));
}

ptrdiff_t plat_receive_now(plat_socket socket, void *into, size_t capacity)
{
    return posix_moved(recv((int)socket, into, capacity, MSG_DONTWAIT));
}

ptrdiff_t plat_peek_now(plat_socket socket, void *into, size_t capacity)
{
    return posix_moved(recv((int)socket, into, capacity, MSG_DONTWAIT | MSG_PEEK));
}

ptrdiff_t plat_receive_from(plat_socket socket, void *into, size_t capacity,
                            struct plat_address *from)
{
    struct sockaddr *place = sockaddr_into(from);
    socklen_t length = (socklen_t)from->length;
    ssize_t got = recvfrom((int)socket, into, capacity, MSG_DONTWAIT, place, &length);
    from->length = (unsigned)length;
    return posix_moved(got);
}

void plat_finish(plat_socket socket)
{
    shutdown((int)socket, SHUT_WR);
}

void plat_wake(plat_socket socket)
{
    /* Works on connected UDP sockets, too: blocked calls return 0 or EPIPE. */
    shutdown((int)socket, SHUT_RDWR);
}

void plat_wait_any(struct plat_wait *waits, unsigned count, uint64_t until_ns)
{
    struct pollfd polls[PLAT_WAITS];
    assert(count <= PLAT_WAITS);
    for (unsigned i = 0; i < count; i++)
        polls[i] = (struct pollfd){.fd = (int)waits[i].socket,
                                   .events = waits[i].sending ? POLLIN | POLLOUT : POLLIN};
    int ready = poll(polls, count, posix_until_ms(until_ns));
    for (unsigned i = 0; i < count; i++)
        waits[i].ready = ready > 0 && polls[i].revents != 0;
}
