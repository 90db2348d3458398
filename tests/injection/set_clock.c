/* Laid before the C library of a probe: its wall clock, or with SET_BOOTTIME also the clock that
 * counts while a host is suspended, is set as soon as a file is there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static int (*real)(clockid_t, struct timespec *);
    const char *file = getenv("SET_CLOCK_FILE"), *seconds = getenv("SET_CLOCK_SECONDS");
    const int is_meant =
        clock == CLOCK_REALTIME || (clock == CLOCK_BOOTTIME && getenv("SET_BOOTTIME") != NULL);
    if (real == NULL)
        *(void **)&real = dlsym(RTLD_NEXT, "clock_gettime");
    int result = real(clock, now);
    if (is_meant && file != NULL && seconds != NULL && access(file, F_OK) == 0)
        now->tv_sec += atol(seconds);
    return result;
}
