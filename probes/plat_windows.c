/* Windows: the process, clocks, threads, CPU. The lock: plat_windows_lock.c, sockets:
 * plat_windows_socket.c, facts: plat_windows_facts.c. */
#include "plat_windows.h"

#include <bcrypt.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <timeapi.h>

#include "plat_coarse_sleep.h"

#define SECOND_NS 1000000000ULL
#define MILLISECOND_NS 1000000ULL

/* ---- the process ---- */

int plat_start(void)
{
    WSADATA data;
    int error = WSAStartup(MAKEWORD(2, 2), &data);
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
    /* Time-outs and waits tick at 15.6 ms otherwise. Where this is refused, they do. */
    timeBeginPeriod(1);
    return error;
}

/* Standard input is a pipe, a file or a console; only a thread of its own can wait for all three,
 * and a pipe's synchronous read cannot be given a time-out. */
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

/* One caller, the control thread. The reader is never joined: it may be waiting when the process
 * ends, and ends with it. */
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

/* ---- functions of the system that no import library names ---- */

typedef LONG(WINAPI *query_system)(int, void *, ULONG, ULONG *);
typedef LONG(WINAPI *get_version)(OSVERSIONINFOW *);

/* A data pointer on its way to a function pointer, the way that every compiler accepts. */
static void *native(const char *name)
{
    HMODULE library = GetModuleHandleW(L"ntdll.dll");
    FARPROC found = library != NULL ? GetProcAddress(library, name) : NULL;
    void *pointer;
    memcpy(&pointer, &found, sizeof pointer);
    return pointer;
}

void windows_version(unsigned *major, unsigned *minor, unsigned *build)
{
    OSVERSIONINFOW version = {.dwOSVersionInfoSize = sizeof version};
    void *found = native("RtlGetVersion");
    get_version get;
    memcpy(&get, &found, sizeof get);
    if (get != NULL)
        get(&version);
    *major = version.dwMajorVersion;
    *minor = version.dwMinorVersion;
    *build = version.dwBuildNumber;
}

/* ---- who we are ---- */

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

/* CPUs of the groups before this one: Windows numbers them by groups of up to 64. */
static unsigned first_of_group(WORD group)
{
    unsigned first = 0;
    for (WORD i = 0; i < group; i++)
        first += GetActiveProcessorCount(i);
    return first;
}

/* The group of a CPU and its bit in it. False: there is no such CPU. */
static bool place_of_cpu(unsigned cpu, WORD *group, KAFFINITY *bit)
{
    WORD groups = GetActiveProcessorGroupCount();
    for (*group = 0; *group < groups; (*group)++) {
        unsigned first = first_of_group(*group), count = GetActiveProcessorCount(*group);
        if (cpu >= first && cpu - first < count) {
            *bit = (KAFFINITY)1 << (cpu - first);
            return true;
        }
    }
    return false;
}

bool plat_cpu_usable(unsigned cpu)
{
    DWORD_PTR ours, all;
    WORD group;
    KAFFINITY bit;
    if (!place_of_cpu(cpu, &group, &bit))
        return false;
    /* A process of one group has a mask; that of a process of several reads 0: it may use all. */
    if (!GetProcessAffinityMask(GetCurrentProcess(), &ours, &all) || ours == 0)
        return true;
    return group > 0 || (ours & bit) != 0;
}

void plat_identify(struct plat_identity *out)
{
    static char capabilities[128];
    unsigned major, minor, build;
    memset(out, 0, sizeof *out);
    out->os = "windows";
    out->clock = "QueryPerformanceCounter";
    /* Absent: congestion and dscp, which Windows takes from its policies alone; queue-drops, which
     * it does not tell; raw-clock, for the performance counter is not disciplined. */
    snprintf(capabilities, sizeof capabilities,
             "stream,tcp,udp,ipv4,%s%sdont-fragment,interface,pin,lock,facts,cpu%s",
             has_ipv6() ? "ipv6," : "", windows_tcp_info_known() ? "tcp-info," : "",
             has_no_checksum() ? ",no-checksum" : "");
    out->capabilities = capabilities;
    windows_version(&major, &minor, &build);
    snprintf(out->os_release, sizeof out->os_release, "%u.%u.%u", major, minor, build);
    snprintf(out->architecture, sizeof out->architecture, "%s", architecture());
    windows_registry_text(L"SOFTWARE\\Microsoft\\Cryptography", L"MachineGuid", out->machine_id,
                          sizeof out->machine_id);
    out->pid = GetCurrentProcessId();
    DWORD cpus = GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);
    for (unsigned cpu = 0; cpu < cpus; cpu++)
        out->cpu_count += plat_cpu_usable(cpu);
    if (out->cpu_count == 0)
        out->cpu_count = 1;
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
    /* In two parts: the product of all ticks would overflow after half an hour. */
    return ticks / ticks_per_s * SECOND_NS + ticks % ticks_per_s * SECOND_NS / ticks_per_s;
}

