/* The sending loop makes one send call per message, paced or as fast as the socket accepts. It
 * reads the clock for each message only if it is paced or writes the time into the message. A
 * random sample of the calls is timed, which takes two more readings each (call_time.h). After
 * every 32nd timed call the loop checks whether the socket has room. The loop does not know when
 * the measurement begins and ends: the supervisor reads the loop's counters at these two times. */
#include <string.h>

#include "loops/send_loop.h"

struct work {
    bool stamped; /* a message carries the time of its sending if no schedule gives it one */
    /* Sends one whole message; returns its bytes, or the negative error number. */
    ptrdiff_t (*send)(struct stream *stream, uint64_t sequence, uint64_t due_ns);
    /* Called after the last message. */
    void (*finish)(struct stream *stream, uint64_t sent);
};

/* ---- TCP ---- */

/* If the test is halted in the middle of a message, the sent part counts as bytes, not as a
 * message. */
static ptrdiff_t send_tcp(struct stream *stream, uint64_t sequence, uint64_t due_ns)
{
    size_t size = stream->test->settings.message_bytes, sent_bytes;
    (void)sequence;
    (void)due_ns;
    ptrdiff_t put =
        traffic_send_all(stream->test, stream->socket, stream->buffer, size, &sent_bytes);
    if (put <= 0)
        stream->partial_bytes = sent_bytes;
    return put;
}

/* In a test of a fixed number of messages (`count`): sends our FIN and waits for the peer's FIN. */
void send_finish_tcp(struct stream *stream)
{
    if (stream->test->settings.count == 0 || test_halted(stream->test))
        return;
    plat_finish(stream->socket);
    ptrdiff_t got;
    do
        got = plat_receive(stream->socket, stream->buffer, stream->test->settings.message_bytes);
    while (got > 0 || (got < 0 && plat_is_transient((int)-got) && !test_halted(stream->test)));
}

static void finish_tcp(struct stream *stream, uint64_t sent)
{
    (void)sent;
    send_finish_tcp(stream);
}

/* ---- UDP ---- */

static ptrdiff_t send_udp(struct stream *stream, uint64_t sequence, uint64_t due_ns)
{
    size_t size = stream->test->settings.message_bytes;
    dataport_data_write(stream->buffer, size, stream->tag, stream->number, sequence,
                        due_ns);
    return plat_send(stream->socket, stream->buffer, size);
}

static const struct work tcp_work = {false, send_tcp, finish_tcp};
static const struct work udp_work = {false, send_udp, traffic_end_markers};
static const struct work udp_stamped_work = {true, send_udp, traffic_end_markers};

static const struct work *work_of(const struct settings *settings)
{
    if (!settings->udp)
        return &tcp_work;
    return settings->message_bytes >= DATAPORT_HEADER_MAX ? &udp_stamped_work : &udp_work;
}

/* ---- the loop ---- */

static bool has_gone(struct stream *stream, int error)
{
    return stream->test->settings.udp ? plat_is_peer_gone(error) : traffic_tcp_gone(error);
}

bool send_may_go_on(struct stream *stream, int error, uint64_t sent, uint64_t unsent)
{
    struct test *test = stream->test;
    if (test_halted(test))
        return false;
    if (plat_is_transient(error)) {
        /* With a rate, the due time of these messages has passed, so they are skipped. Otherwise
         * the next call sends them. */
        stream->pacing.skipped += test->settings.rate_numerator != 0 ? unsent : 0;
        return true;
    }
    stream->refused += unsent;
    if (plat_is_no_buffers(error)) {
        stream->local_drops += sent > 0 ? unsent : 0;
        if (sent > 0 || plat_now_ns() - stream->tried_ns < ALL_REFUSED_NS)
            return true;
        test_fail(test, "no-buffers", error, "every send call was refused");
    } else if (has_gone(stream, error)) {
        /* After our measurement the receiver may have enough data and leave first. */
        if (atomic_load(&test->in_tail))
            return false;
        if (test->settings.udp && !traffic_refused(stream))
            return true;
        test_fail(test, "peer-vanished", error, "the peer ended while we were sending");
    } else if (!plat_is_unreachable(error) || traffic_unreachable(stream)) {
        test_fail_system(test, error, "send");
    } else {
        return true;
    }
    return false;
}

