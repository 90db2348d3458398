/* The socket functions that are specific to Linux, besides the POSIX calls. */
#define _GNU_SOURCE
#include "platform/linux/facts.h"
#include "platform/posix/posix.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "platform/linux/newer.h"

const int plat_buffer_factor = 2;
const unsigned plat_receive_most = PLAT_BATCH;

void posix_prepare_socket(int socket)
{
    (void)socket;
}

/* The limit is exact to the nanosecond, except for the timer slack, which posix_thread_begins
 * removes. */
ptrdiff_t plat_receive_within(plat_socket socket, void *into, size_t capacity, uint64_t limit_ns)
{
    struct pollfd wait = {.fd = (int)socket, .events = POLLIN};
    struct timespec span = posix_timespec(limit_ns);
    int ready = ppoll(&wait, 1, &span, NULL);
    if (ready < 0)
        return -(ptrdiff_t)errno;
    return ready == 0 ? -EAGAIN : plat_receive_now(socket, into, capacity);
}

_Static_assert(sizeof(struct mmsghdr) + sizeof(struct iovec) <= 10 * sizeof(uint64_t),
               "plat.h: struct plat_batch");

static void prepare_batch(struct plat_batch *batch)
{
    struct mmsghdr *message = (struct mmsghdr *)batch->system;
    struct iovec *place = (struct iovec *)(message + batch->count);
    memset(batch->system, 0, sizeof batch->system);
    for (unsigned i = 0; i < batch->count; i++) {
        place[i] = (struct iovec){batch->bytes + i * batch->room, batch->room};
        message[i].msg_hdr = (struct msghdr){.msg_iov = &place[i], .msg_iovlen = 1};
    }
    batch->prepared = true;
}

ptrdiff_t plat_receive_many(plat_socket socket, struct plat_batch *batch, bool wait)
{
    struct mmsghdr *message = (struct mmsghdr *)batch->system;
    if (!batch->prepared)
        prepare_batch(batch);
    int got = recvmmsg((int)socket, message, batch->count,
                       wait ? MSG_WAITFORONE : MSG_DONTWAIT, NULL);
    for (int i = 0; i < got; i++)
        batch->length[i] = message[i].msg_len;
    return posix_moved(got);
}

ptrdiff_t plat_send_many(plat_socket socket, struct plat_batch *batch, unsigned first,
                         unsigned count)
{
    struct mmsghdr *message = (struct mmsghdr *)batch->system;
    if (!batch->prepared)
        prepare_batch(batch);
    return posix_moved(sendmmsg((int)socket, message + first, count, 0));
}

int posix_receive_timeout_ms(int asked_ms)
{
    return asked_ms;
}

/* ---- options specific to Linux ---- */

static int set_of_ip(int socket, int four, int six, int value)
{
    bool v6 = posix_is_v6(socket);
    return posix_failed(setsockopt(socket, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? six : four, &value,
                                   sizeof value));
}

static int get_of_ip(int socket, int four, int six, int *value)
{
    bool v6 = posix_is_v6(socket);
    socklen_t length = sizeof *value;
    return posix_failed(getsockopt(socket, v6 ? IPPROTO_IPV6 : IPPROTO_IP, v6 ? six : four, value,
                                   &length));
}

int posix_set_dont_fragment(int socket, bool on)
{
    return set_of_ip(socket, IP_MTU_DISCOVER, IPV6_MTU_DISCOVER,
                     on ? IP_PMTUDISC_DO : IP_PMTUDISC_WANT);
}

int posix_get_dont_fragment(int socket, int *on)
{
    int error = get_of_ip(socket, IP_MTU_DISCOVER, IPV6_MTU_DISCOVER, on);
    *on = error == 0 && *on == IP_PMTUDISC_DO;
    return error;
}

int posix_set_report_drops(int socket, bool on)
{
    return set_of_ip(socket, IP_RECVERR, IPV6_RECVERR, on);
}

/* tcp(7): this limit also applies to data that cannot be sent because the receiver's window is
 * full. */
int posix_set_unanswered(int socket, int seconds)
{
    unsigned milliseconds = (unsigned)seconds * 1000;
    return posix_failed(setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds,
                                   sizeof milliseconds));
}

#define IPV4 "/proc/sys/net/ipv4/"

