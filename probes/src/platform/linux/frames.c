/* Sends frames that netprobe builds, by packet sockets and AF_XDP, and captures received ones. The
 * kernel chooses the route and the headers of our frames: one datagram of the test's socket is
 * captured as it leaves, and our frames reuse its headers. Frames of packet sockets pass the
 * interface's queueing discipline, as all other frames do; all frames bypass the host's UDP, IP and
 * packet filter. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <linux/filter.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform/linux/linux.h"
#include "platform/linux/newer.h"
#include "pure/big_endian.h"
#include "pure/datagram.h"

#define TRIES 3
#define TRY_NS 100000000
#define FRAME_MAX 1024

/* ---- catching a datagram of our own, for its headers ---- */

/* Accepts only outgoing packets: incoming packets are not ours, and a busy host has many. */
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

/* A packet socket that receives nothing until it is bound to a protocol. */
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

/* Looks for a captured frame that ends with `bytes`, and copies the headers before these bytes.
 * Returns whether there was one. With a bridge or a VLAN, the same frame is captured on several
 * interfaces; it is captured first on the interface of the route. */
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

/* Sends `bytes` on the connected socket `udp`. Finds the headers of the frame that leaves, and the
 * interface by which it leaves. Returns 0, or an error as plat_frames_open does. */
static int linux_frames_way(plat_socket udp, const void *bytes, size_t length,
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
    /* A host drops received frames that have one of the host's own addresses as their source. On
     * loopback it accepts such frames only if the kernel has sent and marked them, so it would drop
     * ours. */
    return error == 0 && from.sll_hatype == ARPHRD_LOOPBACK ? PLAT_NO_WIRE : error;
}

