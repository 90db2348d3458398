/* Converts between numbers of CPUs and their groups, by counting the bits of masks. */
#include "pure/cpu/cpu_groups.h"

static unsigned bits_in(uint64_t mask)
{
    unsigned count = 0;
    for (; mask != 0; mask &= mask - 1)
        count++;
    return count;
}

unsigned cpu_groups_first(const struct cpu_groups *groups, unsigned group)
{
    unsigned first = 0;
    for (unsigned i = 0; i < group && i < groups->count; i++)
        first += bits_in(groups->masks[i]);
    return first;
}

unsigned cpu_groups_cpus(const struct cpu_groups *groups)
{
    return cpu_groups_first(groups, groups->count);
}

bool cpu_groups_place(const struct cpu_groups *groups, unsigned cpu, unsigned *group, unsigned *bit)
{
    for (*group = 0; *group < groups->count; (*group)++) {
        const uint64_t mask = groups->masks[*group];
        const unsigned count = bits_in(mask);
        if (cpu >= count) {
            cpu -= count;
            continue;
        }
        for (*bit = 0; *bit < 64; (*bit)++)
            if ((mask >> *bit & 1) != 0 && cpu-- == 0)
                return true;
    }
    return false;
}

bool cpu_groups_number(const struct cpu_groups *groups, unsigned group, unsigned bit, unsigned *cpu)
{
    if (group >= groups->count || bit >= 64 || (groups->masks[group] >> bit & 1) == 0)
        return false;
    *cpu = cpu_groups_first(groups, group) +
           bits_in(groups->masks[group] & ((UINT64_C(1) << bit) - 1));
    return true;
}
