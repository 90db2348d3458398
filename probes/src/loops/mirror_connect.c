/* The mirror of transactions with a TCP connection each: it accepts, checks the preface, takes
 * the request, responds, and lets the asker close. Strangers share the room with the asker's
 * connections, and hold nobody up. */
#include <string.h>

#include "loops/open.h"
#include "loops/round_trip.h"
#include "loops/traffic.h"

#define CALLERS_MAX 16
#define PREFACE_WAIT_NS (2 * SECOND_NS)
#define SEND_LIMIT_MS 20 /* so that a halt is noticed */

struct caller {
    plat_socket socket;
    struct plat_address peer;
    uint64_t until_ns; /* without a preface by then it is a stranger */
    bool trusted, answered;
    uint64_t got_bytes; /* of the preface, then of the request */
    unsigned char preface[DATAPORT_PREFACE];
};

struct hall {
    struct stream *stream;
    struct caller caller[CALLERS_MAX]; /* the oldest first */
    unsigned count;
};

static void dismiss(struct hall *hall, unsigned index)
{
    struct caller *caller = &hall->caller[index];
    if (!caller->trusted) {
        hall->stream->test->unexpected++;
        plat_option_set(caller->socket, PLAT_RESET_ON_CLOSE, 1);
    }
    plat_close(caller->socket);
    hall->count--;
    memmove(caller, caller + 1, (hall->count - index) * sizeof *caller);
}

/* A full hall loses its oldest caller without a preface: the asker's comes with the connection. */
static void make_room(struct hall *hall)
{
    unsigned index = 0;
    while (index + 1 < hall->count && hall->caller[index].trusted)
        index++;
    dismiss(hall, index);
}

static bool admit(struct hall *hall)
{
    struct plat_address peer; /* now: a connection that was reset does not know it any more */
    plat_socket fresh;
    if (plat_accept(hall->stream->socket, &fresh, &peer) != 0)
        return false;
    if (hall->count == CALLERS_MAX)
        make_room(hall);
    plat_option_set(fresh, PLAT_SEND_TIMEOUT_MS, SEND_LIMIT_MS);
    hall->caller[hall->count++] =
        (struct caller){.socket = fresh, .peer = peer, .until_ns = plat_now_ns() + PREFACE_WAIT_NS};
    return true;
}

/* The first who has the token is the peer that results name. */
static void trust(struct hall *hall, struct caller *caller)
{
    struct test *test = hall->stream->test;
    caller->trusted = true;
    caller->got_bytes = 0;
    if (test->begun > 0)
        return;
    test->peer = caller->peer;
    traffic_begun(hall->stream);
}

/* A step on a caller's way. False: nothing more has come, or the caller is gone. */
static bool hear_preface(struct hall *hall, unsigned index)
{
    struct caller *caller = &hall->caller[index];
    struct dataport_preface preface;
    ptrdiff_t got = plat_receive_now(caller->socket, caller->preface + caller->got_bytes,
                                     sizeof caller->preface - caller->got_bytes);
    if (got <= 0) {
        if (got == 0 || !plat_is_transient((int)-got))
            dismiss(hall, index);
        return false;
    }
    caller->got_bytes += (uint64_t)got;
    if (caller->got_bytes < sizeof caller->preface)
        return true;
    if (dataport_preface_read(caller->preface, hall->stream->test->settings.token, &preface) &&
        preface.stream == 0) {
        trust(hall, caller);
        return true;
    }
    dismiss(hall, index);
    return false;
}

static bool hear_request(struct hall *hall, unsigned index)
{
    struct stream *stream = hall->stream;
    struct caller *caller = &hall->caller[index];
    const uint64_t size = stream->test->settings.message_bytes;
    /* An answered caller has nothing more to say but its end. */
    size_t room = caller->answered ? 1 : (size_t)(size - caller->got_bytes);
    ptrdiff_t got = plat_receive_now(caller->socket, stream->buffer, room);
    if (got < 0 && plat_is_transient((int)-got))
        return false;
    if (got > 0 && !caller->answered)
        caller->got_bytes += (uint64_t)got;
    if (got > 0 && !caller->answered && caller->got_bytes < size)
        return true;
    bool whole = got > 0 && !caller->answered;
    if (whole) {
        mirror_requested(stream);
        caller->answered = mirror_hold(stream) && mirror_respond(stream, caller->socket);
    }
    if (!whole || !caller->answered)
        dismiss(hall, index);
    return false; /* the asker closes after it has read; not yet */
}

static void hear(struct hall *hall, unsigned index)
{
    bool more = true;
    while (more && !test_halted(hall->stream->test))
        more = hall->caller[index].trusted ? hear_request(hall, index) : hear_preface(hall, index);
}

/* One look at the listener and everybody in the hall. */
static void look(struct hall *hall)
{
    struct plat_wait waits[CALLERS_MAX + 1] = {{.socket = hall->stream->socket}};
    const bool spin = hall->stream->test->settings.spin;
    const unsigned count = hall->count;
    for (unsigned i = 0; i < count; i++)
        waits[i + 1].socket = hall->caller[i].socket;
    plat_wait_any(waits, count + 1, spin ? 0 : plat_now_ns() + OPEN_SLICE_NS);
    for (unsigned i = count; i-- > 0;) /* from the end: callers leave on the way */
        if (waits[i + 1].ready)
            hear(hall, i);
        else if (!hall->caller[i].trusted && plat_now_ns() >= hall->caller[i].until_ns)
            dismiss(hall, i);
    if (waits[0].ready && admit(hall))
        hear(hall, hall->count - 1); /* what comes with the connection is there already */
}

void mirror_connect_run(struct stream *stream)
{
    struct hall hall = {.stream = stream};
    while (!test_halted(stream->test))
        look(&hall);
    while (hall.count > 0)
        dismiss(&hall, 0);
}
