/* Waits for many sockets by kqueue. */
#include "platform/bsd/bsd.h"

#include <sys/event.h>
#include <sys/time.h>
#include <unistd.h>

/* Maximum number of events that one call returns. The kernel moves these events to the end of its
 * list, so the next call returns the others. */
#define EVENTS 256

int plat_watch_open(struct plat_watch *out)
{
    out->system = kqueue();
    return out->system < 0 ? errno : 0;
}

void plat_watch_close(struct plat_watch *watch)
{
    if (watch->system >= 0)
        close((int)watch->system);
}

int plat_watch_add(struct plat_watch *watch, plat_socket socket, unsigned number, bool sending)
{
    struct kevent change;
    EV_SET(&change, (uintptr_t)socket, sending ? EVFILT_WRITE : EVFILT_READ, EV_ADD, 0, 0,
           (void *)(uintptr_t)number);
    return posix_failed(kevent((int)watch->system, &change, 1, NULL, 0, NULL));
}

/* Removes both filters, because only one of them was added. */
void plat_watch_remove(struct plat_watch *watch, plat_socket socket)
{
    static const short filters[] = {EVFILT_READ, EVFILT_WRITE};
    for (int i = 0; i < 2; i++) {
        struct kevent change;
        EV_SET(&change, (uintptr_t)socket, filters[i], EV_DELETE, 0, 0, NULL);
        kevent((int)watch->system, &change, 1, NULL, 0, NULL);
    }
}

ptrdiff_t plat_watch_wait(struct plat_watch *watch, unsigned *numbers, unsigned capacity,
                          uint64_t until_ns)
{
    struct kevent events[EVENTS];
    const uint64_t now = until_ns > 0 ? plat_now_ns() : 0;
    const struct timespec span = posix_timespec(until_ns > now ? until_ns - now : 0);
    int count = kevent((int)watch->system, NULL, 0, events, capacity < EVENTS ? (int)capacity : EVENTS,
                      &span);
    for (int i = 0; i < count; i++)
        numbers[i] = (unsigned)(uintptr_t)events[i].udata;
    return posix_moved(count);
}
