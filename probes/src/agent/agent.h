/* Answers requests for as long as the lease is kept, or one request by hand. */
#ifndef AGENT_H
#define AGENT_H

#include <stdint.h>

#define AGENT_TESTS_MAX 64
#define AGENT_LEASE_NS (12 * UINT64_C(1000000000))

/* Answers requests on standard input until `quit`, its end, or the end of the lease.
 * Returns the process's exit code. */
int agent_run(uint64_t lease_ns);

/* One request by hand, its verb first: prints its records.
 * Returns 0, or 1 where the last was an error. */
int agent_by_hand(unsigned count, char **words);

#endif
