/* Numbers the CPUs of a system that has them in groups of up to 64, such as Windows. The numbers
 * begin with 0: first come all CPUs of the first group, then those of the next group. The mask of a
 * group may have holes; holes get no number. */
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
/* Finds the group of a CPU, and the CPU's bit in the mask of the group. False: there is no such
 * CPU. */
bool cpu_groups_place(const struct cpu_groups *groups, unsigned cpu, unsigned *group, unsigned *bit);
/* Finds the number of the CPU with this group and bit. False: there is no such CPU. */
bool cpu_groups_number(const struct cpu_groups *groups, unsigned group, unsigned bit, unsigned *cpu);

#endif
