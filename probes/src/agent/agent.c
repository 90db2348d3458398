/* The control thread reads requests, answers them, and starts and stops tests and programs. It
 * sleeps while it waits, and never spins. agent.h explains the words agent and lease. */
#include "agent/agent.h"

#include <stdio.h>
#include <string.h>

#include "agent/calibration.h"
#include "agent/running.h"
#include "agent/undo_log.h"
#include "platform/plat.h"
#include "protocol/request.h"
#include "protocol/settings.h"
#include "pure/json.h"
#include "test/records.h"

#define LOOK_MS 200                        /* interval of checks while tests run or output waits */
#define UNREAD_MAX_BYTES (1u << 20)        /* unread output above which no request is read */
#define LAST_WORDS_NS (2 * SECOND_NS)      /* longest wait at the end if nothing is read */

struct agent {
    bool by_hand, quitting;
    struct running running;
    struct undo_log undo;
};

/* ---- verbs ---- */

static struct error nothing_wrong(void)
{
    return (struct error){.word = NULL};
}

static struct error print_answer(const struct request *request)
{
    struct json record;
    json_begin(&record, request->verb, request->id);
    record_print(&record);
    return nothing_wrong();
}

static struct error do_hello(struct agent *agent, const struct request *request)
{
    struct json record;
    struct plat_identity self;
    (void)agent;
    plat_identify(&self);
    json_begin(&record, "hello", request->id);
    json_u64(&record, "protocol", 1);
    json_text(&record, "version", NETPROBE_VERSION);
    json_text(&record, "build", NETPROBE_BUILD);
    json_text(&record, "os", self.os);
    json_text(&record, "os_release", self.os_release[0] != 0 ? self.os_release : NULL);
    json_text(&record, "architecture", self.architecture[0] != 0 ? self.architecture : NULL);
    json_u64(&record, "cpu_count", self.cpu_count);
    json_text(&record, "clock", self.clock);
    json_u64(&record, "clock_step_ns", calibration_clock_step_ns());
    json_u64(&record, "worst_sleep_ns", calibration_worst_sleep_ns());
    char capabilities[400];
    snprintf(capabilities, sizeof capabilities, "%s,round_trip,connect,run,undo", self.capabilities);
    json_text(&record, "capabilities", capabilities);
    json_u64(&record, "pid", self.pid);
    json_text(&record, "machine_id", self.machine_id[0] != 0 ? self.machine_id : NULL);
    if (self.network_id != 0)
        json_u64(&record, "network_id", self.network_id);
    record_print(&record);
    return nothing_wrong();
}

static struct error do_heartbeat(struct agent *agent, const struct request *request)
{
    (void)agent;
    return print_answer(request);
}

static struct error do_clock(struct agent *agent, const struct request *request)
{
    struct json record;
    (void)agent;
    json_begin(&record, "clock", request->id);
    json_u64(&record, "monotonic_ns", plat_now_ns());
    json_u64(&record, "wall_ns", plat_wall_ns());
    record_print(&record);
    return nothing_wrong();
}

/* Adds the counters of each CPU. The difference between the counters of two answers covers the time
 * between the two answers. */
static void add_cpu_times(struct json *record)
{
    struct plat_cpu_times now;
    uint64_t numbers[PLAT_CPUS], busy[PLAT_CPUS], total[PLAT_CPUS];
    plat_cpu_times(&now);
    for (unsigned i = 0; i < now.count; i++) {
        numbers[i] = now.core[i].cpu;
        busy[i] = now.core[i].busy;
        total[i] = now.core[i].total;
    }
    if (now.count == 0)
        return;
    json_u64s(record, "cpu_numbers", numbers, now.count);
    json_u64s(record, "cpu_busy_ticks", busy, now.count);
    json_u64s(record, "cpu_total_ticks", total, now.count);
}

static struct error do_facts(struct agent *agent, const struct request *request)
{
    struct json record;
    struct plat_address to;
    const char *text = request_value(request, "to");
    bool cpu_times = false, counters = false;
    (void)agent;
    if (text != NULL && !plat_address_parse(text, 0, &to))
        return error_about("bad-value", "to", "not a numeric address");
    if (request_flag(request, "cpu_times", &cpu_times) != NULL)
        return error_about("bad-value", "cpu_times", "0 or 1");
    if (request_flag(request, "counters", &counters) != NULL)
        return error_about("bad-value", "counters", "0 or 1");
    json_begin(&record, "facts", request->id);
    (counters ? plat_counters : plat_facts)(&record, text, request_value(request, "interface"));
    if (cpu_times)
        add_cpu_times(&record);
    record_print(&record);
    return nothing_wrong();
}

