/* Writes the keys of the records `window` and `result`, which docs/protocol.md describes. */
#ifndef RESULT_H
#define RESULT_H

#include "pure/json.h"
#include "test/test.h"

void result_window(struct test *test, struct json *record);
void result_receiving(struct test *test, struct json *record);
void result_sending(struct test *test, struct json *record);
/* The bytes that were sent in the window. UDP, and TCP with a count: the bytes that send calls
 * accepted; with a count, TCP delivers all of them. TCP otherwise: the bytes that were
 * acknowledged, without those in the send buffer. False: the system does not report acknowledged
 * bytes. */
bool result_sent_bytes(const struct test *test, uint64_t *bytes);
/* Arrays with one value per stream; only for tests with streams. */
void result_streams(const struct test *test, struct json *record);
void result_tcp_series(const struct test *test, struct json *record);
void result_asking(struct test *test, struct json *record);
/* Single round trips, starting at number *next, as many as a record holds. False: there are no more. */
bool result_trips(const struct test *test, uint64_t *next, struct json *record);
void result_mirroring(struct test *test, struct json *record);
void result_common(struct test *test, struct json *record);

/* Times in which the supervisor did not run (late ticks: test.h), relative to origin_ns, the begin
 * of the role's window. */
void result_late_ticks(const struct test *test, uint64_t origin_ns, struct json *record);

/* Fails a receiving test without a count if its window has too few marks for a throughput. */
void result_demand_marks(struct test *test);
/* Fails an asking test that received no answer. */
void result_demand_answers(struct test *test);
/* Number of connections and datagrams without the token. */
uint64_t result_unexpected(const struct test *test);

#endif
