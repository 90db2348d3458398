/* Windows: addresses, sockets, their options and errors, with Winsock 2 itself.
 * TCP's own view: plat_windows_tcp_info.c, interfaces: plat_windows_interface.c. */
#include "plat_windows.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef SIO_UDP_CONNRESET
#define SIO_UDP_CONNRESET _WSAIOW(IOC_VENDOR, 12)
#endif
#ifndef SIO_UDP_NETRESET
#define SIO_UDP_NETRESET _WSAIOW(IOC_VENDOR, 15)
#endif
#ifndef WSA_FLAG_NO_HANDLE_INHERIT
#define WSA_FLAG_NO_HANDLE_INHERIT 0x80
#endif

/* A blocked receive looks up this often. plat_wake ends it at once; this is for the call that a
 * thread was about to make just then. */
static const DWORD receive_timeout_ms = 250;

/* ---- errors: Winsock's, and the system's own where a call is not of Winsock ---- */

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
    /* wine hands on Linux's ENOBUFS as WSAEINVAL, which a connected socket has no other reason for. */
    return error == WSAENOBUFS || error == WSAEINVAL || error == ERROR_NOT_ENOUGH_MEMORY;
}

bool plat_is_too_long(int error)
{
    return error == WSAEMSGSIZE;
}

bool plat_is_transient(int error)
{
    return error == WSAEWOULDBLOCK || error == WSAEINTR || error == WSA_OPERATION_ABORTED;
}

bool plat_is_peer_gone(int error)
{
    return error == WSAECONNRESET || error == WSAECONNABORTED || error == WSAENETRESET ||
           error == WSAECONNREFUSED || error == WSAENOTCONN || error == WSAESHUTDOWN ||
           error == WSAEDISCON;
}

/* Ports that the system keeps for others, Hyper-V above all, and ports whose holder wants them for
 * itself alone are refused as forbidden: the next one of a range may do. */
bool plat_is_address_in_use(int error)
{
    return error == WSAEADDRINUSE || error == WSAEACCES;
}

static int failed(int result)
{
    return result == SOCKET_ERROR ? WSAGetLastError() : 0;
}

/* ---- addresses ---- */

static const struct sockaddr *raw(const struct plat_address *address)
{
    return (const struct sockaddr *)(const void *)address->at.bytes;
}

static struct sockaddr *raw_out(struct plat_address *address)
{
    memset(address, 0, sizeof *address);
    address->length = sizeof address->at.bytes;
    return (struct sockaddr *)(void *)address->at.bytes;
}

bool plat_address_parse(const char *text, unsigned port, struct plat_address *out)
{
    struct addrinfo wanted = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    /* An empty name is this host, and brackets are taken for a part of the address. */
    if (text[0] == 0 || text[0] == '[' || getaddrinfo(text, NULL, &wanted, &found) != 0)
        return false;
    bool known = found->ai_family == AF_INET || found->ai_family == AF_INET6;
    struct sockaddr *place = raw_out(out);
    if (known)
        memcpy(place, found->ai_addr, found->ai_addrlen);
    out->length = (unsigned)found->ai_addrlen;
    freeaddrinfo(found);
    if (known)
        plat_address_set_port(out, port);
    return known;
}

bool plat_address_v6(const struct plat_address *address)
{
    return raw(address)->sa_family == AF_INET6;
}

static const struct sockaddr_in *v4(const struct plat_address *address)
{
    return (const struct sockaddr_in *)(const void *)address->at.bytes;
}

static const struct sockaddr_in6 *v6(const struct plat_address *address)
{
    return (const struct sockaddr_in6 *)(const void *)address->at.bytes;
}

unsigned plat_address_port(const struct plat_address *address)
{
    return plat_address_v6(address) ? ntohs(v6(address)->sin6_port) : ntohs(v4(address)->sin_port);
}

void plat_address_set_port(struct plat_address *address, unsigned port)
{
    void *bytes = address->at.bytes;
    if (plat_address_v6(address))
        ((struct sockaddr_in6 *)bytes)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)bytes)->sin_port = htons((uint16_t)port);
}

bool plat_address_equal(const struct plat_address *one, const struct plat_address *other)
{
    if (raw(one)->sa_family != raw(other)->sa_family)
        return false;
    if (plat_address_v6(one))
        return v6(one)->sin6_port == v6(other)->sin6_port &&
               memcmp(&v6(one)->sin6_addr, &v6(other)->sin6_addr, sizeof(struct in6_addr)) == 0;
    return v4(one)->sin_port == v4(other)->sin_port &&
           v4(one)->sin_addr.s_addr == v4(other)->sin_addr.s_addr;
}

