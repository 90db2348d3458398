/* Converts a request into settings; every key has its type, range and default. The token is a
 * secret that shows that both sides belong to the same test. An asker sends requests and measures
 * round trips; a mirror answers requests. */
#include "protocol/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/error.h"
#include "protocol/request.h"
#include "pure/in_flight.h"
#include "pure/nanoseconds.h"
#include "pure/pacing.h"

#define YEAR_NS (31536000 * SECOND_NS)
#define DEADLINE_SLACK_NS (15 * SECOND_NS)
#define UDP_MAX_V4 65507
#define UDP_MAX_V6 65527

/* ---- keys of a request, by their type, range and default ---- */

struct keys {
    const struct request *request;
    bool by_hand;
    struct error first; /* word NULL: no error so far */
};

struct key_range {
    const char *key;
    uint64_t least, most, otherwise;
};

/* Keeps an error if it is the first error of this request. A NULL `word` means no error. */
static void keys_note(struct keys *keys, const char *word, const char *key, const char *detail)
{
    if (word != NULL && keys->first.word == NULL)
        keys->first = error_about(word, key, detail);
}

static bool keys_given(const struct keys *keys, const char *key)
{
    return request_value(keys->request, key) != NULL;
}

/* These functions return the value of a key. If the key is absent or its value is not valid, they
 * return the default (`otherwise`); a value that is not valid is also kept as an error. keys_number
 * reads a whole number. keys_seconds reads decimal seconds and returns ns; the range is also in ns.
 * keys_flag reads 0 or 1; the default is 0. */
static uint64_t keys_number(struct keys *keys, struct key_range range)
{
    char detail[80];
    uint64_t value = range.otherwise;
    const char *word = request_u64(keys->request, range.key, range.least, range.most, &value);
    snprintf(detail, sizeof detail, "a whole number from %llu to %llu",
             (unsigned long long)range.least, (unsigned long long)range.most);
    keys_note(keys, word, range.key, detail);
    return value;
}

static uint64_t keys_seconds(struct keys *keys, struct key_range range)
{
    char detail[100];
    uint64_t value = range.otherwise;
    const char *word =
        request_seconds_ns(keys->request, range.key, range.least, range.most, &value);
    snprintf(detail, sizeof detail, "decimal seconds from %.10g to %.10g, at most nine decimals",
             (double)range.least / 1e9, (double)range.most / 1e9);
    keys_note(keys, word, range.key, detail);
    return value;
}

static bool keys_flag(struct keys *keys, const char *key)
{
    bool value = false;
    keys_note(keys, request_flag(keys->request, key, &value), key, "0 or 1");
    return value;
}

/* ---- lists of keys ---- */

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

/* ---- CPUs to which the threads of a test are bound ---- */

#define CPU_LARGEST 65535

/* Parses a list such as `0,2,4`, in the order in which threads take the CPUs. */
static bool parse_cpus(const char *text, struct settings *out)
{
    for (out->cpu_count = 0; out->cpu_count < WORKERS_MAX;) {
        char *after;
        if (text[0] < '0' || text[0] > '9')
            return false;
        const unsigned long cpu = strtoul(text, &after, 10);
        if (cpu > CPU_LARGEST)
            return false;
        for (unsigned i = 0; i < out->cpu_count; i++)
            if (out->cpus[i] == cpu)
                return false;
        out->cpus[out->cpu_count++] = (unsigned)cpu;
        if (*after == 0)
            return true;
        if (*after != ',')
            return false;
        text = after + 1;
    }
    return false;
}

static void settings_read_cpus(struct keys *keys, struct settings *out)
{
    static const struct key_range cpu = {"cpu", 0, CPU_LARGEST, 0};
    const char *list = request_value(keys->request, "cpus");
    out->cpu = -1;
    if (keys_given(keys, "cpu")) {
        out->cpu = (int)keys_number(keys, cpu);
        out->cpus[0] = (unsigned)out->cpu;
        out->cpu_count = 1;
    }
    if (list == NULL)
        return;
    if (out->cpu >= 0)
        keys_note(keys, "bad-value", "cpus", "cpu or cpus, not both");
    else if (!parse_cpus(list, out))
        keys_note(keys, "bad-value", "cpus",
                  "CPU numbers separated by commas, each once, at most 64");
}

