/* Request → settings: every key has its type, its range and its default here. */
#include "settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pacing.h"

#define YEAR_NS (UINT64_C(31536000) * 1000000000)
#define DEADLINE_SLACK_NS (UINT64_C(15) * 1000000000)
#define UDP_MAX_V4 65507
#define UDP_MAX_V6 65527

const char *const settings_keys[] = {
    "kind",          "proto",      "open",       "to",           "bind",           "port",
    "interface",     "token",      "message",    "seconds",      "count",          "warm_up",
    "deadline",      "start_ns",   "window_open_ns",             "window_close_ns", "socket_buffer",
    "congestion",    "nodelay",    "dont_fragment",              "dscp",           "rate",
    "message_rate",  "burst",      "streams",    "cpu",          "spin",           "receive_call",
    "interval",      NULL};

struct complaint complaint_about(const char *word, const char *key, const char *detail)
{
    struct complaint complaint = {.word = word};
    snprintf(complaint.key, sizeof complaint.key, "%s", key);
    snprintf(complaint.detail, sizeof complaint.detail, "%s", detail);
    return complaint;
}

/* Remembers the first complaint. */
static void note(struct complaint *first, const char *word, const char *key, const char *detail)
{
    if (word != NULL && first->word == NULL)
        *first = complaint_about(word, key, detail);
}

/* ---- numbers ---- */

struct number_key {
    const char *key;
    uint64_t least, most, otherwise;
};

static uint64_t number(const struct request *request, struct complaint *first,
                       struct number_key range)
{
    char detail[80];
    uint64_t value = range.otherwise;
    const char *word = request_u64(request, range.key, range.least, range.most, &value);
    snprintf(detail, sizeof detail, "a whole number from %llu to %llu",
             (unsigned long long)range.least, (unsigned long long)range.most);
    note(first, word, range.key, detail);
    return value;
}

static uint64_t seconds(const struct request *request, struct complaint *first,
                        struct number_key range)
{
    uint64_t value = range.otherwise;
    note(first, request_seconds_ns(request, range.key, range.least, range.most, &value), range.key,
         "decimal seconds, at most nine decimals");
    return value;
}

static bool flag(const struct request *request, struct complaint *first, const char *key)
{
    bool value = false;
    note(first, request_flag(request, key, &value), key, "0 or 1");
    return value;
}

static void read_numbers(const struct request *request, struct settings *out,
                         struct complaint *first)
{
    out->message_bytes = (uint32_t)number(
        request, first, (struct number_key){"message", 1, MESSAGE_MAX_BYTES, 1448});
    out->count = number(request, first, (struct number_key){"count", 1, UINT64_C(1) << 62, 0});
    out->socket_buffer_bytes = (uint32_t)number(
        request, first, (struct number_key){"socket_buffer", 1, UINT32_C(1) << 30, 0});
    out->receive_call_bytes = (uint32_t)number(
        request, first, (struct number_key){"receive_call", 1, MESSAGE_MAX_BYTES, 262144});
    out->streams =
        (unsigned)number(request, first, (struct number_key){"streams", 1, STREAMS_MAX, 1});
    out->burst =
        number(request, first, (struct number_key){"burst", 1, UINT64_C(1) << 32, 0});
    out->dscp = (int)number(request, first, (struct number_key){"dscp", 0, 63, 64});
    out->cpu = (int)number(request, first, (struct number_key){"cpu", 0, 65535, 65536});
    if (out->dscp == 64)
        out->dscp = -1;
    if (out->cpu == 65536)
        out->cpu = -1;
    struct number_key time = {"start_ns", 1, INT64_MAX, 0};
    out->start_ns = number(request, first, time);
    time.key = "window_open_ns";
    out->open_ns = number(request, first, time);
    time.key = "window_close_ns";
    out->close_ns = number(request, first, time);
}

/* ---- times and rates ---- */

