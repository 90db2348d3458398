/* Converts a request into settings; every key has its type, range and default. */
#include "protocol/settings.h"

#include <stdio.h>
#include <string.h>

#include "protocol/keys.h"
#include "pure/nanoseconds.h"
#include "pure/pacing.h"

#define YEAR_NS (31536000 * SECOND_NS)
#define DEADLINE_SLACK_NS (15 * SECOND_NS)
#define UDP_MAX_V4 65507
#define UDP_MAX_V6 65527

#define COMMON_KEYS                                                                                \
    "kind", "proto", "open", "to", "bind", "port", "interface", "token", "message", "seconds",     \
        "count", "warm_up", "deadline", "start_ns", "socket_buffer", "congestion", "nodelay",      \
        "dont_fragment", "dscp", "cpu", "cpus", "spin"

const char *const settings_keys[] = {
    COMMON_KEYS, "window_open_ns", "window_close_ns", "rate",     "message_rate",
    "burst",     "streams",        "receive_call",    "interval", "drain",
    "method",    "poll",           "adapt",    "from",    NULL};
const char *const settings_ask_keys[] = {
    COMMON_KEYS, "response", "outstanding", "message_rate", "timeout",
    "keep",      "trips",    "peer",        "no_checksum",  "close",   NULL};
const char *const settings_mirror_keys[] = {
    COMMON_KEYS, "response", "hold", "stamps", "no_checksum", NULL};

/* ---- numbers ---- */

/* The value `message` of the key `receive_call` means the size of a message. */
static void read_receive_call(struct keys *keys, struct settings *out)
{
    static const struct key_range range = {"receive_call", 1, MESSAGE_MAX_BYTES, 262144};
    const char *word = request_value(keys->request, range.key);
    const bool of_message = word != NULL && strcmp(word, "message") == 0;
    out->receive_call_bytes =
        of_message ? out->message_bytes : (uint32_t)keys_number(keys, range);
}

static void read_numbers(struct keys *keys, struct settings *out)
{
    static const struct key_range message = {"message", 1, MESSAGE_MAX_BYTES, 1448},
                                  socket_buffer = {"socket_buffer", 1, UINT32_C(1) << 30, 0},
                                  count = {"count", 1, UINT64_C(1) << 62, 0},
                                  streams = {"streams", 1, STREAMS_MAX, 1},
                                  burst = {"burst", 1, UINT64_C(1) << 32, 0},
                                  dscp = {"dscp", 0, 63, 64};
    struct key_range time = {"start_ns", 1, INT64_MAX, 0};
    out->message_bytes = (uint32_t)keys_number(keys, message);
    out->count = keys_number(keys, count);
    out->socket_buffer_bytes = (uint32_t)keys_number(keys, socket_buffer);
    read_receive_call(keys, out);
    out->streams = (unsigned)keys_number(keys, streams);
    out->burst = keys_number(keys, burst);
    out->dscp = keys_given(keys, "dscp") ? (int)keys_number(keys, dscp) : -1;
    out->start_ns = keys_number(keys, time);
    time.key = "window_open_ns";
    out->open_ns = keys_number(keys, time);
    time.key = "window_close_ns";
    out->close_ns = keys_number(keys, time);
}

/* ---- times and rates ---- */

static void read_times(struct keys *keys, struct settings *out)
{
    struct key_range range = {"seconds", 1, YEAR_NS, 10 * SECOND_NS};
    uint64_t now = plat_now_ns();
    out->seconds_ns = keys_seconds(keys, range);
    range = (struct key_range){"warm_up", 0, YEAR_NS, 0};
    out->warm_up_ns = keys_seconds(keys, range);
    range = (struct key_range){"interval", 1000000, YEAR_NS, SECOND_NS / 10};
    out->interval_ns = keys_seconds(keys, range);
    range = (struct key_range){"drain", 1000000, 60 * SECOND_NS, 0};
    out->drain_ns = keys_seconds(keys, range);
    uint64_t usual_ns = out->warm_up_ns + out->seconds_ns + DEADLINE_SLACK_NS;
    if (out->close_ns > now)
        usual_ns = out->close_ns - now + DEADLINE_SLACK_NS;
    range = (struct key_range){"deadline", 1, 10 * YEAR_NS, usual_ns};
    out->deadline_ns = keys_seconds(keys, range);
    if (out->count > 0 && keys_given(keys, "seconds"))
        keys_note(keys, "bad-value", "count", "seconds or count, not both");
    if ((out->open_ns == 0) != (out->close_ns == 0))
        keys_note(keys, "missing-key", out->open_ns == 0 ? "window_open_ns" : "window_close_ns",
                  "a common window needs both of its ends");
    if (out->open_ns >= out->close_ns && out->close_ns != 0)
        keys_note(keys, "bad-value", "window_close_ns", "closes before it opens");
    if (out->count > 0 && out->close_ns != 0)
        keys_note(keys, "bad-value", "count", "a common window has no count");
}

