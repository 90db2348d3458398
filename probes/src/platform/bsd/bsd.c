/* Reads input, random bytes and the identity of the host, and waits for many sockets by kqueue. */
#include "platform/bsd/bsd.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/event.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- the process ---- */

/* Uses `select`, because `poll` does not work with a terminal on macOS. */
ptrdiff_t plat_input_read(void *into, size_t capacity, int timeout_ms)
{
    fd_set readable;
    struct timeval patience = {.tv_sec = timeout_ms / 1000, .tv_usec = timeout_ms % 1000 * 1000};
    FD_ZERO(&readable);
    FD_SET(STDIN_FILENO, &readable);
    int ready = select(STDIN_FILENO + 1, &readable, NULL, NULL, &patience);
    if (ready <= 0)
        return ready == 0 || errno == EINTR ? PLAT_TIMED_OUT : 0;
    ssize_t got = read(STDIN_FILENO, into, capacity);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN ? PLAT_TIMED_OUT : 0;
    return got;
}

int plat_random(void *into, size_t length)
{
    arc4random_buf(into, length);
    return 0;
}

/* Returns the name that Linux uses for the same processor architecture. */
static const char *architecture(const char *machine)
{
    if (strcmp(machine, "arm64") == 0)
        return "aarch64";
    return strcmp(machine, "amd64") == 0 ? "x86_64" : machine;
}

void plat_identify(struct plat_identity *out)
{
    struct utsname name;
    memset(out, 0, sizeof *out);
    out->os = bsd_name;
    out->clock = bsd_clock;
    out->capabilities = bsd_capabilities;
    if (uname(&name) == 0) {
        snprintf(out->os_release, sizeof out->os_release, "%.127s", name.release);
        snprintf(out->architecture, sizeof out->architecture, "%.31s", architecture(name.machine));
    }
    bsd_machine_id(out->machine_id, sizeof out->machine_id);
    out->pid = (unsigned)getpid();
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    out->cpu_count = bsd_usable_cpus();
    if (out->cpu_count == 0)
        out->cpu_count = online > 0 ? (unsigned)online : 1;
}

/* Does nothing: on these systems, a new thread needs no settings. */
void posix_thread_begins(void)
{
}

/* ---- values that neither macOS nor FreeBSD reports ---- */

bool plat_thread_delay_ns(plat_thread thread, uint64_t *out)
{
    (void)thread;
    (void)out;
    return false;
}

bool plat_thread_place(plat_thread thread, unsigned *cpu)
{
    (void)thread;
    (void)cpu;
    return false;
}

bool plat_own_place(unsigned *cpu)
{
    (void)cpu;
    return false;
}

bool plat_throttling(struct plat_throttling *out)
{
    (void)out;
    return false;
}

/* ---- waiting for many sockets ---- */

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
