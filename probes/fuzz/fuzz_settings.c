/* Fuzzes the reading of a test's settings with any request. Settings that pass all checks of
 * settings_read must be consistent. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/error.h"
#include "protocol/settings.h"
#include "pure/in_flight.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void demand_stream(const struct settings *settings)
{
    demand(settings->streams >= 1 && settings->streams <= STREAMS_MAX);
    demand(settings->receive_call_bytes >= 1 && settings->interval_ns > 0);
    demand((settings->open_ns == 0) == (settings->close_ns == 0));
    demand(settings->count == 0 || settings->count >= settings->streams);
    demand(settings->method <= METHOD_PACKET);
    demand(settings_workers(settings) >= 1 && settings_workers(settings) <= WORKERS_MAX);
    demand(settings->streams <= WORKERS_MAX || (settings->method == METHOD_PLAIN && !settings->poll));
    demand(!settings->poll || (settings->role == ROLE_RECEIVE && !settings->spin));
    demand(settings->method == METHOD_PLAIN || (settings->udp && settings->role == ROLE_SEND));
}

static void demand_round_trip(const struct settings *settings)
{
    const bool bare = settings->message_bytes < 16 || settings->response_bytes < 16;
    demand(settings->streams == 1 && settings->keep <= KEEP_MAX);
    demand(settings->trips <= TRIPS_MAX + 2);
    demand(settings->trips == 0 || (settings->rate_numerator > 0 && settings->count == 0));
    demand(settings->outstanding >= 1 && settings->outstanding <= IN_FLIGHT_MAX);
    demand(settings->response_bytes >= 1 && settings->response_bytes <= MESSAGE_MAX_BYTES);
    demand(settings->hold_ns <= 100000000);
    demand(settings->timeout_ns >= 1000000 && settings->timeout_ns <= UINT64_C(10000000000));
    if (settings->udp) {
        demand(settings->response_bytes <= settings->message_bytes);
        demand(!bare || (settings->outstanding == 1 &&
                         settings->listen == (settings->role == ROLE_MIRROR)));
        demand(settings->kind == KIND_ROUND_TRIP);
    } else {
        demand(!settings->no_checksum && !settings->stamps);
    }
    if (settings->kind == KIND_CONNECT)
        demand(settings->listen == (settings->role == ROLE_MIRROR) && settings->outstanding == 1);
    if (settings->echo)
        demand(!settings->listen && settings->response_bytes == settings->message_bytes);
}

static const char *const *keys_of(const char *verb)
{
    if (strcmp(verb, "ask") == 0)
        return settings_ask_keys;
    return strcmp(verb, "mirror") == 0 ? settings_mirror_keys : settings_keys;
}

static void read_settings(struct request *request, const char *verb)
{
    static struct settings settings;
    const char *unknown;
    size_t key_count = 0;
    request->verb = verb;
    while (keys_of(verb)[key_count] != NULL)
        key_count++;
    if (request_only(request, keys_of(verb), key_count, &unknown) != NULL)
        return;
    struct error error = settings_read(request, false, &settings);
    if (error.word != NULL) {
        demand(error_word_known(error.word));
        return;
    }
    demand(settings.message_bytes >= 1 && settings.message_bytes <= MESSAGE_MAX_BYTES);
    demand(settings.seconds_ns > 0 && settings.deadline_ns > 0);
    demand(settings.cpu_count <= WORKERS_MAX && (settings.cpu < 0 || settings.cpu_count == 1));
    demand(settings.dscp >= -1 && settings.dscp <= 63 && settings.cpu >= -1);
    demand(settings.listen ? settings.bind.length > 0 : settings.to_count > 0);
    demand(settings.port_first <= settings.port_last && settings.port_last <= 65535);
    demand(!settings.udp || settings.message_bytes <= 65527);
    if (settings.role == ROLE_ASK || settings.role == ROLE_MIRROR)
        demand_round_trip(&settings);
    else
        demand_stream(&settings);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const verbs[] = {"send", "receive", "ask", "mirror"};
    struct request request;
    struct request_fault fault;
    char *line = malloc(size + 1);
    demand(line != NULL);
    if (size > 0)
        memcpy(line, data, size);
    if (request_parse(line, size, &request, &fault) == NULL)
        for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
            read_settings(&request, verbs[i]);
    free(line);
    return 0;
}
