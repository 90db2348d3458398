/* Compares two readings of CPU times, CPU by CPU. */
#include "pure/cpu/cpu_times.h"

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
