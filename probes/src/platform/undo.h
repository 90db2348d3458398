/* Declares the files of the undo log, and the keeper, which undoes entries of a killed agent. The
 * undo log has an entry for each change of this host: a command that undoes the change. An agent is
 * a netprobe process that a controller (netlab) drives; each agent has one file of the log. This is
 * a part of the platform contract (plat.h): each system implements it in its folder. */
#ifndef PLAT_UNDO_H
#define PLAT_UNDO_H

#include "platform/plat.h"

/* ---- the folder: private, of this account, on a disk, so that it is there after a restart ---- */

#define PLAT_UNDO_PATH 1024
struct plat_undo_folder {
    intptr_t system;
    char path[PLAT_UNDO_PATH];
};
/* Opens the folder; if it is missing and `make` is set, makes it and syncs it to the disk. A folder
 * is refused if it is a link, belongs to another account, or may be written by another account. If
 * the function fails, `why` becomes a sentence with the reason. */
int plat_undo_folder_open(struct plat_undo_folder *out, bool make, char *why, size_t capacity);
void plat_undo_folder_close(struct plat_undo_folder *folder);

#define PLAT_UNDO_NAME 16 /* hex digits of a file's name */
/* Writes the names of the folder's files to `names` in ascending order, at most `most` names.
 * Returns how many it wrote. */
unsigned plat_undo_names(const struct plat_undo_folder *folder, char (*names)[PLAT_UNDO_NAME + 1],
                         unsigned most);

/* ---- a file: locked as long as its agent or the keeper lives ---- */

struct plat_undo_file {
    intptr_t system;
    char name[PLAT_UNDO_NAME + 1];
};
/* Makes a new file under a random name, locks it, and syncs the folder. */
int plat_undo_create(const struct plat_undo_folder *folder, struct plat_undo_file *out);
/* Opens a file of an agent that no longer lives: to write to it if `alone` is set, otherwise to
 * read it. Returns PLAT_LOCKED if the agent or its keeper lives, or if another process works on the
 * file. A link or a file of another account is refused. */
int plat_undo_open(const struct plat_undo_folder *folder, const char *name, bool alone,
                   struct plat_undo_file *out);
/* Reads `length` bytes at the offset `at`. Returns the number of bytes, which is smaller at the end
 * of the file, or the negative error number. */
ptrdiff_t plat_undo_read(const struct plat_undo_file *file, uint64_t at, void *into, size_t length);
/* Writes `length` bytes at the offset `at`, and syncs the file to the disk. */
int plat_undo_write(const struct plat_undo_file *file, uint64_t at, const void *bytes, size_t length);
/* Closes the file and ends its lock; removes it if `remove` is set. */
void plat_undo_close(const struct plat_undo_folder *folder, struct plat_undo_file *file, bool remove);

/* ---- the keeper: a process that undoes a file's entries when its agent was killed ---- */

struct plat_undo_keeper {
    intptr_t process, lifeline; /* process 0: there is no keeper */
};
/* Starts the keeper of a file, unless the keeper lives already. If the agent ends before
 * plat_undo_dismiss, the keeper undoes the entries. Windows has no keeper: there the entries stay
 * for the next agent. */
int plat_undo_keep(struct plat_undo_keeper *keeper, const struct plat_undo_folder *folder,
                   const struct plat_undo_file *file);
/* Ends the keeper without undoing anything. */
void plat_undo_dismiss(struct plat_undo_keeper *keeper);

#endif
