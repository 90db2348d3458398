/* Writes what a running test reports, from its progress to its result or error. A record is one
 * line of JSON. */
#include "agent/test_records.h"

#include <string.h>

#include "agent/result.h"
#include "test/records.h"

void record_progress(struct test *test, uint64_t now_ns)
{
    struct json record;
    uint64_t bytes = 0, messages = 0;
    for (unsigned i = 0; i < test->settings.streams; i++) {
        bytes += atomic_load_explicit(&test->stream[i].marks.bytes, memory_order_relaxed);
        messages += atomic_load_explicit(&test->stream[i].marks.messages, memory_order_relaxed);
    }
    json_begin(&record, "progress", test->settings.id);
    json_u64(&record, "bytes", bytes);
    json_u64(&record, "messages", messages);
    json_u64(&record, "elapsed_ns", now_ns - test->begun_ns);
    record_print_news(&record);
}

void record_window(struct test *test)
{
    struct json record;
    json_begin(&record, "window", test->settings.id);
    result_window(test, &record);
    record_print(&record);
}

static void record_failure(struct test *test)
{
    struct json record;
    json_begin(&record, "error", test->settings.id);
    record_add_error(&record, &test->failure);
    if (strcmp(test->failure.word, "no-peer") == 0)
        json_u64(&record, "strangers", result_unexpected(test));
    if (test->path_mtu_bytes > 0)
        json_u64(&record, "path_mtu_bytes", test->path_mtu_bytes);
    record_print(&record);
}

/* For each role: its name, the check that may fail the test, and the function that writes the
 * result. */
static const struct {
    const char *name;
    void (*demand)(struct test *test);
    void (*add)(struct test *test, struct json *record);
} roles[] = {[ROLE_RECEIVE] = {"receive", result_demand_marks, result_receiving},
             [ROLE_SEND] = {"send", NULL, result_sending},
             [ROLE_ASK] = {"ask", result_demand_answers, result_asking},
             [ROLE_MIRROR] = {"mirror", NULL, result_mirroring}};

static void add_size(const struct settings *settings, struct json *record)
{
    json_u64(record, "message_bytes", settings->message_bytes);
    if (settings->kind == KIND_STREAM)
        json_u64(record, "streams", settings->streams);
    else
        json_u64(record, "response_bytes", settings->response_bytes);
}

/* Prints the round trips that are reported one by one, before the result, in as many records as
 * needed. */
static void record_trips(struct test *test)
{
    struct json record;
    uint64_t next = 0;
    for (;;) {
        json_begin(&record, "trips", test->settings.id);
        if (!result_trips(test, &next, &record))
            return;
        record_print(&record);
    }
}

void record_end(struct test *test)
{
    struct json record;
    const enum role role = test->settings.role;
    const bool check = test->settings.kind == KIND_CHECK;
    if (!check && roles[role].demand != NULL && !test_failed(test))
        roles[role].demand(test);
    if (test_failed(test)) {
        record_failure(test);
        return;
    }
    if (test->settings.trips > 0)
        record_trips(test);
    json_begin(&record, "result", test->settings.id);
    json_text(&record, "role", roles[role].name);
    json_text(&record, "protocol", test->settings.udp ? "udp" : "tcp");
    if (!check) {
        add_size(&test->settings, &record);
        roles[role].add(test, &record);
    }
    result_common(test, &record);
    if (test->settings.kind == KIND_STREAM)
        result_streams(test, &record);
    result_tcp_series(test, &record); /* last, because it is the longest: the others must fit */
    record_print(&record);
}
