/* Registers entries of the undo log, lists them, runs their programs, and drops those undone. An
 * entry is a command that undoes a change of this host; it is in the file of the agent (the
 * netprobe process) that registered it. An agent undoes its own entries at its end. */
#include "agent/undo_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform/plat.h"
#include "pure/nanoseconds.h"
#include "test/records.h"

static struct error no_entry(const char *detail)
{
    return error_about("unknown-entry", "entry", detail);
}

/* Reads a slot of a file (the place of one entry). */
static enum undo_slot undo_slot_read(const struct plat_undo_file *file, unsigned slot,
                                     struct undo_entry *entry)
{
    unsigned char bytes[UNDO_SLOT_BYTES];
    ptrdiff_t got =
        plat_undo_read(file, (uint64_t)slot * UNDO_SLOT_BYTES, bytes, sizeof bytes);
    return got < 0 ? UNDO_DAMAGED : undo_entry_read(bytes, (size_t)got, entry);
}

/* Whether an entry was written on this machine. Several machines may share a home folder, and so
 * the files. */
static bool undo_is_here(const struct undo_entry *entry)
{
    struct plat_identity self;
    plat_identify(&self);
    return strcmp(entry->machine_id, self.machine_id) == 0;
}

/* Splits an id FILE-NUMBER into its parts. */
static bool parse_id(const char *id, char name[PLAT_UNDO_NAME + 1], uint64_t *number)
{
    const char *dash = strchr(id, '-');
    *number = 0;
    if (dash == NULL || dash - id != PLAT_UNDO_NAME || strlen(dash + 1) > 18)
        return false;
    for (const char *at = dash + 1; *at != 0; at++) {
        if (*at < '0' || *at > '9')
            return false;
        *number = 10 * *number + (uint64_t)(*at - '0');
    }
    memcpy(name, id, PLAT_UNDO_NAME);
    name[PLAT_UNDO_NAME] = 0;
    return *number > 0;
}

/* ---- entries of this agent ---- */

static struct error take_own(struct undo_claim *claim, struct undo_log *log,
                             struct undo_entry *entry)
{
    struct error error = no_entry("this agent has no entry of that number");
    plat_mutex_lock(&log->lock);
    for (unsigned i = 0; i < UNDO_SLOTS; i++) {
        if (log->number[i] != claim->number)
            continue;
        if (log->busy[i])
            error = error_about("entry-in-use", "entry", "the entry is being undone");
        else if (undo_slot_read(&log->file, i, entry) != UNDO_USED ||
                 entry->number != claim->number)
            error = no_entry("the entry is damaged");
        else
            error.word = NULL;
        if (error.word == NULL) {
            log->busy[i] = true;
            claim->own = log;
            claim->slot = i;
        }
        break;
    }
    plat_mutex_unlock(&log->lock);
    return error;
}

static void end_own(struct undo_claim *claim, bool dropped)
{
    struct undo_log *log = claim->own;
    plat_mutex_lock(&log->lock);
    log->busy[claim->slot] = false;
    if (dropped)
        log->number[claim->slot] = log->deadline_ns[claim->slot] = 0;
    plat_mutex_unlock(&log->lock);
}

/* ---- entries of an agent that no longer lives ---- */

static struct error find_slot(struct undo_claim *claim, struct undo_entry *entry)
{
    for (claim->slot = 0; claim->slot < UNDO_SLOTS; claim->slot++) {
        if (undo_slot_read(&claim->file, claim->slot, entry) != UNDO_USED ||
            entry->number != claim->number)
            continue;
        if (!undo_is_here(entry))
            return no_entry("the entry is of another machine that shares the folder");
        return (struct error){.word = NULL};
    }
    return no_entry("the file of that agent has no such entry, or it is damaged");
}

static struct error take_other(struct undo_claim *claim, const char *name,
                               struct undo_entry *entry)
{
    char why[300];
    int number = plat_undo_folder_open(&claim->folder, false, why, sizeof why);
    if (number != 0 && plat_is_missing(number))
        return no_entry("no agent has left an entry");
    if (number != 0)
        return error_about("permission-denied", "", why);
    number = plat_undo_open(&claim->folder, name, true, &claim->file);
    struct error error = {.word = NULL};
    if (number == PLAT_LOCKED)
        error = error_about("entry-in-use", "entry",
                            "the agent of the entry lives, or another one works on its entries");
    else if (number != 0)
        error = no_entry("there is no such file of an agent, or it may not be used");
    if (error.word == NULL) {
        error = find_slot(claim, entry);
        if (error.word != NULL)
            plat_undo_close(&claim->folder, &claim->file, false);
    }
    if (error.word != NULL)
        plat_undo_folder_close(&claim->folder);
    return error;
}

