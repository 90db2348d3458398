/* Tests the requests in flight. */
#include "harness.h"
#include "pure/in_flight.h"

static struct in_flight u;
static uint64_t state = 88172645463325252;

static uint64_t draw(uint64_t below) /* xorshift64, Marsaglia 2003 */
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (state >> 11) % below;
}

static void begin(void)
{
    memset(&u, 0, sizeof u);
}

static uint64_t send(uint64_t now_ns)
{
    uint64_t sequence = in_flight_next(&u);
    in_flight_sent(&u, now_ns, now_ns, true);
    return sequence;
}

static enum in_flight_fate answer(uint64_t sequence)
{
    const struct in_flight_request *request;
    enum in_flight_fate fate = in_flight_answer(&u, sequence, &request);
    CHECK((request != NULL) == (fate == IN_FLIGHT_ANSWERED));
    if (request != NULL)
        CHECK_U64(request->sequence, sequence);
    return fate;
}

TEST(an_answer_belongs_to_its_request_once)
{
    begin();
    uint64_t one = send(100), two = send(200);
    CHECK(one != two);
    CHECK_U64(u.waiting, 2);
    CHECK(answer(two) == IN_FLIGHT_ANSWERED);
    CHECK(answer(two) == IN_FLIGHT_DUPLICATE);
    CHECK_U64(u.oldest, one);
    CHECK(answer(one) == IN_FLIGHT_ANSWERED);
    CHECK(answer(one) == IN_FLIGHT_DUPLICATE);
    CHECK_U64(u.waiting, 0);
    CHECK(answer(two + 1) == IN_FLIGHT_UNKNOWN);
    CHECK(answer(UINT64_MAX) == IN_FLIGHT_UNKNOWN);
}

TEST(a_request_is_lost_when_its_time_has_run_out_and_its_answer_is_late)
{
    begin();
    uint64_t one = send(100), two = send(150);
    CHECK(in_flight_lost(&u, 199, 100) == NULL);
    const struct in_flight_request *request = in_flight_lost(&u, 200, 100);
    CHECK(request != NULL && request->sequence == one && request->sent_ns == 100);
    CHECK(in_flight_lost(&u, 200, 100) == NULL);
    CHECK(answer(one) == IN_FLIGHT_LATE);
    CHECK(answer(one) == IN_FLIGHT_DUPLICATE);
    CHECK(answer(two) == IN_FLIGHT_ANSWERED);
    CHECK(in_flight_lost(&u, 100000, 100) == NULL);
    CHECK(in_flight_give_up(&u) == NULL);
}

TEST(an_answer_to_nothing_ever_sent_is_unknown)
{
    begin();
    CHECK(answer(0) == IN_FLIGHT_UNKNOWN);
    CHECK(in_flight_lost(&u, 1000, 1) == NULL);
}

TEST(one_that_waits_for_long_keeps_its_place_while_the_ring_goes_round)
{
    begin();
    uint64_t stuck = send(1);
    for (int i = 0; i < 3 * IN_FLIGHT_SLOTS; i++) {
        uint64_t sequence = send(10);
        CHECK(sequence % IN_FLIGHT_SLOTS != stuck % IN_FLIGHT_SLOTS);
        CHECK(answer(sequence) == IN_FLIGHT_ANSWERED);
    }
    CHECK_U64(u.waiting, 1);
    CHECK_U64(u.oldest, stuck);
    uint64_t sequence = send(20);
    const struct in_flight_request *request = in_flight_lost(&u, 12, 10);
    CHECK(request != NULL && request->sequence == stuck);
    CHECK_U64(u.oldest, sequence);
    CHECK(answer(sequence) == IN_FLIGHT_ANSWERED);
    CHECK_U64(u.oldest, u.next);
}

TEST(too_old_to_tell_is_late)
{
    begin();
    uint64_t first = send(1);
    CHECK(answer(first) == IN_FLIGHT_ANSWERED);
    for (int i = 0; i < IN_FLIGHT_SLOTS; i++)
        answer(send(2));
    CHECK(answer(first) == IN_FLIGHT_LATE);
}

/* Compares the state with a plain list of the waiting requests. */
TEST(at_random_every_request_ends_as_one_of_answered_and_lost)
{
    static uint64_t waiting[IN_FLIGHT_MAX], sent_ns[IN_FLIGHT_MAX];
    unsigned count = 0;
    uint64_t sent = 0, answers = 0, losses = 0, now_ns = 0;
    begin();
    for (int step = 0; step < 300000; step++) {
        const struct in_flight_request *request;
        now_ns += draw(20);
        if (count < IN_FLIGHT_MAX && draw(2) == 0) {
            waiting[count] = send(now_ns);
            sent_ns[count++] = now_ns;
            sent++;
        }
        while ((request = in_flight_lost(&u, now_ns, 5000)) != NULL) {
            CHECK_U64(request->sequence, waiting[0]); /* the oldest first */
            CHECK(now_ns - sent_ns[0] >= 5000);
            memmove(waiting, waiting + 1, --count * sizeof waiting[0]);
            memmove(sent_ns, sent_ns + 1, count * sizeof sent_ns[0]);
            losses++;
        }
        CHECK(count == 0 || now_ns - sent_ns[0] < 5000);
        if (count > 0 && draw(5) < 2) {
            unsigned which = (unsigned)draw(count);
            CHECK(answer(waiting[which]) == IN_FLIGHT_ANSWERED);
            memmove(waiting + which, waiting + which + 1, (--count - which) * sizeof waiting[0]);
            memmove(sent_ns + which, sent_ns + which + 1, (count - which) * sizeof sent_ns[0]);
            answers++;
        }
        CHECK_U64(u.waiting, count);
        if (count > 0)
            CHECK_U64(u.oldest, waiting[0]);
    }
    CHECK(losses > 100 && answers > 1000);
    CHECK_U64(sent, answers + losses + count);
}

const struct unit_test in_flight_tests[] = {
    ENTRY(an_answer_belongs_to_its_request_once),
    ENTRY(a_request_is_lost_when_its_time_has_run_out_and_its_answer_is_late),
    ENTRY(an_answer_to_nothing_ever_sent_is_unknown),
    ENTRY(one_that_waits_for_long_keeps_its_place_while_the_ring_goes_round),
    ENTRY(too_old_to_tell_is_late),
    ENTRY(at_random_every_request_ends_as_one_of_answered_and_lost),
    {NULL, NULL}};
