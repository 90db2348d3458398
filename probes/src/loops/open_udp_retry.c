/* Round trips under 16 bytes, after a time-out: the asker goes on from another port, for nothing
 * else keeps a late answer apart from the next one; the mirror lets the old port go and waits
 * for a hello from the new one. */
#include "loops/open.h"
#include "loops/round_trip.h"

#define HELLO_EVERY_NS (100 * MILLISECOND_NS)
#define AGAIN_NS (2 * SECOND_NS) /* a mirror that was there is there at once */

static bool answered(const struct stream *stream, plat_socket fresh)
{
    unsigned char datagram[DATAPORT_CONTROL + 1]; /* one more, so that a longer one shows */
    struct dataport_control answer;
    ptrdiff_t got = plat_receive_now(fresh, datagram, sizeof datagram);
    return got > 0 &&
           dataport_control_read(datagram, (size_t)got, stream->test->settings.token, &answer) &&
           answer.kind == DATAPORT_ANSWER && answer.stream == stream->number;
}

/* The old port takes its leave and the new one says hello until that is answered. The mirror's
 * host may refuse a hello while the mirror changes its socket. */
static bool greet_again(struct stream *stream, plat_socket fresh)
{
    struct test *test = stream->test;
    const uint64_t until_ns = plat_now_ns() + AGAIN_NS;
    unsigned char leave[DATAPORT_CONTROL], hello[DATAPORT_CONTROL];
    uint64_t next_ns = 0;
    dataport_control_write(leave, DATAPORT_LEAVE, stream->number, test->settings.token, 0);
    dataport_control_write(hello, DATAPORT_HELLO, stream->number, test->settings.token, 0);
    while (open_may_go_on(test, until_ns)) {
        struct plat_wait wait = {.socket = fresh};
        uint64_t now = plat_now_ns();
        if (now >= next_ns) {
            plat_send(stream->socket, leave, sizeof leave);
            plat_send(fresh, hello, sizeof hello);
            next_ns = now + (next_ns == 0 ? OPEN_SLICE_NS : HELLO_EVERY_NS);
        }
        uint64_t slice_ns = now + OPEN_SLICE_NS;
        plat_wait_any(&wait, 1, slice_ns < next_ns ? slice_ns : next_ns);
        if (wait.ready && answered(stream, fresh))
            return true;
    }
    if (!test_halted(test))
        test_fail(test, "peer-vanished", 0, "nobody answered the hello from another port");
    return false;
}

bool open_udp_elsewhere(struct stream *stream)
{
    struct test *test = stream->test;
    plat_socket fresh;
    bool ready = open_socket(test, &fresh);
    int error = ready ? plat_connect(fresh, &test->settings.to[0], NEVER_NS) : 0;
    if (error != 0)
        test_fail_system(test, error, "connect");
    ready = ready && error == 0 && (test->settings.echo || greet_again(stream, fresh));
    if (fresh != PLAT_NO_SOCKET)
        plat_close(test_swap_socket(stream, fresh));
    return ready && !test_halted(test);
}

bool open_udp_rehear(struct stream *stream)
{
    struct test *test = stream->test;
    plat_socket fresh;
    plat_close(test_swap_socket(stream, PLAT_NO_SOCKET)); /* two cannot have the port */
    bool ready = open_socket(test, &fresh);
    test_swap_socket(stream, fresh);
    while (ready && open_may_go_on(test, NEVER_NS)) {
        struct plat_wait wait = {.socket = fresh};
        plat_wait_any(&wait, 1, plat_now_ns() + OPEN_SLICE_NS);
        if (wait.ready && open_udp_hear(test, stream))
            return true;
    }
    return false;
}
