/* macOS and FreeBSD: addresses, sockets, their options and errors, TCP's own view. */
#define __APPLE_USE_RFC_3542 /* macOS: IPV6_DONTFRAG, IPV6_TCLASS */
#include "plat.h"

#include <sys/types.h>

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/filio.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/sysctl.h>
#include <sys/time.h>
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
    if (strerror_r(error, into, capacity) != 0)
        snprintf(into, capacity, "error %d", error);
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
    return error == EAGAIN || error == EINTR;
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

static int failed(int result)
{
    return result < 0 ? errno : 0;
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
    if (getnameinfo(raw(address), (socklen_t)address->length, into, PLAT_ADDRESS_TEXT, NULL, 0,
                    NI_NUMERICHOST) != 0)
        into[0] = 0;
}

/* ---- opening and closing ---- */

/* A blocked receive looks up this often, where `shutdown` should not wake it. */
static void look_up_now_and_then(int socket)
{
    struct timeval time = {.tv_usec = 250000};
    setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
}

int plat_socket_open(plat_socket *out, bool udp, const struct plat_address *family)
{
    int fresh = socket(raw(family)->sa_family, udp ? SOCK_DGRAM : SOCK_STREAM, 0);
    if (fresh < 0)
        return errno;
    fcntl(fresh, F_SETFD, FD_CLOEXEC);
    look_up_now_and_then(fresh);
    *out = fresh;
    return 0;
}

void plat_close(plat_socket socket)
{
    if (socket != PLAT_NO_SOCKET)
        close((int)socket);
}

int plat_bind(plat_socket socket, const struct plat_address *address)
{
    return failed(bind((int)socket, raw(address), (socklen_t)address->length));
}

int plat_listen(plat_socket socket, int backlog)
{
    return failed(listen((int)socket, backlog));
}

