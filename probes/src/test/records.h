/* Prints records, one write a line, whichever thread they come from. None of these waits for whoever
 * reads them. */
#ifndef RECORDS_H
#define RECORDS_H

#include "pure/json.h"
#include "test/test.h"

/* Once, before any other record. */
void record_start(void);

void record_ready(struct test *test, const unsigned *ports, unsigned count);
/* An error that belongs to no test. */
void record_error(const char *id, const struct error *error);
/* The same keys in a record of the caller's. */
void record_add_error(struct json *record, const struct error *error);

/* Ends the record and prints it, after those that wait to be written. Where nobody can read any
 * more, or 32 MiB wait, the process ends. */
void record_print(struct json *record);
/* The same where what was printed before is being read; else nothing: there will be newer news. */
void record_print_news(struct json *record);
/* What has been printed and not been written. */
size_t record_waiting_bytes(void);
/* Before the process ends: waits until all is written, or nothing was taken for patience_ns. */
void record_finish(uint64_t patience_ns);

#endif