int plat_frames_open(plat_socket *out, plat_socket udp, const void *bytes, size_t length,
                     struct plat_headers *headers)
{
    int interface = 0, buffer = 0;
    *out = PLAT_NO_SOCKET;
    int error = linux_frames_way(udp, bytes, length, headers, &interface);
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

/* ---- receiving: a ring of slots that the kernel fills ---- */

#define BLOCK_BYTES 65536u
#define BLOCKS_MOST 512u
#define SLOT_HEAD 80u /* bytes before the packet: packet_mmap, version 2, SOCK_DGRAM */
#define CHECKSUM_IS_RIGHT (1u << 7) /* TP_STATUS_CSUM_VALID, since Linux 4.0 */
#define UDP_BYTES 8u
#define UDP_PROTOCOL 17

struct code {
    struct sock_filter line[40];
    unsigned count;
};

static const unsigned char *address_bytes(const struct plat_address *address)
{
    return plat_address_v6(address)
               ? ((const struct sockaddr_in6 *)address->at.bytes)->sin6_addr.s6_addr
               : (const unsigned char *)&((const struct sockaddr_in *)address->at.bytes)->sin_addr;
}

/* Rejects packets whose value at offset `at` is not `value`. The jump target is filled in later. */
static void must_be(struct code *code, unsigned size, unsigned at, uint32_t value)
{
    code->line[code->count++] = (struct sock_filter)BPF_STMT(BPF_LD | size | BPF_ABS, at);
    code->line[code->count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 0);
}

static void must_be_address(struct code *code, unsigned at, const unsigned char *bytes, unsigned count)
{
    for (unsigned i = 0; i < count; i += 4)
        must_be(code, BPF_W, at + i, get_big32(bytes + i));
}

/* Writes a filter that accepts only unfragmented datagrams from `peer` to `local`, in packets
 * without options. */
static void write_filter(struct code *code, const struct plat_address *local,
                         const struct plat_address *peer)
{
    const bool v6 = plat_address_v6(local);
    const unsigned udp = datagram_ip_bytes(v6) - UDP_BYTES;
    code->count = 0;
    if (v6) {
        must_be(code, BPF_B, 6, UDP_PROTOCOL);
        must_be_address(code, 8, address_bytes(peer), 16);
        must_be_address(code, 24, address_bytes(local), 16);
    } else {
        must_be(code, BPF_B, 0, 0x45);
        must_be(code, BPF_B, 9, UDP_PROTOCOL);
        must_be_address(code, 12, address_bytes(peer), 4);
        must_be_address(code, 16, address_bytes(local), 4);
        code->line[code->count++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 6);
        code->line[code->count++] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x3fff);
        code->line[code->count++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0, 0, 0);
    }
    must_be(code, BPF_H, udp, plat_address_port(peer));
    must_be(code, BPF_H, udp + 2, plat_address_port(local));
    for (unsigned i = 0; i < code->count; i++)
        if (BPF_CLASS(code->line[i].code) == BPF_JMP)
            code->line[i].jf = (unsigned char)(code->count - i);
    code->line[code->count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, UINT32_MAX);
    code->line[code->count++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
}

static int attach(plat_socket socket, struct sock_filter *lines, unsigned count)
{
    struct sock_fprog program = {.len = (unsigned short)count, .filter = lines};
    return posix_failed(
        setsockopt((int)socket, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program));
}

static int map_slots(struct plat_capture *capture, size_t packet_bytes, size_t memory_bytes)
{
    const int version = TPACKET_V2, socket = (int)capture->socket;
    const size_t slot = (SLOT_HEAD + packet_bytes + TPACKET_ALIGNMENT - 1) / TPACKET_ALIGNMENT *
                        TPACKET_ALIGNMENT;
    if (slot > BLOCK_BYTES)
        return EMSGSIZE;
    capture->slot_bytes = slot;
    capture->slots_a_block = BLOCK_BYTES / (unsigned)slot;
    capture->blocks = (unsigned)(memory_bytes / BLOCK_BYTES);
    capture->blocks = capture->blocks < 4             ? 4
                      : capture->blocks > BLOCKS_MOST ? BLOCKS_MOST
                                                      : capture->blocks;
    struct tpacket_req request = {.tp_block_size = BLOCK_BYTES,
                                  .tp_block_nr = capture->blocks,
                                  .tp_frame_size = (unsigned)slot,
                                  .tp_frame_nr = capture->blocks * capture->slots_a_block};
    if (setsockopt(socket, SOL_PACKET, PACKET_VERSION, &version, sizeof version) < 0 ||
        setsockopt(socket, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) < 0)
        return errno;
    capture->bytes = (size_t)BLOCK_BYTES * capture->blocks;
    void *map = mmap(NULL, capture->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, socket, 0);
    if (map == MAP_FAILED)
        return errno;
    capture->slots = map;
    return 0;
}

int plat_capture_open(struct plat_capture *out, plat_socket udp, size_t message_bytes)
{
    struct plat_address local, peer;
    struct code code;
    char name[PLAT_INTERFACE_NAME];
    int buffer = 0;
    *out = (struct plat_capture){.socket = PLAT_NO_SOCKET};
    int error = plat_local_address(udp, &local);
    if (error == 0)
        error = plat_peer_address(udp, &peer);
    if (error == 0)
        error = plat_option_get(udp, PLAT_RECEIVE_BUFFER, &buffer);
    if (error != 0)
        return error;
    if (!plat_interface_between(&local, &peer, name))
        return ENODEV;
    const bool v6 = plat_address_v6(&local);
    out->socket = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (out->socket < 0)
        return errno;
    write_filter(&code, &local, &peer);
    error = attach(out->socket, code.line, code.count);
    if (error == 0)
        error = map_slots(out, datagram_ip_bytes(v6) + message_bytes, (size_t)buffer);
    if (error == 0)
        error = bind_to((int)out->socket, (int)if_nametoindex(name), v6 ? ETH_P_IPV6 : ETH_P_IP);
    if (error != 0)
        plat_capture_close(out);
    return error;
}

void plat_capture_close(struct plat_capture *capture)
{
    if (capture->slots != NULL)
        munmap(capture->slots, capture->bytes);
    if (capture->slots != NULL || capture->socket > 0)
        plat_close(capture->socket);
    *capture = (struct plat_capture){.socket = PLAT_NO_SOCKET};
}

/* Makes the UDP socket receive nothing from now on, and empties it: the slots have all its
 * datagrams as well. */
static int leave_alone(struct plat_capture *capture, plat_socket udp)
{
    struct sock_filter nothing = BPF_STMT(BPF_RET | BPF_K, 0);
    unsigned char byte;
    int error = attach(udp, &nothing, 1);
    while (error == 0 && plat_receive_now(udp, &byte, sizeof byte) >= 0)
        continue;
    capture->alone = error == 0;
    return error;
}

/* Whether the UDP checksum is right, or there is none to check. It covers addresses, protocol,
 * length and datagram (RFC 768). Packets of this host's own kernel have no checksum until they
 * leave the host. */
static bool is_whole(const unsigned char *ip, const unsigned char *udp, size_t length, unsigned status)
{
    const bool v6 = ip[0] >> 4 == 6;
    if ((status & (TP_STATUS_CSUMNOTREADY | CHECKSUM_IS_RIGHT)) != 0 ||
        (!v6 && udp[6] == 0 && udp[7] == 0))
        return true;
    const size_t both = v6 ? 32 : 8;
    uint32_t sum = datagram_sum(udp - both, both, UDP_PROTOCOL + (uint32_t)length);
    return datagram_fold(datagram_sum(udp, length, sum)) == 0;
}

/* Copies the datagram in a slot to place `at` of the batch, and truncates it to the place's size.
 * False: the slot has no whole datagram, or its checksum is wrong. */
static bool take_slot(const struct tpacket2_hdr *slot, struct plat_batch *batch, unsigned at)
{
    const unsigned char *ip = (const unsigned char *)slot + slot->tp_net;
    const size_t before = datagram_ip_bytes(ip[0] >> 4 == 6);
    if (slot->tp_snaplen < before)
        return false;
    const unsigned char *udp = ip + before - UDP_BYTES;
    const size_t length = get_big16(udp + 4);
    if (length < UDP_BYTES || before - UDP_BYTES + length > slot->tp_len)
        return false;
    const bool cut = before - UDP_BYTES + length > slot->tp_snaplen;
    if (!cut && !is_whole(ip, udp, length, slot->tp_status))
        return false;
    size_t bytes = cut ? slot->tp_snaplen - before : length - UDP_BYTES;
    bytes = bytes < batch->room ? bytes : batch->room;
    memcpy(batch->bytes + at * batch->room, udp + UDP_BYTES, bytes);
    batch->length[at] = bytes;
    return true;
}

ptrdiff_t plat_capture_take(struct plat_capture *capture, plat_socket udp, struct plat_batch *batch)
{
    unsigned count = 0;
    int error = capture->alone ? 0 : leave_alone(capture, udp);
    if (error != 0)
        return -(ptrdiff_t)error;
    while (count < batch->count) {
        struct tpacket2_hdr *slot =
            (struct tpacket2_hdr *)(capture->slots + (size_t)BLOCK_BYTES * capture->block +
                                    capture->slot * capture->slot_bytes);
        if ((__atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE) & TP_STATUS_USER) == 0)
            break;
        count += take_slot(slot, batch, count);
        __atomic_store_n(&slot->tp_status, TP_STATUS_KERNEL, __ATOMIC_RELEASE);
        if (++capture->slot == capture->slots_a_block) {
            capture->slot = 0;
            capture->block = (capture->block + 1) % capture->blocks;
        }
    }
    return count > 0 ? (ptrdiff_t)count : -EAGAIN;
}

