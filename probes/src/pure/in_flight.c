/* Requests in a ring by sequence number. */
#include "pure/in_flight.h"

#include <stddef.h>

static struct underway_request *place(struct underway *underway, uint64_t sequence)
{
    return &underway->slot[sequence % UNDERWAY_SLOTS];
}

static bool waits(struct underway *underway, uint64_t sequence)
{
    const struct underway_request *request = place(underway, sequence);
    return request->state == UNDERWAY_WAITING && request->sequence == sequence;
}

/* Of those that wait; there is one. */
static uint64_t first_waiting(const struct underway *underway)
{
    uint64_t first = UINT64_MAX;
    for (unsigned i = 0; i < UNDERWAY_SLOTS; i++)
        if (underway->slot[i].state == UNDERWAY_WAITING && underway->slot[i].sequence < first)
            first = underway->slot[i].sequence;
    return first;
}

/* A request is not waiting any more. */
static void settle(struct underway *underway, struct underway_request *request, uint8_t state)
{
    request->state = state;
    underway->waiting--;
    if (request->sequence != underway->oldest)
        return;
    if (underway->waiting == 0)
        underway->oldest = underway->next;
    else if (underway->next - underway->oldest > UNDERWAY_SLOTS)
        underway->oldest = first_waiting(underway); /* one had waited while the ring went round */
    else
        while (!waits(underway, underway->oldest))
            underway->oldest++;
}

uint64_t underway_next(struct underway *underway)
{
    while (place(underway, underway->next)->state == UNDERWAY_WAITING)
        underway->next++;
    return underway->next;
}

enum underway_fate underway_answer(struct underway *underway, uint64_t sequence,
                                   const struct underway_request **request)
{
    *request = NULL;
    if (sequence >= underway->next)
        return UNDERWAY_UNKNOWN;
    struct underway_request *found = place(underway, sequence);
    if (found->sequence != sequence || found->state == UNDERWAY_FREE)
        return UNDERWAY_LATE;
    switch (found->state) {
    case UNDERWAY_WAITING:
        settle(underway, found, UNDERWAY_DONE);
        *request = found;
        return UNDERWAY_ANSWERED;
    case UNDERWAY_GONE:
        found->state = UNDERWAY_OVER;
        return UNDERWAY_LATE;
    default:
        return UNDERWAY_DUPLICATE;
    }
}

const struct underway_request *underway_give_up(struct underway *underway)
{
    if (underway->waiting == 0)
        return NULL;
    struct underway_request *request = place(underway, underway->oldest);
    settle(underway, request, UNDERWAY_GONE);
    return request;
}

const struct underway_request *underway_lost(struct underway *underway, uint64_t now_ns,
                                             uint64_t timeout_ns)
{
    if (underway->waiting == 0)
        return NULL;
    const struct underway_request *request = place(underway, underway->oldest);
    if (now_ns < request->sent_ns || now_ns - request->sent_ns < timeout_ns)
        return NULL;
    return underway_give_up(underway);
}
