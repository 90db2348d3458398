/* Process, identity, clocks, threads, error numbers, registry and waiting for sockets on
 * Windows. */
#include "platform/windows/windows.h"

#include <bcrypt.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeapi.h>

#include "platform/shared.h"

/* ---- the process ---- */

int plat_start(void)
{
    WSADATA data;
    int error = WSAStartup(MAKEWORD(2, 2), &data);
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
    /* Without this call, time-outs and waits have a resolution of 15.6 ms. A failure is ignored. */
    timeBeginPeriod(1);
    return error;
}

/* Standard input is a pipe, a file or a console. Only a thread of its own can wait for all three
 * kinds, because a synchronous read of a pipe cannot have a time-out. */
static struct {
    plat_mutex lock;
    plat_cond changed;
    bool started, ended;
    size_t begin, used;
    char bytes[65536];
} input;

static void read_input(void *argument)
{
    HANDLE handle = GetStdHandle(STD_INPUT_HANDLE);
    char bytes[4096];
    DWORD got;
    (void)argument;
    while (ReadFile(handle, bytes, sizeof bytes, &got, NULL) && got > 0) {
        plat_mutex_lock(&input.lock);
        while (sizeof input.bytes - input.used < got)
            plat_cond_wait(&input.changed, &input.lock, plat_now_ns() + SECOND_NS);
        for (DWORD i = 0; i < got; i++)
            input.bytes[(input.begin + input.used++) % sizeof input.bytes] = bytes[i];
        plat_cond_wake(&input.changed);
        plat_mutex_unlock(&input.lock);
    }
    plat_mutex_lock(&input.lock);
    input.ended = true;
    plat_cond_wake(&input.changed);
    plat_mutex_unlock(&input.lock);
}

/* Only the thread that reads requests calls this function. The reading thread is never joined: it
 * may be waiting when the process ends, and then ends with the process. */
static bool start_input(void)
{
    plat_thread reader;
    if (input.started)
        return true;
    input.started = plat_thread_start(&reader, read_input, NULL) == 0;
    if (input.started)
        CloseHandle(reader);
    return input.started;
}

ptrdiff_t plat_input_read(void *into, size_t capacity, int timeout_ms)
{
    const uint64_t until_ns = plat_now_ns() + (uint64_t)timeout_ms * MILLISECOND_NS;
    char *next = into;
    if (!start_input())
        return 0;
    plat_mutex_lock(&input.lock);
    while (input.used == 0 && !input.ended && plat_now_ns() < until_ns)
        plat_cond_wait(&input.changed, &input.lock, until_ns);
    ptrdiff_t got = input.used < capacity ? (ptrdiff_t)input.used : (ptrdiff_t)capacity;
    for (ptrdiff_t i = 0; i < got; i++)
        next[i] = input.bytes[(input.begin + (size_t)i) % sizeof input.bytes];
    input.begin = (input.begin + (size_t)got) % sizeof input.bytes;
    input.used -= (size_t)got;
    bool ended = input.ended;
    plat_cond_wake(&input.changed);
    plat_mutex_unlock(&input.lock);
    return got == 0 && !ended ? PLAT_TIMED_OUT : got;
}

int plat_output_write(const void *bytes, size_t length)
{
    HANDLE handle = GetStdHandle(STD_OUTPUT_HANDLE);
    const char *next = bytes;
    while (length > 0) {
        DWORD put = 0;
        if (!WriteFile(handle, next, (DWORD)length, &put, NULL))
            return (int)GetLastError();
        next += put;
        length -= put;
    }
    return 0;
}

int plat_random(void *into, size_t length)
{
    NTSTATUS status = BCryptGenRandom(NULL, into, (ULONG)length, BCRYPT_USE_SYSTEM_PREFERRED_RNG);
    return status == 0 ? 0 : ERROR_GEN_FAILURE;
}

void windows_text(const wchar_t *wide, char *into, size_t capacity)
{
    into[0] = 0;
    if (WideCharToMultiByte(CP_UTF8, 0, wide, -1, into, (int)capacity, NULL, NULL) == 0)
        into[0] = 0;
}

