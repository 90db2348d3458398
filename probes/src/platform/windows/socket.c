/* Opens and connects sockets, sends and receives, with Winsock 2, and reads SIO_TCP_INFO. */
#include "platform/windows/windows.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/address.h"

#ifndef SIO_UDP_CONNRESET
#define SIO_UDP_CONNRESET _WSAIOW(IOC_VENDOR, 12)
#endif
#ifndef SIO_UDP_NETRESET
#define SIO_UDP_NETRESET _WSAIOW(IOC_VENDOR, 15)
#endif
#ifndef WSA_FLAG_NO_HANDLE_INHERIT
#define WSA_FLAG_NO_HANDLE_INHERIT 0x80
#endif

#define AT_ONCE_NS 20000 /* if a receive call takes less time, the data were already there */

const unsigned plat_receive_most = 1;

/* ---- opening and closing ---- */

/* Makes *out own the socket. If this fails, closes the socket and returns the error. */
static int adopt(SOCKET fresh, bool udp, bool is_v6, plat_socket *out)
{
    struct windows_socket *own = calloc(1, sizeof *own);
    if (own == NULL) {
        closesocket(fresh);
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    own->socket = fresh;
    own->udp = udp;
    own->v6 = is_v6;
    *out = (plat_socket)own;
    return 0;
}

int plat_socket_open(plat_socket *out, bool udp, const struct plat_address *family)
{
    SOCKET fresh = WSASocketW(sockaddr_of(family)->sa_family, udp ? SOCK_DGRAM : SOCK_STREAM,
                              udp ? IPPROTO_UDP : IPPROTO_TCP, NULL, 0,
                              WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    if (fresh == INVALID_SOCKET)
        return WSAGetLastError();
    if (udp) {
        /* Otherwise, an ICMP message makes receive calls fail, even on sockets that are not
         * connected. If Windows refuses these requests, `quiet` below ignores such errors. */
        BOOL report = FALSE;
        DWORD nothing;
        WSAIoctl(fresh, SIO_UDP_CONNRESET, &report, sizeof report, NULL, 0, &nothing, NULL, NULL);
        WSAIoctl(fresh, SIO_UDP_NETRESET, &report, sizeof report, NULL, 0, &nothing, NULL, NULL);
    }
    return adopt(fresh, udp, plat_address_v6(family), out);
}

void plat_close(plat_socket socket)
{
    if (socket == PLAT_NO_SOCKET)
        return;
    closesocket(windows_socket(socket)->socket);
    free(windows_socket(socket));
}

/* Without SO_EXCLUSIVEADDRUSE another program could take over the port, or share it silently by
 * listening on all addresses. Windows releases the ports of old connections by itself. */
int plat_bind(plat_socket socket, const struct plat_address *address)
{
    BOOL exclusive = TRUE;
    SOCKET own = windows_socket(socket)->socket;
    setsockopt(own, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&exclusive, sizeof exclusive);
    return windows_failed(bind(own, sockaddr_of(address), (int)address->length));
}

/* A backlog above 200 must be passed as a hint (SOMAXCONN_HINT): as a negative number. */
int plat_listen(plat_socket socket, int backlog)
{
    return windows_failed(
        listen(windows_socket(socket)->socket, backlog > 200 ? -backlog : backlog));
}

int windows_set_mode(struct windows_socket *own, bool nonblocking)
{
    u_long value = nonblocking;
    if (own->nonblocking == nonblocking)
        return 0;
    if (ioctlsocket(own->socket, (long)FIONBIO, &value) == SOCKET_ERROR)
        return WSAGetLastError();
    own->nonblocking = nonblocking;
    return 0;
}

int plat_accept(plat_socket socket, plat_socket *out, struct plat_address *peer)
{
    struct windows_socket *own = windows_socket(socket);
    struct sockaddr *place = sockaddr_into(peer);
    int length = (int)peer->length, error = windows_set_mode(own, own->listening);
    u_long blocking = 0;
    if (error != 0)
        return error;
    SOCKET fresh = accept(own->socket, place, &length);
    if (fresh == INVALID_SOCKET)
        return WSAGetLastError();
    peer->length = (unsigned)length;
    /* The new socket has inherited the mode of the listener. */
    SetHandleInformation((HANDLE)fresh, HANDLE_FLAG_INHERIT, 0);
    if (ioctlsocket(fresh, (long)FIONBIO, &blocking) == SOCKET_ERROR) {
        error = WSAGetLastError();
        closesocket(fresh);
        return error;
    }
    return adopt(fresh, false, own->v6, out);
}

uint64_t windows_left_ns(uint64_t until_ns)
{
    const uint64_t hour_ns = UINT64_C(3600000000000);
    uint64_t now = plat_now_ns();
    uint64_t rest_ns = until_ns > now ? until_ns - now : 0;
    return rest_ns < hour_ns ? rest_ns : hour_ns;
}

/* WSAPoll does not report refused connections before Windows 10 2004; select always does. */
static int finish_connect(SOCKET own, uint64_t until_ns)
{
    fd_set writable, refused;
    uint64_t left_us = (windows_left_ns(until_ns) + 999) / 1000;
    struct timeval patience = {.tv_sec = (long)(left_us / 1000000),
                               .tv_usec = (long)(left_us % 1000000)};
    int error = 0, length = sizeof error;
    FD_ZERO(&writable);
    writable.fd_array[writable.fd_count++] = own;
    refused = writable;
    int ready = select(0, NULL, &writable, &refused, &patience);
    if (ready == 0)
        return WSAETIMEDOUT;
    if (ready < 0)
        return WSAGetLastError();
    if (getsockopt(own, SOL_SOCKET, SO_ERROR, (char *)&error, &length) == SOCKET_ERROR)
        return WSAGetLastError();
    if (error == 0 && refused.fd_count > 0)
        return WSAECONNREFUSED;
    return error;
}

int plat_connect(plat_socket socket, const struct plat_address *peer, uint64_t until_ns)
{
    struct windows_socket *own = windows_socket(socket);
    int error = windows_set_mode(own, true);
    if (error != 0)
        return error;
    error = windows_failed(connect(own->socket, sockaddr_of(peer), (int)peer->length));
    if (error == WSAEWOULDBLOCK)
        error = finish_connect(own->socket, until_ns);
    return error != 0 ? error : windows_set_mode(own, false);
}

int plat_local_address(plat_socket socket, struct plat_address *out)
{
    struct sockaddr *place = sockaddr_into(out);
    int length = (int)out->length;
    int error = windows_failed(getsockname(windows_socket(socket)->socket, place, &length));
    out->length = (unsigned)length;
    return error;
}

int plat_peer_address(plat_socket socket, struct plat_address *out)
{
    struct sockaddr *place = sockaddr_into(out);
    int length = (int)out->length;
    int error = windows_failed(getpeername(windows_socket(socket)->socket, place, &length));
    out->length = (unsigned)length;
    return error;
}

/* ---- sending and receiving ---- */

/* Whether an error only reports an ICMP message about an earlier datagram, and this call itself has
 * not failed. */
static bool quiet(const struct windows_socket *own, int error)
{
    return own->udp && (error == WSAECONNRESET || error == WSAENETRESET);
}

static int clamped(size_t length)
{
    return length > INT_MAX ? INT_MAX : (int)length;
}

static ptrdiff_t sent(const struct windows_socket *own, int put)
{
    if (put != SOCKET_ERROR)
        return put;
    int error = WSAGetLastError();
    /* For a UDP send time-out, return "would block", as Linux does. TCP has no send time-out here:
     * the error is the connection's. */
    return own->udp && error == WSAETIMEDOUT ? -WSAEWOULDBLOCK : -error;
}

static ptrdiff_t send_past_notes(const struct windows_socket *own, const void *bytes, size_t length)
{
    int put = send(own->socket, bytes, clamped(length), 0);
    if (put == SOCKET_ERROR && quiet(own, WSAGetLastError()))
        put = send(own->socket, bytes, clamped(length), 0);
    return sent(own, put);
}

ptrdiff_t plat_send(plat_socket socket, const void *bytes, size_t length)
{
    struct windows_socket *own = windows_socket(socket);
    /* If the socket is in non-blocking mode because its receive calls do not block, sending is
     * first tried in this mode. There usually is room for a datagram, so this saves two changes of
     * the mode. */
    if (own->udp && own->nonblocking) {
        ptrdiff_t put = send_past_notes(own, bytes, length);
        if (put != -WSAEWOULDBLOCK)
            return put;
    }
    int error = windows_set_mode(own, false);
    return error != 0 ? -error : send_past_notes(own, bytes, length);
}

ptrdiff_t plat_send_now(plat_socket socket, const void *bytes, size_t length)
{
    struct windows_socket *own = windows_socket(socket);
    int error = windows_set_mode(own, true);
    return error != 0 ? -error : send_past_notes(own, bytes, length);
}

/* On Windows, a datagram that is longer than the room fills the room, and the call returns an
 * error. On other systems the call returns the length of the room. */
static ptrdiff_t received(const struct windows_socket *own, int got, size_t capacity)
{
    if (got != SOCKET_ERROR)
        return got;
    int error = WSAGetLastError();
    if (own->udp && error == WSAEMSGSIZE)
        return clamped(capacity);
    return quiet(own, error) ? -WSAEWOULDBLOCK : -error;
}

static ptrdiff_t receive_now(plat_socket socket, void *into, size_t capacity, int flags)
{
    struct windows_socket *own = windows_socket(socket);
    int error = windows_set_mode(own, true);
    if (error != 0)
        return -error;
    return received(own, recv(own->socket, into, clamped(capacity), flags), capacity);
}

ptrdiff_t plat_receive_now(plat_socket socket, void *into, size_t capacity)
{
    return receive_now(socket, into, capacity, 0);
}

ptrdiff_t plat_peek_now(plat_socket socket, void *into, size_t capacity)
{
    return receive_now(socket, into, capacity, MSG_PEEK);
}

/* Winsock's SO_RCVTIMEO is not suitable: "if a send or receive operation times out on a socket, the
 * socket state is indeterminate, and should not be used", and on TCP it "can result in data loss"
 * (SOL_SOCKET Socket Options). So each receive first waits for data, then reads it. If datagrams
 * arrive faster than they are read, there is no need to wait. */
ptrdiff_t plat_receive(plat_socket socket, void *into, size_t capacity)
{
    struct windows_socket *own = windows_socket(socket);
    const unsigned wait_ms =
        own->receive_wait_ms > 0 ? own->receive_wait_ms : WINDOWS_RECEIVE_WAIT_MS;
    if (own->flowing) {
        ptrdiff_t got = plat_receive_now(socket, into, capacity);
        if (got != -WSAEWOULDBLOCK)
            return got;
    }
    const uint64_t begun_ns = plat_now_ns();
    ptrdiff_t got = plat_receive_within(socket, into, capacity, wait_ms * MILLISECOND_NS);
    own->flowing = own->udp && got > 0 && plat_now_ns() - begun_ns < AT_ONCE_NS;
    /* After `shutdown`, a socket may not become readable, but reading it returns the end. */
    return got == -WSAEWOULDBLOCK ? plat_receive_now(socket, into, capacity) : got;
}

/* `select` takes microseconds, but the end of its wait has the timer's resolution of milliseconds.
 * If there is data, it is received in the current mode of the socket, which saves a call. */
ptrdiff_t plat_receive_within(plat_socket socket, void *into, size_t capacity, uint64_t limit_ns)
{
    struct windows_socket *own = windows_socket(socket);
    const uint64_t limit_us = (limit_ns + 999) / 1000;
    struct timeval span = {.tv_sec = (long)(limit_us / 1000000),
                           .tv_usec = (long)(limit_us % 1000000)};
    fd_set readable;
    FD_ZERO(&readable);
    readable.fd_array[readable.fd_count++] = own->socket;
    int ready = select(0, &readable, NULL, NULL, &span);
    if (ready == SOCKET_ERROR)
        return -WSAGetLastError();
    if (ready == 0)
        return -WSAEWOULDBLOCK;
    return received(own, recv(own->socket, into, clamped(capacity), 0), capacity);
}

/* No call of Windows receives more than one datagram. */
ptrdiff_t plat_receive_many(plat_socket socket, struct plat_batch *batch, bool wait)
{
    ptrdiff_t got = wait ? plat_receive(socket, batch->bytes, batch->room)
                         : plat_receive_now(socket, batch->bytes, batch->room);
    batch->length[0] = got > 0 ? (size_t)got : 0;
    return got < 0 ? got : 1;
}

ptrdiff_t plat_send_many(plat_socket socket, struct plat_batch *batch, unsigned first,
                         unsigned count)
{
    (void)count;
    ptrdiff_t put = plat_send(socket, batch->bytes + (size_t)first * batch->room, batch->room);
    return put < 0 ? put : 1;
}

ptrdiff_t plat_receive_from(plat_socket socket, void *into, size_t capacity,
                            struct plat_address *from)
{
    struct windows_socket *own = windows_socket(socket);
    struct sockaddr *place = sockaddr_into(from);
    int length = (int)from->length, error = windows_set_mode(own, true);
    if (error != 0)
        return -error;
    int got = recvfrom(own->socket, into, clamped(capacity), 0, place, &length);
    from->length = (unsigned)length;
    return received(own, got, capacity);
}

void plat_finish(plat_socket socket)
{
    shutdown(windows_socket(socket)->socket, SD_SEND);
}

/* `shutdown` makes later calls fail, but may not end a call that already waits. */
void plat_wake(plat_socket socket)
{
    SOCKET own = windows_socket(socket)->socket;
    shutdown(own, SD_BOTH);
    CancelIoEx((HANDLE)own, NULL);
}

void plat_wait_any(struct plat_wait *waits, unsigned count, uint64_t until_ns)
{
    WSAPOLLFD polls[PLAT_WAITS];
    assert(count <= PLAT_WAITS);
    for (unsigned i = 0; i < count; i++)
        polls[i] = (WSAPOLLFD){.fd = windows_socket(waits[i].socket)->socket, .events = POLLRDNORM};
    for (unsigned i = 0; i < count; i++)
        polls[i].events |= waits[i].sending ? POLLWRNORM : 0;
    int ready = WSAPoll(polls, count, (int)((windows_left_ns(until_ns) + 999999) / 1000000));
    for (unsigned i = 0; i < count; i++)
        waits[i].ready = ready > 0 && polls[i].revents != 0;
}

/* ---- SIO_TCP_INFO ---- */

/* Its versions: 2 since Windows 11, 1 since Windows 10 2004, 0 since 1703. Values that an older
 * system or wine refuses are absent. */

#define SIO_TCP_INFO_CODE _WSAIORW(IOC_VENDOR, 39)
#define FIRST_BUILD 15063u

/* TCP_INFO_v2 of mstcpip.h; versions 0 and 1 are shorter forms of it. Compilers' headers differ in
 * the versions that they have. */
struct tcp_info_v2 {
    int32_t state;
    uint32_t mss;
    uint64_t connection_time_ms;
    uint8_t timestamps_enabled;
    uint32_t rtt_us, min_rtt_us, bytes_in_flight, cwnd, snd_wnd, rcv_wnd, rcv_buf;
    uint64_t bytes_out, bytes_in;
    uint32_t bytes_reordered, bytes_retrans, fast_retrans, dup_acks_in, timeout_episodes;
    uint8_t syn_retrans;
    /* version 1: numbers of transitions, milliseconds, bytes */
    uint32_t snd_lim_trans_rwin, snd_lim_time_rwin;
    uint64_t snd_lim_bytes_rwin;
    uint32_t snd_lim_trans_cwnd, snd_lim_time_cwnd;
    uint64_t snd_lim_bytes_cwnd;
    uint32_t snd_lim_trans_snd, snd_lim_time_snd;
    uint64_t snd_lim_bytes_snd;
    /* version 2 */
    uint32_t out_of_order_pkts_in;
    uint8_t ecn_negotiated;
    uint32_t ece_acks_in, pto_episodes;
};
_Static_assert(offsetof(struct tcp_info_v2, snd_lim_trans_rwin) == 88 &&
                   offsetof(struct tcp_info_v2, out_of_order_pkts_in) == 136 &&
                   sizeof(struct tcp_info_v2) == 152,
               "the layout of TCP_INFO_v2");

/* Requests this version of the structure. Returns 0, or Winsock's error. */
static int request_info(SOCKET socket, DWORD version, struct tcp_info_v2 *info)
{
    static const DWORD sizes[] = {offsetof(struct tcp_info_v2, snd_lim_trans_rwin),
                                  offsetof(struct tcp_info_v2, out_of_order_pkts_in),
                                  sizeof(struct tcp_info_v2)};
    DWORD filled = 0;
    memset(info, 0, sizeof *info);
    return WSAIoctl(socket, SIO_TCP_INFO_CODE, &version, sizeof version, info, sizes[version], &filled, NULL,
                    NULL) == SOCKET_ERROR
               ? WSAGetLastError()
               : 0;
}

/* Whether Windows knows the request. If so, the error here is that the socket is not connected. */
bool windows_tcp_info_known(void)
{
    struct tcp_info_v2 info;
    unsigned major, minor, build;
    windows_version(&major, &minor, &build);
    SOCKET probe = build >= FIRST_BUILD ? socket(AF_INET, SOCK_STREAM, IPPROTO_TCP) : INVALID_SOCKET;
    if (probe == INVALID_SOCKET)
        return false;
    bool is_known = request_info(probe, 0, &info) != WSAEOPNOTSUPP;
    closesocket(probe);
    return is_known;
}

static void add_fact(struct plat_tcp_info *out, enum plat_tcp_fact fact, uint64_t value)
{
    out->present |= UINT64_C(1) << fact;
    out->value[fact] = value;
}

/* Leaves out values whose names or definitions differ from those of other systems. BytesOut counts
 * sent bytes; Windows does not report how many of them were acknowledged. */
void plat_tcp_info(plat_socket socket, struct plat_tcp_info *out)
{
    struct tcp_info_v2 info;
    int version = 2;
    memset(out, 0, sizeof *out);
    while (version >= 0 && request_info(windows_socket(socket)->socket, (DWORD)version, &info) != 0)
        version--;
    if (version < 0)
        return;
    add_fact(out, PLAT_TCP_SND_MSS, info.mss);
    add_fact(out, PLAT_TCP_RTT_US, info.rtt_us);
    add_fact(out, PLAT_TCP_MIN_RTT_US, info.min_rtt_us);
    if (info.mss > 0)
        add_fact(out, PLAT_TCP_SND_CWND, info.cwnd / info.mss); /* in segments, as elsewhere */
    add_fact(out, PLAT_TCP_SND_WND, info.snd_wnd);
    add_fact(out, PLAT_TCP_BYTES_SENT, info.bytes_out);
    add_fact(out, PLAT_TCP_BYTES_RECEIVED, info.bytes_in);
    add_fact(out, PLAT_TCP_BYTES_RETRANS, info.bytes_retrans);
    if (version >= 1) {
        add_fact(out, PLAT_TCP_RWND_LIMITED_US, (uint64_t)info.snd_lim_time_rwin * 1000);
        add_fact(out, PLAT_TCP_SNDBUF_LIMITED_US, (uint64_t)info.snd_lim_time_snd * 1000);
    }
    if (version >= 2)
        add_fact(out, PLAT_TCP_RCV_OOOPACK, info.out_of_order_pkts_in);
    snprintf(out->options, sizeof out->options, "%s%s%s",
             info.timestamps_enabled ? "timestamps" : "",
             info.timestamps_enabled && info.ecn_negotiated ? "," : "",
             version >= 2 && info.ecn_negotiated ? "ecn" : "");
}
