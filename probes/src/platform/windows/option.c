/* Sets and reads options of sockets on Windows. Functions that are not available there, such as
 * stamps, return an error. */
#include "platform/windows/windows.h"

#include <mstcpip.h>
#include <stdio.h>
#include <string.h>

const int plat_buffer_factor = 1;

/* Level and name of the options whose value is one integer in Winsock's own form. Two options are
 * missing: PLAT_DSCP, because IP_TOS has no effect, and PLAT_REPORT_DROPS, because Windows does not
 * report drops. */
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

#ifndef TCP_MAXRT
#define TCP_MAXRT 5
#endif

/* TCP_MAXRT, in seconds, limits the time without an acknowledgement of sent data. Keep-alive
 * packets do the same for a host that only receives; Windows always sends ten of them. */
static int set_give_up(SOCKET socket, int seconds)
{
    const DWORD most_s = (DWORD)seconds;
    struct tcp_keepalive quiet = {.onoff = 1,
                                  .keepalivetime = (ULONG)seconds * 500,
                                  .keepaliveinterval = (ULONG)seconds * 50};
    DWORD nothing;
    int error = windows_failed(setsockopt(socket, IPPROTO_TCP, TCP_MAXRT, (const char *)&most_s,
                                          sizeof most_s));
    int keepalive_error = windows_failed(
        WSAIoctl(socket, SIO_KEEPALIVE_VALS, &quiet, sizeof quiet, NULL, 0, &nothing, NULL, NULL));
    return error != 0 ? error : keepalive_error;
}

int plat_option_set(plat_socket socket, enum plat_option option, int value)
{
    struct windows_socket *own = windows_socket(socket);
    int level, name;
    if (option == PLAT_BLOCKING) {
        own->listening = !value;
        return windows_set_mode(own, !value);
    }
    if (option == PLAT_REUSE)
        return 0; /* not needed; SO_REUSEADDR would let others take over the port */
    if (option == PLAT_RESET_ON_CLOSE) {
        struct linger linger = {.l_onoff = value != 0, .l_linger = 0};
        return windows_failed(setsockopt(own->socket, SOL_SOCKET, SO_LINGER, (const char *)&linger,
                                         sizeof linger));
    }
    if (option == PLAT_RECEIVE_TIMEOUT_MS) { /* not by SO_RCVTIMEO: see plat_receive */
        own->receive_wait_ms = value > 0 && value < WINDOWS_RECEIVE_WAIT_MS ? (unsigned)value : 0;
        return 0;
    }
    if (option == PLAT_GIVE_UP_S)
        return set_give_up(own->socket, value);
    if (!plain_option(own, option, &level, &name))
        return WSAENOPROTOOPT;
    /* 0 is refused: with a send buffer of 0, calls would wait for the network card. */
    if ((option == PLAT_SEND_BUFFER || option == PLAT_RECEIVE_BUFFER) && value <= 0)
        return WSAEINVAL;
    return windows_failed(setsockopt(own->socket, level, name, (const char *)&value, sizeof value));
}

int plat_option_get(plat_socket socket, enum plat_option option, int *value)
{
    struct windows_socket *own = windows_socket(socket);
    int level, name, length = sizeof *value;
    if (!plain_option(own, option, &level, &name))
        return WSAENOPROTOOPT;
    *value = 0; /* for some options, Windows writes only one byte of the value */
    return windows_failed(getsockopt(own->socket, level, name, (char *)value, &length));
}

/* Windows takes its congestion control only from templates that an administrator sets. */
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

void plat_congestion_refusal(int error, const char *name, char *into, size_t capacity)
{
    char text[120];
    plat_describe(error, text, sizeof text);
    snprintf(into, capacity, "congestion control %s: %s", name, text);
}

/* A provider may accept this option without effect (Winsock's documentation): only a captured
 * packet would show it. */