bool windows_registry_text(const wchar_t *key, const wchar_t *name, char *into, size_t capacity)
{
    wchar_t wide[256];
    DWORD bytes = sizeof wide;
    into[0] = 0;
    if (RegGetValueW(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_SZ | RRF_SUBKEY_WOW6464KEY, NULL,
                     wide, &bytes) != ERROR_SUCCESS)
        return false;
    windows_text(wide, into, capacity);
    return into[0] != 0;
}

bool windows_registry_number(const wchar_t *key, const wchar_t *name, uint64_t *value)
{
    DWORD number, bytes = sizeof number;
    if (RegGetValueW(HKEY_LOCAL_MACHINE, key, name, RRF_RT_REG_DWORD | RRF_SUBKEY_WOW6464KEY, NULL,
                     &number, &bytes) != ERROR_SUCCESS)
        return false;
    *value = number;
    return true;
}

/* ---- functions of Windows that no import library contains ---- */

typedef LONG(WINAPI *get_version)(OSVERSIONINFOW *);

/* Returns a function as a data pointer; callers copy it into a function pointer, which every
 * compiler accepts. */
void *windows_native(const char *name)
{
    HMODULE library = GetModuleHandleW(L"ntdll.dll");
    FARPROC function = library != NULL ? GetProcAddress(library, name) : NULL;
    void *pointer;
    memcpy(&pointer, &function, sizeof pointer);
    return pointer;
}

void windows_version(unsigned *major, unsigned *minor, unsigned *build)
{
    OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    void *function = windows_native("RtlGetVersion");
    get_version get;
    memcpy(&get, &function, sizeof get);
    if (get != NULL)
        get(&version);
    *major = version.dwMajorVersion;
    *minor = version.dwMinorVersion;
    *build = version.dwBuildNumber;
}

/* ---- identity and capabilities ---- */

static bool has_ipv6(void)
{
    SOCKET probe = socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP);
    if (probe == INVALID_SOCKET)
        return false;
    closesocket(probe);
    return true;
}

static bool has_no_checksum(void)
{
    SOCKET probe = socket(AF_INET, SOCK_DGRAM, IPPROTO_UDP);
    BOOL on = TRUE;
    if (probe == INVALID_SOCKET)
        return false;
    int refused = setsockopt(probe, IPPROTO_UDP, UDP_NOCHECKSUM, (const char *)&on, sizeof on);
    closesocket(probe);
    return refused == 0;
}

static const char *architecture(void)
{
    SYSTEM_INFO info;
    GetNativeSystemInfo(&info);
    switch (info.wProcessorArchitecture) {
    case PROCESSOR_ARCHITECTURE_AMD64:
        return "x86_64";
    case PROCESSOR_ARCHITECTURE_ARM64:
        return "aarch64";
    case PROCESSOR_ARCHITECTURE_INTEL:
        return "x86";
    default:
        return "";
    }
}

void plat_identify(struct plat_identity *out)
{
    static char capabilities[128];
    unsigned major, minor, build;
    memset(out, 0, sizeof *out);
    out->os = "windows";
    out->clock = "QueryPerformanceCounter";
    /* Capabilities are words for what the system supports. Among others, these are absent:
     * congestion and dscp, which Windows takes only from its policies; queue-drops, which Windows
     * does not report; raw-clock, because NTP does not adjust the performance counter anyway. */
    snprintf(capabilities, sizeof capabilities,
             "stream,tcp,udp,ipv4,%s%sdont-fragment,interface,pin,lock,facts,cpu,poll%s",
             has_ipv6() ? "ipv6," : "", windows_tcp_info_known() ? "tcp-info," : "",
             has_no_checksum() ? ",no-checksum" : "");
    out->capabilities = capabilities;
    windows_version(&major, &minor, &build);
    snprintf(out->os_release, sizeof out->os_release, "%u.%u.%u", major, minor, build);
    snprintf(out->architecture, sizeof out->architecture, "%s", architecture());
    windows_registry_text(L"SOFTWARE\\Microsoft\\Cryptography", L"MachineGuid", out->machine_id,
                          sizeof out->machine_id);
    out->pid = GetCurrentProcessId();
    out->cpu_count = windows_usable_cpus();
}

/* ---- clocks ---- */

