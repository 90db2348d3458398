/* TCP streams: a preface proves who connects; strangers are closed in silence and counted. */
#include <string.h>

#include "loops/open.h"
#include "test/records.h"

#define PENDING_MAX 16
#define PREFACE_WAIT_NS (2 * SECOND_NS)

/* Connections whose preface has not come yet. */
struct pending {
    plat_socket socket;
    uint64_t until_ns;
    size_t got;
    unsigned char preface[DATAPORT_PREFACE];
};

struct waiting_room {
    struct pending pending[PENDING_MAX]; /* the oldest first */
    unsigned count;
    unsigned opened;
};

static void drop_pending(struct test *test, struct waiting_room *room, unsigned index,
                         bool turned_away)
{
    if (turned_away) {
        test->unexpected++;
        plat_option_set(room->pending[index].socket, PLAT_RESET_ON_CLOSE, 1);
        plat_close(room->pending[index].socket);
    }
    room->count--;
    memmove(&room->pending[index], &room->pending[index + 1],
            (room->count - index) * sizeof room->pending[0]);
}

static void admit(struct test *test, struct waiting_room *room, plat_socket listener)
{
    struct plat_address peer;
    plat_socket fresh;
    if (plat_accept(listener, &fresh, &peer) != 0)
        return;
    if (room->count == PENDING_MAX)
        drop_pending(test, room, 0, true); /* the peer's preface comes at once: the oldest is none */
    struct pending *pending = &room->pending[room->count++];
    pending->socket = fresh;
    pending->until_ns = plat_now_ns() + PREFACE_WAIT_NS;
    pending->got = 0;
}

/* Reads no further than the preface, whose bytes are never counted. */
static void hear(struct test *test, struct waiting_room *room, unsigned index)
{
    struct pending *pending = &room->pending[index];
    struct dataport_preface preface;
    ptrdiff_t got = plat_receive_now(pending->socket, pending->preface + pending->got,
                                     sizeof pending->preface - pending->got);
    if (got <= 0) {
        if (got == 0 || !plat_is_transient((int)-got))
            drop_pending(test, room, index, true);
        return;
    }
    pending->got += (size_t)got;
    if (pending->got < sizeof pending->preface)
        return;
    if (!dataport_preface_read(pending->preface, test->settings.token, &preface) ||
        preface.stream >= test->settings.streams ||
        test->stream[preface.stream].socket != PLAT_NO_SOCKET) {
        drop_pending(test, room, index, true);
        return;
    }
    test->stream[preface.stream].socket = pending->socket;
    room->opened++;
    drop_pending(test, room, index, false);
}

/* One look at the listener and everybody who waits. */
static void receive_callers(struct test *test, struct waiting_room *room, plat_socket listener,
                            uint64_t until_ns)
{
    struct plat_wait waits[PENDING_MAX + 1] = {{.socket = listener}};
    unsigned count = room->count;
    for (unsigned i = 0; i < count; i++)
        waits[i + 1].socket = room->pending[i].socket;
    plat_wait_any(waits, count + 1, until_ns);
    uint64_t now = plat_now_ns();
    for (unsigned i = count; i-- > 0;) /* from the end: entries are taken out on the way */
        if (waits[i + 1].ready)
            hear(test, room, i);
        else if (now >= room->pending[i].until_ns)
            drop_pending(test, room, i, true);
    if (waits[0].ready)
        admit(test, room, listener);
}

/* Prints `ready`; *listener is to be closed either way. */
static bool listen_for(struct test *test, plat_socket *listener)
{
    struct plat_address address;
    if (!open_socket(test, listener))
        return false;
    int error = plat_option_set(*listener, PLAT_BLOCKING, 0);
    if (error == 0)
        error = plat_listen(*listener, 128);
    if (error == 0)
        error = plat_local_address(*listener, &address);
    if (error != 0) {
        test_fail_system(test, error, "listen");
        return false;
    }
    unsigned port = plat_address_port(&address);
    record_ready(test, &port, 1);
    return true;
}

bool open_tcp_listen(struct test *test)
{
    struct waiting_room room = {.count = 0};
    uint64_t until_ns = test->requested_ns + test->settings.deadline_ns;
    plat_socket listener = PLAT_NO_SOCKET;
    bool listening = listen_for(test, &listener);
    while (listening && room.opened < test->settings.streams && open_may_go_on(test, until_ns)) {
        uint64_t slice_ns = plat_now_ns() + OPEN_SLICE_NS;
        receive_callers(test, &room, listener, slice_ns < until_ns ? slice_ns : until_ns);
    }
    while (room.count > 0)
        drop_pending(test, &room, 0, true);
    plat_close(listener);
    if (listening && room.opened < test->settings.streams)
        test_fail(test, "no-peer", 0, "nobody with the token came before the deadline");
    return !test_failed(test);
}

bool open_tcp_hall(struct test *test)
{
    return listen_for(test, &test->stream[0].socket);
}

static bool connect_stream(struct test *test, struct stream *stream, uint64_t until_ns)
{
    unsigned char preface[DATAPORT_PREFACE];
    if (!open_socket(test, &stream->socket))
        return false;
    int error = plat_connect(stream->socket, &test->settings.to[0], until_ns);
    if (error != 0) {
        test_fail_system(test, error, "connect");
        return false;
    }
    if (test->settings.echo)
        return true;
    dataport_preface_write(preface, test->settings.token, stream->number);
    ptrdiff_t put = plat_send(stream->socket, preface, sizeof preface);
    if (put != (ptrdiff_t)sizeof preface) {
        test_fail_system(test, put < 0 ? (int)-put : 0, "send of the preface");
        return false;
    }
    return true;
}

bool open_tcp_connect(struct test *test)
{
    uint64_t deadline_ns = test->requested_ns + test->settings.deadline_ns;
    uint64_t until_ns = test->requested_ns + OPEN_NS;
    for (unsigned i = 0; i < test->settings.streams; i++)
        if (!connect_stream(test, &test->stream[i], until_ns < deadline_ns ? until_ns : deadline_ns))
            return false;
    return true;
}
