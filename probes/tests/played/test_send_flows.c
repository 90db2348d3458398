/* The schedule of two TCP streams that one thread serves, on a played clock. */
#include "loops/traffic.h"
#include "played.h"

#define ROOM_BYTES 60 /* of a call: a message takes two */

static struct stream streams[2];

ptrdiff_t __wrap_plat_send_now(plat_socket socket, const void *bytes, size_t length);

ptrdiff_t __wrap_plat_send_now(plat_socket socket, const void *bytes, size_t length)
{
    (void)socket;
    (void)bytes;
    played_advance(played.call_ns);
    return (ptrdiff_t)(length < ROOM_BYTES ? length : ROOM_BYTES);
}

static void send_both(struct stream *stream)
{
    send_flows_run(test_worker(stream));
}

TEST(a_message_that_takes_two_calls_takes_one_place_of_the_schedule)
{
    played_make(ROLE_SEND, 1000, 10 * SECOND_NS);
    played.call_ns = PLAYED_SOON_NS;
    played.test.settings.udp = false;
    played.test.settings.streams = 2;
    played.test.stream = streams;
    played.worker.buffer = played.stream.buffer;
    for (unsigned i = 0; i < 2; i++) {
        streams[i] = played.stream;
        streams[i].number = i;
    }
    CHECK_TEXT(played_run(send_both), "stopped");
    for (unsigned i = 0; i < 2; i++) {
        const uint64_t messages = atomic_load(&streams[i].marks.messages);
        CHECK(messages >= 9999 && messages <= 10001);
    }
    CHECK_U64(streams[0].pacing.skipped, 0);
}

const struct unit_test send_flow_tests[] = {
    ENTRY(a_message_that_takes_two_calls_takes_one_place_of_the_schedule), {NULL, NULL}};
