/* Prints the records of a test, which are its progress, its window, and its result or error. A
 * record is one line of JSON, whose keys docs/protocol.md describes. The window is the time that is
 * measured. A mark is the time at which a receive call returned data. */
#ifndef RESULT_H
#define RESULT_H

#include "pure/json.h"
#include "test/test.h"

void record_progress(struct test *test, uint64_t now_ns);
void record_window(struct test *test);
/* Prints the last record of a test: its result, or the error that ended it. */
void record_end(struct test *test);

/* ---- parts of a result ---- */

void result_window(struct test *test, struct json *record);
void result_receiving(struct test *test, struct json *record);
void result_sending(struct test *test, struct json *record);
/* Writes arrays with one value per stream; only for tests with streams. */
void result_streams(const struct test *test, struct json *record);
void result_tcp_series(const struct test *test, struct json *record);
void result_asking(struct test *test, struct json *record);
/* Writes as many round trips as a record holds, starting with number *next. *next becomes the
 * number of the first one that is not written. Returns false if there was none left to write. */
bool result_trips(const struct test *test, uint64_t *next, struct json *record);
void result_mirroring(struct test *test, struct json *record);

/* Writes the times in which the supervisor (the thread that leads the test) did not run; see
 * late_ticks in test.h. The times are relative to origin_ns, the begin of this side's window. */
void result_late_ticks(const struct test *test, uint64_t origin_ns, struct json *record);

/* Fails the test of a receiver without `count` if its window has too few marks for a throughput. */
void result_demand_marks(struct test *test);
/* Fails the test of an asker (the side that sends requests) if no request of the window was
 * answered. */
void result_demand_answers(struct test *test);
/* Number of connections and datagrams that had no token or did not come from the peer. */
uint64_t result_unexpected(const struct test *test);

#endif
