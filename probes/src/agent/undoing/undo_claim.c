/* Claims entries of the undo log while they are undone, and drops them once they are undone. An
 * entry is a command that undoes a change of this host; it is in the file of the agent (the
 * netprobe process) that registered it. */
#include "agent/undoing/undo_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error no_entry(const char *detail)
{
    return error_about("unknown-entry", "entry", detail);
}

enum undo_slot undo_slot_read(const struct plat_undo_file *file, unsigned slot,
                              struct undo_entry *entry)
{
    unsigned char bytes[UNDO_SLOT_BYTES];
    ptrdiff_t got =
        plat_undo_read(file, (uint64_t)slot * UNDO_SLOT_BYTES, bytes, sizeof bytes);
    return got < 0 ? UNDO_DAMAGED : undo_entry_read(bytes, (size_t)got, entry);
}

bool undo_is_here(const struct undo_entry *entry)
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