/* ---- addresses and the token ---- */

/* Parses `ADDRESS:PORT[,PORT…]`; an IPv6 address is in brackets. */
static bool parse_to(const char *text, struct settings *out)
{
    char address[128];
    const char *begin = text, *end = strrchr(text, ':');
    if (end == NULL)
        return false;
    const char *ports = end + 1;
    if (text[0] == '[') {
        begin = text + 1;
        end = strchr(text, ']');
        if (end == NULL || end + 2 != ports)
            return false;
    } else if (strchr(text, ':') != end) {
        return false;
    }
    if ((size_t)(end - begin) >= sizeof address)
        return false;
    snprintf(address, sizeof address, "%.*s", (int)(end - begin), begin);
    for (out->to_count = 0; out->to_count < STREAMS_MAX; out->to_count++) {
        char *after;
        unsigned long port = ports[0] >= '0' && ports[0] <= '9' ? strtoul(ports, &after, 10) : 0;
        if (port < 1 || port > 65535)
            return false;
        out->to_port[out->to_count] = (uint16_t)port;
        if (out->to_count == 0 && !plat_address_parse(address, (unsigned)port, &out->to))
            return false;
        if (*after == 0) {
            out->to_count++;
            return true;
        }
        if (*after != ',')
            return false;
        ports = after + 1;
    }
    return false;
}

/* Reads the address of the peer, on the side that connects. */
static void read_to(struct keys *keys, const char *to, struct settings *out)
{
    if (to == NULL)
        keys_note(keys, "missing-key", "to", "the connecting side needs ADDRESS:PORT");
    else if (!parse_to(to, out))
        keys_note(keys, "bad-value", "to", "ADDRESS:PORT[,PORT], numeric, IPv6 in brackets");
    else if (out->udp && out->to_count != out->streams)
        keys_note(keys, "bad-value", "to", "UDP needs one port for each stream");
    else if (!out->udp && out->to_count != 1)
        keys_note(keys, "bad-value", "to", "TCP needs one port");
    else if (out->bind.length > 0 &&
             plat_address_v6(&out->bind) != plat_address_v6(&out->to))
        keys_note(keys, "bad-value", "bind", "not of the same family as `to`");
}

static void read_ends(struct keys *keys, struct settings *out)
{
    static const char *const opens[] = {"connect", "listen"};
    const struct request *request = keys->request;
    const char *to = request_value(request, "to");
    unsigned open = to == NULL;
    char bind[128] = "";
    keys_note(keys, request_choice(request, "open", opens, 2, &open), "open", "listen or connect");
    out->listen = open == 1;
    keys_note(keys, request_text(request, "bind", bind, sizeof bind), "bind", "not an address");
    keys_note(keys, request_ports(request, "port", &out->port_first, &out->port_last), "port",
              "a port or a range of ports such as 5001-5100");
    const char *word =
        request_text(request, "interface", out->interface, sizeof out->interface);
    keys_note(keys, word, "interface", "not the name of an interface");
    if (bind[0] == 0 && out->listen && keys->by_hand)
        snprintf(bind, sizeof bind, "127.0.0.1");
    if (bind[0] != 0 && !plat_address_parse(bind, 0, &out->bind))
        keys_note(keys, "bad-value", "bind", "not a numeric address");
    if (!out->listen) {
        read_to(keys, to, out);
        return;
    }
    if (bind[0] == 0)
        keys_note(keys, "missing-key", "bind", "the listening side needs an address to bind");
    if (to != NULL)
        keys_note(keys, "bad-value", "to", "the listening side must not have an address to connect to");
}

static void read_token(struct keys *keys, struct settings *out)
{
    const char *token = getenv("NETPROBE_TOKEN");
    if (keys_given(keys, "token")) {
        keys_note(keys, request_hex(keys->request, "token", out->token, DATAPORT_TOKEN), "token",
                  "32 hex digits");
    } else if (keys->by_hand && token != NULL) {
        struct request_pair pair = {.key = "token", .value = token, .value_length = strlen(token)};
        struct request environment = {.pairs = 1, .pair = {pair}};
        keys_note(keys, request_hex(&environment, "token", out->token, DATAPORT_TOKEN), "token",
                  "NETPROBE_TOKEN is not 32 hex digits");
    } else if (keys->by_hand && out->listen && plat_random(out->token, DATAPORT_TOKEN) == 0) {
        out->token_made = true;
    } else {
        keys_note(keys, "missing-key", "token", "32 hex digits, the same on both sides");
    }
}

