/* The records of a test, one write and one flush a line, whichever thread prints them. */
#ifndef RECORDS_H
#define RECORDS_H

#include "pure/json.h"
#include "test/test.h"

/* Once, before any other record. */
void record_start(void);

void record_ready(struct test *test, const unsigned *ports, unsigned count);
void record_progress(struct test *test, uint64_t now_ns);
void record_window(struct test *test);
/* The last record of a test: its result, or the error that ended it. */
void record_end(struct test *test);
/* An error that belongs to no test. */
void record_error(const char *id, const struct error *error);

/* Ends the record and prints it. Where nobody reads any more, the process ends. */
void record_print(struct json *record);

#endif
