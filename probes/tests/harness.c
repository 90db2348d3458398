/* Implements the checks, and runs the tables of tests. */
#include "harness.h"

unsigned failures;

void check_u64(const char *file, int line, const char *expression, uint64_t value,
               uint64_t expected)
{
    if (value == expected)
        return;
    failures++;
    printf("  %s:%d: %s is %llu, not %llu\n", file, line, expression, (unsigned long long)value,
           (unsigned long long)expected);
}

void check_text(const char *file, int line, const char *expression, const char *value,
                const char *expected)
{
    if (value == expected || (value != NULL && expected != NULL && strcmp(value, expected) == 0))
        return;
    failures++;
    printf("  %s:%d: %s is %s, not %s\n", file, line, expression, value != NULL ? value : "NULL",
           expected != NULL ? expected : "NULL");
}

void check_double(const char *file, int line, const char *expression, double value, double expected)
{
    double off = value > expected ? value - expected : expected - value;
    double size = expected < 0 ? -expected : expected;
    if (off <= size * 1e-12)
        return;
    failures++;
    printf("  %s:%d: %s is %.17g, not %.17g\n", file, line, expression, value, expected);
}

int run_tables(const struct unit_test *const *tables, size_t count, const char *kind)
{
    unsigned ran = 0, failed = 0;
    for (size_t t = 0; t < count; t++)
        for (const struct unit_test *test = tables[t]; test->name != NULL; test++) {
            failures = 0;
            test->run();
            ran++;
            failed += failures > 0;
            printf("%s %s\n", failures > 0 ? "FAILED" : "ok", test->name);
        }
    printf("%u %s tests, %u failed\n", ran, kind, failed);
    return failed > 0 || ran == 0;
}
