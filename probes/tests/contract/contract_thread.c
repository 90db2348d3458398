/* Tests threads, mutexes and condition variables. */
#include "contract/contract.h"

struct meeting {
    plat_mutex lock;
    plat_cond changed;
    unsigned count;
    bool over;
};

static void count_to_a_thousand(void *argument)
{
    struct meeting *meeting = argument;
    for (int i = 0; i < 1000; i++) {
        plat_mutex_lock(&meeting->lock);
        meeting->count++;
        plat_cond_wake(&meeting->changed);
        plat_mutex_unlock(&meeting->lock);
    }
    plat_mutex_lock(&meeting->lock);
    while (!meeting->over)
        plat_cond_wait(&meeting->changed, &meeting->lock, soon_ns(20000));
    plat_mutex_unlock(&meeting->lock);
}

TEST(threads_count_together_and_wait_for_each_other)
{
    struct meeting meeting = {.count = 0};
    plat_thread threads[4];
    uint64_t used = 0;
    plat_mutex_init(&meeting.lock);
    plat_cond_init(&meeting.changed);
    for (int i = 0; i < 4; i++)
        CHECK_ERROR(plat_thread_start(&threads[i], count_to_a_thousand, &meeting));
    plat_mutex_lock(&meeting.lock);
    uint64_t until = soon_ns(20000);
    while (meeting.count < 4000 && plat_now_ns() < until)
        plat_cond_wait(&meeting.changed, &meeting.lock, until);
    CHECK_U64(meeting.count, 4000);
    CHECK(plat_thread_cpu_ns(threads[0], &used));
    meeting.over = true;
    plat_cond_wake(&meeting.changed);
    plat_mutex_unlock(&meeting.lock);
    for (int i = 0; i < 4; i++)
        plat_thread_join(threads[i]);
    plat_cond_destroy(&meeting.changed);
    plat_mutex_destroy(&meeting.lock);
}

TEST(a_wait_that_nobody_ends_ends_by_its_time)
{
    struct meeting meeting = {.count = 0};
    plat_mutex_init(&meeting.lock);
    plat_cond_init(&meeting.changed);
    plat_mutex_lock(&meeting.lock);
    uint64_t before = plat_now_ns(), until = before + 40 * MILLISECOND_NS;
    unsigned rounds = 0;
    while (plat_now_ns() < until && rounds++ < 1000)
        plat_cond_wait(&meeting.changed, &meeting.lock, until);
    CHECK(rounds < 1000); /* the thread waited instead of spinning */
    CHECK(plat_now_ns() - before < 10 * SECOND_NS);
    plat_cond_wait(&meeting.changed, &meeting.lock, before);
    plat_mutex_unlock(&meeting.lock);
    plat_cond_destroy(&meeting.changed);
    plat_mutex_destroy(&meeting.lock);
}

static void end_at_once(void *argument)
{
    *(_Atomic bool *)argument = true;
}

TEST(the_time_of_a_thread_that_has_ended_is_its_own_or_not_told)
{
    plat_thread thread;
    _Atomic bool ends = false;
    uint64_t used = 0;
    CHECK_ERROR(plat_thread_start(&thread, end_at_once, (void *)&ends));
    while (!ends)
        plat_sleep_ns(MILLISECOND_NS);
    for (uint64_t until = soon_ns(100); plat_now_ns() < until;)
        ; /* by then the thread has ended, and this one has used 100 ms of CPU time */
    if (plat_thread_cpu_ns(thread, &used))
        CHECK(used < 50 * MILLISECOND_NS);
    plat_thread_join(thread);
}

static void pin_to_a_usable_cpu(void *argument)
{
    int *error = argument;
    for (unsigned cpu = 0; cpu < 1024; cpu++)
        if (plat_cpu_usable(cpu)) {
            *error = plat_pin(cpu);
            return;
        }
}

TEST(a_thread_is_tied_to_a_cpu_where_the_system_does_that)
{
    plat_thread thread;
    int error = -1;
    CHECK_ERROR(plat_thread_start(&thread, pin_to_a_usable_cpu, &error));
    plat_thread_join(thread);
    if (capable("pin"))
        CHECK_U64((uint64_t)error, 0);
    else
        CHECK(error != 0);
    CHECK(!plat_cpu_usable(100000));
    CHECK(plat_pin(100000) != 0);
}

static void tell_its_place(void *argument)
{
    unsigned *places = argument; /* [0]: the CPU to bind to; [1]: the CPU on which the thread runs */
    places[1] = places[0];
    if (plat_pin(places[0]) == 0)
        plat_own_place(&places[1]);
}

TEST(a_thread_is_found_on_the_cpu_that_it_is_tied_to_where_the_system_tells)
{
    for (unsigned cpu = 0; cpu < 64; cpu++) {
        unsigned places[2] = {cpu};
        plat_thread thread;
        if (!plat_cpu_usable(cpu))
            continue;
        CHECK_ERROR(plat_thread_start(&thread, tell_its_place, places));
        plat_thread_join(thread);
        CHECK(emulated || places[1] == cpu);
    }
}

struct rivals {
    unsigned cpu;
    _Atomic bool over;
};

static void keep_a_cpu_busy(void *argument)
{
    struct rivals *rivals = argument;
    plat_pin(rivals->cpu);
    for (uint64_t until = soon_ns(20000); !rivals->over && plat_now_ns() < until;)
        ;
}

TEST(two_threads_on_one_cpu_wait_for_each_other_where_the_system_tells)
{
    struct rivals rivals = {.over = false};
    plat_thread threads[2];
    uint64_t before[2] = {0}, after[2] = {0}, waited_ns = 0;
    bool is_known = true;
    while (rivals.cpu < 1024 && !plat_cpu_usable(rivals.cpu))
        rivals.cpu++;
    for (int i = 0; i < 2; i++)
        CHECK_ERROR(plat_thread_start(&threads[i], keep_a_cpu_busy, &rivals));
    for (int i = 0; i < 2; i++)
        is_known = plat_thread_delay_ns(threads[i], &before[i]) && is_known;
    plat_sleep_ns(200 * MILLISECOND_NS);
    for (int i = 0; i < 2; i++) {
        unsigned cpu = rivals.cpu;
        if (plat_thread_place(threads[i], &cpu) && capable("pin"))
            CHECK_U64(cpu, rivals.cpu);
    }
    for (int i = 0; i < 2; i++) {
        CHECK(plat_thread_delay_ns(threads[i], &after[i]) == is_known);
        waited_ns += after[i] - before[i];
    }
    rivals.over = true;
    for (int i = 0; i < 2; i++)
        plat_thread_join(threads[i]);
    CHECK(!is_known || !capable("pin") || waited_ns >= 50 * MILLISECOND_NS);
}

const struct unit_test contract_thread_tests[] = {
    ENTRY(threads_count_together_and_wait_for_each_other),
    ENTRY(a_wait_that_nobody_ends_ends_by_its_time),
    ENTRY(the_time_of_a_thread_that_has_ended_is_its_own_or_not_told),
    ENTRY(a_thread_is_tied_to_a_cpu_where_the_system_does_that),
    ENTRY(a_thread_is_found_on_the_cpu_that_it_is_tied_to_where_the_system_tells),
    ENTRY(two_threads_on_one_cpu_wait_for_each_other_where_the_system_tells),
    {NULL, NULL},
};