static struct error do_lock(struct agent *agent, const struct request *request)
{
    const char *owner = request_value(request, "owner");
    char holder[200] = "";
    (void)agent;
    if (owner == NULL)
        return error_about("missing-key", "owner", "who takes the lock");
    int error = plat_lock_take(owner, holder, sizeof holder);
    if (error == PLAT_LOCKED)
        return error_about("locked", "", holder);
    if (error != 0) {
        struct error refused = error_about(plat_word(error), "", "lock");
        refused.number = error;
        return refused;
    }
    return print_answer(request);
}

static struct error do_unlock(struct agent *agent, const struct request *request)
{
    (void)agent;
    plat_lock_release();
    return print_answer(request);
}

static struct error do_test(struct agent *agent, const struct request *request)
{
    struct settings settings;
    uint64_t requested_ns = plat_now_ns();
    struct error error = settings_read(request, agent->by_hand, &settings);
    if (error.word != NULL)
        return error;
    return running_start_test(&agent->running, &settings, requested_ns);
}

static struct error do_run(struct agent *agent, const struct request *request)
{
    return running_start_program(&agent->running, request, NULL, plat_now_ns());
}

static struct error do_undo(struct agent *agent, const struct request *request)
{
    return running_start_program(&agent->running, request, &agent->undo, plat_now_ns());
}

static struct error do_guard(struct agent *agent, const struct request *request)
{
    return undo_guard(&agent->undo, request);
}

static struct error do_leftovers(struct agent *agent, const struct request *request)
{
    (void)agent;
    return undo_leftovers(request);
}

static struct error do_stop(struct agent *agent, const struct request *request)
{
    const char *id = request_value(request, "test");
    const bool with_sent = request_value(request, "sent") != NULL;
    uint64_t sent = 0;
    bool abort = false;
    if (id == NULL)
        return error_about("missing-key", "test", "which test to stop");
    if (request_u64(request, "sent", 0, UINT64_MAX, &sent) != NULL)
        return error_about("bad-value", "sent", "a whole number");
    if (request_flag(request, "abort", &abort) != NULL)
        return error_about("bad-value", "abort", "0 or 1");
    const struct running_one one = running_find(&agent->running, id);
    if (one.test == NULL && one.program == NULL)
        return error_about("unknown-test", "test", "no test of this id is running");
    print_answer(request);
    if (one.test != NULL)
        test_tell(one.test, abort, with_sent, sent);
    else
        program_tell(one.program, abort);
    return nothing_wrong();
}

static struct error do_quit(struct agent *agent, const struct request *request)
{
    agent->quitting = true;
    return print_answer(request);
}

static const char *const no_keys[] = {NULL};
static const char *const facts_keys[] = {"to", "interface", "cpu_times", "counters", NULL};
static const char *const lock_keys[] = {"owner", NULL};
static const char *const undo_keys[] = {"entry", NULL};
static const char *const stop_keys[] = {"test", "sent", "abort", NULL};

static const struct verb {
    const char *name;
    const char *const *keys;
    struct error (*handle)(struct agent *, const struct request *);
} verbs[] = {
    {"hello", no_keys, do_hello},        {"heartbeat", no_keys, do_heartbeat},
    {"clock", no_keys, do_clock},        {"facts", facts_keys, do_facts},
    {"lock", lock_keys, do_lock},        {"unlock", no_keys, do_unlock},
    {"receive", settings_keys, do_test}, {"send", settings_keys, do_test},
    {"ask", settings_ask_keys, do_test}, {"mirror", settings_mirror_keys, do_test},
    {"stop", stop_keys, do_stop},        {"run", program_settings_keys, do_run},
    {"guard", program_settings_keys, do_guard}, {"undo", undo_keys, do_undo},
    {"leftovers", no_keys, do_leftovers},       {"quit", no_keys, do_quit},
};

static size_t count_of(const char *const *keys)
{
    size_t count = 0;
    while (keys[count] != NULL)
        count++;
    return count;
}

static struct error handle(struct agent *agent, const struct request *request)
{
    running_reap(&agent->running);
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        const char *unknown;
        if (strcmp(verbs[i].name, request->verb) != 0)
            continue;
        if (request_only(request, verbs[i].keys, count_of(verbs[i].keys), &unknown) != NULL)
            return error_about("unknown-key", unknown, "this verb does not know this key");
        return verbs[i].handle(agent, request);
    }
    return error_about("unknown-verb", "", request->verb);
}

/* Answers one request. Returns false if the answer was an error. */
static bool answer_request(struct agent *agent, const struct request *request)
{
    struct error error = handle(agent, request);
    if (error.word != NULL)
        record_error(request->id, &error);
    return error.word == NULL;
}

