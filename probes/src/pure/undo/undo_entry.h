/* Writes and reads an entry of the undo log, in a slot of a file that may be damaged. An entry is a
 * command (a program with its words) that undoes a change of this host.
 *
 * The file is a row of slots of the same size. A slot that begins with eight zero bytes is free. An
 * entry has its length and a checksum, so a slot that was written in part or changed counts as
 * damaged. The last bytes of a slot have the outcome of the last try to run the command, with a
 * checksum of their own. */
#ifndef UNDO_ENTRY_H
#define UNDO_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define UNDO_SLOTS 64
#define UNDO_SLOT_BYTES 8192
#define UNDO_FREE_BYTES 16  /* zeros to write at the start of a slot to free it */
#define UNDO_TRY_BYTES 64
#define UNDO_TRY_AT (UNDO_SLOT_BYTES - UNDO_TRY_BYTES)
#define UNDO_NAME_MAX 255   /* bytes of the program's name */
#define UNDO_WORDS_MAX 65   /* with the program's name */
#define UNDO_TEXT_MAX (UNDO_NAME_MAX + 1 + 6001) /* of all words, each with its NUL */
#define UNDO_MACHINE_MAX 63

enum undo_ending { UNDO_NOT_TRIED, UNDO_EXITED, UNDO_SIGNALLED, UNDO_KILLED };

/* How the program of an entry ended the last time. */
struct undo_try {
    enum undo_ending ending; /* UNDO_KILLED: at its deadline, by `stop`, or with its agent */
    unsigned code;           /* the exit code, or the signal's number */
    uint64_t wall_ns;
};

struct undo_entry {
    uint64_t number; /* 1 or more; later entries of a file have higher ones */
    uint64_t written_wall_ns, deadline_ns, network_id;
    char machine_id[UNDO_MACHINE_MAX + 1];
    size_t text_length;
    char text[UNDO_TEXT_MAX]; /* the words, each with its NUL; the name of the program first */
    struct undo_try last;
};

enum undo_slot { UNDO_FREE, UNDO_USED, UNDO_DAMAGED };

/* Writes a whole slot. False: the entry has no words, or too many or too long ones. */
bool undo_entry_write(const struct undo_entry *entry, unsigned char slot[UNDO_SLOT_BYTES]);
/* Reads a slot; the file may end after its first `length` bytes. If it returns UNDO_USED, `out` is
 * the entry. */
enum undo_slot undo_entry_read(const unsigned char *slot, size_t length, struct undo_entry *out);
/* Writes the last bytes of a slot: the outcome of a try of the entry with that number. */
void undo_try_write(const struct undo_try *last, uint64_t number, unsigned char into[UNDO_TRY_BYTES]);

/* Points to the words, NULL last. */
void undo_entry_words(struct undo_entry *entry, char *words[UNDO_WORDS_MAX + 1]);

/* The slot with the highest number below `below`; numbers of slots without an entry are 0. UNDO_SLOTS:
 * there is none. */
unsigned undo_latest(const uint64_t numbers[UNDO_SLOTS], uint64_t below);

#endif
