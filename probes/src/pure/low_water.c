/* Reviews the rate of a stream, and sets its low-water mark by that. */
#include "pure/low_water.h"

#include <string.h>

void low_water_init(struct low_water *low, uint64_t message_bytes, uint64_t receive_buffer_bytes)
{
    bool segments = message_bytes > LOW_WATER_SHORT && message_bytes < LOW_WATER_LONG;
    uint64_t most = segments ? 0 : receive_buffer_bytes / LOW_WATER_SHARE;
    memset(low, 0, sizeof *low);
    low->bytes = 1;
    low->most = most < LOW_WATER_MOST ? (uint32_t)most : LOW_WATER_MOST;
}

/* Whether two marks are so far apart that the call which sets one is worth it. */
static bool differ(uint32_t one, uint32_t other)
{
    return one > other ? one / 2 >= other : other / 2 >= one;
}

bool low_water_review(struct low_water *low, uint64_t now_ns, uint64_t bytes)
{
    uint64_t came = bytes - low->since_bytes, took_ns = now_ns - low->since_ns;
    bool first = low->since_ns == 0;
    low->since_ns = now_ns;
    low->since_bytes = bytes;
    if (first)
        return false;
    /* Both may be anything; a double is exact enough for a wait. */
    double due = (double)came * (double)LOW_WATER_WAKE_NS / (double)took_ns;
    uint32_t wanted = due < low->most ? (uint32_t)due : low->most;
    if (wanted < LOW_WATER_LEAST)
        wanted = 1;
    if (!differ(wanted, low->bytes))
        return false;
    low->bytes = wanted;
    if (wanted > low->highest)
        low->highest = wanted;
    return true;
}
