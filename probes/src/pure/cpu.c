/* Compares two readings of CPU times, and converts between numbers of CPUs and their groups. */
#include "pure/cpu.h"

#include <string.h>

struct sums {
    uint64_t busy, steal, total;
};

static void add_cpu(const struct cpu_time *before, const struct cpu_time *after, struct sums *sums,
                    struct cpu_shares *out)
{
    if (after->busy < before->busy || after->total <= before->total)
        return;
    const uint64_t total = after->total - before->total;
    uint64_t busy = after->busy - before->busy;
    if (busy > total) /* the two counters were not read at one moment */
        busy = total;
    const double share = (double)busy / (double)total;
    if (out->count == 0 || share > out->busiest) {
        out->busiest = share;
        out->busiest_cpu = after->cpu;
    }
    out->count++;
    sums->busy += busy;
    sums->total += total;
    if (after->steal > before->steal) /* on some hypervisors, steal can go backwards */
        sums->steal += after->steal - before->steal;
}

bool cpu_shares_between(const struct cpu_time *before, size_t before_count,
                        const struct cpu_time *after, size_t after_count, struct cpu_shares *out)
{
    struct sums sums = {0, 0, 0};
    size_t i = 0, j = 0;
    memset(out, 0, sizeof *out);
    while (i < before_count && j < after_count) {
        if (before[i].cpu == after[j].cpu)
            add_cpu(&before[i++], &after[j++], &sums, out);
        else if (before[i].cpu < after[j].cpu)
            i++;
        else
            j++;
    }
    if (out->count == 0)
        return false;
    out->busy = (double)sums.busy / (double)sums.total;
    out->steal = (double)(sums.steal < sums.total ? sums.steal : sums.total) / (double)sums.total;
    return true;
}

/* ---- groups of CPUs ---- */

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
