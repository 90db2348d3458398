/* Starts, finds, ends and joins tests and programs, and prints the output of programs. A record is
 * one line of JSON. The undo log has an entry for each change of this host: a command that undoes
 * the change. */
#include "agent/running.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "agent/supervise.h"
#include "agent/undo_log.h"
#include "platform/plat.h"
#include "protocol/settings.h"
#include "pure/text.h"
#include "test/records.h"

/* ---- a program, in a thread of its own ---- */

#define TEXT_BYTES 16000              /* of the program's output, in one record */
#define TEXT_ESCAPED 65000            /* the same, escaped for JSON; the line also has other keys */
#define OUTPUT_BYTES (1u << 20)       /* printed at most; further output is only counted */
#define READS 16                      /* maximum number in a row from one descriptor */
#define HOLD_NS (200 * MILLISECOND_NS) /* output waits this long for more, to be printed together */
#define GRACE_NS SECOND_NS            /* time to end, for a program that was asked to end */
#define KILLED_NS (3 * SECOND_NS)     /* a killed program that runs longer cannot be ended */
#define REST_NS (500 * MILLISECOND_NS) /* longest wait for output of a program that has ended */

/* What the program prints on one descriptor. */
struct output {
    bool closed;
    size_t held;       /* bytes that were read and not printed yet */
    uint64_t since_ns; /* since when the first of them has been held */
    unsigned char bytes[TEXT_BYTES];
};

struct program {
    struct program_settings settings;
    uint64_t requested_ns, started_ns, ended_ns;
    plat_thread thread;
    struct plat_program child;
    struct plat_program_end end;
    struct output output[2];
    uint64_t printed_bytes, discarded_bytes;
    uint64_t asked_ns, killed_ns; /* when it was asked to end, and killed; 0: not yet */
    struct error failure;
    bool undoes; /* the program is from an entry of the undo log */
    struct undo_claim claim;
    _Atomic bool told_stop, told_abort; /* set by the control thread */
    _Atomic bool answered;
};

/* ---- records ---- */

static void record_started(const struct program *program)
{
    struct json record;
    json_begin(&record, "started", program->settings.id);
    json_u64(&record, "pid", program->child.pid);
    record_print(&record);
}

static void record_output(const struct program *program, unsigned descriptor, size_t length)
{
    struct json record;
    json_begin(&record, "output", program->settings.id);
    json_u64(&record, "descriptor", descriptor);
    json_text_of(&record, "text", program->output[descriptor - 1].bytes, length);
    record_print(&record);
}

static void add_result(const struct program *program, struct json *record)
{
    const struct plat_program_end *end = &program->end;
    json_u64(record, "elapsed_ns", program->ended_ns - program->started_ns);
    if (end->known && end->by_signal)
        json_u64(record, "signal", end->code);
    else if (end->known)
        json_u64(record, "exit_code", end->code);
    json_u64(record, "output_bytes", program->printed_bytes);
    json_u64(record, "discarded_bytes", program->discarded_bytes);
    if (end->timed) {
        json_u64(record, "user_ns", end->user_ns);
        json_u64(record, "system_ns", end->system_ns);
    }
}

static void record_last(const struct program *program, bool left)
{
    struct json record;
    const bool failed = program->failure.word != NULL;
    json_begin(&record, failed ? "error" : "result", program->settings.id);
    if (failed)
        record_add_error(&record, &program->failure);
    else
        add_result(program, &record);
    if (program->undoes) {
        json_text(&record, "entry", program->claim.id);
        json_flag(&record, "left", left);
    }
    record_print(&record);
}

/* ---- output ---- */

/* Prints the held bytes: at once if the buffer is full or `last` is set, otherwise after HOLD_NS.
 * An incomplete character at their end is held until the rest of it arrives, unless `last` is
 * set. */
static void print_held(struct program *program, unsigned descriptor, bool last)
{
    struct output *output = &program->output[descriptor - 1];
    while (output->held > 0 && (last || output->held == TEXT_BYTES ||
                                plat_now_ns() - output->since_ns >= HOLD_NS)) {
        const size_t length = text_cut(output->bytes, output->held, TEXT_ESCAPED, last);
        if (length == 0)
            return;
        record_output(program, descriptor, length);
        output->held -= length;
        output->since_ns = plat_now_ns();
        memmove(output->bytes, output->bytes + length, output->held);
    }
}

/* Adds the `length` bytes that were read behind the held bytes to the held bytes. Bytes beyond
 * OUTPUT_BYTES are only counted. */
static void keep(struct program *program, struct output *output, size_t length)
{
    const uint64_t room = OUTPUT_BYTES - program->printed_bytes;
    const size_t kept = length < room ? length : (size_t)room;
    if (output->held == 0)
        output->since_ns = plat_now_ns();
    output->held += kept;
    program->printed_bytes += kept;
    program->discarded_bytes += length - kept;
}

