/* Registers entries of the undo log in the agent's own file, and undoes them at the agent's end.
 * The undo log has an entry for each change of this host: a command that undoes the change. An
 * agent is a netprobe process that a controller (netlab) drives. */
#include "agent/undoing/undo_log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/undoing/undo_run.h"

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

struct error undo_log_add(struct undo_log *log, const struct program_settings *settings,
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
