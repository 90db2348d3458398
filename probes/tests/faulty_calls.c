/* Answers system calls of a probe as another kernel, a busy host or a network card would. It is loaded
 * before the C library, so the probe must be linked dynamically. The environment variable FAULTY lists
 * the faults, separated by commas. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <linux/ethtool.h>
#include <linux/genetlink.h>
#include <linux/net_tstamp.h>
#include <linux/netlink.h>
#include <linux/sockios.h>
#include <net/if.h>

static int faulty(const char *name)
{
    const char *named = getenv("FAULTY");
    return named != NULL && strstr(named, name) != NULL;
}

static void *real(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

/* The first call fails, as if another process had begun to listen on the port after the bind. */
int listen(int socket, int backlog)
{
    static int calls;
    if (faulty("listen") && calls++ == 0) {
        errno = EADDRINUSE;
        return -1;
    }
    return ((int (*)(int, int))real("listen"))(socket, backlog);
}

/* Every third call fails. `full`: as if the queues of the host were full. `slow`: as if the socket
 * stayed full for longer than a send call waits. */
int sendmmsg(int socket, struct mmsghdr *messages, unsigned count, int flags)
{
    static unsigned calls;
    if ((faulty("full") || faulty("slow")) && ++calls % 3 == 0) {
        errno = faulty("full") ? ENOBUFS : EAGAIN;
        return -1;
    }
    return ((int (*)(int, struct mmsghdr *, unsigned, int))real("sendmmsg"))(socket, messages,
                                                                             count, flags);
}

/* A machine with more CPUs than a cpu_set_t has room for: its real CPUs, and one with a high number. */
#define FAR_CPU 3000
#define CPUS_OF_IT 4096

int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
    int (*ask)(pid_t, size_t, cpu_set_t *) = real("sched_getaffinity");
    if (faulty("cpus") && bytes < CPUS_OF_IT / 8) {
        errno = EINVAL;
        return -1;
    }
    int result = ask(pid, bytes, set);
    if (faulty("cpus") && result == 0)
        CPU_SET_S(FAR_CPU, bytes, set);
    return result;
}

/* A thread that is bound to FAR_CPU runs on CPU 0. */
int pthread_setaffinity_np(pthread_t thread, size_t bytes, const cpu_set_t *set)
{
    int (*ask)(pthread_t, size_t, const cpu_set_t *) = real("pthread_setaffinity_np");
    cpu_set_t first;
    if (!faulty("cpus") || bytes * 8 <= FAR_CPU || !CPU_ISSET_S(FAR_CPU, bytes, set))
        return ask(thread, bytes, set);
    CPU_ZERO(&first);
    CPU_SET(0, &first);
    return ask(thread, sizeof first, &first);
}

/* Linux before 3.17 has no getrandom. */
ssize_t getrandom(void *into, size_t length, unsigned flags)
{
    if (faulty("getrandom")) {
        errno = ENOSYS;
        return -1;
    }
    return ((ssize_t (*)(void *, size_t, unsigned))real("getrandom"))(into, length, flags);
}

/* Linux before 4.12 has no SO_MEMINFO (55). */
int getsockopt(int socket, int level, int name, void *value, socklen_t *length)
{
    if (faulty("meminfo") && level == SOL_SOCKET && name == 55) {
        errno = ENOPROTOOPT;
        return -1;
    }
    return ((int (*)(int, int, int, void *, socklen_t *))real("getsockopt"))(socket, level, name,
                                                                             value, length);
}

/* A card that has sent three pause frames and received five, and receives one more after each
 * question. An answer with these counters replaces the error of a card without counters; other
 * answers of the kernel stay unchanged. */