static void read_times(const struct request *request, struct settings *out,
                       struct complaint *first)
{
    const uint64_t second_ns = 1000000000;
    uint64_t now = plat_now_ns();
    out->seconds_ns =
        seconds(request, first, (struct number_key){"seconds", 1, YEAR_NS, 10 * second_ns});
    out->warm_up_ns = seconds(request, first, (struct number_key){"warm_up", 0, YEAR_NS, 0});
    out->interval_ns = seconds(
        request, first, (struct number_key){"interval", 1000000, YEAR_NS, second_ns / 10});
    uint64_t usual_ns = out->warm_up_ns + out->seconds_ns + DEADLINE_SLACK_NS;
    if (out->close_ns > now)
        usual_ns = out->close_ns - now + DEADLINE_SLACK_NS;
    out->deadline_ns =
        seconds(request, first, (struct number_key){"deadline", 1, 10 * YEAR_NS, usual_ns});
    if (out->count > 0 && request_value(request, "seconds") != NULL)
        note(first, "bad-value", "count", "seconds or count, not both");
    if ((out->open_ns == 0) != (out->close_ns == 0))
        note(first, "missing-key", out->open_ns == 0 ? "window_open_ns" : "window_close_ns",
             "a common window has both of its ends");
    if (out->open_ns >= out->close_ns && out->close_ns != 0)
        note(first, "bad-value", "window_close_ns", "closes before it opens");
    if (out->count > 0 && out->close_ns != 0)
        note(first, "bad-value", "count", "a common window has no count");
}

static void read_rate(const struct request *request, struct settings *out,
                      struct complaint *first)
{
    struct pacing trial;
    uint64_t numerator = 0, denominator = 1;
    if (request_value(request, "rate") != NULL && request_value(request, "message_rate") != NULL)
        note(first, "bad-value", "message_rate", "rate or message_rate, not both");
    note(first, request_decimal(request, "rate", &numerator, &denominator), "rate",
         "a decimal above 0, in bit/s");
    if (numerator != 0)
        pacing_of_bit_rate(numerator, denominator, out->message_bytes, &out->rate_numerator,
                           &out->rate_denominator);
    note(first,
         request_decimal(request, "message_rate", &out->rate_numerator, &out->rate_denominator),
         "message_rate", "a decimal above 0, in messages a second");
    if (out->rate_numerator == 0 || first->word != NULL)
        return;
    /* Each stream has its own schedule, of its own part. */
    out->rate_denominator *= out->streams;
    if (!pacing_init(&trial, 0, out->rate_numerator, out->rate_denominator, out->burst))
        note(first, "bad-value", numerator != 0 ? "rate" : "message_rate",
             "more than a message a nanosecond, or hardly ever one");
}

/* ---- addresses ---- */

/* `ADDRESS:PORT[,PORT…]`, IPv6 in brackets. */
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
        if (port < 1 || port > 65535 ||
            !plat_address_parse(address, (unsigned)port, &out->to[out->to_count]))
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

static void read_addresses(const struct request *request, bool by_hand, struct settings *out,
                           struct complaint *first)
{
    static const char *const opens[] = {"connect", "listen"};
    const char *to = request_value(request, "to");
    unsigned open = to == NULL;
    char bind[128] = "";
    note(first, request_choice(request, "open", opens, 2, &open), "open", "listen or connect");
    out->listen = open == 1;
    note(first, request_text(request, "bind", bind, sizeof bind), "bind", "not an address");
    note(first, request_ports(request, "port", &out->port_first, &out->port_last), "port",
         "a port or a range of ports such as 5001-5100");
    note(first, request_text(request, "interface", out->interface, sizeof out->interface),
         "interface", "not the name of an interface");
    if (bind[0] == 0 && out->listen && by_hand)
        snprintf(bind, sizeof bind, "127.0.0.1");
    if (bind[0] != 0 && !plat_address_parse(bind, 0, &out->bind))
        note(first, "bad-value", "bind", "not a numeric address");
    if (out->listen) {
        if (bind[0] == 0)
            note(first, "missing-key", "bind", "the listening side needs an address to bind");
        if (to != NULL)
            note(first, "bad-value", "to", "the listening side is connected to");
        return;
    }
    if (to == NULL)
        note(first, "missing-key", "to", "the connecting side needs ADDRESS:PORT");
    else if (!parse_to(to, out))
        note(first, "bad-value", "to", "ADDRESS:PORT[,PORT], numeric, IPv6 in brackets");
    else if (out->udp && out->to_count != out->streams)
        note(first, "bad-value", "to", "UDP needs one port for each stream");
    else if (!out->udp && out->to_count != 1)
        note(first, "bad-value", "to", "TCP needs one port");
    else if (out->bind.length > 0 &&
             plat_address_v6(&out->bind) != plat_address_v6(&out->to[0]))
        note(first, "bad-value", "bind", "not of the same family as `to`");
}

