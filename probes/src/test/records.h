/* Prints records from any thread, one write per line. A record is one line of JSON. Only
 * record_finish waits for the reader of the records. */
#ifndef RECORDS_H
#define RECORDS_H

#include "pure/json.h"
#include "test/test.h"

/* Call this once, before the first record is printed. */
void record_start(void);

void record_ready(struct test *test, const unsigned *ports, unsigned count);
/* Prints an error that belongs to no test. */
void record_error(const char *id, const struct error *error);
/* Adds the keys of an error to a record of the caller. */
void record_add_error(struct json *record, const struct error *error);

/* Ends the record and prints it after the earlier records. If nobody can read any more, or 32 MiB
 * wait to be read, the process ends. */
void record_print(struct json *record);
/* Prints a record if less than 64 KiB of earlier records wait to be read. Otherwise drops the
 * record, because a newer one will follow. */
void record_print_news(struct json *record);
/* Bytes of all records that were passed to record_print and are not written yet. */
size_t record_waiting_bytes(void);
/* Call this before the process ends. Waits until everything is written, or until nothing was read
 * for patience_ns. */
void record_finish(uint64_t patience_ns);

#endif
