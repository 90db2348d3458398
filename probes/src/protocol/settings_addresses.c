/* Reads the addresses of a test, for listening or connecting, and the test's token. The token is a
 * secret that shows that both sides belong to the same test. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/keys.h"
#include "protocol/settings.h"

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

void settings_read_addresses(struct keys *keys, struct settings *out)
{
    static const char *const peers[] = {"probe", "echo"};
    unsigned peer = 0;
    keys_note(keys, request_choice(keys->request, "peer", peers, 2, &peer), "peer",
              "probe or echo");
    out->echo = peer == 1;
    read_ends(keys, out);
    (out->echo ? make_token : read_token)(keys, out);
}
