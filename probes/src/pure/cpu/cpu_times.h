/* Computes how busy CPUs were between two readings of their counters. Every share is within 0 to 1: a
 * CPU whose counters went backwards, or that appeared or vanished meanwhile, is ignored. */
#ifndef CPU_TIMES_H
#define CPU_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Times of one CPU, in any unit. */
struct cpu_time {
    unsigned cpu;
    uint64_t busy, steal, total;
};

struct cpu_shares {
    unsigned count; /* CPUs that both readings have, and whose time passed */
    double busy, steal, busiest;
    unsigned busiest_cpu;
};

/* Both readings ascend by CPU. False: no time passed on any CPU that both readings have. */
bool cpu_shares_between(const struct cpu_time *before, size_t before_count,
                        const struct cpu_time *after, size_t after_count, struct cpu_shares *out);

#endif
