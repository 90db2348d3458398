/* Prints the records of a running test, up to its last one. A record is one line of JSON. */
#ifndef TEST_RECORDS_H
#define TEST_RECORDS_H

#include "test/test.h"

void record_progress(struct test *test, uint64_t now_ns);
void record_window(struct test *test);
/* Prints the last record of a test: its result, or the error that ended it. */
void record_end(struct test *test);

#endif
