/* Clocks, sleeps, threads and condition variables on Windows. */
#include "platform/windows/windows.h"

#include <process.h>
#include <stdlib.h>

#include "platform/coarse_sleep.h"

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
