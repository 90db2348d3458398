/* How long an agent stays on a played clock. Its input is played here (the Makefile wraps plat.h's), so
 * that waiting for input advances the clock. */
#include "agent/agent.h"
#include "agent/running.h"
#include "played.h"

/* Input that comes at this time; the last one has no text, and nothing comes after it. */
struct played_input {
    uint64_t at_ns;
    const char *text;
};

static const struct played_input *next_input;
static uint64_t test_ends_ns;

ptrdiff_t __wrap_plat_input_read(void *into, size_t capacity, int wait_ms);
bool __wrap_running_any(const struct running *running);

ptrdiff_t __wrap_plat_input_read(void *into, size_t capacity, int wait_ms)
{
    const uint64_t until_ns = played.now_ns + (uint64_t)wait_ms * MILLISECOND_NS;
    const struct played_input *input = next_input;
    CHECK(wait_ms > 0);
    if (input->text == NULL || input->at_ns > until_ns) {
        played.now_ns = until_ns;
        return PLAT_TIMED_OUT;
    }
    const size_t length = strlen(input->text);
    CHECK(length <= capacity);
    memcpy(into, input->text, length);
    played.now_ns = input->at_ns > played.now_ns ? input->at_ns : played.now_ns;
    next_input++;
    return (ptrdiff_t)length;
}

bool __wrap_running_any(const struct running *running)
{
    (void)running;
    return played.now_ns < test_ends_ns;
}

/* Returns how many seconds an agent with the usual patience stays. */
static double stay_s(const struct played_input *inputs, uint64_t test_s)
{
    const struct agent_patience patience = {AGENT_LEASE_NS, AGENT_SILENCE_NS};
    memset(&played, 0, sizeof played);
    played.abort_ns = NEVER_NS;
    test_ends_ns = test_s * SECOND_NS;
    next_input = inputs;
    agent_run(&patience);
    return (double)played.now_ns / SECOND_NS;
}

/* The wait is rounded up to a millisecond, and while a test runs there is a look every 200 ms. */
static bool is_about(double stayed_s, double expected_s, double late_s)
{
    return stayed_s >= expected_s && stayed_s <= expected_s + late_s;
}

static const struct played_input nothing[] = {{0, NULL}};

TEST(an_agent_without_a_line_leaves_after_its_lease)
{
    CHECK(is_about(stay_s(nothing, 0), 12, 0.01));
}

TEST(an_empty_line_renews_the_lease)
{
    const struct played_input lines[] = {
        {8 * SECOND_NS, "\n"}, {19 * SECOND_NS, "\n"}, {0, NULL}};
    CHECK(is_about(stay_s(lines, 0), 31, 0.01));
}

TEST(half_a_line_does_not_renew_the_lease)
{
    const struct played_input half[] = {{8 * SECOND_NS, "1 hello"}, {0, NULL}};
    CHECK(is_about(stay_s(half, 0), 12, 0.01));
}

TEST(an_agent_with_a_running_test_stays_until_the_test_ends)
{
    CHECK(is_about(stay_s(nothing, 30), 30, 0.2));
}

TEST(an_agent_with_an_endless_test_leaves_after_its_longest_silence)
{
    CHECK(is_about(stay_s(nothing, 600), 60, 0.2));
}

const struct unit_test agent_time_tests[] = {
    ENTRY(an_agent_without_a_line_leaves_after_its_lease),
    ENTRY(an_empty_line_renews_the_lease),
    ENTRY(half_a_line_does_not_renew_the_lease),
    ENTRY(an_agent_with_a_running_test_stays_until_the_test_ends),
    ENTRY(an_agent_with_an_endless_test_leaves_after_its_longest_silence),
    {NULL, NULL}};