/* The file of an agent that no longer lives is removed with its last entry. */
static void end_other(struct undo_claim *claim, bool dropped)
{
    struct undo_entry *entry = dropped ? malloc(sizeof *entry) : NULL;
    bool empty = entry != NULL;
    for (unsigned i = 0; empty && i < UNDO_SLOTS; i++)
        empty = undo_slot_read(&claim->file, i, entry) == UNDO_FREE;
    free(entry);
    plat_undo_close(&claim->folder, &claim->file, empty);
    plat_undo_folder_close(&claim->folder);
}

/* ---- entries of any agent ---- */

struct error undo_claim_take(struct undo_claim *out, struct undo_log *log, const char *id,
                             struct undo_entry *entry)
{
    char name[PLAT_UNDO_NAME + 1];
    memset(out, 0, sizeof *out);
    if (!parse_id(id, name, &out->number))
        return no_entry("an entry's id is that of the answer to `guard`");
    snprintf(out->id, sizeof out->id, "%s", id);
    if (log->open && strcmp(name, log->file.name) == 0)
        return take_own(out, log, entry);
    return take_other(out, name, entry);
}

static int write_outcome(const struct undo_claim *claim, const struct undo_try *last, bool dropped)
{
    static const unsigned char zeros[UNDO_FREE_BYTES];
    const struct plat_undo_file *file = claim->own != NULL ? &claim->own->file : &claim->file;
    const uint64_t at = (uint64_t)claim->slot * UNDO_SLOT_BYTES;
    unsigned char bytes[UNDO_TRY_BYTES];
    if (dropped)
        return plat_undo_write(file, at, zeros, sizeof zeros);
    undo_try_write(last, claim->number, bytes);
    return plat_undo_write(file, at + UNDO_TRY_AT, bytes, sizeof bytes);
}

struct error undo_claim_settle(struct undo_claim *claim, const struct undo_try *last, bool *left)
{
    bool dropped = last->ending == UNDO_EXITED && last->code == 0;
    struct error error = {.word = NULL};
    const int number = write_outcome(claim, last, dropped);
    if (number != 0) {
        error = error_about("system", "", "the outcome cannot be written into the undo log");
        error.number = number;
        dropped = false;
    }
    (claim->own != NULL ? end_own : end_other)(claim, dropped);
    *left = !dropped;
    return error;
}

void undo_claim_release(struct undo_claim *claim)
{
    (claim->own != NULL ? end_own : end_other)(claim, false);
}

/* ---- the program of an entry ---- */

#define KILLED_NS (3 * SECOND_NS) /* if a killed program runs longer, the system cannot end it */
#define LOOK_NS (50 * MILLISECOND_NS)

struct undo_try undo_try_of(const struct plat_program_end *end, bool killed)
{
    struct undo_try last = {.ending = UNDO_KILLED, .wall_ns = plat_wall_ns()};
    if (killed || !end->known)
        return last;
    last.ending = end->by_signal ? UNDO_SIGNALLED : UNDO_EXITED;
    last.code = end->code;
    return last;
}

/* Reads and drops the output of the program. Otherwise the program would wait when its pipe is
 * full. */
static void drop_output(struct plat_program *program)
{
    char bytes[4096];
    for (unsigned descriptor = 1; descriptor <= 2; descriptor++)
        for (int i = 0; i < 64; i++)
            if (plat_program_read(program, descriptor, bytes, sizeof bytes) <= 0)
                break;
}

/* Runs the program, and kills it at the entry's deadline. Drops the program's output. */
static struct undo_try undo_run(struct undo_entry *entry)
{
    struct plat_program program;
    struct plat_program_end end;
    char *words[UNDO_WORDS_MAX + 1];
    bool killed = false;
    uint64_t until_ns = plat_now_ns() + entry->deadline_ns, pause_ns = MILLISECOND_NS;
    undo_entry_words(entry, words);
    if (plat_program_start(&program, words) != 0)
        return (struct undo_try){UNDO_EXITED, UNDO_NOT_STARTED, plat_wall_ns()};
    while (!plat_program_wait(&program, plat_now_ns() + pause_ns)) {
        drop_output(&program);
        pause_ns = pause_ns < LOOK_NS ? 2 * pause_ns : LOOK_NS;
        if (plat_now_ns() < until_ns)
            continue;
        if (killed)
            break;
        plat_program_stop(&program, true);
        killed = true;
        until_ns = plat_now_ns() + KILLED_NS;
    }
    plat_program_stop(&program, true);
    plat_program_close(&program, &end);
    return undo_try_of(&end, killed);
}

