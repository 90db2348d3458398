/* Fuzzes the parsers of a data port with arbitrary bytes, as a data port may receive them. Parsed
 * sequence numbers go to the functions that count messages. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "protocol/data_port.h"
#include "pure/in_flight.h"
#include "pure/sequence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const unsigned char token[DATAPORT_TOKEN] = "0123456789abcdef";

static void demand(bool condition)
{
    if (!condition)
        abort();
}

static void account(const struct dataport_data *header)
{
    static struct sequence sequence;
    uint64_t jitter;
    demand(header->sequence <= DATAPORT_SEQUENCE_MAX);
    sequence_add(&sequence, header->sequence);
    demand(sequence.next > header->sequence);
    if (header->timed)
        sequence_time(&sequence, header->due_ns, 1000);
    sequence_jitter_ns(&sequence, &jitter);
    demand(sequence.reordered <= sequence.distinct);
}

/* Handles a response with any sequence number as the sender of requests does, after it has sent one
 * more request. */
static void match(const struct dataport_data *header)
{
    static struct in_flight in_flight;
    static uint64_t now_ns;
    const struct in_flight_request *request;
    uint64_t sequence = in_flight_next(&in_flight);
    now_ns++;
    in_flight_sent(&in_flight, now_ns, now_ns, true);
    enum in_flight_fate fate = in_flight_answer(&in_flight, header->sequence, &request);
    demand((fate == IN_FLIGHT_ANSWERED) == (request != NULL));
    demand(fate == IN_FLIGHT_ANSWERED || header->sequence != sequence);
    while (in_flight_lost(&in_flight, now_ns, 100) != NULL)
        ;
    demand(in_flight.waiting <= 100 && in_flight.oldest <= in_flight.next);
}

static void demand_one_kind(const unsigned char *bytes, size_t size)
{
    static const enum dataport_kind kinds[] = {DATAPORT_DATA, DATAPORT_REQUEST, DATAPORT_RESPONSE};
    struct dataport_data header;
    unsigned matches = 0;
    for (int i = 0; i < 3; i++)
        matches += dataport_message_read(bytes, size, kinds[i], dataport_tag(token), &header) ||
                   dataport_bare_is(bytes, size, kinds[i]);
    demand(matches <= 1);
    if (dataport_message_read(bytes, size, DATAPORT_RESPONSE, dataport_tag(token), &header))
        match(&header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dataport_preface preface;
    struct dataport_control control;
    struct dataport_data header;
    /* The exact size, so that the sanitizer reports reads beyond the input. */
    unsigned char *bytes = calloc(1, size > 0 ? size : 1);
    demand(bytes != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    if (size >= DATAPORT_PREFACE && dataport_preface_read(bytes, token, &preface))
        demand(memcmp(bytes, token, sizeof token) == 0 && preface.stream <= 65535);
    if (dataport_control_read(bytes, size, token, &control))
        demand(size == DATAPORT_CONTROL && control.kind >= DATAPORT_HELLO &&
               control.kind <= DATAPORT_LEAVE && memcmp(bytes + 8, token, sizeof token) == 0);
    if (dataport_data_read(bytes, size, dataport_tag(token), &header)) {
        demand(size >= 16 && header.timed == (size >= 24));
        account(&header);
    }
    demand_one_kind(bytes, size);
    demand(!dataport_message_of(bytes, size, DATAPORT_DATA, token) || size >= 16);
    free(bytes);
    return 0;
}