/* Reads and prints what the program has printed by now. Returns whether there was anything. */
static bool take_output(struct program *program, unsigned descriptor)
{
    struct output *output = &program->output[descriptor - 1];
    bool moved = false;
    for (int i = 0; i < READS && !output->closed; i++) {
        ptrdiff_t got = plat_program_read(&program->child, descriptor, output->bytes + output->held,
                                          TEXT_BYTES - output->held);
        if (got < 0)
            break;
        moved = true;
        output->closed = got == 0;
        keep(program, output, (size_t)got);
        print_held(program, descriptor, false);
    }
    print_held(program, descriptor, false);
    return moved;
}

static bool take_both(struct program *program)
{
    const bool first = take_output(program, 1), second = take_output(program, 2);
    return first || second;
}

/* ---- the life of a program, in a thread of its own ---- */

static void kill_program(struct program *program, const char *word, const char *detail)
{
    plat_program_stop(&program->child, true);
    program->killed_ns = plat_now_ns();
    if (word != NULL)
        program->failure = error_about(word, "", detail);
}

/* Ends the program if a stop or the deadline requires it. Returns false if the program cannot be
 * ended. */
static bool end_in_time(struct program *program)
{
    const uint64_t now = plat_now_ns();
    if (program->killed_ns > 0)
        return now - program->killed_ns < KILLED_NS;
    if (atomic_load(&program->told_abort)) {
        kill_program(program, "stopped", "");
    } else if (now >= program->requested_ns + program->settings.deadline_ns) {
        kill_program(program, program->asked_ns > 0 ? NULL : "deadline", "the program still ran");
    } else if (program->asked_ns > 0 && now - program->asked_ns >= GRACE_NS) {
        kill_program(program, NULL, "");
    } else if (program->asked_ns == 0 && atomic_load(&program->told_stop)) {
        program->asked_ns = now;
        plat_program_stop(&program->child, false);
    }
    return true;
}

/* Waits for the program's end. While there is no output, the time between two checks doubles, up to
 * NOTICE_NS. */
static void watch_program(struct program *program)
{
    uint64_t pause_ns = MILLISECOND_NS;
    do {
        pause_ns = take_both(program) ? MILLISECOND_NS : 2 * pause_ns;
        if (pause_ns > NOTICE_NS)
            pause_ns = NOTICE_NS;
        if (!end_in_time(program)) {
            program->failure = error_about("system", "", "the program was killed, and did not end");
            break;
        }
    } while (!plat_program_wait(&program->child, plat_now_ns() + pause_ns));
    program->ended_ns = plat_now_ns();
}

/* Kills the other processes of the program's group, and takes the last output. Waits for the
 * output's end no longer than REST_NS, because a process that has left the group may keep the
 * output open. */
static void close_program(struct program *program)
{
    plat_program_stop(&program->child, true);
    const uint64_t until_ns = plat_now_ns() + REST_NS;
    for (;;) {
        const bool moved = take_both(program);
        if ((program->output[0].closed && program->output[1].closed) || plat_now_ns() >= until_ns)
            break;
        if (!moved)
            plat_sleep_ns(MILLISECOND_NS);
    }
    plat_program_close(&program->child, &program->end);
    for (unsigned descriptor = 1; descriptor <= 2; descriptor++)
        print_held(program, descriptor, true);
}

static struct error not_started(const char *name, int number)
{
    char detail[400], text[120];
    const char *word = plat_word(number);
    if (plat_is_missing(number)) {
        snprintf(detail, sizeof detail, "this host has no program %s", name);
        word = "program-missing";
    } else {
        plat_describe(number, text, sizeof text);
        snprintf(detail, sizeof detail, "%s: %s", name, text);
        if (strcmp(word, "permission-denied") != 0 && strcmp(word, "out-of-memory") != 0)
            word = "system"; /* all other words are about sockets */
    }
    struct error error = error_about(word, "", detail);
    error.number = number;
    return error;
}

/* Drops the entry of the undo log if its program succeeded; otherwise writes the outcome into the
 * entry. Returns whether the entry is still there. */
static bool settle_entry(struct program *program, bool was_started)
{
    struct undo_try last = {UNDO_EXITED, UNDO_NOT_STARTED, plat_wall_ns()};
    bool left;
    if (was_started)
        last = undo_try_of(&program->end, program->failure.word != NULL);
    const struct error error = undo_claim_settle(&program->claim, &last, &left);
    if (program->failure.word == NULL)
        program->failure = error;
    return left;
}

static void lead_program(void *argument)
{
    struct program *program = argument;
    int number = plat_program_start(&program->child, program->settings.words);
    program->started_ns = plat_now_ns();
    if (number != 0) {
        program->failure = not_started(program->settings.name, number);
    } else {
        record_started(program);
        watch_program(program);
        close_program(program);
    }
    const bool left = program->undoes && settle_entry(program, number == 0);
    atomic_store(&program->answered, true);
    record_last(program, left);
}

