/* Reads standard input, random bytes and the identity of the host on macOS and FreeBSD. */
#include "platform/bsd/bsd.h"

#include <stdio.h>
#include <stdlib.h>
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
