/* Waits for many sockets by epoll. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <sys/epoll.h>
#include <unistd.h>

#define EVENTS 256 /* of one call; the rest comes by the next, for the kernel takes them in turns */

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
    int came = epoll_wait((int)watch->system, events, (int)(capacity < EVENTS ? capacity : EVENTS),
                          posix_until_ms(until_ns));
    for (int i = 0; i < came; i++)
        numbers[i] = events[i].data.u32;
    return posix_moved(came);
}