int plat_accept(plat_socket socket, plat_socket *out, struct plat_address *peer)
{
    struct sockaddr *place = raw_out(peer);
    socklen_t length = (socklen_t)peer->length;
    int fresh = accept((int)socket, place, &length);
    if (fresh < 0)
        return errno;
    peer->length = (unsigned)length;
    fcntl(fresh, F_SETFD, FD_CLOEXEC);
    look_up_now_and_then(fresh);
    *out = fresh;
    /* It has inherited the listener's mode. */
    int error = plat_option_set(fresh, PLAT_BLOCKING, 1);
    if (error != 0)
        close(fresh);
    return error;
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
    error = failed(connect((int)socket, raw(peer), (socklen_t)peer->length));
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

static int name_of(int (*ask)(int, struct sockaddr *restrict, socklen_t *restrict),
                   plat_socket socket, struct plat_address *out)
{
    struct sockaddr *place = raw_out(out);
    socklen_t length = (socklen_t)out->length;
    int error = failed(ask((int)socket, place, &length));
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

/* ---- sending and receiving ---- */

static ptrdiff_t moved(ssize_t result)
{
    return result < 0 ? -(ptrdiff_t)errno : result;
}

ptrdiff_t plat_send(plat_socket socket, const void *bytes, size_t length)
{
    return moved(send((int)socket, bytes, length, 0));
}

ptrdiff_t plat_send_now(plat_socket socket, const void *bytes, size_t length)
{
    return moved(send((int)socket, bytes, length, MSG_DONTWAIT));
}

ptrdiff_t plat_receive(plat_socket socket, void *into, size_t capacity)
{
    return moved(recv((int)socket, into, capacity, 0));
}

/* `select` waits for microseconds, `poll` for milliseconds, and macOS has no `ppoll`. */
static int await_input(int socket, uint64_t limit_ns)
{
    if (socket < FD_SETSIZE) {
        fd_set readable;
        uint64_t limit_us = (limit_ns + 999) / 1000;
        struct timeval span = {.tv_sec = (time_t)(limit_us / 1000000),
                               .tv_usec = (suseconds_t)(limit_us % 1000000)};
        FD_ZERO(&readable);
        FD_SET(socket, &readable);
        return select(socket + 1, &readable, NULL, NULL, &span);
    }
    struct pollfd wait = {.fd = socket, .events = POLLIN};
    return poll(&wait, 1, (int)((limit_ns + 999999) / 1000000));
}

ptrdiff_t plat_receive_within(plat_socket socket, void *into, size_t capacity, uint64_t limit_ns)
{
    int ready = await_input((int)socket, limit_ns);
    if (ready < 0)
        return -(ptrdiff_t)errno;
    return ready == 0 ? -EAGAIN : plat_receive_now(socket, into, capacity);
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
    socklen_t length = (socklen_t)from->length;
    ssize_t got = recvfrom((int)socket, into, capacity, MSG_DONTWAIT, place, &length);
    from->length = (unsigned)length;
    return moved(got);
}

ptrdiff_t plat_send_to(plat_socket socket, const void *bytes, size_t length,
                       const struct plat_address *to)
{
    return moved(sendto((int)socket, bytes, length, 0, raw(to), (socklen_t)to->length));
}

void plat_finish(plat_socket socket)
{
    shutdown((int)socket, SHUT_WR);
}

void plat_wake(plat_socket socket)
{
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

const int plat_buffer_factor = 1;

static bool is_v6(int socket)
{
    struct plat_address address;
    return plat_local_address(socket, &address) == 0 && plat_address_v6(&address);
}

/* Level and name of the options that are one integer of the system's. PLAT_REPORT_DROPS is not
 * among them: send calls say ENOBUFS by themselves. */
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
    case PLAT_DONT_FRAGMENT:
        *level = is_v6(socket) ? IPPROTO_IPV6 : IPPROTO_IP;
        *name = *level == IPPROTO_IPV6 ? IPV6_DONTFRAG : IP_DONTFRAG;
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
    else if (level != SOL_SOCKET || option == PLAT_REUSE)
        *value = *value != 0; /* a flag reads as its own bit */
    return 0;
}

#if defined(__APPLE__)
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

int plat_interface_set(plat_socket socket, const char *name)
{
    unsigned index = if_nametoindex(name);
    if (index == 0)
        return ENXIO;
    return failed(is_v6((int)socket)
                      ? setsockopt((int)socket, IPPROTO_IPV6, IPV6_BOUND_IF, &index, sizeof index)
                      : setsockopt((int)socket, IPPROTO_IP, IP_BOUND_IF, &index, sizeof index));
}

bool plat_udp_receive_buffer_errors(uint64_t *out)
{
    (void)out; /* the statistics' layout is not public */
    return false;
}

bool plat_fragments(struct plat_fragments *out)
{
    memset(out, 0, sizeof *out);
    return false;
}
#else /* FreeBSD */
#include <netinet/in_systm.h>

#include <netinet/ip.h>
#include <netinet/ip_var.h>
#include <netinet/ip6.h>
#include <netinet/udp.h>
#include <netinet/udp_var.h>
#include <netinet6/ip6_var.h>

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
    (void)socket;
    (void)name;
    return ENOPROTOOPT;
}

bool plat_udp_receive_buffer_errors(uint64_t *out)
{
    struct udpstat counted;
    size_t length = sizeof counted;
    if (sysctlbyname("net.inet.udp.stats", &counted, &length, NULL, 0) != 0 ||
        length < offsetof(struct udpstat, udps_fullsock) + sizeof counted.udps_fullsock)
        return false;
    *out = counted.udps_fullsock;
    return true;
}

bool plat_fragments(struct plat_fragments *out)
{
    struct ipstat four;
    struct ip6stat six;
    size_t length = sizeof four;
    memset(out, 0, sizeof *out);
    if (sysctlbyname("net.inet.ip.stats", &four, &length, NULL, 0) != 0 || length < sizeof four)
        return false;
    out->created = four.ips_ofragments;
    out->failed = four.ips_cantfrag;
    out->reassembled = four.ips_reassembled;
    out->reassembly_failures = four.ips_fragdropped + four.ips_fragtimeout;
    length = sizeof six;
    if (sysctlbyname("net.inet6.ip6.stats", &six, &length, NULL, 0) != 0 || length < sizeof six)
        return true; /* a system without IPv6 */
    out->created += six.ip6s_ofragments;
    out->failed += six.ip6s_cantfrag;
    out->reassembled += six.ip6s_reassembled;
    out->reassembly_failures += six.ip6s_fragdropped + six.ip6s_fragtimeout;
    return true;
}
#endif

int plat_set_no_checksum(plat_socket socket)
{
#if defined(UDP_NOCKSUM) /* macOS; FreeBSD knows it for the whole system only */
    int on = 1;
    return failed(setsockopt((int)socket, IPPROTO_UDP, UDP_NOCKSUM, &on, sizeof on));
#else
    (void)socket;
    return ENOPROTOOPT;
#endif
}

/* Of IPv4 neither tells. */
bool plat_path_mtu(plat_socket socket, unsigned *mtu_bytes)
{
    struct ip6_mtuinfo info;
    socklen_t length = sizeof info;
    if (!is_v6((int)socket) ||
        getsockopt((int)socket, IPPROTO_IPV6, IPV6_PATHMTU, &info, &length) < 0 ||
        info.ip6m_mtu == 0)
        return false;
    *mtu_bytes = info.ip6m_mtu;
    return true;
}

/* ---- stamps: both tell when a datagram arrived, and neither when one left ---- */

int plat_stamps_on(plat_socket socket, const char *interface)
{
    (void)socket;
    (void)interface;
    return ENOPROTOOPT;
}

ptrdiff_t plat_receive_stamped(plat_socket socket, void *into, size_t capacity,
                               struct plat_stamp *received)
{
    memset(received, 0, sizeof *received);
    return plat_receive(socket, into, capacity);
}

bool plat_sent_stamp(plat_socket socket, uint64_t wait_ns, struct plat_stamp *sent)
{
    (void)socket;
    memset(sent, 0, sizeof *sent);
    plat_sleep_ns(wait_ns);
    return false;
}

/* For UDP the two count what no other system counts. */
bool plat_queue_bytes(plat_socket socket, bool udp, uint64_t *out)
{
    int queued;
    if (udp || ioctl((int)socket, FIONREAD, &queued) < 0 || queued < 0)
        return false;
    *out = (uint64_t)queued;
    return true;
}

bool plat_queue_drops(plat_socket socket, uint64_t *out)
{
    (void)socket;
    (void)out;
    return false;
}

/* ---- TCP's own view ---- */

static void put(struct plat_tcp_info *out, enum plat_tcp_fact fact, uint64_t value)
{
    out->present |= UINT64_C(1) << fact;
    out->value[fact] = value;
}

/* The congestion window in segments, as Linux counts it; both count bytes. */
static void put_window(struct plat_tcp_info *out, uint64_t cwnd_bytes, uint64_t mss)
{
    put(out, PLAT_TCP_SND_MSS, mss);
    if (mss > 0)
        put(out, PLAT_TCP_SND_CWND, cwnd_bytes / mss);
}

static void name_option(struct plat_tcp_info *out, bool on, const char *name)
{
    size_t used = strlen(out->options);
    if (on)
        snprintf(out->options + used, sizeof out->options - used, "%s%s", used > 0 ? "," : "",
                 name);
}

#if defined(__APPLE__)
void plat_tcp_info(plat_socket socket, struct plat_tcp_info *out)
{
    struct tcp_connection_info info;
    socklen_t length = sizeof info;
    memset(out, 0, sizeof *out);
    if (getsockopt((int)socket, IPPROTO_TCP, TCP_CONNECTION_INFO, &info, &length) < 0 ||
        length < sizeof info)
        return;
    put_window(out, info.tcpi_snd_cwnd, info.tcpi_maxseg);
    put(out, PLAT_TCP_RTT_US, (uint64_t)info.tcpi_srtt * 1000);
    put(out, PLAT_TCP_RTTVAR_US, (uint64_t)info.tcpi_rttvar * 1000);
    put(out, PLAT_TCP_SND_WND, info.tcpi_snd_wnd);
    put(out, PLAT_TCP_TOTAL_RETRANS, info.tcpi_txretransmitpackets);
    put(out, PLAT_TCP_BYTES_SENT, info.tcpi_txbytes);
    put(out, PLAT_TCP_BYTES_RECEIVED, info.tcpi_rxbytes);
    put(out, PLAT_TCP_BYTES_RETRANS, info.tcpi_txretransmitbytes);
    name_option(out, info.tcpi_options & TCPCI_OPT_TIMESTAMPS, "timestamps");
    name_option(out, info.tcpi_options & TCPCI_OPT_SACK, "sack");
    name_option(out, info.tcpi_options & TCPCI_OPT_WSCALE, "wscale");
    name_option(out, info.tcpi_options & TCPCI_OPT_ECN, "ecn");
}
#else /* FreeBSD */
void plat_tcp_info(plat_socket socket, struct plat_tcp_info *out)
{
    struct tcp_info info;
    socklen_t length = sizeof info;
    memset(out, 0, sizeof *out);
    memset(&info, 0, sizeof info);
    if (getsockopt((int)socket, IPPROTO_TCP, TCP_INFO, &info, &length) < 0)
        return;
    put_window(out, info.tcpi_snd_cwnd, info.tcpi_snd_mss);
    put(out, PLAT_TCP_RTT_US, info.tcpi_rtt);
    put(out, PLAT_TCP_RTTVAR_US, info.tcpi_rttvar);
    put(out, PLAT_TCP_RCV_SPACE, info.tcpi_rcv_space);
    put(out, PLAT_TCP_SND_WND, info.tcpi_snd_wnd);
    put(out, PLAT_TCP_TOTAL_RETRANS, info.tcpi_snd_rexmitpack);
    put(out, PLAT_TCP_RCV_OOOPACK, info.tcpi_rcv_ooopack);
    name_option(out, info.tcpi_options & TCPI_OPT_TIMESTAMPS, "timestamps");
    name_option(out, info.tcpi_options & TCPI_OPT_SACK, "sack");
    name_option(out, info.tcpi_options & TCPI_OPT_WSCALE, "wscale");
    name_option(out, info.tcpi_options & TCPI_OPT_ECN, "ecn");
}
#endif
