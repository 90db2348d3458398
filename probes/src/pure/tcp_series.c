/* Adds points to a series of TCP's values, and drops every second point if it is full. */
#include "pure/tcp_series.h"

#include <string.h>

#define ALL_FACTS ((1u << TCP_SERIES_FACTS) - 1)

void tcp_series_begin(struct tcp_series *series, uint64_t from_ns)
{
    memset(series, 0, sizeof *series);
    series->from_ns = series->due_ns = from_ns;
    series->step_ns = TCP_SERIES_STEP_NS;
    series->present = ALL_FACTS;
}

uint64_t tcp_series_due_ns(const struct tcp_series *series)
{
    return series->from_ns == 0 || series->present == 0 ? TCP_SERIES_NEVER_NS : series->due_ns;
}

static void halve(struct tcp_series *series)
{
    const unsigned half = TCP_SERIES_MAX / 2;
    for (unsigned i = 0; i < half; i++) {
        series->time_us[i] = series->time_us[2 * i];
        for (unsigned fact = 0; fact < TCP_SERIES_FACTS; fact++)
            series->value[fact][i] = series->value[fact][2 * i];
    }
    series->points = half;
    series->step_ns *= 2;
}

/* The value to store: of a counter, the growth since the first point (0 if the system's counter has
 * gone backwards); of all other facts, `value` itself. */
static uint64_t since_first(const struct tcp_series *series, unsigned fact, uint64_t value)
{
    const uint64_t first = series->first.value[fact];
    if (fact != TCP_SERIES_RETRANSMISSIONS && fact != TCP_SERIES_DELIVERED_BYTES)
        return value;
    return value > first ? value - first : 0;
}

void tcp_series_add(struct tcp_series *series, uint64_t now_ns, const struct tcp_point *point)
{
    if (now_ns < tcp_series_due_ns(series))
        return;
    series->present &= point->present;
    if (series->present == 0) {
        series->points = 0;
        return;
    }
    if (series->points == TCP_SERIES_MAX)
        halve(series);
    if (series->points == 0)
        series->first = *point;
    const unsigned place = series->points++;
    series->time_us[place] = (now_ns - series->from_ns) / 1000;
    for (unsigned fact = 0; fact < TCP_SERIES_FACTS; fact++)
        series->value[fact][place] = since_first(series, fact, point->value[fact]);
    /* The next time on the grid: a late point does not shift the following ones. */
    series->due_ns += ((now_ns - series->due_ns) / series->step_ns + 1) * series->step_ns;
}
