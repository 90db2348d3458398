/* Declares the tests of the platform contract, plat.h. They are the same on every system. */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "harness.h"

#include "platform/plat.h"
#include "pure/nanoseconds.h"

extern const struct unit_test contract_process_tests[], contract_thread_tests[],
    contract_address_tests[], contract_tcp_tests[], contract_udp_tests[],
    contract_round_trip_tests[], contract_watch_tests[], contract_program_tests[],
    contract_undo_tests[];

/* Whether wine or qemu emulates the system, according to the command line. */
extern bool emulated;

/* Whether the system reports a capability; `word` is a word of `capabilities`. */
bool capable(const char *word);

static inline uint64_t soon_ns(uint64_t milliseconds)
{
    return plat_now_ns() + milliseconds * MILLISECOND_NS;
}

/* Checks that a call returns 0; otherwise prints its error number and the text of the error. */
#define CHECK_ERROR(call)                                                                          \
    do {                                                                                           \
        int error_ = (call);                                                                       \
        if (error_ != 0) {                                                                         \
            char text_[128];                                                                       \
            plat_describe(error_, text_, sizeof text_);                                            \
            failures++;                                                                            \
            printf("  %s:%d: %s: %d %s\n", __FILE__, __LINE__, #call, error_, text_);              \
        }                                                                                          \
    } while (0)

#endif
