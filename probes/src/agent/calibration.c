/* Measures how much longer than requested sleeps take, and the smallest step of the clock. */
#include "agent/calibration.h"

#include <stdbool.h>
#include <stdlib.h>

#include "platform/plat.h"

#define SLEEPS 200
#define SLEEP_NS UINT64_C(100000)
#define BUDGET_NS UINT64_C(50000000)
#define ASSUMED_NS UINT64_C(16000000) /* the coarsest known timer; used if nothing was measured */

static plat_mutex joining; /* several tests may need the result at once */
static plat_thread thread;
static bool running;
static uint64_t worst_sleep_ns = ASSUMED_NS, usual_sleep_ns = SLEEP_NS;

static int ascending(const void *first, const void *second)
{
    uint64_t a = *(const uint64_t *)first, b = *(const uint64_t *)second;
    return (a > b) - (a < b);
}

/* If sleeps are coarse, fewer than SLEEPS of them fit into BUDGET_NS. Of so few sleeps, the 99.9th
 * percentile is the longest one. */
static void measure(void *argument)
{
    uint64_t over[SLEEPS], until = plat_now_ns() + BUDGET_NS;
    unsigned count = 0;
    (void)argument;
    while (count < SLEEPS && plat_now_ns() < until) {
        uint64_t before = plat_now_ns();
        plat_sleep_ns(SLEEP_NS);
        uint64_t took = plat_now_ns() - before;
        over[count++] = took > SLEEP_NS ? took - SLEEP_NS : 0;
    }
    if (count == 0)
        return; /* this thread did not run within the budget: the assumed value stays */
    qsort(over, count, sizeof over[0], ascending);
    worst_sleep_ns = over[(count * 999 + 999) / 1000 - 1];
    usual_sleep_ns = SLEEP_NS + over[(count - 1) / 2];
}

void calibration_start(void)
{
    plat_mutex_init(&joining);
    running = plat_thread_start(&thread, measure, NULL) == 0;
}

void calibration_end(void)
{
    plat_mutex_lock(&joining);
    if (running)
        plat_thread_join(thread);
    running = false;
    plat_mutex_unlock(&joining);
}

uint64_t calibration_worst_sleep_ns(void)
{
    calibration_end();
    return worst_sleep_ns;
}

uint64_t calibration_usual_sleep_ns(void)
{
    calibration_end();
    return usual_sleep_ns;
}

uint64_t calibration_clock_step_ns(void)
{
    uint64_t smallest = UINT64_MAX;
    for (int i = 0; i < 1000; i++) {
        uint64_t before = plat_now_ns(), after;
        do
            after = plat_now_ns();
        while (after == before);
        if (after - before < smallest)
            smallest = after - before;
    }
    return smallest;
}
