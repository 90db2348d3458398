/* Keeps commands that undo changes of this host, in files that outlive the agent. An agent is a
 * netprobe process that a controller (netlab) drives. Each agent has one file; each command is an
 * entry in it. */
#ifndef UNDO_LOG_H
#define UNDO_LOG_H

#include "platform/plat.h"
#include "protocol/error.h"
#include "protocol/request.h"
#include "protocol/settings.h"
#include "pure/nanoseconds.h"
#include "pure/undo_entry.h"

#define UNDO_ID_MAX 40 /* bytes of an entry's id, FILE-NUMBER */
#define UNDO_DEADLINE_NS (60 * SECOND_NS)   /* maximum for one entry */
#define UNDO_DEADLINES_NS (600 * SECOND_NS) /* maximum sum for all entries of an agent */

/* The file of this agent; it is made with the first entry. */
struct undo_log {
    bool by_hand; /* nothing is undone at the end; the entries stay for the request `undo` */
    bool open;
    plat_mutex lock; /* protects the following members */
    struct plat_undo_folder folder;
    struct plat_undo_file file;
    struct plat_undo_keeper keeper;
    uint64_t next; /* number of the next entry */
    uint64_t number[UNDO_SLOTS], deadline_ns[UNDO_SLOTS]; /* 0: the slot is free */
    bool busy[UNDO_SLOTS];                                /* the program of this slot runs */
};

void undo_log_start(struct undo_log *log, bool by_hand);

/* Undoes all entries of this agent, the latest first, unless by_hand is set. Entries whose command
 * fails stay. Call this once, when no claim is held. */
void undo_log_end(struct undo_log *log);

/* An entry that is being undone. It is an entry of this agent, or of another agent that no longer
 * lives. */
struct undo_claim {
    struct undo_log *own; /* this agent's log; NULL: the entry is in another agent's file, below */
    struct plat_undo_folder folder;
    struct plat_undo_file file;
    unsigned slot;
    uint64_t number;
    char id[UNDO_ID_MAX + 1];
};

/* Claims an entry by its id and reads it. */
struct error undo_claim_take(struct undo_claim *out, struct undo_log *log, const char *id,
                             struct undo_entry *entry);
/* Ends a claim. If the entry was undone (exit code 0), drops the entry; otherwise writes the
 * outcome into it. Returns an error if the file could not be written. *left becomes whether the
 * entry is still there. */
struct error undo_claim_settle(struct undo_claim *claim, const struct undo_try *last, bool *left);
/* Ends a claim whose command has not been run. */
void undo_claim_release(struct undo_claim *claim);

struct plat_program_end;
#define UNDO_NOT_STARTED 127 /* as in shells: exit code if the program could not be started */

/* Returns the outcome to keep in the log after a program has ended. `killed`: we have killed the
 * program. */
struct undo_try undo_try_of(const struct plat_program_end *end, bool killed);

/* Registers a command in the undo log, and answers with the entry's id. */
struct error undo_guard(struct undo_log *log, const struct request *request);
/* Prints the entries of the undo log of agents that no longer live. */
struct error undo_leftovers(const struct request *request);

#endif
