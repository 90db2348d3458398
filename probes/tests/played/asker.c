/* Plays the mirror of an asker: the receive calls wait for its answers on the played clock. */
#include "asker.h"

#include <errno.h>

#define POLL_NS 1000 /* duration of a receive call that does not wait */
#define ANSWERS 64

struct mirror_played mirror;
struct ask asked;
struct trip asked_trips[TRIPS];

/* The answers on their way. */
static struct answer {
    uint64_t at_ns, sequence;
} answer[ANSWERS];
static unsigned answers;

ptrdiff_t __wrap_plat_receive(plat_socket socket, void *into, size_t capacity);
ptrdiff_t __wrap_plat_receive_within(plat_socket socket, void *into, size_t capacity,
                                     uint64_t limit_ns);
ptrdiff_t __wrap_plat_receive_now(plat_socket socket, void *into, size_t capacity);
int __wrap_plat_option_set(plat_socket socket, enum plat_option option, int value);

static void take_request(const struct dataport_data *request)
{
    const uint64_t due_ns = request->due_ns - PLAYED_BEGIN_NS, number = request->sequence;
    const uint64_t trip_ns = number == mirror.odd_request ? mirror.odd_ns : mirror.trip_ns;
    CHECK(played.now_ns >= due_ns);
    if (played.now_ns - due_ns > mirror.late_ns)
        mirror.late_ns = played.now_ns - due_ns;
    if (mirror.sent < KEPT)
        mirror.sent_ns[mirror.sent] = played.now_ns;
    mirror.sent++;
    mirror.last_sent_ns = played.now_ns;
    if (trip_ns == NEVER_NS)
        return;
    CHECK(answers < ANSWERS);
    answer[answers++ % ANSWERS] = (struct answer){played.now_ns + trip_ns, number};
}

ptrdiff_t __wrap_plat_receive_within(plat_socket socket, void *into, size_t capacity,
                                     uint64_t limit_ns)
{
    unsigned next = 0;
    (void)socket;
    CHECK(capacity >= PLAYED_MESSAGE_BYTES);
    for (unsigned i = 1; i < answers; i++)
        if (answer[i].at_ns < answer[next].at_ns)
            next = i;
    if (answers == 0 || answer[next].at_ns > played.now_ns + limit_ns) {
        played_wait(limit_ns);
        return -EAGAIN;
    }
    const struct answer came = answer[next];
    answer[next] = answer[--answers];
    if (came.at_ns > played.now_ns)
        played_wait(came.at_ns - played.now_ns);
    dataport_message_write(into, PLAYED_MESSAGE_BYTES, DATAPORT_RESPONSE, played.stream.tag, 0,
                           came.sequence, 0);
    return PLAYED_MESSAGE_BYTES;
}

ptrdiff_t __wrap_plat_receive(plat_socket socket, void *into, size_t capacity)
{
    CHECK(mirror.receive_limit_ns > 0);
    return __wrap_plat_receive_within(socket, into, capacity, mirror.receive_limit_ns);
}

ptrdiff_t __wrap_plat_receive_now(plat_socket socket, void *into, size_t capacity)
{
    played_advance(POLL_NS);
    return __wrap_plat_receive_within(socket, into, capacity, 0);
}

int __wrap_plat_option_set(plat_socket socket, enum plat_option option, int value)
{
    (void)socket;
    if (option == PLAT_RECEIVE_TIMEOUT_MS)
        mirror.receive_limit_ns = (uint64_t)value * MILLISECOND_NS;
    return 0;
}

struct settings *make_asker(uint64_t rate, uint64_t abort_ns)
{
    played_make(ROLE_ASK, rate, abort_ns);
    played.accept = take_request;
    mirror = (struct mirror_played){.trip_ns = MILLISECOND_NS, .odd_request = NO_REQUEST};
    answers = 0;
    played.test.settings.timeout_ns = TIMEOUT_NS;
    return &played.test.settings;
}

void ask_until_the_end(const char *word)
{
    CHECK(ask_prepare(&played.stream));
    CHECK_TEXT(played_run(ask_run), word);
    asked = *played.stream.ask;
    if (played.test.settings.trips == TRIPS)
        memcpy(asked_trips, asked.trips, sizeof asked_trips);
    ask_free(played.stream.ask);
}

bool is_about(uint64_t ns, uint64_t expected_ns)
{
    return ns >= expected_ns && ns < expected_ns + MILLISECOND_NS / 5;
}
