/* Keeps the requests in flight in a ring of slots; the sequence number selects the slot. */
#include "pure/in_flight.h"

#include <stddef.h>

static struct in_flight_request *place(struct in_flight *in_flight, uint64_t sequence)
{
    return &in_flight->slot[sequence % IN_FLIGHT_SLOTS];
}

static bool waits(struct in_flight *in_flight, uint64_t sequence)
{
    const struct in_flight_request *request = place(in_flight, sequence);
    return request->state == IN_FLIGHT_WAITING && request->sequence == sequence;
}

/* The sequence number of the first request that waits; there must be one. */
static uint64_t first_waiting(const struct in_flight *in_flight)
{
    uint64_t first = UINT64_MAX;
    for (unsigned i = 0; i < IN_FLIGHT_SLOTS; i++)
        if (in_flight->slot[i].state == IN_FLIGHT_WAITING && in_flight->slot[i].sequence < first)
            first = in_flight->slot[i].sequence;
    return first;
}

/* Ends the waiting of a request: sets its state to `state`, and finds the oldest request that still
 * waits. */
static void end_waiting(struct in_flight *in_flight, struct in_flight_request *request,
                        uint8_t state)
{
    request->state = state;
    in_flight->waiting--;
    if (request->sequence != in_flight->oldest)
        return;
    if (in_flight->waiting == 0)
        in_flight->oldest = in_flight->next;
    else if (in_flight->next - in_flight->oldest > IN_FLIGHT_SLOTS)
        in_flight->oldest = first_waiting(in_flight); /* later numbers have used the whole ring */
    else
        while (!waits(in_flight, in_flight->oldest))
            in_flight->oldest++;
}

uint64_t in_flight_next(struct in_flight *in_flight)
{
    while (place(in_flight, in_flight->next)->state == IN_FLIGHT_WAITING)
        in_flight->next++;
    return in_flight->next;
}

enum in_flight_fate in_flight_answer(struct in_flight *in_flight, uint64_t sequence,
                                     const struct in_flight_request **request)
{
    *request = NULL;
    if (sequence >= in_flight->next)
        return IN_FLIGHT_UNKNOWN;
    struct in_flight_request *entry = place(in_flight, sequence);
    if (entry->sequence != sequence || entry->state == IN_FLIGHT_FREE)
        return IN_FLIGHT_LATE;
    switch (entry->state) {
    case IN_FLIGHT_WAITING:
        end_waiting(in_flight, entry, IN_FLIGHT_DONE);
        *request = entry;
        return IN_FLIGHT_ANSWERED;
    case IN_FLIGHT_GONE:
        entry->state = IN_FLIGHT_OVER;
        return IN_FLIGHT_LATE;
    default:
        return IN_FLIGHT_DUPLICATE;
    }
}

const struct in_flight_request *in_flight_give_up(struct in_flight *in_flight)
{
    if (in_flight->waiting == 0)
        return NULL;
    struct in_flight_request *request = place(in_flight, in_flight->oldest);
    end_waiting(in_flight, request, IN_FLIGHT_GONE);
    return request;
}

const struct in_flight_request *in_flight_lost(struct in_flight *in_flight, uint64_t now_ns,
                                               uint64_t timeout_ns)
{
    if (in_flight->waiting == 0)
        return NULL;
    const struct in_flight_request *request = place(in_flight, in_flight->oldest);
    if (now_ns < request->sent_ns || now_ns - request->sent_ns < timeout_ns)
        return NULL;
    return in_flight_give_up(in_flight);
}