/* ---- the log of this agent ---- */

_Static_assert(PROGRAM_NAME_MAX == UNDO_NAME_MAX && PROGRAM_WORDS_MAX + 1 == UNDO_WORDS_MAX &&
                   PROGRAM_NAME_MAX + 1 + PROGRAM_ARGUMENTS_MAX + 1 == UNDO_TEXT_MAX,
               "an entry has room for the words of a program");

void undo_log_start(struct undo_log *log, bool by_hand)
{
    memset(log, 0, sizeof *log);
    log->by_hand = by_hand;
    log->next = 1;
    plat_mutex_init(&log->lock);
}

static struct error failed(int number, const char *detail)
{
    const char *word = plat_word(number);
    char text[120], sentence[300];
    plat_describe(number, text, sizeof text);
    snprintf(sentence, sizeof sentence, "%.150s: %s", detail, text);
    if (strcmp(word, "permission-denied") != 0 && strcmp(word, "out-of-memory") != 0)
        word = "system"; /* all other words are about sockets */
    struct error error = error_about(word, "", sentence);
    error.number = number;
    return error;
}

/* ---- registering ---- */

static struct error open_log(struct undo_log *log)
{
    char why[300];
    struct error error = {.word = NULL};
    if (log->open)
        return error;
    int number = plat_undo_folder_open(&log->folder, true, why, sizeof why);
    if (number != 0) {
        error = failed(number, "the folder of the undo log");
        snprintf(error.detail, sizeof error.detail, "the folder of the undo log: %s", why);
        return error;
    }
    number = plat_undo_create(&log->folder, &log->file);
    log->open = number == 0;
    if (number != 0) {
        error = failed(number, "no file of the undo log can be made");
        plat_undo_folder_close(&log->folder);
    }
    return error;
}

/* Returns a free slot for an entry with this deadline, or UNDO_SLOTS if no further entry is
 * allowed. */
static unsigned free_slot(const struct undo_log *log, uint64_t deadline_ns)
{
    unsigned slot = UNDO_SLOTS;
    for (unsigned i = UNDO_SLOTS; i-- > 0;) {
        deadline_ns += log->deadline_ns[i];
        if (log->number[i] == 0)
            slot = i;
    }
    return deadline_ns <= UNDO_DEADLINES_NS ? slot : UNDO_SLOTS;
}

/* If the write fails, frees the slot. The keeper (a process that undoes the entries if the agent is
 * killed) must not undo an entry that is not registered. */
static struct error write_entry(struct undo_log *log, unsigned slot,
                                const struct program_settings *settings)
{
    static const unsigned char zeros[UNDO_FREE_BYTES];
    unsigned char bytes[UNDO_SLOT_BYTES];
    struct undo_entry entry = {.number = log->next,
                               .written_wall_ns = plat_wall_ns(),
                               .deadline_ns = settings->deadline_ns};
    struct plat_identity self;
    plat_identify(&self);
    memcpy(entry.machine_id, self.machine_id, sizeof entry.machine_id);
    entry.network_id = self.network_id;
    for (unsigned i = 0; settings->words[i] != NULL; i++) {
        const size_t length = strlen(settings->words[i]) + 1;
        memcpy(entry.text + entry.text_length, settings->words[i], length);
        entry.text_length += length;
    }
    if (!undo_entry_write(&entry, bytes))
        return error_about("bad-value", "arguments", "an entry has no room for these words");
    const uint64_t at = (uint64_t)slot * UNDO_SLOT_BYTES;
    const int number = plat_undo_write(&log->file, at, bytes, sizeof bytes);
    if (number == 0)
        return (struct error){.word = NULL};
    plat_undo_write(&log->file, at, zeros, sizeof zeros);
    return failed(number, "the entry cannot be written");
}