bool plat_raw_now_ns(uint64_t *out)
{
    (void)out;
    return false;
}

static uint64_t hundred_ns(FILETIME time)
{
    return (uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime;
}

uint64_t plat_wall_ns(void)
{
    FILETIME now;
    GetSystemTimePreciseAsFileTime(&now);
    return (hundred_ns(now) - UINT64_C(116444736000000000)) * 100; /* since 1601 */
}

#ifndef CREATE_WAITABLE_TIMER_HIGH_RESOLUTION
#define CREATE_WAITABLE_TIMER_HIGH_RESOLUTION 0x00000002
#endif

static _Thread_local HANDLE sleep_timer;

/* From Windows 10 1803 on there are timers that do not wait for the system's tick. */
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

static unsigned __stdcall enter_thread(void *given)
{
    struct thread_start start = *(struct thread_start *)given;
    free(given);
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

/* In ticks of the scheduler, 15.6 ms as a rule. */
bool plat_thread_cpu_ns(plat_thread thread, uint64_t *out)
{
    FILETIME created, ended, in_kernel, in_user;
    if (!GetThreadTimes(thread, &created, &ended, &in_kernel, &in_user))
        return false;
    *out = (hundred_ns(in_kernel) + hundred_ns(in_user)) * 100;
    return true;
}

bool plat_own_cpu_ns(uint64_t *out)
{
    return plat_thread_cpu_ns(GetCurrentThread(), out);
}

int plat_pin(unsigned cpu)
{
    GROUP_AFFINITY place;
    memset(&place, 0, sizeof place);
    if (!place_of_cpu(cpu, &place.Group, &place.Mask))
        return ERROR_INVALID_PARAMETER;
    return SetThreadGroupAffinity(GetCurrentThread(), &place, NULL) ? 0 : (int)GetLastError();
}

_Static_assert(sizeof(SRWLOCK) == sizeof(plat_mutex), "plat.h: plat_mutex is an SRWLOCK");
_Static_assert(sizeof(CONDITION_VARIABLE) == sizeof(plat_cond), "plat.h: plat_cond");

void plat_mutex_init(plat_mutex *mutex)
{
    InitializeSRWLock((SRWLOCK *)mutex);
}

void plat_mutex_destroy(plat_mutex *mutex)
{
    (void)mutex; /* it owns nothing */
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
    (void)cond; /* it owns nothing */
}

/* Rounded up to milliseconds: down, the last one would be spent spinning. */
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

/* ---- CPU and counters ---- */

bool plat_process_cpu_ns(uint64_t *user, uint64_t *system)
{
    FILETIME created, ended, in_kernel, in_user;
    if (!GetProcessTimes(GetCurrentProcess(), &created, &ended, &in_kernel, &in_user))
        return false;
    *user = hundred_ns(in_user) * 100;
    *system = hundred_ns(in_kernel) * 100;
    return true;
}

/* SystemProcessorPerformanceInformation: one entry a CPU of the caller's processor group. */
struct processor_times {
    uint64_t idle, kernel /* with idle */, user, deferred, interrupt;
    uint32_t interrupts;
};

void plat_cpu_times(struct plat_cpu_times *out)
{
    struct processor_times times[64];
    PROCESSOR_NUMBER here;
    ULONG bytes = 0;
    void *found = native("NtQuerySystemInformation");
    query_system query;
    memcpy(&query, &found, sizeof query);
    out->count = 0;
    out->tells_steal = false;
    memset(times, 0, sizeof times);
    if (query == NULL || query(8, times, sizeof times, &bytes) != 0)
        return;
    GetCurrentProcessorNumberEx(&here);
    unsigned first = first_of_group(here.Group);
    for (unsigned i = 0; i < bytes / sizeof times[0]; i++) {
        out->core[i].cpu = first + i;
        out->core[i].busy = times[i].kernel - times[i].idle + times[i].user;
        out->core[i].steal = 0;
        out->core[i].total = times[i].kernel + times[i].user;
        out->count++;
    }
}

/* The counters of the machine have one for all errors of reception, and a full socket is not surely
 * among them: `facts` shows it under its own name. */
bool plat_udp_receive_buffer_errors(uint64_t *out)
{
    (void)out;
    return false;
}