/* Makes the token of a test whose peer is an RFC 862 echo service. The echo does not know the
 * token; this side uses it to distinguish answers to its requests from datagrams of others. */
static void make_token(struct keys *keys, struct settings *out)
{
    if (keys_given(keys, "token"))
        keys_note(keys, "bad-value", "token", "an echo knows no token");
    else if (plat_random(out->token, DATAPORT_TOKEN) != 0)
        keys_note(keys, "system", "", "no random bytes");
}

static void settings_read_addresses(struct keys *keys, struct settings *out)
{
    static const char *const peers[] = {"probe", "echo"};
    unsigned peer = 0;
    keys_note(keys, request_choice(keys->request, "peer", peers, 2, &peer), "peer",
              "probe or echo");
    out->echo = peer == 1;
    read_ends(keys, out);
    (out->echo ? make_token : read_token)(keys, out);
}

/* ---- round trips: keys that only `ask` and `mirror` have ---- */

#define LEAST_WITH_HEADER_BYTES 16

static void read_keys(struct keys *keys, struct settings *out)
{
    static const char *const closes[] = {"reset", "orderly"};
    const struct key_range response = {"response", 1, MESSAGE_MAX_BYTES, out->message_bytes};
    static const struct key_range outstanding = {"outstanding", 1, IN_FLIGHT_MAX, 1},
                                  keep = {"keep", 0, KEEP_MAX, 0},
                                  timeout = {"timeout", MILLISECOND_NS, 10000 * MILLISECOND_NS,
                                             1000 * MILLISECOND_NS},
                                  hold = {"hold", 0, 100 * MILLISECOND_NS, 0};
    unsigned close = 0;
    out->response_bytes = (uint32_t)keys_number(keys, response);
    out->outstanding = (unsigned)keys_number(keys, outstanding);
    out->keep = (unsigned)keys_number(keys, keep);
    out->timeout_ns = keys_seconds(keys, timeout);
    out->hold_ns = keys_seconds(keys, hold);
    out->stamps = keys_flag(keys, "stamps");
    out->no_checksum = keys_flag(keys, "no_checksum");
    keys_note(keys, request_choice(keys->request, "close", closes, 2, &close), "close",
              "reset or orderly");
    out->orderly = close == 1;
}

static void check_udp(struct keys *keys, const struct settings *out)
{
    const struct plat_address *family = out->listen ? &out->bind : &out->to;
    bool bare = out->message_bytes < LEAST_WITH_HEADER_BYTES ||
                out->response_bytes < LEAST_WITH_HEADER_BYTES;
    if (out->response_bytes > out->message_bytes)
        keys_note(keys, "bad-value", "response",
                  "a UDP response must not be longer than its request");
    if (out->outstanding > 1 && bare)
        keys_note(keys, "bad-value", "outstanding",
                  "more than one needs messages and responses of at least 16 bytes");
    /* Messages below 16 bytes have no sequence number. So after a time-out the asker changes to
     * another port, which only the connecting side can do. */
    if (bare && out->listen != (out->role == ROLE_MIRROR))
        keys_note(keys, "bad-value", "open", "below 16 bytes the asker must connect");
    if (out->no_checksum && plat_address_v6(family))
        keys_note(keys, "bad-value", "no_checksum", "UDP over IPv6 always has a checksum");
    if (out->kind == KIND_CONNECT)
        keys_note(keys, "bad-value", "kind", "UDP has no connections");
}

static void check_tcp(struct keys *keys, const struct settings *out)
{
    if (out->no_checksum)
        keys_note(keys, "bad-value", "no_checksum", "TCP always has a checksum");
    if (out->stamps)
        keys_note(keys, "bad-value", "stamps", "only datagrams are stamped");
    if (keys_given(keys, "timeout"))
        keys_note(keys, "bad-value", "timeout", "TCP sees to lost requests itself");
}

/* Sets the number of requests that are reported one by one: all that are due in the window (the
 * time that is measured). */