/* The list of congestion controls that ordinary users may choose belongs to the whole machine. For
 * ordinary users the kernel loads no module: tcp(7). */
void plat_congestion_refusal(int error, const char *name, char *into, size_t capacity)
{
    char list[160];
    if (error == EPERM && facts_line_of(IPV4 "tcp_allowed_congestion_control", list, sizeof list)) {
        snprintf(into, capacity,
                 "congestion control %s is not allowed for this account; allowed here: %s; root of "
                 "this host can allow it: sysctl -w net.ipv4.tcp_allowed_congestion_control='%s %s'",
                 name, list, list, name);
    } else if (error == ENOENT &&
               facts_line_of(IPV4 "tcp_available_congestion_control", list, sizeof list)) {
        snprintf(into, capacity,
                 "congestion control %s is not available; available here: %s; where this kernel "
                 "has it as a module, root of this host can load it: modprobe tcp_%s",
                 name, list, name);
    } else {
        char text[80];
        plat_describe(error, text, sizeof text);
        snprintf(into, capacity, "congestion control %s: %s", name, text);
    }
}

int plat_interface_set(plat_socket socket, const char *name)
{
    return posix_failed(
        setsockopt((int)socket, SOL_SOCKET, SO_BINDTODEVICE, name, (socklen_t)strlen(name) + 1));
}

int plat_set_no_checksum(plat_socket socket)
{
    int on = 1;
    return posix_failed(setsockopt((int)socket, SOL_SOCKET, SO_NO_CHECK, &on, sizeof on));
}

bool plat_path_mtu(plat_socket socket, unsigned *mtu_bytes)
{
    int mtu;
    if (get_of_ip((int)socket, IP_MTU, IPV6_MTU, &mtu) != 0 || mtu <= 0)
        return false;
    *mtu_bytes = (unsigned)mtu;
    return true;
}

/* ---- contents of the receive queue ---- */

static bool read_memory(int socket, uint32_t memory[SK_MEMINFO_VARS], unsigned variable)
{
    socklen_t length = sizeof(uint32_t) * SK_MEMINFO_VARS;
    return getsockopt(socket, SOL_SOCKET, SO_MEMINFO, memory, &length) == 0 &&
           length > variable * sizeof(uint32_t);
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

bool plat_queue_fill(plat_socket socket, uint64_t *memory_bytes, uint64_t *most_bytes)
{
    uint32_t memory[SK_MEMINFO_VARS];
    if (!read_memory((int)socket, memory, SK_MEMINFO_RCVBUF) || memory[SK_MEMINFO_RCVBUF] == 0)
        return false;
    *memory_bytes = memory[SK_MEMINFO_RMEM_ALLOC];
    *most_bytes = memory[SK_MEMINFO_RCVBUF];
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

/* ---- many sockets at once, by epoll ---- */

/* Maximum number of events that one call returns. The kernel moves these events to the end of its
 * list, so the next call returns the others. */
#define EVENTS 256

int plat_watch_open(struct plat_watch *out)
{
    out->system = epoll_create1(EPOLL_CLOEXEC);
    return out->system < 0 ? errno : 0;
}

void plat_watch_close(struct plat_watch *watch)
{
    if (watch->system >= 0)
        close((int)watch->system);
}

int plat_watch_add(struct plat_watch *watch, plat_socket socket, unsigned number, bool sending)
{
    struct epoll_event event = {.events = sending ? EPOLLOUT : EPOLLIN, .data = {.u32 = number}};
    return posix_failed(epoll_ctl((int)watch->system, EPOLL_CTL_ADD, (int)socket, &event));
}

void plat_watch_remove(struct plat_watch *watch, plat_socket socket)
{
    struct epoll_event none = {.events = 0};
    epoll_ctl((int)watch->system, EPOLL_CTL_DEL, (int)socket, &none);
}

ptrdiff_t plat_watch_wait(struct plat_watch *watch, unsigned *numbers, unsigned capacity,
                          uint64_t until_ns)
{
    struct epoll_event events[EVENTS];
    int count = epoll_wait((int)watch->system, events, (int)(capacity < EVENTS ? capacity : EVENTS),
                          posix_until_ms(until_ns));
    for (int i = 0; i < count; i++)
        numbers[i] = events[i].data.u32;
    return posix_moved(count);
}
