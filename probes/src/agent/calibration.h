/* Measures the precision of this machine's clock and sleep calls. Sleeps are measured once, in a
 * separate thread. */
#ifndef CALIBRATION_H
#define CALIBRATION_H

#include <stdint.h>

/* Starts the measurement of sleeps; returns at once. */
void calibration_start(void);
/* Returns how much longer than requested a sleep takes at worst: the 99.9th percentile of up to 200
 * sleeps of 0.1 ms. Waits until the measurement has ended, about 50 ms after calibration_start at
 * the latest. */
uint64_t calibration_worst_sleep_ns(void);
/* Returns the median duration of a sleep of 0.1 ms. Waits in the same way. */
uint64_t calibration_usual_sleep_ns(void);
/* The smallest observed step of the monotonic clock. */
uint64_t calibration_clock_step_ns(void);
void calibration_end(void);

#endif
