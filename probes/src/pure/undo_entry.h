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
#define UNDO_WORDS_MAX 65   /* number of words, including the program's name */
#define UNDO_TEXT_MAX (UNDO_NAME_MAX + 1 + 6001) /* bytes of all words, each with its NUL */
#define UNDO_MACHINE_MAX 63

enum undo_ending { UNDO_NOT_TRIED, UNDO_EXITED, UNDO_SIGNALLED, UNDO_KILLED };

/* How the program of an entry ended the last time. */
struct undo_try {
    /* UNDO_KILLED: killed at its deadline or by a stop request, or the agent (the netprobe process
     * that had started the program) ended. */
    enum undo_ending ending;
    unsigned code;           /* the exit code, or the signal's number */
    uint64_t wall_ns;
};

struct undo_entry {
    uint64_t number; /* 1 or more; later entries of a file have higher numbers */
    uint64_t written_wall_ns, deadline_ns, network_id; /* deadline_ns: time limit for the program */
    char machine_id[UNDO_MACHINE_MAX + 1];
    size_t text_length;
    char text[UNDO_TEXT_MAX]; /* the words, each with its NUL; the name of the program first */
    struct undo_try last;
};

enum undo_slot { UNDO_FREE, UNDO_USED, UNDO_DAMAGED };

/* Writes a whole slot. False: the entry has no words, or too many or too long ones. */
bool undo_entry_write(const struct undo_entry *entry, unsigned char slot[UNDO_SLOT_BYTES]);
/* Reads the first `length` bytes of a slot: fewer than UNDO_SLOT_BYTES if the file ends there. If
 * the result is UNDO_USED, *out becomes the entry. */
enum undo_slot undo_entry_read(const unsigned char *slot, size_t length, struct undo_entry *out);
/* Makes the last bytes of a slot: the outcome `last` of a try to run the entry with this number. */
void undo_try_write(const struct undo_try *last, uint64_t number, unsigned char into[UNDO_TRY_BYTES]);

/* Sets `words` to pointers to the entry's words; NULL follows the last pointer. */
void undo_entry_words(struct undo_entry *entry, char *words[UNDO_WORDS_MAX + 1]);

/* Returns the slot whose entry has the highest number below `below`. `numbers` has the number of
 * each slot's entry; 0 means that the slot has no entry. UNDO_SLOTS: there is no such slot. */
unsigned undo_latest(const uint64_t numbers[UNDO_SLOTS], uint64_t below);

#endif
