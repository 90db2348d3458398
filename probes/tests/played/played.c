/* Plays a clock and a socket for one loop at a time, and runs all tests of what takes time. */
#include "played.h"

#include <errno.h>

struct played played;

uint64_t __wrap_plat_now_ns(void);
void __wrap_plat_sleep_ns(uint64_t nanoseconds);
ptrdiff_t __wrap_plat_send(plat_socket socket, const void *bytes, size_t length);
ptrdiff_t __wrap_plat_send_many(plat_socket socket, struct plat_batch *batch, unsigned first,
                                unsigned count);
void __wrap_plat_wait_any(struct plat_wait *waits, unsigned count, uint64_t until_ns);

void played_advance(uint64_t nanoseconds)
{
    played.now_ns += nanoseconds;
    if (played.pause_ns > 0 && played.now_ns >= played.pause_at_ns) {
        if (played.now_ns < played.pause_at_ns + played.pause_ns)
            played.now_ns = played.pause_at_ns + played.pause_ns;
        played.pause_ns = 0;
        played.in_a_row = 0;
    }
    if (played.now_ns >= played.abort_ns && !test_halted(&played.test))
        test_tell(&played.test, true, false, 0);
}

void played_wait(uint64_t nanoseconds)
{
    played.in_a_row = 0;
    played_advance(nanoseconds > 0 ? nanoseconds + played.oversleep_ns : 0);
}

uint64_t __wrap_plat_now_ns(void)
{
    played_advance(PLAYED_READING_NS);
    return PLAYED_BEGIN_NS + played.now_ns;
}

void __wrap_plat_sleep_ns(uint64_t nanoseconds)
{
    played.sleeps++;
    played_wait(nanoseconds);
}

/* A sender's check for room in its socket, which waits for nothing. */
void __wrap_plat_wait_any(struct plat_wait *waits, unsigned count, uint64_t until_ns)
{
    (void)until_ns;
    for (unsigned i = 0; i < count; i++)
        waits[i].ready = true;
}

/* Returns the error of the send call that begins now. */
static int begin_call(void)
{
    played.calls++;
    return played.error_at != NULL ? played.error_at(played.now_ns) : 0;
}

static void pass(const struct dataport_data *message, int error)
{
    if (++played.in_a_row > played.most_in_a_row)
        played.most_in_a_row = played.in_a_row;
    if (error == 0 && played.accept != NULL)
        played.accept(message);
}

ptrdiff_t __wrap_plat_send(plat_socket socket, const void *bytes, size_t length)
{
    const bool asks = played.test.settings.role == ROLE_ASK;
    struct dataport_data message;
    (void)socket;
    if (!dataport_message_read(bytes, length, asks ? DATAPORT_REQUEST : DATAPORT_DATA,
                               played.stream.tag, &message)) {
        played.end_markers++;
        played.last_end_marker_ns = played.now_ns;
        return (ptrdiff_t)length;
    }
    const int error = begin_call();
    pass(&message, error);
    played_advance(played.call_ns);
    return error == 0 ? (ptrdiff_t)length : -error;
}

ptrdiff_t __wrap_plat_send_many(plat_socket socket, struct plat_batch *batch, unsigned first,
                                unsigned count)
{
    const int error = begin_call();
    (void)socket;
    for (unsigned i = first; i < first + count; i++) {
        struct dataport_data message;
        CHECK(dataport_data_read(batch->bytes + i * batch->room, batch->room, played.stream.tag,
                                 &message));
        pass(&message, error);
    }
    played_advance(played.call_ns);
    return error == 0 ? (ptrdiff_t)count : -error;
}

void played_make(enum role role, uint64_t rate, uint64_t abort_ns)
{
    static unsigned char buffer[PLAYED_MESSAGE_BYTES];
    memset(&played, 0, sizeof played);
    played.abort_ns = abort_ns;
    played.test.settings = (struct settings){.role = role,
                                             .kind = role == ROLE_ASK ? KIND_ROUND_TRIP
                                                                      : KIND_STREAM,
                                             .udp = true,
                                             .message_bytes = PLAYED_MESSAGE_BYTES,
                                             .response_bytes = PLAYED_MESSAGE_BYTES,
                                             .streams = 1,
                                             .outstanding = 1,
                                             .rate_numerator = rate,
                                             .rate_denominator = 1};
    plat_mutex_init(&played.test.lock);
    plat_cond_init(&played.test.changed);
    played.test.stream = &played.stream;
    played.test.worker = &played.worker;
    played.test.workers = 1;
    played.stream.test = played.worker.test = &played.test;
    played.stream.socket = PLAT_NO_SOCKET;
    played.stream.buffer = buffer;
    played.stream.tag = 0x7a67a67a;
}

const char *played_run(void (*loop)(struct stream *stream))
{
    loop(&played.stream);
    plat_cond_destroy(&played.test.changed);
    plat_mutex_destroy(&played.test.lock);
    return played.test.failure.word;
}

bool played_ended_at(uint64_t at_ns)
{
    return played.now_ns >= at_ns && played.now_ns < at_ns + 2 * MILLISECOND_NS;
}

int played_no_buffers(uint64_t now_ns)
{
    (void)now_ns;
    return ENOBUFS;
}

int main(void)
{
    static const struct unit_test *const tables[] = {agent_time_tests, send_time_tests,
                                                     send_batch_tests,
                                                     send_error_tests, send_flow_tests, ask_time_tests,
                                                     ask_schedule_tests};
    return run_tables(tables, sizeof tables / sizeof tables[0], "played unit");
}
