/* The socket functions that are specific to Linux, besides the POSIX calls, with time stamps. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/linux/linux.h"
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

/* ---- time stamps ---- */

/* Time stamps of datagrams at the edge of Linux's network stack, by SO_TIMESTAMPING. Transmit
 * stamps arrive on the socket's error queue, without the datagram but with its number
 * (Documentation/networking/timestamping.rst). */

#define KERNEL_TRIES 1000 /* of 1 ms each; a busy machine may need more than 50 */

/* ---- reading ---- */

union control {
    struct cmsghdr alignment;
    char bytes[CMSG_SPACE(sizeof(struct newer_stamps)) +
               CMSG_SPACE(sizeof(struct sock_extended_err) + sizeof(struct sockaddr_in6))];
};

/* The message has three times: the first is the software stamp, the third is the card's stamp. A
 * missing stamp is 0. */
static void read_stamps(const struct cmsghdr *header, struct plat_stamp *out)
{
    struct newer_stamps times;
    if (header->cmsg_len < CMSG_LEN(sizeof times))
        return;
    memcpy(&times, CMSG_DATA(header), sizeof times);
    out->hardware = posix_in_ns(times.ts[2]) != 0;
    out->ns = posix_in_ns(times.ts[out->hardware ? 2 : 0]);
}

/* Whether the entry of the error queue is a transmit stamp; if so, sets the number of its
 * datagram. */
static bool read_number(const struct cmsghdr *header, struct plat_stamp *out)
{
    struct sock_extended_err entry;
    if (header->cmsg_len < CMSG_LEN(sizeof entry))
        return false;
    memcpy(&entry, CMSG_DATA(header), sizeof entry);
    out->number = entry.ee_data;
    return entry.ee_origin == SO_EE_ORIGIN_TIMESTAMPING && entry.ee_info == SCM_TSTAMP_SND;
}

/* Replaces CMSG_NXTHDR, because musl's macro compares numbers of different signedness, which causes
 * a compiler warning. */
static struct cmsghdr *header_after(const struct msghdr *message, struct cmsghdr *at)
{
    char *next = (char *)at + CMSG_ALIGN(at->cmsg_len);
    const char *end = (const char *)message->msg_control + message->msg_controllen;
    if (at->cmsg_len < sizeof *at || next + sizeof *at > end)
        return NULL;
    return (struct cmsghdr *)(void *)next;
}

/* Reads the stamp of a message, and the number of its datagram. Returns whether it is a transmit
 * stamp. */
static bool read_control(struct msghdr *message, struct plat_stamp *out)
{
    bool sending = false;
    memset(out, 0, sizeof *out);
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at != NULL; at = header_after(message, at)) {
        if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_TIMESTAMPING)
            read_stamps(at, out);
        else if ((at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_RECVERR) ||
                 (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_RECVERR))
            sending = read_number(at, out);
    }
    return sending && out->ns != 0;
}

ptrdiff_t plat_receive_stamped(plat_socket socket, void *into, size_t capacity, bool wait,
                               struct plat_stamp *received)
{
    union control control;
    struct iovec room = {.iov_base = into, .iov_len = capacity};
    struct msghdr message = {.msg_iov = &room, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = sizeof control};
    memset(received, 0, sizeof *received);
    ssize_t got = recvmsg((int)socket, &message, wait ? 0 : MSG_DONTWAIT);
    if (got < 0)
        return -(ptrdiff_t)errno;
    read_control(&message, received);
    return got;
}

enum fetch_result { TOOK_A_STAMP, TOOK_SOMETHING_ELSE, TOOK_NOTHING };

