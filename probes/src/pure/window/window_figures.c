/* Computes the throughput and other figures of a closed window (the time that was measured). */
#include "pure/window/window.h"

uint64_t window_marks(const struct window *window)
{
    return window->opened && window->closed ? window->b.marks - window->a.marks + 1 : 0;
}

bool window_throughput_bit_per_s(const struct window *window, double *out)
{
    if (window_marks(window) < WINDOW_MARKS_MIN || window->b_ns <= window->a_ns)
        return false;
    *out = 8e9 * (double)(window->b.bytes - window->a.bytes) /
           (double)(window->b_ns - window->a_ns);
    return true;
}

bool window_coarse(uint64_t bytes, uint64_t largest_bytes, uint64_t queue_open_bytes,
                   uint64_t queue_close_bytes)
{
    uint64_t change = queue_open_bytes > queue_close_bytes ? queue_open_bytes - queue_close_bytes
                                                           : queue_close_bytes - queue_open_bytes;
    uint64_t uncertain = largest_bytes > UINT64_MAX - change ? UINT64_MAX : largest_bytes + change;
    return uncertain > bytes / 1000 || uncertain * 1000 > bytes;
}
