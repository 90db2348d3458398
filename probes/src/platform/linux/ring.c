/* Sends frames that netprobe builds on Linux from memory shared with the kernel, by AF_XDP. The
 * memory consists of places with room for one frame each. Two rings are shared with the kernel: one
 * has the places to send, the other returns the places that have been sent. The kernel copies each
 * frame, which works with every interface, and passes it to the interface without the interface's
 * queueing discipline. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "platform/frames.h"
#include "platform/linux/linux.h"
#include "platform/linux/newer.h"

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
