/* Handles marks at the edges of the receiver's window (the time that is measured). An edge is its
 * beginning, its end, or the end of an interval. window.h explains marks, a and b. */
#include "pure/window.h"

#include <string.h>

static uint64_t read_relaxed(const _Atomic uint64_t *value)
{
    return atomic_load_explicit(value, memory_order_relaxed);
}

static uint64_t later_by(uint64_t time_ns, uint64_t by_ns)
{
    return time_ns > WINDOW_NEVER_NS - 1 - by_ns ? WINDOW_NEVER_NS - 1 : time_ns + by_ns;
}

static void set_edge(struct window *window, uint64_t edge_ns)
{
    atomic_store_explicit(&window->edge_ns, edge_ns, memory_order_relaxed);
}

void window_init(struct window *window, const struct window_plan *plan,
                 struct window_stream *const *streams)
{
    memset(window, 0, sizeof *window);
    window->plan = *plan;
    for (unsigned i = 0; i < plan->streams; i++)
        window->stream[i] = streams[i];
    window->w0_ns = window->w1_ns = WINDOW_NEVER_NS;
    window->interval_ns = plan->interval_ns > 0 ? plan->interval_ns : 1;
    if (!plan->by_count && plan->open_ns > 0) {
        window->w0_ns = plan->open_ns;
        window->w1_ns =
            plan->close_ns > 0 ? plan->close_ns : later_by(plan->open_ns, plan->duration_ns);
    }
    if (!plan->by_count) {
        uint64_t length_ns = window->w0_ns == WINDOW_NEVER_NS ? plan->duration_ns
                             : window->w1_ns > window->w0_ns  ? window->w1_ns - window->w0_ns
                                                              : 0;
        uint64_t least_ns = length_ns / WINDOW_INTERVALS_MAX +
                            (length_ns % WINDOW_INTERVALS_MAX > 0);
        if (window->interval_ns < least_ns)
            window->interval_ns = least_ns;
    }
    set_edge(window, window->w0_ns);
}

/* Sums the counters of all streams. The bytes are read before the time, in the reverse order of
 * window_mark. The bytes of each stream are also written to `per_stream`, unless it is NULL. */
static struct window_sum sum_until(const struct window *window, uint64_t *last_ns,
                                   uint64_t *per_stream)
{
    struct window_sum sum = {0, 0, 0};
    *last_ns = 0;
    for (unsigned i = 0; i < window->plan.streams; i++) {
        const struct window_stream *stream = window->stream[i];
        const uint64_t bytes = atomic_load_explicit(&stream->bytes, memory_order_acquire);
        sum.bytes += bytes;
        if (per_stream != NULL)
            per_stream[i] = bytes;
        sum.messages += read_relaxed(&stream->messages);
        sum.marks += read_relaxed(&stream->marks);
        uint64_t last = read_relaxed(&stream->last_ns);
        if (last > *last_ns)
            *last_ns = last;
    }
    return sum;
}

struct window_sum window_total(const struct window *window)
{
    uint64_t last_ns;
    return sum_until(window, &last_ns, NULL);
}

/* ---- the series ---- */

/* Doubles the length of intervals and halves their number. */
static void lengthen(struct window *window)
{
    unsigned pairs = window->intervals / 2;
    for (unsigned i = 0; i < pairs; i++)
        window->interval_bytes[i] =
            window->interval_bytes[2 * i] + window->interval_bytes[2 * i + 1];
    window->intervals = pairs;
    window->interval_ns *= 2;
}

/* The end of the current interval. */
static uint64_t interval_end_ns(const struct window *window)
{
    if (window->interval_ns > (WINDOW_NEVER_NS - 1) / (window->intervals + 1))
        return WINDOW_NEVER_NS - 1;
    return later_by(window->a_ns, (window->intervals + 1) * window->interval_ns);
}

/* Ends the intervals that end at or before t_ns. Until then, `bytes` bytes had been received. */
static void fill_intervals(struct window *window, uint64_t t_ns, uint64_t bytes)
{
    while (interval_end_ns(window) <= t_ns && interval_end_ns(window) < WINDOW_NEVER_NS - 1) {
        if (window->intervals == WINDOW_INTERVALS_MAX) {
            lengthen(window);
            continue;
        }
        window->interval_bytes[window->intervals++] = bytes - window->interval_base_bytes;
        window->interval_base_bytes = bytes;
    }
}

