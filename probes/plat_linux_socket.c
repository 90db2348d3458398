/* Linux: addresses, sockets, their options and errors. TCP_INFO: plat_linux_tcp_info.c. */
#define _GNU_SOURCE
#include "plat.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* ---- errors ---- */

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
        return "capability-missing";
    default:
        return "system";
    }
}

void plat_describe(int error, char *into, size_t capacity)
{
    /* strerror_r has two meanings, by the C library; strerror is safe between threads in both. */
    snprintf(into, capacity, "%s", strerror(error));
}

bool plat_is_no_buffers(int error)
{
    return error == ENOBUFS || error == ENOMEM;
}

bool plat_is_too_long(int error)
{
    return error == EMSGSIZE;
}

bool plat_is_transient(int error)
{
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

bool plat_is_peer_gone(int error)
{
    return error == ECONNRESET || error == EPIPE || error == ECONNREFUSED || error == ENOTCONN ||
           error == ECONNABORTED;
}

bool plat_is_address_in_use(int error)
{
    return error == EADDRINUSE;
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
    if (getaddrinfo(text, NULL, &wanted, &found) != 0)
        return false;
    struct sockaddr *place = raw_out(out);
    memcpy(place, found->ai_addr, found->ai_addrlen);
    out->length = (unsigned)found->ai_addrlen;
    freeaddrinfo(found);
    plat_address_set_port(out, port);
    return true;
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
    if (getnameinfo(raw(address), address->length, into, PLAT_ADDRESS_TEXT, NULL, 0,
                    NI_NUMERICHOST) != 0)
        into[0] = 0;
}

bool plat_interface_bytes(const char *name, uint64_t *sent, uint64_t *received)
{
    char line[512];
    bool found = false;
    FILE *file = fopen("/proc/self/net/dev", "re");
    if (file == NULL)
        return false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        unsigned long long in, out;
        char *colon = strrchr(line, ':');
        if (colon == NULL)
            continue;
        *colon = 0;
        if (strcmp(line + strspn(line, " "), name) != 0)
            continue;
        found = sscanf(colon + 1, "%llu %*u %*u %*u %*u %*u %*u %*u %llu", &in, &out) == 2;
        if (found) {
            *received = in;
            *sent = out;
        }
    }
    fclose(file);
    return found;
}

/* ---- sockets ---- */

static int failed(int result)
{
    return result < 0 ? errno : 0;
}

int plat_socket_open(plat_socket *out, bool udp, const struct plat_address *family)
{
    int type = (udp ? SOCK_DGRAM : SOCK_STREAM) | SOCK_CLOEXEC;
    int fresh = socket(raw(family)->sa_family, type, 0);
    *out = fresh;
    return failed(fresh);
}

void plat_close(plat_socket socket)
{
    if (socket != PLAT_NO_SOCKET)
        close((int)socket);
}

int plat_bind(plat_socket socket, const struct plat_address *address)
{
    return failed(bind((int)socket, raw(address), address->length));
}

int plat_listen(plat_socket socket, int backlog)
{
    return failed(listen((int)socket, backlog));
}

int plat_accept(plat_socket socket, plat_socket *out, struct plat_address *peer)
{
    struct sockaddr *place = raw_out(peer);
    socklen_t length = peer->length;
    int fresh = accept4((int)socket, place, &length, SOCK_CLOEXEC);
    peer->length = (unsigned)length;
    *out = fresh;
    return failed(fresh);
}

static int until_ms(uint64_t until_ns)
{
    uint64_t now = plat_now_ns();
    uint64_t left_ms = until_ns > now ? (until_ns - now + 999999) / 1000000 : 0;
    return left_ms > 3600000 ? 3600000 : (int)left_ms;
}

int plat_connect(plat_socket socket, const struct plat_address *peer, uint64_t until_ns)
{
    int error = plat_option_set(socket, PLAT_BLOCKING, 0);
    if (error != 0)
        return error;
    error = failed(connect((int)socket, raw(peer), peer->length));
    if (error == EINPROGRESS) {
        struct pollfd wait = {.fd = (int)socket, .events = POLLOUT};
        socklen_t length = sizeof error;
        int ready;
        do
            ready = poll(&wait, 1, until_ms(until_ns));
        while (ready < 0 && errno == EINTR);
        if (ready == 0)
            return ETIMEDOUT;
        if (getsockopt((int)socket, SOL_SOCKET, SO_ERROR, &error, &length) < 0)
            return errno;
    }
    return error != 0 ? error : plat_option_set(socket, PLAT_BLOCKING, 1);
}

