/* Decides for how many bytes a blocking TCP receive waits. As many as come in a fifth of a
 * millisecond, so that a fast stream does not wake its receiver for every segment. Each wake-up
 * costs the sending side where both share a machine, and the receiver a system call; below 160
 * Mbit/s nothing is waited for. Nor is it where messages are about as long as segments: a
 * receiver that looks late acknowledges early, for its kernel does it alone, and then a message's
 * tail leaves in a segment of its own instead of with the next message. That costs more than the
 * wake-ups: measured, 576 to 16384 bytes. */
#ifndef LOW_WATER_H
#define LOW_WATER_H

#include <stdbool.h>
#include <stdint.h>

#define LOW_WATER_WAKE_NS UINT64_C(200000)    /* what comes within this time is waited for */
#define LOW_WATER_REVIEW_NS UINT64_C(5000000) /* how long a rate is watched before it counts */
#define LOW_WATER_LEAST 4096                  /* fewer bytes are not worth waiting for */
#define LOW_WATER_MOST 65536
#define LOW_WATER_SHARE 8     /* of the receive buffer, so that the sender's window stays open */
#define LOW_WATER_SHORT 256   /* messages up to this length, and from the next one on */
#define LOW_WATER_LONG 65536
#define LOW_WATER_PATIENCE_MS 20 /* then a receive takes what there is */

/* One user, the receiving thread; `highest` may be read once that has ended. */
struct low_water {
    uint64_t since_ns, since_bytes; /* the last review */
    uint32_t bytes;                 /* in effect: 1, or LOW_WATER_LEAST to most */
    uint32_t most, highest;
};

/* The buffer as it was asked for: what the system doubles is not room for data. Unknown: 0. */
void low_water_init(struct low_water *low, uint64_t message_bytes, uint64_t receive_buffer_bytes);
/* The rare part of low_water_mark. */
bool low_water_review(struct low_water *low, uint64_t now_ns, uint64_t bytes);

/* After a mark, with the bytes so far. True: `bytes` of it has changed and is to be set. */
static inline bool low_water_mark(struct low_water *low, uint64_t now_ns, uint64_t bytes)
{
    return now_ns - low->since_ns >= LOW_WATER_REVIEW_NS && low_water_review(low, now_ns, bytes);
}

#endif
