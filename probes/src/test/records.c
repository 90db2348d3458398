/* Prints records, each by one write, and makes the records `ready` and `error`. A record is one
 * line of JSON. A write blocks while nobody reads. But a separate thread writes the records, so
 * that the other threads can end a test at its deadline, or end the process, while nobody reads. */
#include "test/records.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEWS_MAX_BYTES 65536
#define WAITING_MAX_BYTES (32u << 20)

struct line {
    struct line *next;
    size_t length;
    char bytes[];
};

static struct {
    plat_mutex lock;
    plat_cond changed;
    struct line *first, *last;
    size_t waiting_bytes; /* including the line that is being written */
    uint64_t taken_ns;    /* when the reader last read something */
    bool threaded;
} output;

/* Ends the process. Called if nobody reads the records, or there is no memory for them. */
static void leave(void)
{
    _Exit(1);
}

static void write_lines(void *argument)
{
    (void)argument;
    plat_mutex_lock(&output.lock);
    for (;;) {
        struct line *line = output.first;
        if (line == NULL) {
            plat_cond_wait(&output.changed, &output.lock, plat_now_ns() + 3600 * SECOND_NS);
            continue;
        }
        output.first = line->next;
        plat_mutex_unlock(&output.lock);
        if (plat_output_write(line->bytes, line->length) != 0)
            leave();
        plat_mutex_lock(&output.lock);
        output.waiting_bytes -= line->length;
        output.taken_ns = plat_now_ns();
        plat_cond_wake(&output.changed);
        free(line);
    }
}

void record_start(void)
{
    plat_thread writer;
    plat_mutex_init(&output.lock);
    plat_cond_init(&output.changed);
    output.threaded = plat_thread_start(&writer, write_lines, NULL) == 0;
}

static void add_line(const struct json *record)
{
    struct line *line = malloc(sizeof *line + record->length);
    if (line == NULL)
        leave();
    line->next = NULL;
    line->length = record->length;
    memcpy(line->bytes, record->line, record->length);
    plat_mutex_lock(&output.lock);
    if (output.first == NULL)
        output.first = line;
    else
        output.last->next = line;
    output.last = line;
    output.waiting_bytes += line->length;
    if (output.waiting_bytes > WAITING_MAX_BYTES)
        leave();
    plat_cond_wake(&output.changed);
    plat_mutex_unlock(&output.lock);
}

void record_print(struct json *record)
{
    json_end(record);
    if (output.threaded)
        add_line(record);
    else if (plat_output_write(record->line, record->length) != 0)
        leave();
}

size_t record_waiting_bytes(void)
{
    plat_mutex_lock(&output.lock);
    size_t bytes = output.waiting_bytes;
    plat_mutex_unlock(&output.lock);
    return bytes;
}

void record_print_news(struct json *record)
{
    if (record_waiting_bytes() < NEWS_MAX_BYTES)
        record_print(record);
}

void record_finish(uint64_t patience_ns)
{
    plat_mutex_lock(&output.lock);
    output.taken_ns = plat_now_ns();
    while (output.waiting_bytes > 0 && plat_now_ns() - output.taken_ns < patience_ns)
        plat_cond_wait(&output.changed, &output.lock, plat_now_ns() + NOTICE_NS);
    plat_mutex_unlock(&output.lock);
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