int plat_local_address(plat_socket socket, struct plat_address *out)
{
    struct sockaddr *place = raw_out(out);
    socklen_t length = out->length;
    int error = failed(getsockname((int)socket, place, &length));
    out->length = (unsigned)length;
    return error;
}

int plat_peer_address(plat_socket socket, struct plat_address *out)
{
    struct sockaddr *place = raw_out(out);
    socklen_t length = out->length;
    int error = failed(getpeername((int)socket, place, &length));
    out->length = (unsigned)length;
    return error;
}

static ptrdiff_t moved(ssize_t result)
{
    return result < 0 ? -(ptrdiff_t)errno : result;
}

ptrdiff_t plat_send(plat_socket socket, const void *bytes, size_t length)
{
    return moved(send((int)socket, bytes, length, MSG_NOSIGNAL));
}

ptrdiff_t plat_send_now(plat_socket socket, const void *bytes, size_t length)
{
    return moved(send((int)socket, bytes, length, MSG_NOSIGNAL | MSG_DONTWAIT));
}

ptrdiff_t plat_receive(plat_socket socket, void *into, size_t capacity)
{
    return moved(recv((int)socket, into, capacity, 0));
}

ptrdiff_t plat_receive_within(plat_socket socket, void *into, size_t capacity, uint64_t limit_ns)
{
    struct pollfd wait = {.fd = (int)socket, .events = POLLIN};
    struct timespec span = {.tv_sec = (time_t)(limit_ns / 1000000000),
                            .tv_nsec = (long)(limit_ns % 1000000000)};
    int ready = ppoll(&wait, 1, &span, NULL);
    if (ready < 0)
        return -(ptrdiff_t)errno;
    return ready == 0 ? -EAGAIN : moved(recv((int)socket, into, capacity, MSG_DONTWAIT));
}

ptrdiff_t plat_receive_now(plat_socket socket, void *into, size_t capacity)
{
    return moved(recv((int)socket, into, capacity, MSG_DONTWAIT));
}

ptrdiff_t plat_peek_now(plat_socket socket, void *into, size_t capacity)
{
    return moved(recv((int)socket, into, capacity, MSG_DONTWAIT | MSG_PEEK));
}

ptrdiff_t plat_receive_from(plat_socket socket, void *into, size_t capacity,
                            struct plat_address *from)
{
    struct sockaddr *place = raw_out(from);
    socklen_t length = from->length;
    ssize_t got = recvfrom((int)socket, into, capacity, MSG_DONTWAIT, place, &length);
    from->length = (unsigned)length;
    return moved(got);
}

ptrdiff_t plat_send_to(plat_socket socket, const void *bytes, size_t length,
                       const struct plat_address *to)
{
    return moved(sendto((int)socket, bytes, length, MSG_NOSIGNAL, raw(to), to->length));
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
    struct pollfd polls[96];
    if (count > sizeof polls / sizeof polls[0])
        count = sizeof polls / sizeof polls[0];
    for (unsigned i = 0; i < count; i++)
        polls[i] = (struct pollfd){.fd = (int)waits[i].socket,
                                   .events = waits[i].sending ? POLLIN | POLLOUT : POLLIN};
    int ready = poll(polls, count, until_ms(until_ns));
    for (unsigned i = 0; i < count; i++)
        waits[i].ready = ready > 0 && polls[i].revents != 0;
}

/* ---- options ---- */

const int plat_buffer_factor = 2;

static bool is_v6(int socket)
{
    int domain = AF_INET;
    socklen_t length = sizeof domain;
    getsockopt(socket, SOL_SOCKET, SO_DOMAIN, &domain, &length);
    return domain == AF_INET6;
}

/* Level and name of the options that are one integer of the system's. */
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
    case PLAT_RECEIVE_LOW_WATER:
        *name = SO_RCVLOWAT;
        return true;
    case PLAT_REUSE:
        *name = SO_REUSEADDR;
        return true;
    case PLAT_NODELAY:
        *level = IPPROTO_TCP;
        *name = TCP_NODELAY;
        return true;
    case PLAT_REPORT_DROPS:
        *level = is_v6(socket) ? IPPROTO_IPV6 : IPPROTO_IP;
        *name = *level == IPPROTO_IPV6 ? IPV6_RECVERR : IP_RECVERR;
        return true;
    case PLAT_DONT_FRAGMENT:
        *level = is_v6(socket) ? IPPROTO_IPV6 : IPPROTO_IP;
        *name = *level == IPPROTO_IPV6 ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER;
        return true;
    case PLAT_DSCP:
        *level = is_v6(socket) ? IPPROTO_IPV6 : IPPROTO_IP;
        *name = *level == IPPROTO_IPV6 ? IPV6_TCLASS : IP_TOS;
        return true;
    default:
        return false;
    }
}

