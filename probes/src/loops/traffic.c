/* Provides buffers, sleeps, complete sends and control datagrams for all loops. */
#include "loops/traffic.h"

#define BATCH_BYTES 65536
#define REFUSALS_OF_A_PEER 3 /* in a row: the peer has ended. One may be for an early hello */
/* Two refusals, or two reports that the path is down, are in a row if at most this time is between
 * them. Hosts send one per second, or one in 3 s. */
#define IN_A_ROW_NS (4 * SECOND_NS)
#define UNREACHABLE_NS (5 * SECOND_NS) /* the test fails if the path is down for this long */

size_t traffic_room(const struct settings *settings)
{
    if (!settings->udp)
        return settings->role == ROLE_MIRROR ? settings->message_bytes
                                             : settings->receive_call_bytes;
    return settings->message_bytes < DATAPORT_CONTROL ? DATAPORT_CONTROL + 1
                                                      : settings->message_bytes + 1;
}

/* A batch (the messages of one call) has no more data than a processor's cache holds. */
unsigned traffic_batch(const struct settings *settings)
{
    const bool takes_many = settings->udp && settings->role == ROLE_RECEIVE;
    if (!takes_many && settings->method == METHOD_PLAIN)
        return 1;
    size_t count = BATCH_BYTES / (settings->udp ? traffic_room(settings) : settings->message_bytes);
    return count < 1 ? 1 : count > PLAT_BATCH ? PLAT_BATCH : (unsigned)count;
}

unsigned traffic_receive_most(const struct settings *settings)
{
    const unsigned places = traffic_batch(settings);
    return places < plat_receive_most ? places : plat_receive_most;
}

uint64_t traffic_share(const struct stream *stream)
{
    const struct settings *settings = &stream->test->settings;
    if (settings->count == 0)
        return UINT64_MAX;
    return settings->count / settings->streams +
           (stream->number < settings->count % settings->streams);
}

void traffic_begun(struct stream *stream)
{
    struct test *test = stream->test;
    plat_mutex_lock(&test->lock);
    test->begun_streams++;
    plat_cond_wake(&test->changed);
    plat_mutex_unlock(&test->lock);
}

void traffic_sleep(uint64_t nanoseconds)
{
    if (nanoseconds > 0)
        plat_sleep_ns(nanoseconds < NOTICE_NS ? nanoseconds : NOTICE_NS);
}

void traffic_wait_for_start(const struct test *test)
{
    while (!test_halted(test)) {
        uint64_t now = plat_now_ns();
        if (now >= test->settings.start_ns)
            return;
        traffic_sleep(test->settings.start_ns - now);
    }
}

ptrdiff_t traffic_receive(const struct stream *stream, void *into, size_t room)
{
    return stream->test->settings.spin ? plat_receive_now(stream->socket, into, room)
                                       : plat_receive(stream->socket, into, room);
}

ptrdiff_t traffic_receive_all(const struct stream *stream, void *into, size_t length)
{
    for (size_t received_bytes = 0; received_bytes < length;) {
        ptrdiff_t got =
            traffic_receive(stream, (char *)into + received_bytes, length - received_bytes);
        if (got > 0)
            received_bytes += (size_t)got;
        else if (got == 0 || !plat_is_transient((int)-got) || test_halted(stream->test))
            return got;
    }
    return (ptrdiff_t)length;
}

ptrdiff_t traffic_take_many(struct stream *stream, struct plat_batch *batch)
{
    return stream->test->settings.capture
               ? plat_capture_take(&stream->capture, stream->socket, batch)
               : plat_receive_many(stream->socket, batch, false);
}

ptrdiff_t traffic_send_all(const struct test *test, plat_socket socket, const void *bytes,
                           size_t length, size_t *sent_bytes)
{
    for (*sent_bytes = 0; *sent_bytes < length;) {
        ptrdiff_t put = plat_send(socket, (const char *)bytes + *sent_bytes, length - *sent_bytes);
        if (put > 0)
            *sent_bytes += (size_t)put;
        else if (!plat_is_transient((int)-put) || test_halted(test))
            return put;
    }
    return (ptrdiff_t)length;
}