uint64_t plat_capture_drops(struct plat_capture *capture)
{
    struct tpacket_stats since_asked;
    socklen_t length = sizeof since_asked;
    if (getsockopt((int)capture->socket, SOL_PACKET, PACKET_STATISTICS, &since_asked, &length) == 0)
        capture->drops += since_asked.tp_drops;
    return capture->drops;
}

/* ---- AF_XDP: memory shared with the kernel ---- */

/* The memory consists of places with room for one frame each. Two rings are shared with the kernel:
 * one has the places to send, the other returns the places that have been sent. The kernel copies
 * each frame, which works with every interface, and passes it to the interface without the
 * interface's queueing discipline. */

#define RING_PLACES 1024
#define PLACE_LEAST 64u
#define CHUNK_LEAST 2048u /* the kernel's smallest chunk; places that are shorter share a chunk */
#define CHUNK_MOST 4096u  /* the kernel's largest chunk, a page */
#define SEND_TIMEOUT_NS (20 * MILLISECOND_NS)
#define NO_ROOM_NS 20000
#define LET_GO_NS (500 * MILLISECOND_NS)

struct ring_half {
    void *map;
    size_t map_bytes;
    uint32_t *produced, *consumed;
    void *entries;
};

struct linux_ring {
    struct ring_half out, completion;
    int error; /* the next plat_ring_send reports it */
    unsigned free;
    uint64_t place[RING_PLACES]; /* offsets of the free places */
};

static int map_half(struct ring_half *half, int socket, size_t entry_bytes,
                    const struct newer_xdp_ring_offsets *at, uint64_t which)
{
    half->map_bytes = (size_t)at->desc + RING_PLACES * entry_bytes;
    void *map = mmap(NULL, half->map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                     socket, (off_t)which);
    if (map == MAP_FAILED)
        return errno;
    half->map = map;
    half->produced = (uint32_t *)((char *)map + at->producer);
    half->consumed = (uint32_t *)((char *)map + at->consumer);
    half->entries = (char *)map + at->desc;
    return 0;
}