static void read_trips(struct keys *keys, struct settings *out)
{
    if (!keys_flag(keys, "trips"))
        return;
    if (out->rate_numerator == 0 || out->count > 0) {
        keys_note(keys, "bad-value", "trips", "only for requests at a rate, with seconds");
        return;
    }
    const double due = (double)out->seconds_ns / 1e9 * (double)out->rate_numerator /
                       (double)out->rate_denominator;
    if (due > TRIPS_MAX)
        keys_note(keys, "bad-value", "trips", "more than 1000000 requests in the window");
    else
        out->trips = (uint64_t)due + 2; /* one at the window's begin, and one for rounding */
}

static void check_connections(struct keys *keys, const struct settings *out)
{
    if (out->outstanding > 1)
        keys_note(keys, "bad-value", "outstanding", "connections are made one after the other");
    if (out->listen != (out->role == ROLE_MIRROR))
        keys_note(keys, "bad-value", "open", "who asks is who connects");
}

static void settings_read_round_trip(struct keys *keys, struct settings *out)
{
    read_keys(keys, out);
    if (keys->first.word != NULL)
        return;
    read_trips(keys, out);
    (out->udp ? check_udp : check_tcp)(keys, out);
    if (out->kind == KIND_CONNECT)
        check_connections(keys, out);
    else if (keys_given(keys, "close"))
        keys_note(keys, "bad-value", "close", "only with kind=connect");
    if (out->echo && out->response_bytes != out->message_bytes)
        keys_note(keys, "bad-value", "response", "an echo has the length of its request");
    if (out->echo && out->listen)
        keys_note(keys, "bad-value", "open", "an echo does not connect");
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

/* ---- programs ---- */

const char *const program_settings_keys[] = {"program", "arguments", "deadline", NULL};

static void demand_key(struct keys *keys, const char *key, const char *detail)
{
    if (!keys_given(keys, key))
        keys_note(keys, "missing-key", key, detail);
}

/* Whether the key `arguments` is given with a value that is not empty. A value of one NUL byte is
 * not empty; it is refused later. */
static bool has_arguments(const struct request *request)
{
    for (unsigned i = 0; i < request->pairs; i++)
        if (strcmp(request->pair[i].key, "arguments") == 0)
            return request->pair[i].value_length > 0;
    return false;
}

/* Splits the arguments at line feeds. Returns false if there are too many. */
static bool split_arguments(struct program_settings *out)
{
    unsigned count = 0;
    out->words[count++] = out->name;
    for (char *at = out->arguments; at != NULL;) {
        if (count > PROGRAM_WORDS_MAX)
            return false;
        out->words[count++] = at;
        at = strchr(at, '\n');
        if (at != NULL)
            *at++ = 0;
    }
    return true;
}

struct error program_settings_read(const struct request *request, struct program_settings *out)
{
    struct keys keys = {.request = request};
    memset(out, 0, sizeof *out);
    memcpy(out->id, request->id, sizeof out->id);
    demand_key(&keys, "program", "which program to run");
    keys_note(&keys, request_text(request, "program", out->name, sizeof out->name), "program",
              "a name or an absolute path of 1 to 255 bytes");
    demand_key(&keys, "deadline", "seconds after which the program is ended");
    out->deadline_ns = keys_seconds(
        &keys, (struct key_range){"deadline", SECOND_NS / 10, 86400 * SECOND_NS, SECOND_NS});
    out->words[0] = out->name;
    if (!has_arguments(request))
        return keys.first;
    keys_note(&keys, request_text(request, "arguments", out->arguments, sizeof out->arguments),
              "arguments", "at most 6000 bytes, and no NUL");
    if (!split_arguments(out))
        keys_note(&keys, "bad-value", "arguments", "at most 64 words, separated by line feeds");
    return keys.first;
}

void program_settings_set(struct program_settings *out, char *const *words, uint64_t deadline_ns)
{
    char *next = out->arguments;
    memcpy(out->name, words[0], strlen(words[0]) + 1);
    out->words[0] = out->name;
    for (unsigned i = 1; words[i] != NULL; i++) {
        out->words[i] = memcpy(next, words[i], strlen(words[i]) + 1);
        next += strlen(next) + 1;
    }
    out->deadline_ns = deadline_ns;
}
