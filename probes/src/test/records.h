/* Prints records, one write and one flush a line, whichever thread they come from. */
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

/* Ends the record and prints it. Where nobody reads any more, the process ends. */
void record_print(struct json *record);

#endif
