/* Registers entries of the undo log on request, and lists the entries that agents have left. The
 * undo log has an entry for each change of this host: a command that undoes the change. An agent is
 * a netprobe process that a controller (netlab) drives. */
#include "agent/undoing/undo_verbs.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/records.h"

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