uint64_t plat_now_ns(void)
{
    static _Atomic uint64_t frequency; /* fixed at boot */
    LARGE_INTEGER now;
    uint64_t ticks_per_s = frequency;
    if (ticks_per_s == 0) {
        QueryPerformanceFrequency(&now);
        ticks_per_s = frequency = (uint64_t)now.QuadPart;
    }
    QueryPerformanceCounter(&now);
    uint64_t ticks = (uint64_t)now.QuadPart;
    /* Whole seconds and the rest are computed separately: the product of all ticks and SECOND_NS
     * could overflow half an hour after boot. */
    return ticks / ticks_per_s * SECOND_NS + ticks % ticks_per_s * SECOND_NS / ticks_per_s;
}

bool plat_raw_now_ns(uint64_t *out)
{
    (void)out;
    return false;
}

/* The time of suspension is unknown, because QueryPerformanceCounter keeps running while the host
 * is suspended. */
bool plat_suspended_ns(uint64_t *out)
{
    (void)out;
    return false;
}

uint64_t plat_wall_ns(void)
{
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    /* FILETIME counts from 1601 */
    return (windows_hundred_ns(now) - UINT64_C(116444736000000000)) * 100;
}

#ifndef CREATE_WAITABLE_TIMER_HIGH_RESOLUTION
#define CREATE_WAITABLE_TIMER_HIGH_RESOLUTION 0x00000002
#endif

static _Thread_local HANDLE sleep_timer;

/* Windows 10 1803 and newer have timers that do not wait for the system's tick. */
static HANDLE own_timer(void)
{
    if (sleep_timer == NULL)
        sleep_timer = CreateWaitableTimerExW(NULL, NULL, CREATE_WAITABLE_TIMER_HIGH_RESOLUTION,
                                             TIMER_ALL_ACCESS);
    if (sleep_timer == NULL)
        sleep_timer = CreateWaitableTimerExW(NULL, NULL, 0, TIMER_ALL_ACCESS);
    return sleep_timer;
}

void plat_sleep_ns(uint64_t nanoseconds)
{
    LARGE_INTEGER span;
    HANDLE timer = own_timer();
    nanoseconds = plat_coarse_sleep_ns(nanoseconds);
    span.QuadPart = -(LONGLONG)((nanoseconds + 99) / 100); /* negative: from now on */
    if (timer != NULL && SetWaitableTimer(timer, &span, 0, NULL, NULL, FALSE))
        WaitForSingleObject(timer, INFINITE);
    else
        Sleep((DWORD)((nanoseconds + MILLISECOND_NS - 1) / MILLISECOND_NS));
}

/* ---- threads ---- */

struct thread_start {
    plat_routine routine;
    void *argument;
};

static unsigned __stdcall enter_thread(void *argument)
{
    struct thread_start start = *(struct thread_start *)argument;
    free(argument);
    start.routine(start.argument);
    if (sleep_timer != NULL)
        CloseHandle(sleep_timer);
    return 0;
}

int plat_thread_start(plat_thread *out, plat_routine routine, void *argument)
{
    struct thread_start *start = malloc(sizeof *start);
    if (start == NULL)
        return ERROR_NOT_ENOUGH_MEMORY;
    *start = (struct thread_start){routine, argument};
    uintptr_t handle = _beginthreadex(NULL, 0, enter_thread, start, 0, NULL);
    if (handle == 0) {
        free(start);
        return ERROR_NOT_ENOUGH_MEMORY;
    }
    *out = (plat_thread)handle;
    return 0;
}

