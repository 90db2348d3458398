/* Answers requests while the lease is renewed, or one request given by hand. */
#ifndef AGENT_H
#define AGENT_H

#include <stdint.h>

#define AGENT_LEASE_NS (12 * UINT64_C(1000000000))
#define AGENT_SILENCE_NS (60 * UINT64_C(1000000000))

/* How long an agent stays after the controller's last line, without and with running tests or programs. */
struct agent_patience {
    uint64_t lease_ns, silence_ns;
};

/* Answers requests on standard input until `quit`, its end, or the end of the patience.
 * Returns the process's exit code. */
int agent_run(const struct agent_patience *patience);

/* One request by hand, its verb first: prints its records.
 * Returns 0, or 1 where the last was an error. */
int agent_by_hand(unsigned count, char **words);

#endif