static int set_of_xdp(int socket, enum newer_xdp_option option, const void *value, socklen_t length)
{
    return posix_failed(setsockopt(socket, NEWER_SOL_XDP, option, value, length));
}

/* The kernel requires a fill ring; it stays empty, because this socket receives nothing. */
static int set_up_memory(const struct plat_ring *ring)
{
    const uint32_t entries = RING_PLACES;
    const struct newer_xdp_memory memory = {
        .addr = (uintptr_t)ring->bytes,
        .len = RING_PLACES * ring->room,
        .chunk_size = ring->room < CHUNK_LEAST ? CHUNK_LEAST : (uint32_t)ring->room};
    const int socket = (int)ring->socket;
    int error = set_of_xdp(socket, NEWER_XDP_UMEM_REG, &memory, sizeof memory);
    if (error == 0)
        error = set_of_xdp(socket, NEWER_XDP_UMEM_FILL_RING, &entries, sizeof entries);
    if (error == 0)
        error = set_of_xdp(socket, NEWER_XDP_UMEM_COMPLETION_RING, &entries, sizeof entries);
    if (error == 0)
        error = set_of_xdp(socket, NEWER_XDP_TX_RING, &entries, sizeof entries);
    return error;
}

static int map_halves(const struct plat_ring *ring, struct linux_ring *own)
{
    struct newer_xdp_offsets at;
    socklen_t length = sizeof at;
    const int socket = (int)ring->socket;
    if (getsockopt(socket, NEWER_SOL_XDP, NEWER_XDP_MMAP_OFFSETS, &at, &length) < 0)
        return errno;
    if (length != sizeof at)
        return ENOPROTOOPT; /* the kernel is older than 5.4 */
    int error = map_half(&own->out, socket, sizeof(struct newer_xdp_frame), &at.tx,
                         NEWER_XDP_PGOFF_TX_RING);
    return error != 0 ? error
                      : map_half(&own->completion, socket, sizeof(uint64_t), &at.completion,
                                 NEWER_XDP_UMEM_PGOFF_COMPLETION_RING);
}

/* Tries for up to LET_GO_NS: the kernel releases a queue only some time after its socket was
 * closed. */
static int bind_ring(int socket, int interface)
{
    const struct newer_sockaddr_xdp address = {.sxdp_family = AF_XDP,
                                               .sxdp_flags = NEWER_XDP_COPY,
                                               .sxdp_ifindex = (uint32_t)interface};
    const uint64_t until_ns = plat_now_ns() + LET_GO_NS;
    int error;
    do {
        error = posix_failed(bind(socket, (const struct sockaddr *)&address, sizeof address));
        if (error == EBUSY)
            plat_sleep_ns(MILLISECOND_NS);
    } while (error == EBUSY && plat_now_ns() < until_ns);
    return error;
}

