/* A second and a millisecond in nanoseconds, the unit of times whose names end with _ns. */
#ifndef NANOSECONDS_H
#define NANOSECONDS_H

#include <stdint.h>

#define SECOND_NS UINT64_C(1000000000)
#define MILLISECOND_NS UINT64_C(1000000)

#endif
