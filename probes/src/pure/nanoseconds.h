/* Seconds and milliseconds in nanoseconds, the unit of every time here. */
#ifndef NANOSECONDS_H
#define NANOSECONDS_H

#include <stdint.h>

#define SECOND_NS UINT64_C(1000000000)
#define MILLISECOND_NS UINT64_C(1000000)

#endif
