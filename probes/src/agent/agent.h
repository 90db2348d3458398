/* Answers requests of a controller until the lease ends, or one request of the command line. An
 * agent is a netprobe process that a controller (netlab) drives. The lease is the time that an
 * agent waits for the next line of its controller. */
#ifndef AGENT_H
#define AGENT_H

#include <stdint.h>

/* The Makefile sets the version and the build hash of the probe. */
#ifndef NETPROBE_VERSION
#define NETPROBE_VERSION "unknown"
#endif
#ifndef NETPROBE_BUILD /* hash of the sources */
#define NETPROBE_BUILD "unknown"
#endif

#define AGENT_LEASE_NS (12 * UINT64_C(1000000000))
#define AGENT_SILENCE_NS (60 * UINT64_C(1000000000))

/* How long an agent stays after the controller's last line: lease_ns if no test or program is
 * running, otherwise silence_ns. */
struct agent_patience {
    uint64_t lease_ns, silence_ns;
};

/* Answers requests on standard input until `quit`, until the end of the input, or until the
 * controller was silent for the time in `patience`. Returns the process's exit code. */
int agent_run(const struct agent_patience *patience);

/* Answers one request of the command line, whose first word is the verb, and prints its records.
 * Returns 0, or 1 if the request failed, or the test or program that it started. */
int agent_by_hand(unsigned count, char **words);

#endif