/* Handles the time from the end of the last interval to mark b (the end of the window): if it is at
 * least half an interval long, it becomes an interval, otherwise a part of the last one. */
static void end_intervals(struct window *window)
{
    uint64_t rest_bytes = window->b.bytes - window->interval_base_bytes;
    for (;;) {
        uint64_t rest_ns = window->b_ns - window->a_ns - window->intervals * window->interval_ns;
        if (window->intervals > 0 && rest_ns < window->interval_ns / 2) {
            window->interval_bytes[window->intervals - 1] += rest_bytes;
            return;
        }
        if (window->intervals < WINDOW_INTERVALS_MAX) {
            window->interval_bytes[window->intervals++] = rest_bytes;
            return;
        }
        lengthen(window);
    }
}

/* ---- the edges ---- */

static void open_at(struct window *window, uint64_t t_ns, struct window_sum sum)
{
    window->opened = true;
    window->a_ns = t_ns;
    window->a = sum;
    window->interval_base_bytes = sum.bytes;
    /* The same mark may also close the window, so these are the bytes at b as well. */
    memcpy(window->closed_bytes, window->opened_bytes,
           window->plan.streams * sizeof window->closed_bytes[0]);
}

static void raise(uint64_t *most, uint64_t value)
{
    if (value > *most)
        *most = value;
}