static void answer_fault(const struct request *request, const struct request_fault *fault)
{
    struct error error = error_about(fault->word, fault->key, fault->detail);
    record_error(request->id, &error);
}

/* Handles one line without its line end. An empty line only renews the lease, and gets no
 * answer. */
static void take_line(struct agent *agent, char *line, size_t length)
{
    struct request request;
    struct request_fault fault;
    if (request_parse(line, length, &request, &fault) != NULL)
        answer_fault(&request, &fault);
    else if (request.verb[0] != 0)
        answer_request(agent, &request);
}

/* ---- lines ---- */

struct line_reader {
    char bytes[REQUEST_LINE_MAX]; /* without the line feed, with room for a NUL */
    size_t used;
    bool skipping; /* drops the rest of a line that was too long */
};

static void take_byte(struct agent *agent, struct line_reader *reader, char byte)
{
    if (byte == '\n') {
        if (!reader->skipping)
            take_line(agent, reader->bytes, reader->used);
        reader->used = 0;
        reader->skipping = false;
    } else if (!reader->skipping && reader->used < sizeof reader->bytes - 1) {
        reader->bytes[reader->used++] = byte;
    } else if (!reader->skipping) {
        struct error error =
            error_about("line-too-long", "", "over 8192 bytes; skipped to its end");
        struct request request;
        struct request_fault fault;
        request_parse(reader->bytes, reader->used, &request, &fault); /* only to read its id */
        record_error(request.id, &error);
        reader->skipping = true;
    }
}

/* Returns how many milliseconds to wait for input; 0: the agent must end. Until the lease ends, the
 * wait is the rest of the lease (at most 60 s). After that, the wait is LOOK_MS as long as a test
 * or program is running and the controller was silent for less than silence_ns. */
static int patience_ms(struct agent *agent, const struct agent_patience *patience,
                       uint64_t silent_ns)
{
    if (silent_ns < patience->lease_ns) {
        uint64_t left_ms = (patience->lease_ns - silent_ns) / MILLISECOND_NS + 1;
        return left_ms > 60000 ? 60000 : (int)left_ms;
    }
    running_reap(&agent->running);
    return running_any(&agent->running) && silent_ns < patience->silence_ns ? LOOK_MS : 0;
}

/* Reads input. If too much output waits to be read, reads no input, so that nothing renews the
 * lease. */
static ptrdiff_t read_more(char *into, size_t capacity, int wait_ms)
{
    if (record_waiting_bytes() < UNREAD_MAX_BYTES)
        return plat_input_read(into, capacity, wait_ms);
    plat_sleep_ns(LOOK_MS * MILLISECOND_NS);
    return PLAT_TIMED_OUT;
}

/* Serves requests until `quit` or the end of the input. Returns false if the controller was silent
 * for too long. */
static bool serve(struct agent *agent, const struct agent_patience *patience)
{
    static struct line_reader reader;
    char bytes[4096];
    uint64_t heard_ns = plat_now_ns();
    while (!agent->quitting) {
        int wait_ms = patience_ms(agent, patience, plat_now_ns() - heard_ns);
        if (wait_ms == 0)
            return false;
        ptrdiff_t got = read_more(bytes, sizeof bytes, wait_ms);
        if (got == 0)
            break;
        for (ptrdiff_t i = 0; i < got && !agent->quitting; i++) {
            if (bytes[i] == '\n')
                heard_ns = plat_now_ns();
            take_byte(agent, &reader, bytes[i]);
        }
    }
    return true;
}

int agent_run(const struct agent_patience *patience)
{
    struct agent agent = {.quitting = false};
    undo_log_start(&agent.undo, false);
    bool heard = serve(&agent, patience);
    running_end(&agent.running);
    undo_log_end(&agent.undo);
    plat_lock_release();
    calibration_end();
    record_finish(LAST_WORDS_NS);
    if (!heard)
        fprintf(stderr, "netprobe: nothing heard within the lease, leaving\n");
    return 0;
}

int agent_by_hand(unsigned count, char **words)
{
    struct agent agent = {.by_hand = true};
    struct request request;
    struct request_fault fault;
    bool fine = false;
    undo_log_start(&agent.undo, true);
    if (request_from_words("-", count, words, &request, &fault) != NULL)
        answer_fault(&request, &fault);
    else
        fine = answer_request(&agent, &request);
    fine = running_wait(&agent.running) && fine;
    undo_log_end(&agent.undo);
    calibration_end();
    record_finish(NEVER_NS);
    return fine ? 0 : 1;
}
