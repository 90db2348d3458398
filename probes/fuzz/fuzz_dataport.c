/* Anything that can arrive on a data port: the readers, and the accounting behind them. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dataport.h"
#include "sequence.h"

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct dataport_preface preface;
    struct dataport_control control;
    struct dataport_data header;
    unsigned char *bytes = calloc(1, size > 0 ? size : 1); /* so that one byte too far shows */
    demand(bytes != NULL);
    if (size > 0)
        memcpy(bytes, data, size);
    if (size >= DATAPORT_PREFACE && dataport_preface_read(bytes, token, &preface))
        demand(memcmp(bytes, token, sizeof token) == 0 && preface.stream <= 65535);
    if (dataport_control_read(bytes, size, token, &control))
        demand(size == DATAPORT_CONTROL && control.kind >= DATAPORT_HELLO &&
               control.kind <= DATAPORT_END && memcmp(bytes + 8, token, sizeof token) == 0);
    if (dataport_data_read(bytes, size, dataport_tag(token), &header)) {
        demand(size >= 16 && header.timed == (size >= 24));
        account(&header);
    }
    demand(!dataport_message_of(bytes, size, DATAPORT_DATA, token) || size >= 16);
    free(bytes);
    return 0;
}