static struct error add_entry(struct undo_log *log, const struct program_settings *settings,
                              char id[UNDO_ID_MAX + 1])
{
    const unsigned slot = free_slot(log, settings->deadline_ns);
    if (slot == UNDO_SLOTS)
        return error_about("too-many-entries", "", "64 entries, or deadlines of 600 s together");
    struct error error = open_log(log);
    if (error.word != NULL)
        return error;
    if (!log->by_hand) {
        const int number = plat_undo_keep(&log->keeper, &log->folder, &log->file);
        if (number != 0)
            return failed(number, "no keeper of the undo log can be started");
    }
    error = write_entry(log, slot, settings);
    if (error.word == NULL) {
        snprintf(id, UNDO_ID_MAX + 1, "%s-%" PRIu64, log->file.name, log->next);
        log->deadline_ns[slot] = settings->deadline_ns;
        log->number[slot] = log->next++;
    }
    return error;
}

/* Writes an entry and syncs it. If the function returns an error, nothing is registered. */
static struct error undo_log_add(struct undo_log *log, const struct program_settings *settings,
                                 char id[UNDO_ID_MAX + 1])
{
    if (settings->deadline_ns > UNDO_DEADLINE_NS)
        return error_about("bad-value", "deadline", "0.1 to 60 seconds");
    plat_mutex_lock(&log->lock);
    struct error error = add_entry(log, settings, id);
    plat_mutex_unlock(&log->lock);
    return error;
}

/* ---- the end ---- */

static void describe_try(const struct undo_try *last, char *into, size_t capacity)
{
    if (last->ending == UNDO_KILLED)
        snprintf(into, capacity, "it was killed at its deadline");
    else
        snprintf(into, capacity, "%s %u", last->ending == UNDO_EXITED ? "exit code" : "signal",
                 last->code);
}

static void undo_one(struct undo_log *log, unsigned slot)
{
    struct undo_claim claim;
    struct undo_entry entry;
    char id[UNDO_ID_MAX + 1];
    bool left;
    snprintf(id, sizeof id, "%s-%" PRIu64, log->file.name, log->number[slot]);
    struct error error = undo_claim_take(&claim, log, id, &entry);
    if (error.word == NULL) {
        const struct undo_try last = undo_run(&entry);
        error = undo_claim_settle(&claim, &last, &left);
        if (error.word == NULL && left)
            describe_try(&last, error.detail, sizeof error.detail);
    }
    if (error.detail[0] != 0)
        fprintf(stderr, "netprobe: entry %s of the undo log is not undone: %s\n", id, error.detail);
}

void undo_log_end(struct undo_log *log)
{
    bool empty = true;
    if (!log->open)
        return;
    unsigned slot = log->by_hand ? UNDO_SLOTS : undo_latest(log->number, UINT64_MAX);
    while (slot < UNDO_SLOTS) {
        const uint64_t number = log->number[slot];
        undo_one(log, slot);
        slot = undo_latest(log->number, number);
    }
    for (unsigned i = 0; i < UNDO_SLOTS; i++)
        empty = empty && log->number[i] == 0;
    plat_undo_dismiss(&log->keeper);
    plat_undo_close(&log->folder, &log->file, empty);
    plat_undo_folder_close(&log->folder);
    log->open = false;
}

/* ---- the requests `guard` and `leftovers` ---- */

#define FILES_MAX 256
#define LISTED_MAX 48 /* per answer, because a controller takes 64 records at once */

struct error undo_guard(struct undo_log *log, const struct request *request)
{
    struct program_settings settings;
    struct json record;
    char id[UNDO_ID_MAX + 1];
    struct error error = program_settings_read(request, &settings);
    if (error.word == NULL)
        error = undo_log_add(log, &settings, id);
    if (error.word != NULL)
        return error;
    json_begin(&record, "guard", request->id);
    json_text(&record, "entry", id);
    record_print(&record);
    return error;
}

/* The state of a listing, with the numbers of listed entries, of further entries that are left out,
 * and of entries of other machines (elsewhere). */
struct listing {
    const char *id;
    struct plat_undo_folder folder;
    uint64_t count, left_out, elsewhere;
    struct undo_entry entry;
};

static void begin_leftover(struct json *record, const struct listing *listing, const char *name)
{
    char path[PLAT_UNDO_PATH + PLAT_UNDO_NAME + 2];
    snprintf(path, sizeof path, "%s/%s", listing->folder.path, name);
    json_begin(record, "leftover", listing->id);
    json_text(record, "file", path);
}

static bool counted(struct listing *listing)
{
    if (listing->count + listing->left_out < LISTED_MAX) {
        listing->count++;
        return true;
    }
    listing->left_out++;
    return false;
}

static void list_damaged(struct listing *listing, const char *name)
{
    struct json record;
    if (!counted(listing))
        return;
    begin_leftover(&record, listing, name);
    json_flag(&record, "damaged", true);
    record_print(&record);
}