static struct error claim_entry(struct program *program, const struct request *request,
                                struct undo_log *undo)
{
    const char *id = request_value(request, "entry");
    struct program_settings *settings = &program->settings;
    if (id == NULL)
        return error_about("missing-key", "entry", "which entry to undo");
    struct undo_entry *entry = calloc(1, sizeof *entry);
    if (entry == NULL)
        return error_about("out-of-memory", "", "no room for an entry");
    struct error error = undo_claim_take(&program->claim, undo, id, entry);
    program->undoes = error.word == NULL;
    if (program->undoes) {
        char *words[UNDO_WORDS_MAX + 1];
        undo_entry_words(entry, words);
        memcpy(settings->id, request->id, sizeof settings->id);
        program_settings_set(settings, words, entry->deadline_ns);
    }
    free(entry);
    return error;
}

/* Reads the request and starts the thread. The thread starts the program and prints all records
 * about the program, also an error if it cannot be started. If `undo` is NULL, the request has the
 * program's name and arguments. Otherwise the request names an entry of the undo log, which has the
 * name and the arguments. */
static struct error program_start(struct program **out, const struct request *request,
                                  struct undo_log *undo, uint64_t requested_ns)
{
    struct program *program = calloc(1, sizeof *program);
    if (program == NULL)
        return error_about("out-of-memory", "", "no room for another program");
    struct error error = undo != NULL ? claim_entry(program, request, undo)
                                      : program_settings_read(request, &program->settings);
    if (error.word == NULL) {
        program->requested_ns = requested_ns;
        error.number = plat_thread_start(&program->thread, lead_program, program);
        if (error.number != 0) {
            const int number = error.number;
            error = error_about("out-of-memory", "", "no room for another thread");
            error.number = number;
        }
    }
    if (error.word != NULL && program->undoes)
        undo_claim_release(&program->claim);
    if (error.word != NULL)
        free(program);
    else
        *out = program;
    return error;
}

static const char *program_id(const struct program *program)
{
    return program->settings.id;
}

void program_tell(struct program *program, bool abort)
{
    atomic_store(abort ? &program->told_abort : &program->told_stop, true);
}

/* Whether the last record about the program has been printed, or is about to be printed. */
static bool program_answered(const struct program *program)
{
    return atomic_load(&program->answered);
}

/* Waits for the thread and frees the program. Returns false if the last record was an error. */
static bool program_join(struct program *program)
{
    plat_thread_join(program->thread);
    const bool fine = program->failure.word == NULL;
    free(program);
    return fine;
}

/* ---- all tests and programs ---- */

struct running_one running_find(const struct running *running, const char *id)
{
    for (unsigned i = 0; i < running->tests; i++)
        if (strcmp(running->test[i]->settings.id, id) == 0)
            return (struct running_one){.test = running->test[i]};
    for (unsigned i = 0; i < running->programs; i++)
        if (strcmp(program_id(running->program[i]), id) == 0)
            return (struct running_one){.program = running->program[i]};
    return (struct running_one){NULL, NULL};
}

static struct error refuse_id(const struct running *running, const char *id)
{
    const struct running_one one = running_find(running, id);
    if (one.test != NULL)
        return error_about("id-in-use", "", "a test of this id is running");
    if (one.program != NULL)
        return error_about("id-in-use", "", "a program of this id is running");
    return (struct error){.word = NULL};
}

struct error running_start_test(struct running *running, const struct settings *settings,
                                uint64_t requested_ns)
{
    struct error error = refuse_id(running, settings->id);
    if (error.word != NULL)
        return error;
    if (running->tests == RUNNING_TESTS_MAX)
        return error_about("too-many-tests", "", "64 tests are running already");
    int number = test_start(&running->test[running->tests], settings, requested_ns);
    if (number != 0) {
        error = error_about("out-of-memory", "", "no room for another test");
        error.number = number > 0 ? number : 0;
        return error;
    }
    running->tests++;
    return error;
}

struct error running_start_program(struct running *running, const struct request *request,
                                   struct undo_log *undo, uint64_t requested_ns)
{
    struct error error = refuse_id(running, request->id);
    if (error.word != NULL)
        return error;
    if (running->programs == RUNNING_PROGRAMS_MAX)
        return error_about("too-many-tests", "", "8 programs are running already");
    error = program_start(&running->program[running->programs], request, undo, requested_ns);
    if (error.word == NULL)
        running->programs++;
    return error;
}

void running_reap(struct running *running)
{
    for (unsigned i = running->tests; i-- > 0;)
        if (test_answered(running->test[i])) {
            test_join(running->test[i]);
            running->test[i] = running->test[--running->tests];
        }
    for (unsigned i = running->programs; i-- > 0;)
        if (program_answered(running->program[i])) {
            program_join(running->program[i]);
            running->program[i] = running->program[--running->programs];
        }
}

bool running_any(const struct running *running)
{
    return running->tests + running->programs > 0;
}

void running_end(struct running *running)
{
    for (unsigned i = 0; i < running->tests; i++)
        test_tell(running->test[i], true, false, 0);
    for (unsigned i = 0; i < running->programs; i++)
        program_tell(running->program[i], true);
    running_wait(running);
}

bool running_wait(struct running *running)
{
    bool fine = true;
    while (running->tests > 0)
        fine = test_join(running->test[--running->tests]) && fine;
    while (running->programs > 0)
        fine = program_join(running->program[--running->programs]) && fine;
    return fine;
}