bool send_wait_until_due(struct stream *stream, uint64_t *due_ns, uint64_t *now_ns)
{
    /* A thread that must not spin sleeps until the message is due, wakes late, and catches up. */
    const uint64_t worst_ns = test_worker(stream)->spins ? stream->test->worst_sleep_ns : 0;
    while (!test_halted(stream->test)) {
        *now_ns = plat_now_ns();
        if (pacing_now(&stream->pacing, *now_ns, due_ns))
            return true;
        traffic_sleep(pacing_sleep_ns(*due_ns, *now_ns, worst_ns));
    }
    return false;
}

/* Counts whether the next call would find room in the socket buffer. */
static void look_for_room(struct stream *stream)
{
    struct plat_wait wait = {.socket = stream->socket, .sending = true};
    plat_wait_any(&wait, 1, 0);
    stream->calls.looks++;
    stream->calls.rooms += wait.ready;
}

/* The time of a call that accepted nothing does not count: it waited for the socket, or failed. */
static ptrdiff_t send_timed(struct stream *stream, const struct work *work, uint64_t sequence,
                            uint64_t due_ns)
{
    uint64_t begun_ns = plat_now_ns();
    ptrdiff_t put = work->send(stream, sequence, due_ns);
    uint64_t ended_ns = plat_now_ns();
    if (put > 0)
        calltime_add(&stream->calls, ended_ns - begun_ns);
    /* The check follows the timed call, so that it cannot affect this call. */
    if (put > 0 && calltime_look_due(&stream->calls))
        look_for_room(stream);
    return put;
}

void send_count(struct stream *stream, uint64_t sent, uint64_t bytes)
{
    atomic_store_explicit(&stream->marks.messages, sent, memory_order_relaxed);
    atomic_store_explicit(&stream->marks.bytes, bytes, memory_order_relaxed);
}

void send_run(struct stream *stream)
{
    struct test *test = stream->test;
    const struct work *work = work_of(&test->settings);
    const uint64_t limit = traffic_share(stream), size = test->settings.message_bytes;
    const bool paced = test->settings.rate_numerator != 0;
    uint64_t sent = 0, due_ns = 0, now_ns = 0;

    traffic_wait_for_start(test);
    stream->tried_ns = plat_now_ns();
    calltime_init(&stream->calls, (uint32_t)stream->tried_ns + stream->number);
    if (paced)
        pacing_init(&stream->pacing, stream->tried_ns, test->settings.rate_numerator,
                    test->settings.rate_denominator, test->settings.burst);
    while (sent < limit && !test_halted(test)) {
        if (paced) {
            if (!send_wait_until_due(stream, &due_ns, &now_ns))
                break;
        } else if (work->stamped) {
            due_ns = plat_now_ns();
        }
        if (sent == 0)
            stream->first_ns = plat_now_ns();
        ptrdiff_t put = calltime_due(&stream->calls) ? send_timed(stream, work, sent, due_ns)
                                                     : work->send(stream, sent, due_ns);
        if (paced)
            pacing_sent(&stream->pacing, now_ns);
        if (put <= 0) {
            if (!send_may_go_on(stream, (int)-put, sent, 1))
                break;
            continue;
        }
        sent++;
        send_count(stream, sent, sent * size);
        if (sent == 1)
            traffic_begun(stream);
    }
    atomic_store(&stream->last_send_ns, plat_now_ns());
    send_count(stream, sent, sent * size + stream->partial_bytes);
    work->finish(stream, sent);
}