bool traffic_nothing(struct stream *stream, int error)
{
    if (test_halted(stream->test))
        return false;
    stream->foreign += error == 0;
    if (error == 0 || plat_is_transient(error) || plat_is_peer_gone(error) ||
        plat_is_unreachable(error))
        return true;
    test_fail_system(stream->test, error, "receive");
    return false;
}

bool traffic_refused(struct stream *stream)
{
    const uint64_t now = plat_now_ns();
    if (now - stream->refused_ns > IN_A_ROW_NS)
        stream->refusals = 0;
    stream->refused_ns = now;
    return ++stream->refusals >= REFUSALS_OF_A_PEER;
}

bool traffic_unreachable(struct stream *stream)
{
    const uint64_t now = plat_now_ns();
    if (now - stream->unreachable_ns > IN_A_ROW_NS)
        stream->unreachable_from_ns = now;
    stream->unreachable_ns = now;
    traffic_sleep(MILLISECOND_NS); /* without it, calls would fail at once, again and again */
    return now - stream->unreachable_from_ns >= UNREACHABLE_NS;
}

bool traffic_control(struct stream *stream, const unsigned char *datagram, size_t length,
                     struct dataport_control *out)
{
    const struct settings *settings = &stream->test->settings;
    struct dataport_control control;
    unsigned char answer[DATAPORT_CONTROL];
    if (length != DATAPORT_CONTROL ||
        !dataport_control_read(datagram, length, settings->token, &control) ||
        control.stream != stream->number)
        return false;
    if (control.kind == DATAPORT_HELLO && settings->listen) {
        dataport_control_write(answer, DATAPORT_ANSWER, stream->number, settings->token, 0);
        stream->answers += plat_send(stream->socket, answer, sizeof answer) > 0;
    }
    if (out != NULL)
        *out = control;
    return true;
}

void traffic_end_marker(const struct stream *stream, uint64_t sent)
{
    unsigned char marker[DATAPORT_CONTROL];
    dataport_control_write(marker, DATAPORT_END, stream->number, stream->test->settings.token, sent);
    plat_send(stream->socket, marker, sizeof marker);
}

void traffic_end_markers(struct stream *stream, uint64_t sent)
{
    struct test *test = stream->test;
    if (test_failed(test))
        return;
    for (int i = 0; i < 3; i++) {
        traffic_end_marker(stream, sent);
        if (!test_told_stop(test) && i < 2)
            plat_sleep_ns(5 * MILLISECOND_NS);
    }
}

/* ---- many streams in one thread ---- */

struct stream *flows_first(const struct worker *worker)
{
    return &worker->test->stream[worker->number];
}

struct stream *flows_next(const struct worker *worker, const struct stream *stream)
{
    const unsigned next = stream->number + worker->test->workers;
    return next < worker->test->settings.streams ? &worker->test->stream[next] : NULL;
}

unsigned flows_count(const struct worker *worker)
{
    const unsigned streams = worker->test->settings.streams, workers = worker->test->workers;
    return streams / workers + (worker->number < streams % workers);
}

bool flows_watch(const struct worker *worker, struct plat_watch *watch, bool sending)
{
    int error = plat_watch_open(watch);
    for (const struct stream *stream = flows_first(worker); error == 0 && stream != NULL;
         stream = flows_next(worker, stream))
        if (!stream->over)
            error = plat_watch_add(watch, stream->socket, stream->number, sending);
    if (error != 0)
        test_fail_system(worker->test, error, "waiting for many sockets");
    return error == 0;
}

bool flows_wait(const struct worker *worker, struct plat_watch *watch, uint64_t until_ns,
                unsigned ready[FLOWS_READY], unsigned *count)
{
    ptrdiff_t came = plat_watch_wait(watch, ready, FLOWS_READY, until_ns);
    *count = came > 0 ? (unsigned)came : 0;
    if (came >= 0 || plat_is_transient((int)-came))
        return true;
    test_fail_system(worker->test, (int)-came, "waiting for many sockets");
    return false;
}