/* Reads one entry of the error queue, which also contains errors of other datagrams. */
static enum fetch_result fetch_stamp(int socket, struct plat_stamp *sent)
{
    union control control;
    char byte;
    struct iovec room = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_iov = &room, .msg_iovlen = 1, .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (recvmsg(socket, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
        return errno == EINTR ? TOOK_SOMETHING_ELSE : TOOK_NOTHING;
    return read_control(&message, sent) ? TOOK_A_STAMP : TOOK_SOMETHING_ELSE;
}

bool plat_sent_stamp(plat_socket socket, uint64_t wait_ns, struct plat_stamp *sent)
{
    const uint64_t until_ns = plat_now_ns() + wait_ns;
    struct pollfd wait = {.fd = (int)socket};
    for (int ready = 0;;) {
        enum fetch_result result;
        do
            result = fetch_stamp((int)socket, sent);
        while (result == TOOK_SOMETHING_ELSE);
        if (result == TOOK_A_STAMP)
            return true;
        /* An error of the socket itself stays pending, so `ppoll` would return at once every time.
         * The sleep prevents a busy loop. */
        if (ready > 0)
            plat_sleep_ns(10000);
        uint64_t now = plat_now_ns();
        if (now >= until_ns || (ready > 0 && (wait.revents & POLLHUP)))
            return false;
        struct timespec span = posix_timespec(until_ns - now);
        ready = ppoll(&wait, 1, &span, NULL);
    }
}

/* ---- switching on ---- */

static bool request_of_card(int socket, unsigned long request, const char *interface, void *data)
{
    struct ifreq question;
    memset(&question, 0, sizeof question);
    strncpy(question.ifr_name, interface, sizeof question.ifr_name - 1);
    question.ifr_data = data;
    return ioctl(socket, request, &question) == 0;
}

static bool card_offers(int socket, const char *interface)
{
    const uint32_t needed = SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE |
                            SOF_TIMESTAMPING_RAW_HARDWARE;
    struct ethtool_ts_info info = {.cmd = ETHTOOL_GET_TS_INFO};
    return request_of_card(socket, SIOCETHTOOL, interface, &info) &&
           (info.so_timestamping & needed) == needed && (info.tx_types >> HWTSTAMP_TX_ON & 1) &&
           (info.rx_filters >> HWTSTAMP_FILTER_ALL & 1);
}

static bool stamps_all(const struct hwtstamp_config *config)
{
    return config->tx_type == HWTSTAMP_TX_ON && config->rx_filter == HWTSTAMP_FILTER_ALL;
}

/* Cards whose stamps this process has enabled, with their earlier settings. Other processes, such
 * as a PTP daemon, may need the earlier settings again. */
static struct card {
    char name[IF_NAMESIZE];
    unsigned users;
    bool changed; /* by this process; false: the place is free */
    struct hwtstamp_config before;
} cards[8];
static pthread_mutex_t cards_lock = PTHREAD_MUTEX_INITIALIZER;

static struct card *find_card(const char *name)
{
    for (size_t i = 0; i < sizeof cards / sizeof cards[0]; i++)
        if (cards[i].changed && strcmp(cards[i].name, name) == 0)
            return &cards[i];
    return NULL;
}

static struct card *free_card(void)
{
    for (size_t i = 0; i < sizeof cards / sizeof cards[0]; i++)
        if (!cards[i].changed)
            return &cards[i];
    return NULL;
}

/* Enabling the stamps of a card needs CAP_NET_ADMIN, unless an administrator has enabled them. A
 * card is not changed if it does not report its settings, or if there is no place to remember them:
 * then they could not be restored. */
static bool switch_card_on(int socket, const char *interface)
{
    struct hwtstamp_config config, before;
    struct card *card = find_card(interface), *place = free_card();
    if (card != NULL) {
        card->users++;
        return true;
    }
    memset(&before, 0, sizeof before);
    if (!request_of_card(socket, SIOCGHWTSTAMP, interface, &before))
        return false;
    if (stamps_all(&before))
        return true;
    memset(&config, 0, sizeof config);
    config.tx_type = HWTSTAMP_TX_ON;
    config.rx_filter = HWTSTAMP_FILTER_ALL;
    if (place == NULL || !request_of_card(socket, SIOCSHWTSTAMP, interface, &config))
        return false;
    memcpy(place->name, interface, strlen(interface) + 1);
    place->before = before;
    place->users = 1;
    place->changed = true;
    return stamps_all(&config);
}

static bool card_stamps(int socket, const char *interface)
{
    if (interface == NULL || interface[0] == 0 || strlen(interface) >= IF_NAMESIZE ||
        !card_offers(socket, interface))
        return false;
    pthread_mutex_lock(&cards_lock);
    bool on = switch_card_on(socket, interface);
    pthread_mutex_unlock(&cards_lock);
    return on;
}

void plat_stamps_off(const char *interface)
{
    int asker = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    pthread_mutex_lock(&cards_lock);
    struct card *card = find_card(interface);
    if (card != NULL && card->users > 0)
        card->users--;
    /* If no socket could be opened, the card keeps its settings until a later test that uses it
     * ends. */
    if (card != NULL && card->users == 0 && asker >= 0) {
        request_of_card(asker, SIOCSHWTSTAMP, interface, &card->before);
        card->changed = false;
    }
    pthread_mutex_unlock(&cards_lock);
    if (asker >= 0)
        close(asker);
}

/* The kernel begins to stamp received packets some time after the request. So this function sends
 * packets to itself until one of them has a stamp. If that is not possible, it waits for the whole
 * time. */
static void wait_for_the_kernel(void)
{
    struct sockaddr_in self = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof self;
    const int on = SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE;
    struct plat_stamp stamp = {.ns = 0};
    char byte = 0;
    int trial = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (trial < 0)
        return;
    const bool looped = bind(trial, (struct sockaddr *)&self, length) == 0 &&
                        getsockname(trial, (struct sockaddr *)&self, &length) == 0 &&
                        connect(trial, (struct sockaddr *)&self, length) == 0 &&
                        setsockopt(trial, SOL_SOCKET, SO_TIMESTAMPING, &on, sizeof on) == 0;
    for (int i = 0; i < KERNEL_TRIES && stamp.ns == 0; i++) {
        if (!looped || send(trial, &byte, 1, 0) != 1 ||
            plat_receive_stamped(trial, &byte, 1, true, &stamp) != 1 || stamp.ns == 0)
            plat_sleep_ns(1000000);
    }
    close(trial);
}

static int request(int socket, unsigned more)
{
    unsigned flags = more | SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_TX_SOFTWARE |
                     SOF_TIMESTAMPING_SOFTWARE | SOF_TIMESTAMPING_OPT_ID |
                     SOF_TIMESTAMPING_OPT_TSONLY;
    return posix_failed(setsockopt(socket, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof flags));
}

bool linux_stamps_known(int socket)
{
    return request(socket, 0) == 0;
}

int plat_stamps_on(plat_socket socket, const char *interface)
{
    const unsigned of_the_card = SOF_TIMESTAMPING_TX_HARDWARE | SOF_TIMESTAMPING_RX_HARDWARE |
                                 SOF_TIMESTAMPING_RAW_HARDWARE;
    int error = request((int)socket, card_stamps((int)socket, interface) ? of_the_card : 0);
    if (error == 0)
        wait_for_the_kernel();
    return error;
}
