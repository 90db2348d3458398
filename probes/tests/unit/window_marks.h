/* Provides a window to be tested, and makes its marks. */
#ifndef WINDOW_MARKS_H
#define WINDOW_MARKS_H

#include "harness.h"
#include "pure/window.h"

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static struct window window;
static struct window_stream stream[WINDOW_STREAMS_MAX];

static inline void begin(const struct window_plan *plan)
{
    struct window_stream *streams[WINDOW_STREAMS_MAX];
    for (unsigned i = 0; i < WINDOW_STREAMS_MAX; i++) {
        memset(&stream[i], 0, sizeof stream[i]);
        streams[i] = &stream[i];
    }
    window_init(&window, plan, streams);
}

static inline unsigned mark(unsigned number, uint64_t t_ns, uint64_t bytes)
{
    if (window_mark(&window, &stream[number], t_ns, bytes, 1))
        return window_cross(&window, &stream[number], t_ns, bytes, 1);
    return WINDOW_NOTHING;
}

static const struct window_plan one_second = {
    .streams = 1, .duration_ns = SECOND, .interval_ns = 100 * MS};

static inline uint64_t series_sum(void)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < window.intervals; i++)
        sum += window.interval_bytes[i];
    return sum;
}

#endif