static int make_ring(struct plat_ring *ring, int interface, size_t frame_bytes)
{
    struct linux_ring *own = ring->system = calloc(1, sizeof *own);
    if (own == NULL)
        return ENOMEM;
    for (ring->room = PLACE_LEAST; ring->room < frame_bytes;)
        ring->room *= 2;
    if (ring->room > CHUNK_MOST)
        return EMSGSIZE;
    void *bytes = mmap(NULL, RING_PLACES * ring->room, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (bytes == MAP_FAILED)
        return errno;
    ring->bytes = bytes;
    ring->count = own->free = RING_PLACES;
    for (unsigned i = 0; i < RING_PLACES; i++)
        own->place[i] = i * ring->room;
    ring->socket = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (ring->socket < 0)
        return errno;
    int error = set_up_memory(ring);
    if (error == 0)
        error = map_halves(ring, own);
    return error != 0 ? error : bind_ring((int)ring->socket, interface);
}

int plat_ring_open(struct plat_ring *out, plat_socket udp, size_t message_bytes, const void *bytes,
                   size_t length, struct plat_headers *headers)
{
    int interface = 0, buffer = 0;
    *out = (struct plat_ring){.socket = PLAT_NO_SOCKET};
    int error = linux_frames_way(udp, bytes, length, headers, &interface);
    if (error == 0)
        error = make_ring(out, interface, headers->length + message_bytes);
    if (error == 0)
        error = plat_option_get(udp, PLAT_SEND_BUFFER, &buffer);
    if (error == 0)
        error = plat_option_set(out->socket, PLAT_SEND_BUFFER, buffer / plat_buffer_factor);
    if (error != 0)
        plat_ring_close(out);
    return error;
}

static void unmap_half(const struct ring_half *half)
{
    if (half->map != NULL)
        munmap(half->map, half->map_bytes);
}

void plat_ring_close(struct plat_ring *ring)
{
    struct linux_ring *own = ring->system;
    plat_close(ring->socket);
    if (own != NULL) {
        unmap_half(&own->out);
        unmap_half(&own->completion);
    }
    if (ring->bytes != NULL)
        munmap(ring->bytes, RING_PLACES * ring->room);
    free(own);
    *ring = (struct plat_ring){.socket = PLAT_NO_SOCKET};
}

static uint32_t theirs(const uint32_t *counter)
{
    return __atomic_load_n(counter, __ATOMIC_ACQUIRE);
}

/* Calls the kernel until the kernel has taken all frames. Returns EAGAIN if it did not take all of
 * them in time; the next call of this function then continues. One call to the kernel takes up to
 * 32 frames and then fails with EAGAIN, as if there were no room. If the interface has no room for
 * a frame, that frame is dropped, and the call fails with EBUSY. */
static int push(struct plat_ring *ring)
{
    const struct linux_ring *own = ring->system;
    uint64_t until_ns = 0;
    for (;;) {
        const uint32_t before = theirs(own->out.consumed);
        if (sendto((int)ring->socket, NULL, 0, MSG_DONTWAIT, NULL, 0) >= 0)
            return 0;
        if (errno == EBUSY)
            ring->dropped++;
        else if (!plat_is_transient(errno) && !plat_is_no_buffers(errno))
            return errno;
        else if (theirs(own->out.consumed) == before) {
            const uint64_t now_ns = plat_now_ns();
            until_ns = until_ns == 0 ? now_ns + SEND_TIMEOUT_NS : until_ns;
            if (now_ns >= until_ns)
                return EAGAIN;
            plat_sleep_ns(NO_ROOM_NS);
        }
    }
}

static void push_on(struct plat_ring *ring)
{
    struct linux_ring *own = ring->system;
    const int error = push(ring);
    own->error = error == EAGAIN ? 0 : error;
}

static void reclaim(struct linux_ring *own)
{
    const uint32_t produced = theirs(own->completion.produced);
    uint32_t consumed = *own->completion.consumed;
    for (; consumed != produced; consumed++)
        own->place[own->free++] =
            ((const uint64_t *)own->completion.entries)[consumed % RING_PLACES];
    __atomic_store_n(own->completion.consumed, consumed, __ATOMIC_RELEASE);
}

unsigned plat_ring_free(struct plat_ring *ring)
{
    struct linux_ring *own = ring->system;
    if (own == NULL)
        return 0;
    reclaim(own);
    if (own->free > 0)
        return own->free;
    const uint64_t until_ns = plat_now_ns() + SEND_TIMEOUT_NS;
    while (own->free == 0 && own->error == 0 && plat_now_ns() < until_ns) {
        push_on(ring);
        plat_sleep_ns(NO_ROOM_NS);
        reclaim(own);
    }
    return own->free;
}

unsigned char *plat_ring_place(const struct plat_ring *ring, unsigned number)
{
    const struct linux_ring *own = ring->system;
    if (own == NULL)
        return NULL;
    return ring->bytes + own->place[own->free - 1 - number];
}

/* Frames cannot be removed from the ring again: if this call does not send them, a later call
 * does. */
ptrdiff_t plat_ring_send(struct plat_ring *ring, unsigned count, size_t length)
{
    struct linux_ring *own = ring->system;
    if (own == NULL)
        return -ENOTCONN;
    struct newer_xdp_frame *frame = own->out.entries;
    const uint32_t produced = *own->out.produced;
    const int error = own->error;
    own->error = 0;
    if (error != 0)
        return -(ptrdiff_t)error;
    for (unsigned i = 0; i < count; i++)
        frame[(produced + i) % RING_PLACES] =
            (struct newer_xdp_frame){own->place[--own->free], (uint32_t)length, 0};
    __atomic_store_n(own->out.produced, produced + count, __ATOMIC_RELEASE);
    push_on(ring);
    return (ptrdiff_t)count;
}

unsigned plat_ring_left(struct plat_ring *ring)
{
    const struct linux_ring *own = ring->system;
    return own == NULL || push(ring) == 0 ? 0 : *own->out.produced - theirs(own->out.consumed);
}

bool linux_rings_known(void)
{
    int trial = socket(AF_XDP, SOCK_RAW | SOCK_CLOEXEC, 0);
    if (trial >= 0)
        close(trial);
    return trial >= 0 && plat_frames_refusal() == 0;
}
