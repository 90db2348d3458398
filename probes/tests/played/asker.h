/* An asker on the played clock, and the mirror that answers it after a while, or never. */
#ifndef PLAYED_ASKER_H
#define PLAYED_ASKER_H

#include "loops/round_trip.h"
#include "played.h"

#define TIMEOUT_NS SECOND_NS
#define NO_REQUEST UINT64_MAX
#define KEPT 64
#define TRIPS 1000

extern struct mirror_played {
    uint64_t trip_ns;             /* usual time from a request to its answer; NEVER_NS: no answer */
    uint64_t odd_request, odd_ns; /* the same for the request with this number */
    uint64_t receive_limit_ns;    /* as the asker has set it for its socket */
    uint64_t sent, last_sent_ns;
    uint64_t late_ns;       /* the latest sending after a due time */
    uint64_t sent_ns[KEPT]; /* of the first requests */
} mirror;

/* What the loop has counted, and the outcome of each of its requests if there are TRIPS. */
extern struct ask asked;
extern struct trip asked_trips[TRIPS];

/* Makes an asker with a mirror that answers after 1 ms. `rate` 0: a closed loop. Returns the
 * settings, in which the end is missing. */
struct settings *make_asker(uint64_t rate, uint64_t abort_ns);
/* Runs the loop, and checks the word of its end: see played_run. */
void ask_until_the_end(const char *word);
/* Whether a time is as expected, or later by a few readings of the clock for each request. */
bool is_about(uint64_t ns, uint64_t expected_ns);

#endif