static void read_rate(struct keys *keys, struct settings *out)
{
    struct pacing trial;
    uint64_t numerator = 0, denominator = 1;
    if (keys_given(keys, "rate") && keys_given(keys, "message_rate"))
        keys_note(keys, "bad-value", "message_rate", "rate or message_rate, not both");
    keys_note(keys, request_decimal(keys->request, "rate", &numerator, &denominator), "rate",
              "a decimal above 0, in bit/s");
    if (numerator != 0)
        pacing_of_bit_rate(numerator, denominator, out->message_bytes, &out->rate_numerator,
                           &out->rate_denominator);
    const char *word = request_decimal(keys->request, "message_rate", &out->rate_numerator,
                                       &out->rate_denominator);
    keys_note(keys, word, "message_rate", "a decimal above 0, in messages per second");
    if (out->rate_numerator == 0 || keys->first.word != NULL)
        return;
    /* Each stream has its own schedule, for its own part of the rate. */
    out->rate_denominator *= out->streams;
    if (!pacing_init(&trial, 0, out->rate_numerator, out->rate_denominator, out->burst))
        keys_note(keys, "bad-value", numerator != 0 ? "rate" : "message_rate",
                  "the rate is out of range");
}

/* ---- the whole request ---- */

static bool asks_or_mirrors(const struct settings *settings)
{
    return settings->role == ROLE_ASK || settings->role == ROLE_MIRROR;
}

static void read_role(struct keys *keys, struct settings *out)
{
    static const struct {
        const char *verb;
        enum role role;
    } roles[] = {{"receive", ROLE_RECEIVE},
                 {"send", ROLE_SEND},
                 {"ask", ROLE_ASK},
                 {"mirror", ROLE_MIRROR}};
    static const char *const of_streams[] = {"stream", "check"};
    static const char *const of_round_trips[] = {"round_trip", "connect"};
    unsigned kind = 0;
    for (size_t i = 0; i < sizeof roles / sizeof roles[0]; i++)
        if (strcmp(keys->request->verb, roles[i].verb) == 0)
            out->role = roles[i].role;
    const char *const *words = asks_or_mirrors(out) ? of_round_trips : of_streams;
    keys_note(keys, request_choice(keys->request, "kind", words, 2, &kind), "kind",
              asks_or_mirrors(out) ? "round_trip or connect" : "stream or check");
    out->kind = asks_or_mirrors(out) ? (kind == 0 ? KIND_ROUND_TRIP : KIND_CONNECT)
                                     : (kind == 0 ? KIND_STREAM : KIND_CHECK);
}

/* Nothing wakes a receiver of frames, so it must poll or spin. */
static void read_source(struct keys *keys, struct settings *out)
{
    static const char *const sources[] = {"socket", "packet"};
    unsigned source = 0;
    keys_note(keys, request_choice(keys->request, "from", sources, 2, &source), "from",
              "socket or packet");
    out->capture = source == 1;
    if (out->capture && (!out->udp || out->role != ROLE_RECEIVE || !(out->poll || out->spin)))
        keys_note(keys, "bad-value", "from", "packet is only for a receiver over UDP that polls or spins");
}

static void read_methods(struct keys *keys, struct settings *out)
{
    static const char *const methods[] = {"plain", "batch", "packet", "xdp"};
    unsigned method = METHOD_PLAIN;
    keys_note(keys, request_choice(keys->request, "method", methods, 4, &method), "method",
              "plain, batch, packet or xdp");
    out->method = (enum method)method;
    if (out->method != METHOD_PLAIN && out->role != ROLE_SEND)
        keys_note(keys, "bad-value", "method", "batch, packet and xdp are only for senders");
    if (out->method >= METHOD_PACKET && !out->udp)
        keys_note(keys, "bad-value", "method", "packet and xdp are only for senders over UDP");
}