int plat_set_no_checksum(plat_socket socket)
{
    const BOOL on = TRUE;
    SOCKET own = windows_socket(socket)->socket;
    int error = windows_failed(setsockopt(own, IPPROTO_UDP, UDP_NOCHECKSUM, (const char *)&on,
                                          sizeof on));
    return error == WSAEINVAL ? WSAENOPROTOOPT : error; /* both mean that it is not supported */
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

/* ---- stamps: Windows has them since Server 2022 and Windows 11 (SIO_TIMESTAMPING), on cards whose
 * drivers support them; netprobe does not use them ---- */

int plat_stamps_on(plat_socket socket, const char *interface)
{
    (void)socket;
    (void)interface;
    return WSAENOPROTOOPT;
}

void plat_stamps_off(const char *interface)
{
    (void)interface;
}

ptrdiff_t plat_receive_stamped(plat_socket socket, void *into, size_t capacity, bool wait,
                               struct plat_stamp *received_at)
{
    memset(received_at, 0, sizeof *received_at);
    return wait ? plat_receive(socket, into, capacity) : plat_receive_now(socket, into, capacity);
}

bool plat_sent_stamp(plat_socket socket, uint64_t wait_ns, struct plat_stamp *sent_at)
{
    (void)socket;
    memset(sent_at, 0, sizeof *sent_at);
    plat_sleep_ns(wait_ns);
    return false;
}

/* ---- several messages per call: not implemented for Windows ---- */

ptrdiff_t plat_send_gathered(plat_socket socket, const void *message, size_t length, unsigned count,
                             size_t sent_bytes)
{
    (void)count;
    return plat_send(socket, (const char *)message + sent_bytes % length,
                     length - sent_bytes % length);
}

/* ---- frames that netprobe builds: Windows has no sockets for them ---- */

int plat_frames_open(plat_socket *out, plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers)
{
    (void)udp;
    (void)bytes;
    (void)length;
    (void)headers;
    *out = PLAT_NO_SOCKET;
    return WSAENOPROTOOPT;
}

int plat_frames_refusal(void)
{
    return 0;
}

int plat_capture_open(struct plat_capture *out, plat_socket udp, size_t message_bytes)
{
    (void)udp;
    (void)message_bytes;
    *out = (struct plat_capture){.socket = PLAT_NO_SOCKET};
    return WSAENOPROTOOPT;
}

void plat_capture_close(struct plat_capture *capture)
{
    (void)capture;
}

ptrdiff_t plat_capture_take(struct plat_capture *capture, plat_socket udp, struct plat_batch *batch)
{
    (void)capture;
    (void)udp;
    (void)batch;
    return -WSAENOPROTOOPT;
}

uint64_t plat_capture_drops(struct plat_capture *capture)
{
    return capture->drops;
}

int plat_ring_open(struct plat_ring *out, plat_socket udp, size_t message_bytes, const void *bytes,
                   size_t length, struct plat_headers *headers)
{
    (void)message_bytes;
    *out = (struct plat_ring){.socket = PLAT_NO_SOCKET};
    return plat_frames_open(&out->socket, udp, bytes, length, headers);
}

void plat_ring_close(struct plat_ring *ring)
{
    (void)ring;
}

unsigned plat_ring_free(struct plat_ring *ring)
{
    (void)ring;
    return 0;
}

unsigned char *plat_ring_place(const struct plat_ring *ring, unsigned number)
{
    (void)number;
    return ring->bytes; /* there are no places */
}

ptrdiff_t plat_ring_send(struct plat_ring *ring, unsigned count, size_t length)
{
    (void)ring;
    (void)count;
    (void)length;
    return -WSAENOPROTOOPT;
}

unsigned plat_ring_left(struct plat_ring *ring)
{
    (void)ring;
    return 0;
}

bool plat_receive_steering(const char *name, char into[PLAT_STEERING])
{
    (void)name;
    into[0] = 0;
    return false;
}

/* ---- queues ---- */

/* For UDP, this is the payload of all queued datagrams. */
bool plat_queue_bytes(plat_socket socket, bool udp, uint64_t *out)
{
    u_long queued = 0;
    (void)udp;
    if (ioctlsocket(windows_socket(socket)->socket, (long)FIONREAD, &queued) == SOCKET_ERROR)
        return false;
    *out = queued;
    return true;
}

bool plat_queue_fill(plat_socket socket, uint64_t *memory_bytes, uint64_t *most_bytes)
{
    (void)socket;
    (void)memory_bytes;
    (void)most_bytes;
    return false;
}

bool plat_queue_drops(plat_socket socket, uint64_t *out)
{
    (void)socket;
    (void)out;
    return false;
}
