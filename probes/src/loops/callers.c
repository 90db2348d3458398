/* Accepts TCP connections and reads their prefaces, also if others than the peer connect. The
 * preface is the first bytes of a connection, with the token (a secret that both sides of the test
 * know). A caller is the other end of an accepted connection. */
#include "loops/callers.h"

#include <string.h>

#define PREFACE_WAIT_NS (2 * SECOND_NS)

void callers_dismiss(struct callers *callers, unsigned index)
{
    struct caller *caller = &callers->caller[index];
    if (!caller->trusted) {
        callers->test->unexpected++;
        plat_option_set(caller->socket, PLAT_RESET_ON_CLOSE, 1);
    }
    plat_close(caller->socket);
    callers->count--;
    memmove(caller, caller + 1, (callers->count - index) * sizeof *caller);
}

/* If all places are in use, the oldest caller without a preface is dismissed. That is not the peer,
 * whose preface arrives with its connection. */
static void make_room(struct callers *callers)
{
    unsigned index = 0;
    while (index + 1 < callers->count && callers->caller[index].trusted)
        index++;
    callers_dismiss(callers, index);
}

static bool accept_caller(struct callers *callers)
{
    struct plat_address peer; /* read now: it is unknown after a reset of the connection */
    plat_socket fresh;
    if (plat_accept(callers->listener, &fresh, &peer) != 0)
        return false;
    if (callers->count == CALLERS_MAX)
        make_room(callers);
    callers->caller[callers->count++] =
        (struct caller){.socket = fresh, .peer = peer, .until_ns = plat_now_ns() + PREFACE_WAIT_NS};
    return true;
}

bool callers_preface(struct callers *callers, unsigned index, unsigned *stream)
{
    struct caller *caller = &callers->caller[index];
    struct dataport_preface preface;
    while (caller->got_bytes < sizeof caller->preface) {
        ptrdiff_t got = plat_receive_now(caller->socket, caller->preface + caller->got_bytes,
                                         sizeof caller->preface - caller->got_bytes);
        if (got <= 0) {
            if (got == 0 || !plat_is_transient((int)-got))
                callers_dismiss(callers, index);
            return false;
        }
        caller->got_bytes += (uint64_t)got;
    }
    if (dataport_preface_read(caller->preface, callers->test->settings.token, &preface) &&
        preface.stream < callers->test->settings.streams) {
        *stream = preface.stream;
        return true;
    }
    callers_dismiss(callers, index);
    return false;
}

void callers_wait(struct callers *callers, uint64_t until_ns, callers_hear hear)
{
    struct plat_wait waits[CALLERS_MAX + 1] = {{.socket = callers->listener}};
    const unsigned count = callers->count;
    for (unsigned i = 0; i < count; i++)
        waits[i + 1].socket = callers->caller[i].socket;
    plat_wait_any(waits, count + 1, until_ns);
    for (unsigned i = count; i-- > 0;) /* backwards, because callers may be removed */
        if (waits[i + 1].ready)
            hear(callers, i);
        else if (!callers->caller[i].trusted && plat_now_ns() >= callers->caller[i].until_ns)
            callers_dismiss(callers, i);
    if (waits[0].ready && accept_caller(callers))
        hear(callers, callers->count - 1); /* the preface may have come with the connection */
}
