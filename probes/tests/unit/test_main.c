/* Runs every unit test; the exit code is 1 if one failed. */
#include "harness.h"

int main(void)
{
    static const struct unit_test *const tables[] = {
        request_tests,       json_tests,     dataport_tests, sequence_tests,  window_tests,
        window_series_tests, pacing_tests,   calltime_tests, waiting_tests, histogram_tests,
        in_flight_tests,     datagram_tests, gaps_tests,      tcp_series_tests,
        cpu_tests,           fairness_tests, text_tests,     undo_tests};
    return run_tables(tables, sizeof tables / sizeof tables[0], "unit");
}
