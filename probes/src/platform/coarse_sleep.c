/* Makes sleeps end at the ticks of a coarse timer, for netlab's own automated tests. */
#include "platform/coarse_sleep.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "platform/plat.h"

#define UNREAD UINT64_MAX
#define LONGEST_TICK_NS UINT64_C(1000000000)

/* The environment does not change, so all threads that read it write the same value. */
static uint64_t tick_ns(void)
{
    static _Atomic uint64_t tick = UNREAD;
    uint64_t value = atomic_load_explicit(&tick, memory_order_relaxed);
    if (value != UNREAD)
        return value;
    const char *text = getenv("NETPROBE_TEST_SLEEP_NS");
    value = text != NULL && text[0] >= '0' && text[0] <= '9' ? strtoull(text, NULL, 10) : 0;
    value = value > LONGEST_TICK_NS ? LONGEST_TICK_NS : value;
    atomic_store_explicit(&tick, value, memory_order_relaxed);
    return value;
}

uint64_t plat_coarse_sleep_ns(uint64_t nanoseconds)
{
    uint64_t tick = tick_ns();
    if (tick == 0)
        return nanoseconds;
    uint64_t now = plat_now_ns(), until = now + nanoseconds;
    return (until + tick - 1) / tick * tick - now;
}
