/* Prints records from any thread, one write per line. None of these functions waits for the reader. */
#ifndef RECORDS_H
#define RECORDS_H

#include "pure/json.h"
#include "test/test.h"

/* Call it once, before any other record. */
void record_start(void);

void record_ready(struct test *test, const unsigned *ports, unsigned count);
/* Prints an error that belongs to no test. */
void record_error(const char *id, const struct error *error);
/* Adds the keys of an error to a record of the caller. */
void record_add_error(struct json *record, const struct error *error);

/* Ends the record and prints it, after those that wait to be written. If nobody can read any more, or
 * 32 MiB are waiting, the process ends. */
void record_print(struct json *record);
/* Prints a record if most earlier ones have been read. Otherwise it drops the record: a newer one will
 * follow. */
void record_print_news(struct json *record);
/* Bytes that were printed and are not written yet. */
size_t record_waiting_bytes(void);
/* Call it before the process ends: waits until everything is written, or nothing was read for
 * patience_ns. */
void record_finish(uint64_t patience_ns);

#endif
