/* Reads the keys that only `ask` and `mirror` have, and refuses keys that exclude each other. An
 * asker sends requests and measures round trips; a mirror answers requests. */
#include "protocol/keys.h"
#include "protocol/settings.h"
#include "pure/in_flight.h"
#include "pure/nanoseconds.h"

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

void settings_read_round_trip(struct keys *keys, struct settings *out)
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
