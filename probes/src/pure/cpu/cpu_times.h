/* Computes how busy CPUs were between two readings of their counters. Every share is from 0 to 1. A
 * CPU is ignored if its counters went backwards, or if it appeared or vanished between the
 * readings. */
#ifndef CPU_TIMES_H
#define CPU_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times of one CPU, in any unit. `steal` is the time in which the hypervisor did not let it run. */
struct cpu_time {
    unsigned cpu;
    uint64_t busy, steal, total;
};

struct cpu_shares {
    unsigned count; /* CPUs that are in both readings and whose `total` has grown */
    double busy, steal, busiest;
    unsigned busiest_cpu;
};

/* Both readings are in ascending order of `cpu`. False: there is no CPU that is in both readings
 * and whose `total` has grown. */
bool cpu_shares_between(const struct cpu_time *before, size_t before_count,
                        const struct cpu_time *after, size_t after_count, struct cpu_shares *out);

#endif