int plat_option_set(plat_socket given, enum plat_option option, int value)
{
    int socket = (int)given, level, name;
    if (option == PLAT_BLOCKING) {
        int nonblocking = !value;
        return failed(ioctl(socket, FIONBIO, &nonblocking));
    }
    if (option == PLAT_SEND_TIMEOUT_MS || option == PLAT_RECEIVE_TIMEOUT_MS) {
        struct timeval time = {.tv_sec = value / 1000, .tv_usec = value % 1000 * 1000};
        name = option == PLAT_SEND_TIMEOUT_MS ? SO_SNDTIMEO : SO_RCVTIMEO;
        return failed(setsockopt(socket, SOL_SOCKET, name, &time, sizeof time));
    }
    if (option == PLAT_RESET_ON_CLOSE) {
        struct linger linger = {.l_onoff = value, .l_linger = 0};
        return failed(setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
    }
    if (!plain_option(socket, option, &level, &name))
        return ENOPROTOOPT;
    if (option == PLAT_DSCP)
        value <<= 2;
    if (option == PLAT_DONT_FRAGMENT)
        value = value ? IP_PMTUDISC_DO : IP_PMTUDISC_WANT;
    return failed(setsockopt(socket, level, name, &value, sizeof value));
}

int plat_option_get(plat_socket given, enum plat_option option, int *value)
{
    int socket = (int)given, level, name;
    socklen_t length = sizeof *value;
    if (!plain_option(socket, option, &level, &name))
        return ENOPROTOOPT;
    if (getsockopt(socket, level, name, value, &length) < 0)
        return errno;
    if (option == PLAT_DSCP)
        *value >>= 2;
    if (option == PLAT_DONT_FRAGMENT)
        *value = *value == IP_PMTUDISC_DO;
    return 0;
}

int plat_congestion_set(plat_socket socket, const char *name)
{
    return failed(
        setsockopt((int)socket, IPPROTO_TCP, TCP_CONGESTION, name, (socklen_t)strlen(name)));
}

int plat_congestion_get(plat_socket socket, char *into, size_t capacity)
{
    socklen_t length = (socklen_t)capacity - 1;
    int error = failed(getsockopt((int)socket, IPPROTO_TCP, TCP_CONGESTION, into, &length));
    into[error == 0 ? length : 0] = 0;
    return error;
}

int plat_interface_set(plat_socket socket, const char *name)
{
    return failed(
        setsockopt((int)socket, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name) + 1));
}

int plat_set_no_checksum(plat_socket socket)
{
    int on = 1;
    return failed(setsockopt((int)socket, SOL_SOCKET, SO_NO_CHECK, &on, sizeof on));
}

bool plat_path_mtu(plat_socket socket, unsigned *mtu_bytes)
{
    bool six = is_v6((int)socket);
    int mtu = 0;
    socklen_t length = sizeof mtu;
    if (getsockopt((int)socket, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_MTU : IP_MTU, &mtu,
                   &length) < 0 ||
        mtu <= 0)
        return false;
    *mtu_bytes = (unsigned)mtu;
    return true;
}

static bool read_memory(int socket, uint32_t memory[SK_MEMINFO_VARS], unsigned wanted)
{
    socklen_t length = sizeof(uint32_t) * SK_MEMINFO_VARS;
    return getsockopt(socket, SOL_SOCKET, SO_MEMINFO, memory, &length) == 0 &&
           length > wanted * sizeof(uint32_t);
}

bool plat_queue_bytes(plat_socket socket, bool udp, uint64_t *out)
{
    uint32_t memory[SK_MEMINFO_VARS];
    int queued;
    if (udp) {
        if (!read_memory((int)socket, memory, SK_MEMINFO_RMEM_ALLOC))
            return false;
        *out = memory[SK_MEMINFO_RMEM_ALLOC];
        return true;
    }
    if (ioctl((int)socket, SIOCINQ, &queued) < 0 || queued < 0)
        return false;
    *out = (uint64_t)queued;
    return true;
}

bool plat_queue_drops(plat_socket socket, uint64_t *out)
{
    uint32_t memory[SK_MEMINFO_VARS];
    if (!read_memory((int)socket, memory, SK_MEMINFO_DROPS))
        return false;
    *out = memory[SK_MEMINFO_DROPS];
    return true;
}