void plat_thread_join(plat_thread thread)
{
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

_Static_assert(sizeof(SRWLOCK) == sizeof(plat_mutex), "plat.h: plat_mutex is an SRWLOCK");
_Static_assert(sizeof(CONDITION_VARIABLE) == sizeof(plat_cond), "plat.h: plat_cond");

void plat_mutex_init(plat_mutex *mutex)
{
    InitializeSRWLock((SRWLOCK *)mutex);
}

void plat_mutex_destroy(plat_mutex *mutex)
{
    (void)mutex; /* there is nothing to release */
}

void plat_mutex_lock(plat_mutex *mutex)
{
    AcquireSRWLockExclusive((SRWLOCK *)mutex);
}

void plat_mutex_unlock(plat_mutex *mutex)
{
    ReleaseSRWLockExclusive((SRWLOCK *)mutex);
}

void plat_cond_init(plat_cond *cond)
{
    InitializeConditionVariable((CONDITION_VARIABLE *)cond);
}

void plat_cond_destroy(plat_cond *cond)
{
    (void)cond; /* there is nothing to release */
}

/* Rounds the time up to milliseconds: if it were rounded down, the caller would spin in the last
 * millisecond. */
void plat_cond_wait(plat_cond *cond, plat_mutex *mutex, uint64_t until_ns)
{
    uint64_t now = plat_now_ns();
    if (now >= until_ns)
        return;
    uint64_t left_ms = (until_ns - now + MILLISECOND_NS - 1) / MILLISECOND_NS;
    SleepConditionVariableSRW((CONDITION_VARIABLE *)cond, (SRWLOCK *)mutex,
                              left_ms > 3600000 ? 3600000 : (DWORD)left_ms, 0);
}

void plat_cond_wake(plat_cond *cond)
{
    WakeAllConditionVariable((CONDITION_VARIABLE *)cond);
}

/* ---- error numbers of Winsock and of Windows ---- */

const char *plat_word(int error)
{
    switch (error) {
    case WSAECONNREFUSED:
        return "connect-refused";
    case WSAENETUNREACH:
    case WSAEHOSTUNREACH:
    case WSAENETDOWN:
    case WSAEHOSTDOWN:
        return "unreachable";
    case WSAETIMEDOUT:
    case WSAEINPROGRESS:
        return "connect-timeout";
    case WSAEADDRINUSE:
        return "address-in-use";
    case WSAEADDRNOTAVAIL:
        return "address-not-available";
    case ERROR_DEV_NOT_EXIST:
        return "no-such-interface";
    case WSAEACCES:
    case ERROR_ACCESS_DENIED:
    case ERROR_PRIVILEGE_NOT_HELD:
        return "permission-denied";
    case WSAEMSGSIZE:
        return "message-too-long";
    case WSAENOBUFS:
        return "no-buffers";
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
        return "out-of-memory";
    case WSAECONNRESET:
    case WSAECONNABORTED:
    case WSAENETRESET:
    case WSAESHUTDOWN:
    case WSAEDISCON:
        return "peer-vanished";
    case WSAENOPROTOOPT:
    case WSAEAFNOSUPPORT:
    case WSAEPROTONOSUPPORT:
    case WSAEOPNOTSUPP:
        return "capability-missing";
    default:
        return "system";
    }
}

void plat_describe(int error, char *into, size_t capacity)
{
    wchar_t wide[256];
    DWORD length = FormatMessageW(FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS, NULL,
                                  (DWORD)error, 0, wide, sizeof wide / sizeof wide[0], NULL);
    while (length > 0 && (wide[length - 1] <= L' ' || wide[length - 1] == L'.'))
        length--;
    wide[length] = 0;
    windows_text(wide, into, capacity);
    if (into[0] == 0)
        snprintf(into, capacity, "Windows error %d", error);
}

bool plat_is_no_buffers(int error)
{
    /* wine turns Linux's ENOBUFS into WSAEINVAL, which has no other cause on a connected socket. */
    return error == WSAENOBUFS || error == WSAEINVAL || error == ERROR_NOT_ENOUGH_MEMORY;
}

bool plat_is_transient(int error)
{
    return error == WSAEWOULDBLOCK || error == WSAEINTR || error == WSA_OPERATION_ABORTED;
}

bool plat_is_peer_gone(int error)
{
    return error == WSAECONNRESET || error == WSAECONNABORTED || error == WSAENETRESET ||
           error == WSAECONNREFUSED || error == WSAENOTCONN || error == WSAESHUTDOWN ||
           error == WSAEDISCON || error == WSAETIMEDOUT;
}

bool plat_is_unreachable(int error)
{
    return error == WSAEHOSTUNREACH || error == WSAENETUNREACH || error == WSAEHOSTDOWN ||
           error == WSAENETDOWN;
}

/* Some ports are reserved by the system, mainly for Hyper-V, and some by programs for exclusive
 * use. The error for such a port is "access denied"; another port of the range may be available. */
bool plat_is_address_in_use(int error)
{
    return error == WSAEADDRINUSE || error == WSAEACCES;
}

bool plat_is_missing(int error)
{
    return error == ERROR_FILE_NOT_FOUND || error == ERROR_PATH_NOT_FOUND;
}

/* ---- waiting for many sockets, by WSAPoll, which checks each of them ---- */

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