static void read_token(const struct request *request, bool by_hand, struct settings *out,
                       struct complaint *first)
{
    const char *given = getenv("NETPROBE_TOKEN");
    if (request_value(request, "token") != NULL) {
        note(first, request_hex(request, "token", out->token, DATAPORT_TOKEN), "token",
             "32 hex digits");
    } else if (by_hand && given != NULL) {
        struct request_pair pair = {.key = "token", .value = given, .value_length = strlen(given)};
        struct request environment = {.pairs = 1, .pair = {pair}};
        note(first, request_hex(&environment, "token", out->token, DATAPORT_TOKEN), "token",
             "NETPROBE_TOKEN is not 32 hex digits");
    } else if (by_hand && out->listen && plat_random(out->token, DATAPORT_TOKEN) == 0) {
        out->token_made = true;
    } else {
        note(first, "missing-key", "token", "32 hex digits, the same on both sides");
    }
}

/* ---- all of it ---- */

/* What protocols and this combination of keys cannot do. */
static void check_together(const struct request *request, struct settings *out,
                           struct complaint *first)
{
    const struct plat_address *family = out->listen ? &out->bind : &out->to[0];
    if (first->word != NULL)
        return;
    uint32_t most = plat_address_v6(family) ? UDP_MAX_V6 : UDP_MAX_V4;
    if (out->udp && out->message_bytes > most) {
        char detail[80];
        snprintf(detail, sizeof detail, "a UDP message has at most %u bytes here", most);
        note(first, "message-too-long", "message", detail);
    }
    if (out->udp && out->congestion[0] != 0)
        note(first, "bad-value", "congestion", "UDP has none");
    if (out->udp && out->nodelay)
        note(first, "bad-value", "nodelay", "UDP does not delay");
    if (!out->udp && out->dont_fragment)
        note(first, "bad-value", "dont_fragment", "TCP sees to its segments' size itself");
    if (out->count > 0 && out->count < out->streams)
        note(first, "bad-value", "count", "fewer messages than streams");
    if (request_value(request, "burst") != NULL && out->rate_numerator == 0)
        note(first, "bad-value", "burst", "only with rate or message_rate");
}

struct complaint settings_read(const struct request *request, bool by_hand, struct settings *out)
{
    static const char *const kinds[] = {"stream", "check"};
    static const char *const protocols[] = {"tcp", "udp"};
    struct complaint first = {.word = NULL};
    unsigned kind = 0, protocol = 0;
    memset(out, 0, sizeof *out);
    snprintf(out->id, sizeof out->id, "%s", request->id);
    out->send = strcmp(request->verb, "send") == 0;
    note(&first, request_choice(request, "kind", kinds, 2, &kind), "kind", "stream or check");
    note(&first, request_choice(request, "proto", protocols, 2, &protocol), "proto",
         "tcp or udp");
    out->check = kind == 1;
    out->udp = protocol == 1;
    out->nodelay = flag(request, &first, "nodelay");
    out->dont_fragment = flag(request, &first, "dont_fragment");
    out->spin = flag(request, &first, "spin");
    note(&first, request_text(request, "congestion", out->congestion, sizeof out->congestion),
         "congestion", "not the name of a congestion control");
    read_numbers(request, out, &first);
    read_times(request, out, &first);
    read_rate(request, out, &first);
    read_addresses(request, by_hand, out, &first);
    read_token(request, by_hand, out, &first);
    check_together(request, out, &first);
    return first;
}
