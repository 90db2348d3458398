/* Lets a test make sleeps as coarse as those of a system whose timer ticks slowly.
 * NETPROBE_TEST_SLEEP_NS=15625000 makes each sleep end at a tick of 15.625 ms. */
#ifndef PLAT_COARSE_SLEEP_H
#define PLAT_COARSE_SLEEP_H

#include <stdint.h>

/* Duration to sleep if `nanoseconds` are requested; the same value unless a test changes it. */
uint64_t plat_coarse_sleep_ns(uint64_t nanoseconds);

#endif
