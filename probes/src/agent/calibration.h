/* Tells what this machine's clock and sleep are worth. The sleep is measured once, in a thread of
 * its own. */
#ifndef CALIBRATION_H
#define CALIBRATION_H

#include <stdint.h>

/* Begins to measure the worst sleep; returns at once. */
void calibration_start(void);
/* 99.9th percentile of what 200 sleeps of 0.1 ms took too long. Waits for the measurement's end:
 * 50 ms after calibration_start at the latest. */
uint64_t calibration_worst_sleep_ns(void);
/* How long a sleep of 0.1 ms usually takes: the median. */
uint64_t calibration_usual_sleep_ns(void);
/* The smallest step of the monotonic clock that was seen. */
uint64_t calibration_clock_step_ns(void);
void calibration_end(void);

#endif
