/* Keeps TCP's values of a connection (congestion window, …) over time, in a fixed memory. A point
 * is due every 10 ms. When the memory is full, every second point is dropped, and points are due
 * half as often. So the points are evenly spread over a window (the time that is measured) of any
 * length; once a series has 256 points, it never has fewer. */
#ifndef TCP_SERIES_H
#define TCP_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#define TCP_SERIES_MAX 512 /* points; with the shortest step they cover 5.12 s */
#define TCP_SERIES_STEP_NS UINT64_C(10000000)
#define TCP_SERIES_NEVER_NS UINT64_MAX

enum tcp_series_fact {
    TCP_SERIES_CWND_BYTES,
    TCP_SERIES_RTT_US,
    TCP_SERIES_PACING_BIT_PER_S,
    TCP_SERIES_RETRANSMISSIONS, /* segments; this and the next value count from the first point */
    TCP_SERIES_DELIVERED_BYTES,
    TCP_SERIES_FACTS
};

struct tcp_point {
    uint64_t value[TCP_SERIES_FACTS];
    unsigned present; /* bit k: the system reported value[k] */
};

/* A series that is all zero has not begun: no point is due. */
struct tcp_series {
    uint64_t from_ns; /* start of the window; 0: the series has not begun */
    uint64_t step_ns, due_ns;
    unsigned points;
    unsigned present; /* bit k: every point so far has value[k] */
    struct tcp_point first; /* as the system reported it */
    uint64_t time_us[TCP_SERIES_MAX];
    uint64_t value[TCP_SERIES_FACTS][TCP_SERIES_MAX];
};

/* The first point is due at from_ns, which is above 0. */
void tcp_series_begin(struct tcp_series *series, uint64_t from_ns);
/* When the next point is due. TCP_SERIES_NEVER_NS: no point is due, because the series has not
 * begun or because the system reports none of the values. */
uint64_t tcp_series_due_ns(const struct tcp_series *series);
/* Adds a point at now_ns, which is not before from_ns or the last point. A point that is not due is
 * ignored. If no value is present in all points so far, the series becomes empty and ignores all
 * further points. */
void tcp_series_add(struct tcp_series *series, uint64_t now_ns, const struct tcp_point *point);

#endif
