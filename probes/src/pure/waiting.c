/* Compares how many bytes a receiver received while it blocked and while it polled. */
#include "pure/waiting.h"

#include <string.h>

void waiting_keep(struct waiting *waiting, enum way way)
{
    memset(waiting, 0, sizeof *waiting);
    waiting->now = way;
    waiting->next_ns = WAITING_NEVER_NS;
}

static void begin_slice(struct waiting *waiting, uint64_t now_ns, uint64_t bytes)
{
    const uint64_t left_ns = waiting->until_ns - now_ns;
    waiting->since_ns = now_ns;
    waiting->since_bytes = bytes;
    waiting->next_ns = now_ns + (left_ns < WAITING_SLICE_NS ? left_ns : WAITING_SLICE_NS);
}

void waiting_try(struct waiting *waiting, uint64_t now_ns, uint64_t bytes, uint64_t until_ns)
{
    waiting_keep(waiting, WAY_BLOCKING);
    if (until_ns <= now_ns)
        return;
    waiting->until_ns = until_ns;
    begin_slice(waiting, now_ns, bytes);
}

static unsigned slice_count(const struct waiting *waiting, enum way way)
{
    return waiting->slices[way] < WAITING_SLICES ? waiting->slices[way] : WAITING_SLICES;
}

/* The median of the rates; with an even number of rates, the lower of the two middle ones. The
 * median is used so that one slice with an unusually high rate, such as a slice that began with a
 * full queue, does not decide. */
static double median(const struct waiting *waiting, enum way way)
{
    double sorted[WAITING_SLICES];
    const unsigned count = slice_count(waiting, way);
    for (unsigned i = 0; i < count; i++) {
        unsigned place = i;
        for (; place > 0 && sorted[place - 1] > waiting->rate[way][i]; place--)
            sorted[place] = sorted[place - 1];
        sorted[place] = waiting->rate[way][i];
    }
    return sorted[(count - 1) / 2];
}

static enum way better(const struct waiting *waiting)
{
    if (slice_count(waiting, WAY_BLOCKING) < WAITING_SLICES_LEAST ||
        slice_count(waiting, WAY_POLLING) < WAITING_SLICES_LEAST)
        return WAY_BLOCKING;
    const double blocked = median(waiting, WAY_BLOCKING), polled = median(waiting, WAY_POLLING);
    return polled > blocked * WAITING_GAIN ? WAY_POLLING : WAY_BLOCKING;
}

void waiting_review(struct waiting *waiting, uint64_t now_ns, uint64_t bytes)
{
    const enum way way = waiting->now;
    const uint64_t took_ns = now_ns - waiting->since_ns;
    if (took_ns >= WAITING_SLICE_NS / 2) {
        const double came = (double)(bytes - waiting->since_bytes);
        waiting->rate[way][waiting->slices[way]++ % WAITING_SLICES] = came / (double)took_ns;
    }
    if (now_ns >= waiting->until_ns) {
        waiting->now = better(waiting);
        waiting->next_ns = WAITING_NEVER_NS;
        return;
    }
    waiting->now = way == WAY_BLOCKING ? WAY_POLLING : WAY_BLOCKING;
    begin_slice(waiting, now_ns, bytes);
}
