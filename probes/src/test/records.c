/* Prints records, each by one write, and those of a listener and of an error. */
#include "test/records.h"

#include <stdio.h>
#include <stdlib.h>

static plat_mutex output_lock;

void record_start(void)
{
    plat_mutex_init(&output_lock);
}

void record_print(struct json *record)
{
    json_end(record);
    plat_mutex_lock(&output_lock);
    int error = plat_output_write(record->line, record->length);
    plat_mutex_unlock(&output_lock);
    if (error != 0)
        _Exit(1); /* the controller is gone, and with it the reason for all that runs here */
}

void record_ready(struct test *test, const unsigned *ports, unsigned count)
{
    struct json record;
    char text[STREAMS_MAX * 6 + 1] = "", token[2 * DATAPORT_TOKEN + 1];
    size_t used = 0;
    json_begin(&record, "ready", test->settings.id);
    json_u64(&record, "port", ports[0]);
    for (unsigned i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%u", i > 0 ? "," : "",
                                 ports[i]);
    if (count > 1)
        json_text(&record, "ports", text);
    if (test->settings.token_made) {
        for (size_t i = 0; i < DATAPORT_TOKEN; i++)
            snprintf(token + 2 * i, 3, "%02x", test->settings.token[i]);
        json_text(&record, "token", token);
    }
    record_print(&record);
}

void record_add_error(struct json *record, const struct error *error)
{
    json_text(record, "error", error->word);
    if (error->number > 0)
        json_u64(record, "errno", (uint64_t)error->number);
    json_text(record, "key", error->key[0] != 0 ? error->key : NULL);
    json_text(record, "detail", error->detail[0] != 0 ? error->detail : NULL);
}

void record_error(const char *id, const struct error *error)
{
    struct json record;
    json_begin(&record, "error", id);
    record_add_error(&record, error);
    record_print(&record);
}
