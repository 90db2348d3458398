/* What sending and receiving have in common. */
#include "traffic.h"

#include <stdlib.h>

bool traffic_prepare(struct stream *stream)
{
    const struct settings *settings = &stream->test->settings;
    /* A UDP receiver has one byte more, so that a longer datagram shows. */
    size_t size = settings->send   ? settings->message_bytes
                  : settings->udp  ? settings->message_bytes + 1
                                   : settings->receive_call_bytes;
    if (settings->udp && size < DATAPORT_CONTROL + 1)
        size = DATAPORT_CONTROL + 1;
    stream->buffer = malloc(size);
    /* Filled on the receiving side as well: its pages are to be there before the first message. */
    if (stream->buffer != NULL)
        dataport_fill(stream->buffer, size, stream->number);
    return stream->buffer != NULL;
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
    test->begun++;
    plat_cond_wake(&test->changed);
    plat_mutex_unlock(&test->lock);
}
