/* Standard input, random bytes, identity, capabilities and clocks of this process on Linux. */
#define _GNU_SOURCE
#include "platform/posix/posix.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "platform/frames.h"
#include "platform/linux/linux.h"

/* ---- the process ---- */

ptrdiff_t plat_input_read(void *into, size_t capacity, int timeout_ms)
{
    struct pollfd wait = {.fd = STDIN_FILENO, .events = POLLIN};
    int ready = poll(&wait, 1, timeout_ms);
    if (ready <= 0)
        return ready == 0 || errno == EINTR ? PLAT_TIMED_OUT : 0;
    ssize_t got = read(STDIN_FILENO, into, capacity);
    if (got < 0)
        return errno == EINTR || errno == EAGAIN ? PLAT_TIMED_OUT : 0;
    return got;
}

#if defined __GLIBC__ && __GLIBC__ * 100 + __GLIBC_MINOR__ < 225
static ssize_t getrandom(void *into, size_t length, unsigned flags)
{
#ifdef SYS_getrandom
    return syscall(SYS_getrandom, into, length, flags);
#else
    (void)into, (void)length, (void)flags;
    return -1;
#endif
}
#else
#include <sys/random.h>
#endif

/* getrandom (Linux 3.17 and newer) needs no open file. Older kernels have /dev/urandom. */
int plat_random(void *into, size_t length)
{
    if (getrandom(into, length, 0) == (ssize_t)length)
        return 0;
    int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno;
    ssize_t got = read(file, into, length);
    close(file);
    return got == (ssize_t)length ? 0 : EIO;
}

static void read_word(const char *path, char *into, size_t capacity)
{
    into[0] = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    if (fgets(into, (int)capacity, file) == NULL)
        into[0] = 0;
    into[strcspn(into, " \t\r\n")] = 0;
    fclose(file);
}

/* A capability is a word for a function that works on this host. An emulated or an old Linux lacks
 * some functions (SO_MEMINFO came with 4.12), and this account may not use some others. So each of
 * these functions is tried once. */
static char capabilities[256];

static void name_capabilities(void)
{
    uint64_t drops;
    int trial = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    snprintf(capabilities, sizeof capabilities,
             "stream,tcp,udp,ipv4,ipv6,tcp-info,congestion,dont-fragment,dscp,interface,pin,"
             "raw-clock,lock,facts,cpu,poll,batch%s%s%s%s%s",
             trial >= 0 && plat_queue_drops(trial, &drops) ? ",queue-drops" : "",
             trial >= 0 && plat_set_no_checksum(trial) == 0 ? ",no-checksum" : "",
             trial >= 0 && linux_stamps_known(trial) ? ",stamps" : "",
             plat_frames_refusal() == 0 ? ",packet,capture" : "",
             linux_rings_known() ? ",xdp" : "");
    if (trial >= 0)
        close(trial);
}

void plat_identify(struct plat_identity *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    memset(out, 0, sizeof *out);
    out->os = "linux";
    out->clock = "CLOCK_MONOTONIC";
    pthread_once(&once, name_capabilities);
    out->capabilities = capabilities;
    struct utsname name;
    if (uname(&name) == 0) {
        snprintf(out->os_release, sizeof out->os_release, "%s", name.release);
        snprintf(out->architecture, sizeof out->architecture, "%.31s", name.machine);
    }
    read_word("/etc/machine-id", out->machine_id, sizeof out->machine_id);
    if (out->machine_id[0] == 0)
        read_word("/var/lib/dbus/machine-id", out->machine_id, sizeof out->machine_id);
    struct stat netns;
    if (stat("/proc/self/ns/net", &netns) == 0)
        out->network_id = netns.st_ino;
    out->pid = (unsigned)getpid();
    out->cpu_count = linux_usable_cpus();
}

/* ---- clocks ---- */

bool plat_raw_now_ns(uint64_t *out)
{
    *out = posix_clock_ns(CLOCK_MONOTONIC_RAW);
    return true;
}

bool plat_suspended_ns(uint64_t *out)
{
    uint64_t awake_ns = posix_clock_ns(CLOCK_MONOTONIC);
    *out = posix_clock_ns(CLOCK_BOOTTIME) - awake_ns;
    return true;
}

/* ---- threads ---- */

/* Sets the timer slack to 1 ns. By default, the kernel ends sleeps up to 50 us late, to save
 * power. */
void posix_thread_begins(void)
{
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
}

/* ---- programs ---- */

/* The kernel kills the child when the thread that forked the child ends. If the parent has ended
 * before this was set up, the child already has another parent, and exits. The child inherits the
 * timer slack of the forking thread. So the kernel's default of 50 us is restored: sleeps of a
 * program end as late as usual. */
void posix_child_begins(int parent)
{
    prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0UL, 0UL, 0UL);
    if (getppid() != parent)
        _exit(1);
    prctl(PR_SET_TIMERSLACK, 50000UL, 0UL, 0UL, 0UL);
}

/* close_range exists in Linux 5.9 and newer. */
bool posix_close_from(int first)
{
#ifdef SYS_close_range
    return syscall(SYS_close_range, (unsigned)first, ~0U, 0U) == 0;
#else
    (void)first;
    return false;
#endif
}