ssize_t recv(int socket, void *into, size_t length, int flags)
{
    static struct {
        struct nlmsghdr head;
        struct genlmsghdr generic;
        struct nlattr statistics, sent_head;
        uint32_t sent[2];
        struct nlattr received_head;
        uint32_t received[2];
    } counted = {
        {.nlmsg_len = sizeof counted},
        {.cmd = 22, .version = 1},
        {4 + 12 + 12, NLA_F_NESTED | 5},
        {12, 2}, {3, 0},
        {12, 3}, {5, 0}
    };
    ssize_t got = ((ssize_t (*)(int, void *, size_t, int))real("recv"))(socket, into, length, flags);
    struct nlmsghdr *answer = into;
    int protocol = -1;
    socklen_t size = sizeof protocol;
    if (!faulty("pause") || got < (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) ||
        getsockopt(socket, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) != 0 ||
        protocol != NETLINK_GENERIC || answer->nlmsg_type != NLMSG_ERROR)
        return got;
    const struct nlmsgerr *refused = NLMSG_DATA(answer);
    const unsigned short family = refused->msg.nlmsg_type;
    memcpy(into, &counted, sizeof counted);
    counted.received[0]++;
    answer->nlmsg_type = family;
    return sizeof counted;
}

/* A card that distributes received packets by a table of 128 entries and a key of 40 bytes (struct
 * ethtool_rxfh). If the request has no room for both, the answer has only their sizes. */
static void answer_rss(uint32_t *rss)
{
    const int room = rss[2] != 0 && rss[3] != 0;
    rss[2] = 128;
    rss[3] = 40;
    ((unsigned char *)rss)[16] = 1; /* Toeplitz */
    for (unsigned i = 0; room && i < 40; i++)
        ((unsigned char *)(rss + 6 + 128))[i] = (unsigned char)i;
}

/* A card that can stamp packets, and already stamps some received ones. Each change of this setting is
 * appended to the file FAULTY_LOG as a line. */
int ioctl(int file, unsigned long request, ...)
{
    static int tx = HWTSTAMP_TX_OFF, rx = HWTSTAMP_FILTER_PTP_V2_EVENT;
    va_list more;
    va_start(more, request);
    void *argument = va_arg(more, void *);
    va_end(more);
    struct ifreq *interface = argument;
    if (faulty("rss") && request == SIOCETHTOOL && *(uint32_t *)interface->ifr_data == 0x46) {
        answer_rss((uint32_t *)interface->ifr_data);
        return 0;
    }
    if (!faulty("card") || (request != SIOCETHTOOL && request != SIOCGHWTSTAMP &&
                            request != SIOCSHWTSTAMP))
        return ((int (*)(int, unsigned long, void *))real("ioctl"))(file, request, argument);
    if (request == SIOCETHTOOL) {
        struct ethtool_ts_info *info = (void *)interface->ifr_data;
        if (info->cmd != ETHTOOL_GET_TS_INFO)
            return ((int (*)(int, unsigned long, void *))real("ioctl"))(file, request, argument);
        info->so_timestamping = 0x7f;
        info->tx_types = 1 << HWTSTAMP_TX_OFF | 1 << HWTSTAMP_TX_ON;
        info->rx_filters = 1 << HWTSTAMP_FILTER_ALL;
        return 0;
    }
    struct hwtstamp_config *config = (void *)interface->ifr_data;
    if (request == SIOCSHWTSTAMP) {
        tx = config->tx_type;
        rx = config->rx_filter;
        FILE *log = fopen(getenv("FAULTY_LOG"), "a");
        fprintf(log, "%s %d %d\n", interface->ifr_name, tx, rx);
        fclose(log);
    }
    config->tx_type = tx;
    config->rx_filter = rx;
    return 0;
}

/* A disk that loses what is written: `sync-file` of a file, `sync-folder` of a folder. */
int fsync(int descriptor)
{
    struct stat status;
    if (fstat(descriptor, &status) == 0 &&
        faulty(S_ISDIR(status.st_mode) ? "sync-folder" : "sync-file")) {
        errno = EIO;
        return -1;
    }
    return ((int (*)(int))real("fsync"))(descriptor);
}

/* `fork`: a host with no room for another process. `late`: a busy host, on which the child runs long
 * after the parent has gone on. */
pid_t fork(void)
{
    if (faulty("fork")) {
        errno = EAGAIN;
        return -1;
    }
    const pid_t process = ((pid_t(*)(void))real("fork"))();
    if (process == 0 && faulty("late"))
        usleep(200000);
    return process;
}
