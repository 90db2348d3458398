/* Tests of the platform contract, plat.h: the same program on every system. */
#ifndef CONTRACT_H
#define CONTRACT_H

#include "harness.h"

#include "platform/plat.h"
#include "pure/nanoseconds.h"

extern const struct unit_test contract_process_tests[], contract_thread_tests[],
    contract_address_tests[], contract_tcp_tests[], contract_udp_tests[],
    contract_round_trip_tests[], contract_watch_tests[];

/* Whether the system is played by wine or qemu, said on the command line. */
extern bool emulated;

/* Whether this system says that it can do that: a word of `capabilities`. */
bool capable(const char *word);

static inline uint64_t soon_ns(uint64_t milliseconds)
{
    return plat_now_ns() + milliseconds * MILLISECOND_NS;
}

/* 0, or what went wrong is printed with its number: a check of an error number. */
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
