/* Keeps TCP's own numbers of a connection over time, in memory of a fixed size. A point is due every
 * 10 ms; where the points are full every other one goes, and a point is due half as often from then
 * on. So a window of any length has 256 points and more once it has had as many, all over it. */
#ifndef TCP_SERIES_H
#define TCP_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#define TCP_SERIES_MAX 512                       /* points: 5.12 s of the shortest step */
#define TCP_SERIES_STEP_NS UINT64_C(10000000)
#define TCP_SERIES_NEVER_NS UINT64_MAX

enum tcp_series_fact {
    TCP_SERIES_CWND_BYTES,
    TCP_SERIES_RTT_US,
    TCP_SERIES_PACING_BIT_PER_S,
    TCP_SERIES_RETRANSMISSIONS, /* segments; this and the next: since the first point */
    TCP_SERIES_DELIVERED_BYTES,
    TCP_SERIES_FACTS
};

struct tcp_point {
    uint64_t value[TCP_SERIES_FACTS];
    unsigned present; /* bit k: value[k] was told */
};

/* All zero: none was begun, and none is due. */
struct tcp_series {
    uint64_t from_ns; /* the window's beginning; 0: not begun */
    uint64_t step_ns, due_ns;
    unsigned points;
    unsigned present; /* what every point so far has */
    struct tcp_point first; /* as the system told it */
    uint64_t time_us[TCP_SERIES_MAX];
    uint64_t value[TCP_SERIES_FACTS][TCP_SERIES_MAX];
};

/* The first point is due at from_ns, which is above 0. */
void tcp_series_begin(struct tcp_series *series, uint64_t from_ns);
/* When the next point is due; TCP_SERIES_NEVER_NS: none is, for the system tells nothing. */
uint64_t tcp_series_due_ns(const struct tcp_series *series);
/* A point of now_ns, which is from_ns or later and no earlier than the last. One that is not due is
 * none, and so are all from the first point on that tells nothing. */
void tcp_series_add(struct tcp_series *series, uint64_t now_ns, const struct tcp_point *point);

#endif
