/* Answers requests of a controller until its lease ends, or one request of the command line. The
 * lease is the time that an agent waits for the next line of its controller (netlab). */
#ifndef AGENT_H
#define AGENT_H

#include <stdint.h>

#define AGENT_LEASE_NS (12 * UINT64_C(1000000000))
#define AGENT_SILENCE_NS (60 * UINT64_C(1000000000))

/* How long an agent stays after the controller's last line, without and with running tests or programs. */
struct agent_patience {
    uint64_t lease_ns, silence_ns;
};

/* Answers requests on standard input until `quit`, the end of the input, or the end of the
 * patience. Returns the process's exit code. */
int agent_run(const struct agent_patience *patience);

/* Answers one request of the command line, whose first word is the verb, and prints its records.
 * Returns 0, or 1 if the request or what it started failed. */
int agent_by_hand(unsigned count, char **words);

#endif