static void add_last(struct json *record, const struct undo_try *last)
{
    if (last->ending == UNDO_NOT_TRIED)
        return;
    json_u64(record, "tried_wall_ns", last->wall_ns);
    if (last->ending == UNDO_EXITED)
        json_u64(record, "exit_code", last->code);
    else if (last->ending == UNDO_SIGNALLED)
        json_u64(record, "signal", last->code);
    json_flag(record, "killed", last->ending == UNDO_KILLED);
}

static void list_entry(struct listing *listing, const char *name)
{
    struct undo_entry *entry = &listing->entry;
    char id[UNDO_ID_MAX + 1];
    struct json record;
    if (!undo_is_here(entry)) {
        listing->elsewhere++;
        return;
    }
    if (!counted(listing))
        return;
    snprintf(id, sizeof id, "%s-%" PRIu64, name, entry->number);
    begin_leftover(&record, listing, name);
    json_text(&record, "entry", id);
    const size_t program = strlen(entry->text) + 1;
    json_text(&record, "program", entry->text);
    for (size_t i = program; i + 1 < entry->text_length; i++)
        if (entry->text[i] == 0)
            entry->text[i] = '\n';
    if (program < entry->text_length)
        json_text(&record, "arguments", entry->text + program);
    json_u64(&record, "deadline_ns", entry->deadline_ns);
    json_u64(&record, "written_wall_ns", entry->written_wall_ns);
    if (entry->network_id != 0)
        json_u64(&record, "network_id", entry->network_id);
    add_last(&record, &entry->last);
    record_print(&record);
}

/* Lists the entries of a file in the order in which they are to be undone. */
static void list_file(struct listing *listing, struct plat_undo_file *file)
{
    uint64_t numbers[UNDO_SLOTS];
    unsigned damaged = 0, used = 0;
    for (unsigned i = 0; i < UNDO_SLOTS; i++) {
        const enum undo_slot state = undo_slot_read(file, i, &listing->entry);
        numbers[i] = state == UNDO_USED ? listing->entry.number : 0;
        damaged += state == UNDO_DAMAGED;
        used += state == UNDO_USED;
    }
    for (unsigned slot = undo_latest(numbers, UINT64_MAX); slot < UNDO_SLOTS;
         slot = undo_latest(numbers, numbers[slot]))
        if (undo_slot_read(file, slot, &listing->entry) == UNDO_USED)
            list_entry(listing, file->name);
    for (; damaged > 0; damaged--, used++)
        list_damaged(listing, file->name);
    plat_undo_close(&listing->folder, file, false);
    if (used == 0 && plat_undo_open(&listing->folder, file->name, true, file) == 0)
        plat_undo_close(&listing->folder, file, true); /* the agent could not remove the file */
}

static void list_files(struct listing *listing)
{
    static char names[FILES_MAX][PLAT_UNDO_NAME + 1];
    struct plat_undo_file file;
    const unsigned count = plat_undo_names(&listing->folder, names, FILES_MAX);
    for (unsigned i = 0; i < count; i++) {
        const int number = plat_undo_open(&listing->folder, names[i], false, &file);
        if (number == 0)
            list_file(listing, &file);
        else if (number != PLAT_LOCKED && !plat_is_missing(number))
            list_damaged(listing, names[i]);
    }
}

/* Opens the folder of the undo log. A missing folder is not an error; it means that there are no
 * entries. */
static struct error open_folder(struct plat_undo_folder *folder, bool *missing)
{
    char why[300];
    const int number = plat_undo_folder_open(folder, false, why, sizeof why);
    *missing = number != 0 && plat_is_missing(number);
    if (number == 0 || *missing)
        return (struct error){.word = NULL};
    struct error error = error_about("permission-denied", "", why);
    error.number = number;
    return error;
}

struct error undo_leftovers(const struct request *request)
{
    struct json record;
    bool missing;
    struct listing *listing = calloc(1, sizeof *listing);
    if (listing == NULL)
        return error_about("out-of-memory", "", "no room for a list of entries");
    listing->id = request->id;
    struct error error = open_folder(&listing->folder, &missing);
    if (error.word == NULL && !missing) {
        list_files(listing);
        plat_undo_folder_close(&listing->folder);
    }
    if (error.word == NULL) {
        json_begin(&record, "leftovers", request->id);
        json_u64(&record, "count", listing->count);
        json_u64(&record, "left_out", listing->left_out);
        json_u64(&record, "elsewhere", listing->elsewhere);
        record_print(&record);
    }
    free(listing);
    return error;
}
