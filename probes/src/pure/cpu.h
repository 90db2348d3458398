/* Numbers the CPUs of a system that has them in groups, and computes how busy CPUs were. */
#ifndef CPU_H
#define CPU_H

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

#define CPU_GROUPS_MAX 64

struct cpu_groups {
    unsigned count;
    uint64_t masks[CPU_GROUPS_MAX]; /* bit k: the group has a CPU with number k */
};

/* Number of CPUs in all groups before this one. */
unsigned cpu_groups_first(const struct cpu_groups *groups, unsigned group);
/* Finds the group of a CPU, and the CPU's bit in the mask of the group. False: there is no such
 * CPU. */
bool cpu_groups_place(const struct cpu_groups *groups, unsigned cpu, unsigned *group, unsigned *bit);
/* Finds the number of the CPU with this group and bit. False: there is no such CPU. */
bool cpu_groups_number(const struct cpu_groups *groups, unsigned group, unsigned bit, unsigned *cpu);

#endif
