/* Laid before the C library of a probe: its wall clock, or with SET_BOOTTIME also the clock that
 * counts while a host is suspended, is set as soon as a file is there. With SET_RAW_PPM the clock
 * that time synchronisation leaves alone runs slower by so many millionths: seen from it, time
 * synchronisation lets the monotonic clock run faster. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static void slow_down(struct timespec *now, long ppm)
{
    long long ns = now->tv_sec * 1000000000LL + now->tv_nsec;
    ns -= ns / 1000000 * ppm;
    now->tv_sec = (time_t)(ns / 1000000000);
    now->tv_nsec = (long)(ns % 1000000000);
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    const char *file = getenv("SET_CLOCK_FILE"), *seconds = getenv("SET_CLOCK_SECONDS");
    const char *ppm = getenv("SET_RAW_PPM");
    const int is_meant =
        clock == CLOCK_REALTIME || (clock == CLOCK_BOOTTIME && getenv("SET_BOOTTIME") != NULL);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (is_meant && file != NULL && seconds != NULL && access(file, F_OK) == 0)
        now->tv_sec += atol(seconds);
    if (clock == CLOCK_MONOTONIC_RAW && ppm != NULL)
        slow_down(now, atol(ppm));
    return result;
}
