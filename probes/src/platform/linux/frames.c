/* Sends frames of our own on Linux, by packet sockets. Which way they take and what stands in
 * their headers is the kernel's to say: a datagram of the test's own socket is caught as it
 * leaves, and its headers serve those that follow. What a link does with frames it does with
 * these as well, for they pass the interface's queueing discipline; what they do not pass is the
 * host's UDP, IP and packet filter. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <linux/filter.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <poll.h>
#include <unistd.h>

#include "platform/linux/linux.h"

#define TRIES 3
#define TRY_NS 100000000
#define FRAME_MAX 1024

/* ---- catching ---- */

/* What leaves alone: what arrives on a busy host is not ours. */
static int attach_filter(int socket)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, (uint32_t)(SKF_AD_OFF + SKF_AD_PKTTYPE)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PACKET_OUTGOING, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof code[0], .filter = code};
    return posix_failed(
        setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
}

/* A packet socket that hears nothing until it is bound to a protocol. */
static int open_deaf(void)
{
    return socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
}

static int bind_to(int socket, int interface, unsigned short protocol)
{
    struct sockaddr_ll address = {.sll_family = AF_PACKET,
                                  .sll_protocol = htons(protocol),
                                  .sll_ifindex = interface};
    return posix_failed(bind(socket, (struct sockaddr *)&address, sizeof address));
}

/* The frames that have come: whether one of them ends with `bytes`. The first interface that a
 * frame passes is the one that the route names, a bridge or a VLAN, not what is below it. */
static bool find_headers(int catcher, const void *bytes, size_t length,
                         struct plat_headers *headers, struct sockaddr_ll *from)
{
    unsigned char frame[FRAME_MAX];
    for (;;) {
        socklen_t room = sizeof *from;
        ssize_t got = recvfrom(catcher, frame, sizeof frame, MSG_DONTWAIT | MSG_TRUNC,
                               (struct sockaddr *)from, &room);
        if (got < 0)
            return false;
        if (got > FRAME_MAX || (size_t)got < length || (size_t)got - length > PLAT_HEADERS ||
            memcmp(frame + (size_t)got - length, bytes, length) != 0)
            continue;
        headers->length = (unsigned)((size_t)got - length);
        memcpy(headers->bytes, frame, headers->length);
        return true;
    }
}

static int catch_own(int catcher, plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers, struct sockaddr_ll *from)
{
    for (int i = 0; i < TRIES; i++) {
        const uint64_t until_ns = plat_now_ns() + TRY_NS;
        ptrdiff_t put = plat_send(udp, bytes, length);
        if (put < 0 && !plat_is_transient((int)-put) && !plat_is_peer_gone((int)-put))
            return (int)-put;
        for (uint64_t now = plat_now_ns(); now < until_ns; now = plat_now_ns()) {
            struct pollfd wait = {.fd = catcher, .events = POLLIN};
            struct timespec span = posix_timespec(until_ns - now);
            ppoll(&wait, 1, &span, NULL);
            if (find_headers(catcher, bytes, length, headers, from))
                return 0;
        }
    }
    return ETIMEDOUT;
}

/* ---- opening ---- */

static int find_way(plat_socket udp, const void *bytes, size_t length,
                    struct plat_headers *headers, int *interface)
{
    struct sockaddr_ll from = {.sll_ifindex = 0};
    int catcher = open_deaf();
    if (catcher < 0)
        return errno;
    int error = attach_filter(catcher);
    if (error == 0)
        error = bind_to(catcher, 0, ETH_P_ALL);
    if (error == 0)
        error = catch_own(catcher, udp, bytes, length, headers, &from);
    close(catcher);
    *interface = from.sll_ifindex;
    /* A host takes no frame with an address of its own for a source from elsewhere: from loopback
     * it takes the kernel's, which say that they are. */
    return error == 0 && from.sll_hatype == ARPHRD_LOOPBACK ? PLAT_NO_WIRE : error;
}

int plat_frames_open(plat_socket *out, plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers)
{
    int interface = 0, buffer = 0;
    *out = PLAT_NO_SOCKET;
    int error = find_way(udp, bytes, length, headers, &interface);
    if (error != 0)
        return error;
    int opened = open_deaf();
    if (opened < 0)
        return errno;
    error = bind_to(opened, interface, 0);
    if (error == 0)
        error = plat_option_set(opened, PLAT_SEND_TIMEOUT_MS, 20);
    if (error == 0)
        error = plat_option_get(udp, PLAT_SEND_BUFFER, &buffer);
    if (error == 0)
        error = plat_option_set(opened, PLAT_SEND_BUFFER, buffer / plat_buffer_factor);
    if (error != 0)
        close(opened);
    else
        *out = opened;
    return error;
}

int plat_frames_refusal(void)
{
    int trial = open_deaf();
    if (trial < 0)
        return errno;
    int error = attach_filter(trial);
    close(trial);
    return error;
}
