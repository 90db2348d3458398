/* Waits for many sockets by WSAPoll, which checks each of them. */
#include "platform/windows/windows.h"

#include <stdlib.h>
#include <string.h>

struct watched {
    unsigned count, turn; /* turn: index of the socket with which the next search begins */
    WSAPOLLFD polls[PLAT_WAITS];
    unsigned numbers[PLAT_WAITS];
};

int plat_watch_open(struct plat_watch *out)
{
    struct watched *all = calloc(1, sizeof *all);
    out->system = all != NULL ? (intptr_t)all : -1;
    return all != NULL ? 0 : ERROR_NOT_ENOUGH_MEMORY;
}

void plat_watch_close(struct plat_watch *watch)
{
    if (watch->system != -1)
        free((struct watched *)watch->system);
}

int plat_watch_add(struct plat_watch *watch, plat_socket socket, unsigned number, bool sending)
{
    struct watched *all = (struct watched *)watch->system;
    if (all->count == PLAT_WAITS)
        return ERROR_NOT_ENOUGH_MEMORY;
    all->numbers[all->count] = number;
    all->polls[all->count++] = (WSAPOLLFD){.fd = windows_socket(socket)->socket,
                                           .events = sending ? POLLWRNORM : POLLRDNORM};
    return 0;
}

/* Moves the last entry to the place of the removed one. */
void plat_watch_remove(struct plat_watch *watch, plat_socket socket)
{
    struct watched *all = (struct watched *)watch->system;
    for (unsigned i = 0; i < all->count; i++) {
        if (all->polls[i].fd != windows_socket(socket)->socket)
            continue;
        all->count--;
        all->polls[i] = all->polls[all->count];
        all->numbers[i] = all->numbers[all->count];
        return;
    }
}

ptrdiff_t plat_watch_wait(struct plat_watch *watch, unsigned *numbers, unsigned capacity,
                          uint64_t until_ns)
{
    struct watched *all = (struct watched *)watch->system;
    const uint64_t left_ns = until_ns > 0 ? windows_left_ns(until_ns) : 0;
    unsigned length = 0, steps;
    if (all->count == 0) { /* WSAPoll refuses an empty list */
        plat_sleep_ns(left_ns);
        return 0;
    }
    int ready = WSAPoll(all->polls, all->count, (int)((left_ns + 999999) / 1000000));
    if (ready == SOCKET_ERROR)
        return -WSAGetLastError();
    for (steps = 0; steps < all->count && length < capacity && ready > 0; steps++) {
        const unsigned at = (all->turn + steps) % all->count;
        if (all->polls[at].revents != 0)
            numbers[length++] = all->numbers[at];
    }
    all->turn = (all->turn + steps) % all->count;
    return length;
}
