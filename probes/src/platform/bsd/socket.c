/* The socket functions that are specific to macOS and FreeBSD, besides the POSIX calls. */
#define __APPLE_USE_RFC_3542 /* macOS: IPV6_DONTFRAG, IPV6_PATHMTU */
#include "platform/bsd/bsd.h"

#include <poll.h>
#include <stdio.h>
#include <sys/filio.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/time.h>

const int plat_buffer_factor = 1;
const unsigned plat_receive_most = 1;

/* A blocking receive call returns after this time at the latest, so that its caller can check
 * whether to stop: `shutdown` might not wake the call. */
#define RECEIVE_TIMEOUT_MS 250

int posix_receive_timeout_ms(int asked_ms)
{
    return asked_ms > 0 && asked_ms < RECEIVE_TIMEOUT_MS ? asked_ms : RECEIVE_TIMEOUT_MS;
}

void posix_prepare_socket(int socket)
{
    plat_option_set(socket, PLAT_RECEIVE_TIMEOUT_MS, RECEIVE_TIMEOUT_MS);
}

/* Prefers `select`, because its limit is in microseconds; that of `poll` is in milliseconds, and
 * macOS has no `ppoll`. */
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

/* No system call of macOS or FreeBSD receives more than one datagram. */
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

/* ---- socket options of macOS and FreeBSD ---- */

int posix_set_dont_fragment(int socket, bool on)
{
    bool v6 = posix_is_v6(socket);
    int value = on;
    return posix_failed(setsockopt(socket, v6 ? IPPROTO_IPV6 : IPPROTO_IP,
                                   v6 ? IPV6_DONTFRAG : IP_DONTFRAG, &value, sizeof value));
}

int posix_get_dont_fragment(int socket, int *on)
{
    bool v6 = posix_is_v6(socket);
    socklen_t length = sizeof *on;
    int error = posix_failed(getsockopt(socket, v6 ? IPPROTO_IPV6 : IPPROTO_IP,
                                        v6 ? IPV6_DONTFRAG : IP_DONTFRAG, on, &length));
    *on = error == 0 && *on != 0; /* the value of a set option may differ from 1 */
    return error;
}

/* There is no such option, and none is needed: send calls return ENOBUFS anyway if the host drops
 * the datagram. */
int posix_set_report_drops(int socket, bool on)
{
    (void)socket;
    (void)on;
    return ENOPROTOOPT;
}

/* Neither system reports the path MTU of IPv4. */
bool plat_path_mtu(plat_socket socket, unsigned *mtu_bytes)
{
    struct ip6_mtuinfo info;
    socklen_t length = sizeof info;
    if (!posix_is_v6((int)socket) ||
        getsockopt((int)socket, IPPROTO_IPV6, IPV6_PATHMTU, &info, &length) < 0 ||
        info.ip6m_mtu == 0)
        return false;
    *mtu_bytes = info.ip6m_mtu;
    return true;
}

/* For UDP, both systems report values that are not comparable with those of other systems. */
bool plat_queue_bytes(plat_socket socket, bool udp, uint64_t *out)
{
    int queued;
    if (udp || ioctl((int)socket, FIONREAD, &queued) < 0 || queued < 0)
        return false;
    *out = (uint64_t)queued;
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

/* ---- TCP's state as the system reports it ---- */

void bsd_put(struct plat_tcp_info *out, enum plat_tcp_fact fact, uint64_t value)
{
    out->present |= UINT64_C(1) << fact;
    out->value[fact] = value;
}

void bsd_put_window(struct plat_tcp_info *out, uint64_t cwnd_bytes, uint64_t mss)
{
    bsd_put(out, PLAT_TCP_SND_MSS, mss);
    if (mss > 0)
        bsd_put(out, PLAT_TCP_SND_CWND, cwnd_bytes / mss);
}

void bsd_name_option(struct plat_tcp_info *out, bool on, const char *name)
{
    size_t used = strlen(out->options);
    if (on)
        snprintf(out->options + used, sizeof out->options - used, "%s%s", used > 0 ? "," : "",
                 name);
}

/* ---- stamps: absent, because these systems stamp only datagrams that arrive ---- */

int plat_stamps_on(plat_socket socket, const char *interface)
{
    (void)socket;
    (void)interface;
    return ENOPROTOOPT;
}

void plat_stamps_off(const char *interface)
{
    (void)interface;
}

ptrdiff_t plat_receive_stamped(plat_socket socket, void *into, size_t capacity, bool wait,
                               struct plat_stamp *received)
{
    memset(received, 0, sizeof *received);
    return wait ? plat_receive(socket, into, capacity) : plat_receive_now(socket, into, capacity);
}

bool plat_sent_stamp(plat_socket socket, uint64_t wait_ns, struct plat_stamp *sent)
{
    (void)socket;
    memset(sent, 0, sizeof *sent);
    plat_sleep_ns(wait_ns);
    return false;
}

/* ---- frames that netprobe builds: possible by BPF devices, but not implemented ---- */

int plat_frames_open(plat_socket *out, plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers)
{
    (void)udp;
    (void)bytes;
    (void)length;
    (void)headers;
    *out = PLAT_NO_SOCKET;
    return ENOPROTOOPT;
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
    return ENOPROTOOPT;
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
    return -ENOPROTOOPT;
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
    return -ENOPROTOOPT;
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

void plat_congestion_refusal(int error, const char *name, char *into, size_t capacity)
{
    char text[120];
    plat_describe(error, text, sizeof text);
    snprintf(into, capacity, "congestion control %s: %s", name, text);
}
