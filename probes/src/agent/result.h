/* Writes the keys of the records `window` and `result`. docs/protocol.md has them all. */
#ifndef RESULT_H
#define RESULT_H

#include "pure/json.h"
#include "test/test.h"

void result_window(struct test *test, struct json *record);
void result_receiving(struct test *test, struct json *record);
void result_sending(struct test *test, struct json *record);
/* UDP: what send calls took. TCP: what was acknowledged; a count ends in order, and then all that
 * was sent has been. False: the system does not tell, and what it took into its buffer is no answer. */
bool result_sent_bytes(const struct test *test, uint64_t *bytes);
/* Of each stream, arrays; of streams alone. */
void result_streams(const struct test *test, struct json *record);
void result_tcp_series(const struct test *test, struct json *record);
void result_asking(struct test *test, struct json *record);
/* Round trips one by one, from number *next on: as many as a record holds. False: there are no more. */
bool result_trips(const struct test *test, uint64_t *next, struct json *record);
void result_mirroring(struct test *test, struct json *record);
void result_common(struct test *test, struct json *record);

/* Times without a tick of the supervisor, counted from where the role's window begins. */
void result_late_ticks(const struct test *test, uint64_t origin_ns, struct json *record);

/* Fails a receiving test of `seconds` whose window has too few marks for a figure. */
void result_demand_marks(struct test *test);
/* Fails an asking test that got no answer. */
void result_demand_answers(struct test *test);
/* All who came without the token. */
uint64_t result_unexpected(const struct test *test);

#endif
