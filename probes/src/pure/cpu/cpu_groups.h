/* Numbers CPUs of a system with groups of up to 64, such as Windows. CPU n is the n-th existing CPU,
 * all of the first group before those of the next; the mask of a group may have holes. */
#ifndef CPU_GROUPS_H
#define CPU_GROUPS_H

#include <stdbool.h>
#include <stdint.h>

#define CPU_GROUPS_MAX 64

struct cpu_groups {
    unsigned count;
    uint64_t masks[CPU_GROUPS_MAX]; /* bit k: the group has a CPU with number k */
};

unsigned cpu_groups_cpus(const struct cpu_groups *groups);
/* Number of CPUs in all groups before this one. */
unsigned cpu_groups_first(const struct cpu_groups *groups, unsigned group);
/* The group of a CPU and its bit in it. False: there is no such CPU. */
bool cpu_groups_place(const struct cpu_groups *groups, unsigned cpu, unsigned *group, unsigned *bit);
/* The number of the CPU with that group and bit. False: there is no such CPU. */
bool cpu_groups_number(const struct cpu_groups *groups, unsigned group, unsigned bit, unsigned *cpu);

#endif