void plat_address_text(const struct plat_address *address, char into[PLAT_ADDRESS_TEXT])
{
    if (getnameinfo(raw(address), (socklen_t)address->length, into, PLAT_ADDRESS_TEXT, NULL, 0,
                    NI_NUMERICHOST) != 0)
        into[0] = 0;
}

/* ---- opening and closing ---- */

/* Takes the socket over, also where it fails. */
static int adopt(SOCKET fresh, bool udp, bool is_v6, plat_socket *out)
{
    struct windows_socket *made = calloc(1, sizeof *made);
    if (made == NULL) {
        closesocket(fresh);
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    made->socket = fresh;
    made->udp = udp;
    made->v6 = is_v6;
    setsockopt(fresh, SOL_SOCKET, SO_RCVTIMEO, (const char *)&receive_timeout_ms,
               sizeof receive_timeout_ms);
    *out = (plat_socket)made;
    return 0;
}

int plat_socket_open(plat_socket *out, bool udp, const struct plat_address *family)
{
    SOCKET fresh = WSASocketW(raw(family)->sa_family, udp ? SOCK_DGRAM : SOCK_STREAM,
                              udp ? IPPROTO_UDP : IPPROTO_TCP, NULL, 0,
                              WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    if (fresh == INVALID_SOCKET)
        return WSAGetLastError();
    if (udp) {
        /* Or an ICMP message makes receive calls fail, of sockets that are not connected, too.
         * Where this is refused, `quiet` below does it. */
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

/* Without SO_EXCLUSIVEADDRUSE another program could take the same port over, and one that listens
 * on all addresses would share it silently. Windows lets go of old connections' ports by itself. */
int plat_bind(plat_socket socket, const struct plat_address *address)
{
    BOOL exclusive = TRUE;
    SOCKET own = windows_socket(socket)->socket;
    setsockopt(own, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, (const char *)&exclusive, sizeof exclusive);
    return failed(bind(own, raw(address), (int)address->length));
}

int plat_listen(plat_socket socket, int backlog)
{
    return failed(listen(windows_socket(socket)->socket, backlog));
}

/* Puts the socket into the mode that a call needs. */
static int set_mode(struct windows_socket *own, bool nonblocking)
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
    struct sockaddr *place = raw_out(peer);
    int length = (int)peer->length, error = set_mode(own, own->listening);
    u_long blocking = 0;
    if (error != 0)
        return error;
    SOCKET fresh = accept(own->socket, place, &length);
    if (fresh == INVALID_SOCKET)
        return WSAGetLastError();
    peer->length = (unsigned)length;
    /* It has inherited the listener's mode. */
    SetHandleInformation((HANDLE)fresh, HANDLE_FLAG_INHERIT, 0);
    if (ioctlsocket(fresh, (long)FIONBIO, &blocking) == SOCKET_ERROR) {
        error = WSAGetLastError();
        closesocket(fresh);
        return error;
    }
    return adopt(fresh, false, own->v6, out);
}

static uint64_t left_ns(uint64_t until_ns)
{
    const uint64_t hour_ns = UINT64_C(3600000000000);
    uint64_t now = plat_now_ns();
    uint64_t left = until_ns > now ? until_ns - now : 0;
    return left < hour_ns ? left : hour_ns;
}

/* WSAPoll does not tell of refused connections before Windows 10 2004; select always has. */
static int finish_connect(SOCKET own, uint64_t until_ns)
{
    fd_set writable, refused;
    uint64_t left_us = (left_ns(until_ns) + 999) / 1000;
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
    int error = set_mode(own, true);
    if (error != 0)
        return error;
    error = failed(connect(own->socket, raw(peer), (int)peer->length));
    if (error == WSAEWOULDBLOCK)
        error = finish_connect(own->socket, until_ns);
    return error != 0 ? error : set_mode(own, false);
}

int plat_local_address(plat_socket socket, struct plat_address *out)
{
    struct sockaddr *place = raw_out(out);
    int length = (int)out->length;
    int error = failed(getsockname(windows_socket(socket)->socket, place, &length));
    out->length = (unsigned)length;
    return error;
}

int plat_peer_address(plat_socket socket, struct plat_address *out)
{
    struct sockaddr *place = raw_out(out);
    int length = (int)out->length;
    int error = failed(getpeername(windows_socket(socket)->socket, place, &length));
    out->length = (unsigned)length;
    return error;
}

/* ---- sending and receiving ---- */

/* What an ICMP message made of an earlier datagram of ours, and says nothing about this call. */
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
    /* Linux says "would block" for a send time-out; on TCP, where there is none, it is the
     * connection's. */
    return own->udp && error == WSAETIMEDOUT ? -WSAEWOULDBLOCK : -error;
}

ptrdiff_t plat_send(plat_socket socket, const void *bytes, size_t length)
{
    struct windows_socket *own = windows_socket(socket);
    int error = set_mode(own, false);
    if (error != 0)
        return -error;
    int put = send(own->socket, bytes, clamped(length), 0);
    if (put == SOCKET_ERROR && quiet(own, WSAGetLastError()))
        put = send(own->socket, bytes, clamped(length), 0);
    return sent(own, put);
}

ptrdiff_t plat_send_now(plat_socket socket, const void *bytes, size_t length)
{
    struct windows_socket *own = windows_socket(socket);
    int error = set_mode(own, true);
    if (error != 0)
        return -error;
    int put = send(own->socket, bytes, clamped(length), 0);
    if (put == SOCKET_ERROR && quiet(own, WSAGetLastError()))
        put = send(own->socket, bytes, clamped(length), 0);
    return sent(own, put);
}

ptrdiff_t plat_send_to(plat_socket socket, const void *bytes, size_t length,
                       const struct plat_address *to)
{
    struct windows_socket *own = windows_socket(socket);
    int put = sendto(own->socket, bytes, clamped(length), 0, raw(to), (int)to->length);
    if (put == SOCKET_ERROR && quiet(own, WSAGetLastError()))
        put = sendto(own->socket, bytes, clamped(length), 0, raw(to), (int)to->length);
    return sent(own, put);
}

/* A datagram longer than the room fills it and is an error here; elsewhere it is the room's bytes. */
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
    int error = set_mode(own, true);
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

ptrdiff_t plat_receive(plat_socket socket, void *into, size_t capacity)
{
    struct windows_socket *own = windows_socket(socket);
    int error = set_mode(own, false);
    if (error != 0)
        return -error;
    ptrdiff_t got = received(own, recv(own->socket, into, clamped(capacity), 0), capacity);
    /* Our own time-out, or a connection that is dead: only another look tells. */
    return got == -WSAETIMEDOUT ? plat_receive_now(socket, into, capacity) : got;
}

/* `select` takes microseconds, and waits for as many milliseconds as the timer knows. What it calls
 * readable is received in the mode that the socket is in: that costs no call. */
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
    ptrdiff_t got = received(own, recv(own->socket, into, clamped(capacity), 0), capacity);
    return got == -WSAETIMEDOUT && own->udp ? -WSAEWOULDBLOCK : got;
}

ptrdiff_t plat_receive_from(plat_socket socket, void *into, size_t capacity,
                            struct plat_address *from)
{
    struct windows_socket *own = windows_socket(socket);
    struct sockaddr *place = raw_out(from);
    int length = (int)from->length, error = set_mode(own, true);
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

/* `shutdown` makes later calls fail; a call that waits already is not sure to hear of it. */
void plat_wake(plat_socket socket)
{
    SOCKET own = windows_socket(socket)->socket;
    shutdown(own, SD_BOTH);
    CancelIoEx((HANDLE)own, NULL);
}

void plat_wait_any(struct plat_wait *waits, unsigned count, uint64_t until_ns)
{
    WSAPOLLFD polls[96];
    if (count > sizeof polls / sizeof polls[0])
        count = sizeof polls / sizeof polls[0];
    for (unsigned i = 0; i < count; i++)
        polls[i] = (WSAPOLLFD){.fd = windows_socket(waits[i].socket)->socket, .events = POLLRDNORM};
    for (unsigned i = 0; i < count; i++)
        polls[i].events |= waits[i].sending ? POLLWRNORM : 0;
    int ready = WSAPoll(polls, count, (int)((left_ns(until_ns) + 999999) / 1000000));
    for (unsigned i = 0; i < count; i++)
        waits[i].ready = ready > 0 && polls[i].revents != 0;
}

/* ---- options ---- */

const int plat_buffer_factor = 1;

/* Level and name of the options that are one integer of Winsock's. Not among them: PLAT_DSCP, for
 * IP_TOS is accepted and ignored; PLAT_REPORT_DROPS, for Windows does not tell. */
static bool plain_option(const struct windows_socket *own, enum plat_option option, int *level,
                         int *name)
{
    *level = SOL_SOCKET;
    switch (option) {
    case PLAT_SEND_BUFFER:
        *name = SO_SNDBUF;
        return true;
    case PLAT_RECEIVE_BUFFER:
        *name = SO_RCVBUF;
        return true;
    case PLAT_SEND_TIMEOUT_MS:
        *name = SO_SNDTIMEO;
        return true;
    case PLAT_RECEIVE_TIMEOUT_MS:
        *name = SO_RCVTIMEO;
        return true;
    case PLAT_NODELAY:
        *level = IPPROTO_TCP;
        *name = TCP_NODELAY;
        return true;
    case PLAT_DONT_FRAGMENT:
        *level = own->v6 ? IPPROTO_IPV6 : IPPROTO_IP;
        *name = own->v6 ? IPV6_DONTFRAG : IP_DONTFRAGMENT;
        return true;
    default:
        return false;
    }
}

int plat_option_set(plat_socket socket, enum plat_option option, int value)
{
    struct windows_socket *own = windows_socket(socket);
    int level, name;
    if (option == PLAT_BLOCKING) {
        own->listening = !value;
        return set_mode(own, !value);
    }
    if (option == PLAT_REUSE)
        return 0; /* as it is without: SO_REUSEADDR means here to take a port over */
    if (option == PLAT_RESET_ON_CLOSE) {
        struct linger linger = {.l_onoff = value != 0, .l_linger = 0};
        return failed(setsockopt(own->socket, SOL_SOCKET, SO_LINGER, (const char *)&linger,
                                 sizeof linger));
    }
    if (!plain_option(own, option, &level, &name))
        return WSAENOPROTOOPT;
    /* A send buffer of 0 means that calls wait for the network card. */
    if ((option == PLAT_SEND_BUFFER || option == PLAT_RECEIVE_BUFFER) && value <= 0)
        return WSAEINVAL;
    /* A call that waits longer than its own limit is not sure to hear of plat_wake. */
    if (option == PLAT_RECEIVE_TIMEOUT_MS && (value <= 0 || value > (int)receive_timeout_ms))
        value = (int)receive_timeout_ms;
    return failed(setsockopt(own->socket, level, name, (const char *)&value, sizeof value));
}

int plat_option_get(plat_socket socket, enum plat_option option, int *value)
{
    struct windows_socket *own = windows_socket(socket);
    int level, name, length = sizeof *value;
    if (!plain_option(own, option, &level, &name))
        return WSAENOPROTOOPT;
    *value = 0; /* some options fill one byte of it */
    return failed(getsockopt(own->socket, level, name, (char *)value, &length));
}

/* Windows takes its congestion control from templates of the administrator's. */
int plat_congestion_set(plat_socket socket, const char *name)
{
    (void)socket;
    (void)name;
    return WSAENOPROTOOPT;
}

int plat_congestion_get(plat_socket socket, char *into, size_t capacity)
{
    (void)socket;
    (void)capacity;
    into[0] = 0;
    return WSAENOPROTOOPT;
}

/* A provider may take note of it and do nothing, says its documentation; Windows' own sends zero. */
int plat_set_no_checksum(plat_socket socket)
{
    const BOOL on = TRUE;
    int error = failed(setsockopt(windows_socket(socket)->socket, IPPROTO_UDP, UDP_NOCHECKSUM,
                                  (const char *)&on, sizeof on));
    return error == WSAEINVAL ? WSAENOPROTOOPT : error; /* in whichever way it is not known */
}

bool plat_path_mtu(plat_socket socket, unsigned *mtu_bytes)
{
    struct windows_socket *own = windows_socket(socket);
    DWORD mtu = 0;
    int length = sizeof mtu;
    if (getsockopt(own->socket, own->v6 ? IPPROTO_IPV6 : IPPROTO_IP, own->v6 ? IPV6_MTU : IP_MTU,
                   (char *)&mtu, &length) == SOCKET_ERROR ||
        mtu == 0 || mtu == MAXDWORD)
        return false;
    *mtu_bytes = mtu;
    return true;
}

/* ---- stamps: Windows has them from Server 2022 and Windows 11 on (SIO_TIMESTAMPING), on cards
 * whose drivers do; netprobe does not ask for them ---- */

int plat_stamps_on(plat_socket socket, const char *interface)
{
    (void)socket;
    (void)interface;
    return WSAENOPROTOOPT;
}

ptrdiff_t plat_receive_stamped(plat_socket socket, void *into, size_t capacity,
                               struct plat_stamp *received_at)
{
    memset(received_at, 0, sizeof *received_at);
    return plat_receive(socket, into, capacity);
}

bool plat_sent_stamp(plat_socket socket, uint64_t wait_ns, struct plat_stamp *sent_at)
{
    (void)socket;
    memset(sent_at, 0, sizeof *sent_at);
    plat_sleep_ns(wait_ns);
    return false;
}

/* UDP: what stands in the queue as payload. */
bool plat_queue_bytes(plat_socket socket, bool udp, uint64_t *out)
{
    u_long queued = 0;
    (void)udp;
    if (ioctlsocket(windows_socket(socket)->socket, (long)FIONREAD, &queued) == SOCKET_ERROR)
        return false;
    *out = queued;
    return true;
}

bool plat_queue_drops(plat_socket socket, uint64_t *out)
{
    (void)socket;
    (void)out;
    return false;
}
