/* Opens and connects sockets, sends and receives, on Linux, macOS and FreeBSD. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <assert.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

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
