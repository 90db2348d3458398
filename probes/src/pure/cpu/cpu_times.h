/* Computes how busy CPUs were between two readings of what each has done so far. No share leaves 0 to
 * 1: of a CPU whose counts went back, or that came or went meanwhile, nothing is taken. */
#ifndef CPU_TIMES_H
#define CPU_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What one CPU has done, in any one unit. */
struct cpu_time {
    unsigned cpu;
    uint64_t busy, steal, total;
};

struct cpu_shares {
    unsigned count; /* CPUs that both readings have, and whose time passed */
    double busy, steal, busiest;
    unsigned busiest_cpu;
};

/* Both readings ascend by their CPU. False: no time passed, or on no CPU of both. */
bool cpu_shares_between(const struct cpu_time *before, size_t before_count,
                        const struct cpu_time *after, size_t after_count, struct cpu_shares *out);

#endif