/* Time from from_ns, but at the earliest from mark a (the start of the window), to to_ns. */
static uint64_t gap_ns(const struct window *window, uint64_t from_ns, uint64_t to_ns)
{
    if (from_ns < window->a_ns)
        from_ns = window->a_ns;
    return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* Finds the longest gap and the largest receive call of all streams. The silence from a stream's
 * last mark to b is a gap, too. */
static void gather_extremes(struct window *window)
{
    for (unsigned i = 0; i < window->plan.streams; i++) {
        const struct window_stream *stream = window->stream[i];
        raise(&window->longest_gap_ns, gap_ns(window, read_relaxed(&stream->last_ns), window->b_ns));
        if (!atomic_load_explicit(&stream->within, memory_order_relaxed))
            continue;
        raise(&window->longest_gap_ns, read_relaxed(&stream->longest_gap_ns));
        raise(&window->largest_bytes, read_relaxed(&stream->largest_bytes));
    }
}

/* Updates a stream's longest gap and largest receive call. The first call in the window drops the
 * values from before the window. */
static void note_extremes(const struct window *window, struct window_stream *stream, uint64_t t_ns,
                          uint64_t bytes)
{
    bool within = atomic_load_explicit(&stream->within, memory_order_relaxed);
    uint64_t longest_ns = within ? read_relaxed(&stream->longest_gap_ns) : 0;
    uint64_t largest = within ? read_relaxed(&stream->largest_bytes) : 0;
    raise(&longest_ns, gap_ns(window, stream->gap_from_ns, t_ns));
    if (t_ns > window->a_ns) /* the bytes of mark a are not counted */
        raise(&largest, bytes);
    atomic_store_explicit(&stream->longest_gap_ns, longest_ns, memory_order_relaxed);
    atomic_store_explicit(&stream->largest_bytes, largest, memory_order_relaxed);
    atomic_store_explicit(&stream->within, true, memory_order_relaxed);
}

/* ---- gaps: times without a mark of any stream ---- */

uint64_t window_origin_ns(const struct window *window)
{
    return !window->plan.by_count ? window->w0_ns
           : window->opened       ? window->a_ns
                                  : WINDOW_NEVER_NS;
}

/* Time of a stream's last mark before t_ns; 0: there is no such mark. If this mark is less than
 * GAP_LEAST_NS before t_ns, the result may be t_ns, because no gap fits in between. */
static uint64_t mark_before_ns(const struct window_stream *stream, uint64_t t_ns)
{
    uint64_t last_ns = atomic_load_explicit(&stream->last_ns, memory_order_acquire);
    if (last_ns < t_ns)
        return last_ns;
    uint64_t from_ns = read_relaxed(&stream->silent_from_ns);
    return from_ns < t_ns && read_relaxed(&stream->silent_until_ns) >= t_ns ? from_ns : t_ns;
}

/* Adds a gap if no stream had a mark for a long time before t_ns. Called at a mark of `stream`; the
 * stream's previous mark is gap_from_ns. Other streams may have made marks in between. */
static void note_gap(struct window *window, const struct window_stream *stream, uint64_t t_ns)
{
    const uint64_t origin_ns = window_origin_ns(window);
    uint64_t from_ns = stream->gap_from_ns;
    if (origin_ns >= t_ns || t_ns < from_ns + GAP_LEAST_NS) /* other streams only shorten a gap */
        return;
    for (unsigned i = 0; i < window->plan.streams; i++)
        if (window->stream[i] != stream)
            raise(&from_ns, mark_before_ns(window->stream[i], t_ns));
    raise(&from_ns, origin_ns);
    raise(&from_ns, window->gaps_until_ns);
    if (t_ns < from_ns + GAP_LEAST_NS)
        return;
    gaps_add(&window->gaps, from_ns, t_ns, stream->queue_full);
    window->gaps_until_ns = t_ns;
}

/* Adds the silence that closes the window to the gaps, up to WINDOW_TAIL_NS after w1. A later
 * silence is normal, because the sender has ended. */
static void note_closing_gap(struct window *window, uint64_t last_ns, uint64_t now_ns)
{
    const uint64_t tail_ns = later_by(window->w1_ns, WINDOW_TAIL_NS);
    raise(&last_ns, window->w0_ns);
    raise(&last_ns, window->gaps_until_ns);
    uint64_t until_ns = now_ns < tail_ns ? now_ns : tail_ns;
    gaps_add(&window->gaps, last_ns, until_ns, false);
    window->gaps_until_ns = until_ns;
}

static void judge_gaps(struct window *window)
{
    const uint64_t origin_ns = window_origin_ns(window);
    uint64_t until_ns = window->b_ns;
    raise(&until_ns, window->gaps_until_ns);
    gaps_judge(&window->gaps, until_ns - origin_ns, window_marks(window));
}

static void close_at(struct window *window, uint64_t t_ns, struct window_sum sum, uint64_t before)
{
    window->closed = true;
    window->b_ns = t_ns;
    window->b = sum;
    set_edge(window, WINDOW_NEVER_NS);
    if (!window->opened)
        return;
    fill_intervals(window, t_ns, before);
    end_intervals(window);
    gather_extremes(window);
    judge_gaps(window);
}

static void next_edge(struct window *window)
{
    uint64_t edge_ns = interval_end_ns(window);
    set_edge(window, edge_ns < window->w1_ns ? edge_ns : window->w1_ns);
}

/* Time after w1 in which a mark still counts. If there would be too few marks for a throughput even
 * with one more mark, it is WINDOW_SILENCE_NS, the shortest such time. */
static uint64_t silence_ns(const struct window *window, uint64_t marks)
{
    uint64_t inside = window->opened ? marks - window->a.marks + 1 : 0;
    if (inside + 1 < WINDOW_MARKS_MIN)
        return WINDOW_SILENCE_NS;
    uint64_t mean_ns = (window->w1_ns - window->a_ns) / (inside - 1);
    return mean_ns > WINDOW_SILENCE_NS / WINDOW_SILENCE_GAPS ? mean_ns * WINDOW_SILENCE_GAPS
                                                            : WINDOW_SILENCE_NS;
}

static void close_by_silence(struct window *window, struct window_sum sum)
{
    window->closed_by_silence = true;
    close_at(window, window->w1_ns, sum, sum.bytes);
}

/* ---- marks ---- */

/* Handles a stream's first mark. When all streams have begun, sets the times of the window. */
static void begin_stream(struct window *window, struct window_stream *stream, uint64_t t_ns)
{
    stream->has_begun = true;
    window->begun_streams++;
    if (window->plan.by_count || window->plan.open_ns > 0 ||
        window->begun_streams < window->plan.streams)
        return;
    window->w0_ns = later_by(t_ns, window->plan.warm_up_ns);
    window->w1_ns = later_by(window->w0_ns, window->plan.duration_ns);
    set_edge(window, window->w0_ns);
}

/* Subtracts the bytes of a mark that is too late for the window from the stream's bytes at b. */
static void take_back(struct window *window, const struct window_stream *stream, uint64_t bytes)
{
    for (unsigned i = 0; i < window->plan.streams; i++)
        if (window->stream[i] == stream)
            window->closed_bytes[i] -= bytes;
}

/* Handles a mark of the open window at or after an edge, which is the end of an interval or of the
 * window. */
static unsigned pass_edge(struct window *window, struct window_stream *stream, uint64_t t_ns,
                          uint64_t bytes, struct window_sum sum, struct window_sum before)
{
    if (t_ns < window->w1_ns) {
        note_extremes(window, stream, t_ns, bytes);
        fill_intervals(window, t_ns, before.bytes);
        next_edge(window);
        return WINDOW_NOTHING;
    }
    if (window->w1_ns > window->a_ns &&
        t_ns - window->w1_ns > silence_ns(window, before.marks)) {
        raise(&window->longest_gap_ns, gap_ns(window, stream->gap_from_ns, window->w1_ns));
        take_back(window, stream, bytes);
        close_by_silence(window, before);
        return WINDOW_CLOSED;
    }
    note_extremes(window, stream, t_ns, bytes);
    close_at(window, t_ns, sum, before.bytes);
    return WINDOW_CLOSED;
}

/* Whether the stream only now notices an edge that a mark of another stream has already handled. */
static bool only_notices_edge(const struct window *window, uint64_t t_ns)
{
    return window->opened && !window->closed && t_ns < read_relaxed(&window->edge_ns);
}

/* The array for the bytes of each stream at the next edge; NULL if the window is closed. */
static uint64_t *bytes_at_edge(struct window *window)
{
    return !window->opened ? window->opened_bytes : !window->closed ? window->closed_bytes : NULL;
}

unsigned window_cross(struct window *window, struct window_stream *stream, uint64_t t_ns,
                      uint64_t bytes, uint64_t messages)
{
    unsigned event = WINDOW_NOTHING;
    uint64_t last_ns;
    if (!stream->has_begun)
        begin_stream(window, stream, t_ns);
    if (only_notices_edge(window, t_ns)) {
        note_gap(window, stream, t_ns);
        note_extremes(window, stream, t_ns, bytes);
        stream->edge_seen_ns = read_relaxed(&window->edge_ns);
        return WINDOW_NOTHING;
    }
    struct window_sum sum = sum_until(window, &last_ns, bytes_at_edge(window)), before = sum;
    before.bytes -= bytes;
    before.messages -= messages;
    before.marks--;
    if (!window->closed)
        note_gap(window, stream, t_ns);
    if (!window->opened && !window->closed && (window->plan.by_count || t_ns >= window->w0_ns)) {
        open_at(window, t_ns, sum);
        event = WINDOW_OPENED;
    }
    if (window->opened && !window->closed)
        event |= pass_edge(window, stream, t_ns, bytes, sum, before);
    stream->edge_seen_ns = read_relaxed(&window->edge_ns);
    return event;
}

/* ---- while no mark arrives ---- */

uint64_t window_look_at_ns(const struct window *window)
{
    if (window->closed || window->plan.by_count || window->w1_ns == WINDOW_NEVER_NS)
        return WINDOW_NEVER_NS;
    return later_by(window->w1_ns, silence_ns(window, window_total(window).marks));
}

unsigned window_look(struct window *window, uint64_t now_ns, bool over)
{
    uint64_t last_ns;
    struct window_sum sum = sum_until(window, &last_ns, bytes_at_edge(window));
    if (now_ns < (over ? window->w1_ns : window_look_at_ns(window)) || window->closed || window->plan.by_count ||
        last_ns >= window->w1_ns) /* the last mark's thread is about to call window_cross */
        return WINDOW_NOTHING;
    note_closing_gap(window, last_ns, now_ns);
    close_by_silence(window, sum);
    return WINDOW_CLOSED;
}

unsigned window_finish(struct window *window)
{
    uint64_t last_ns;
    struct window_sum sum = sum_until(window, &last_ns, bytes_at_edge(window));
    if (!window->plan.by_count || window->closed || !window->opened)
        return WINDOW_NOTHING;
    close_at(window, last_ns, sum, sum.bytes);
    return WINDOW_CLOSED;
}

/* ---- figures of a closed window ---- */

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

bool fairness_index(const uint64_t *bytes, size_t count, double *out)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < count; i++) {
        sum += (double)bytes[i];
        squares += (double)bytes[i] * (double)bytes[i];
    }
    if (count < 2 || !(squares > 0))
        return false;
    const double index = sum * sum / ((double)count * squares);
    *out = index > 1 ? 1 : index; /* rounding may exceed 1 */
    return true;
}