/* Reads how a stream's receiver waits for data. */
static void read_waiting(struct keys *keys, struct settings *out)
{
    out->poll = keys_flag(keys, "poll");
    out->adapt = keys_flag(keys, "adapt");
    read_source(keys, out);
    if (out->poll && out->role != ROLE_RECEIVE)
        keys_note(keys, "bad-value", "poll", "only for a receiver of streams");
    if (out->poll && out->spin)
        keys_note(keys, "bad-value", "poll", "a spinning receiver does not poll at intervals");
    if (out->adapt && out->role != ROLE_RECEIVE)
        keys_note(keys, "bad-value", "adapt", "only for a receiver of streams");
    if (out->adapt && (out->spin || out->poll))
        keys_note(keys, "bad-value", "adapt", "spin, poll or adapt, one of them");
}

/* A thread with many streams must wait for all of them at once, and sends one message per call. */
static void check_many(struct keys *keys, const struct settings *out)
{
    if (out->streams <= WORKERS_MAX)
        return;
    if (out->method != METHOD_PLAIN)
        keys_note(keys, "bad-value", "method", "with more than 64 streams only one message per call is sent");
    if (out->poll)
        keys_note(keys, "bad-value", "poll", "with more than 64 streams the receiver must wait or spin");
}

/* Refuses keys that exclude each other, and keys that TCP or UDP does not support. */
static void check_together(struct keys *keys, const struct settings *out)
{
    const struct plat_address *family = out->listen ? &out->bind : &out->to;
    if (keys->first.word != NULL)
        return;
    uint32_t most = plat_address_v6(family) ? UDP_MAX_V6 : UDP_MAX_V4;
    if (out->udp && out->message_bytes > most) {
        char detail[80];
        snprintf(detail, sizeof detail, "a UDP message has at most %u bytes here", most);
        keys_note(keys, "message-too-long", "message", detail);
    }
    if (out->udp && out->congestion[0] != 0)
        keys_note(keys, "bad-value", "congestion", "UDP has none");
    if (out->udp && out->nodelay)
        keys_note(keys, "bad-value", "nodelay", "UDP does not delay");
    if (!out->udp && out->dont_fragment)
        keys_note(keys, "bad-value", "dont_fragment", "TCP sees to its segments' size itself");
    if (out->method == METHOD_XDP && out->streams > 1)
        keys_note(keys, "bad-value", "method", "xdp supports one stream, because each needs its own queue");
    if (out->count > 0 && out->count < out->streams)
        keys_note(keys, "bad-value", "count", "fewer messages than streams");
    if (keys_given(keys, "drain") && (!out->udp || out->role != ROLE_RECEIVE))
        keys_note(keys, "bad-value", "drain", "only for a receiver over UDP");
    if (keys_given(keys, "burst") && out->rate_numerator == 0)
        keys_note(keys, "bad-value", "burst", "only with rate or message_rate");
}

struct error settings_read(const struct request *request, bool by_hand, struct settings *out)
{
    static const char *const protocols[] = {"tcp", "udp"};
    struct keys keys = {.request = request, .by_hand = by_hand, .first = {.word = NULL}};
    unsigned protocol = 0;
    memset(out, 0, sizeof *out);
    snprintf(out->id, sizeof out->id, "%s", request->id);
    out->by_hand = by_hand;
    read_role(&keys, out);
    keys_note(&keys, request_choice(request, "proto", protocols, 2, &protocol), "proto",
              "tcp or udp");
    out->udp = protocol == 1;
    out->nodelay = keys_flag(&keys, "nodelay");
    out->dont_fragment = keys_flag(&keys, "dont_fragment");
    out->spin = keys_flag(&keys, "spin");
    const char *word =
        request_text(request, "congestion", out->congestion, sizeof out->congestion);
    keys_note(&keys, word, "congestion", "not the name of a congestion control");
    read_methods(&keys, out);
    read_waiting(&keys, out);
    read_numbers(&keys, out);
    settings_read_cpus(&keys, out);
    read_times(&keys, out);
    check_many(&keys, out);
    read_rate(&keys, out);
    settings_read_addresses(&keys, out);
    check_together(&keys, out);
    if (asks_or_mirrors(out))
        settings_read_round_trip(&keys, out);
    return keys.first;
}
