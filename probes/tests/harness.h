/* Declares the checks of unit tests. A test is a function whose name is a sentence. A failed check
 * prints its place and its expression. */
#ifndef HARNESS_H
#define HARNESS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct unit_test {
    const char *name;
    void (*run)(void);
};

#define TEST(name) static void name(void)
#define ENTRY(name) {#name, name}

/* One table per file; an entry without a name ends a table. */
extern const struct unit_test request_tests[], json_tests[], dataport_tests[], sequence_tests[],
    window_tests[], window_series_tests[], pacing_tests[], calltime_tests[], waiting_tests[],
    histogram_tests[], in_flight_tests[], datagram_tests[], gaps_tests[],
    tcp_series_tests[], cpu_tests[], fairness_tests[], text_tests[], undo_tests[];

/* Runs all tests and prints a line for each, then a summary: "12 unit tests, 0 failed". Returns 0 if at
 * least one test ran and none failed. */
int run_tables(const struct unit_test *const *tables, size_t count, const char *kind);

/* Number of failed checks of the running test. */
extern unsigned failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            printf("  %s:%d: %s\n", __FILE__, __LINE__, #condition);                               \
        }                                                                                          \
    } while (0)

#define CHECK_U64(value, expected) check_u64(__FILE__, __LINE__, #value, value, expected)
#define CHECK_TEXT(value, expected) check_text(__FILE__, __LINE__, #value, value, expected)
/* Checks that two doubles are equal to one part in 10^12. */
#define CHECK_DOUBLE(value, expected) check_double(__FILE__, __LINE__, #value, value, expected)

void check_u64(const char *file, int line, const char *expression, uint64_t value,
               uint64_t expected);
void check_text(const char *file, int line, const char *expression, const char *value,
                const char *expected);
void check_double(const char *file, int line, const char *expression, double value,
                  double expected);

#endif
