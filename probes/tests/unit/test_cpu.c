/* Tests the numbers of CPUs in groups, and the shares of time in which CPUs were busy. */
#include "harness.h"
#include "pure/cpu.h"

/* Three groups: one is full, one has holes, one has a single CPU. */
static const struct cpu_groups three = {3, {UINT64_MAX, 0x5, 0x8000000000000000}};

TEST(cpus_are_numbered_group_by_group_and_holes_have_none)
{
    unsigned group, bit;
    CHECK_U64(cpu_groups_first(&three, 3), 67);
    CHECK(cpu_groups_place(&three, 63, &group, &bit) && group == 0 && bit == 63);
    CHECK(cpu_groups_place(&three, 64, &group, &bit) && group == 1 && bit == 0);
    CHECK(cpu_groups_place(&three, 65, &group, &bit) && group == 1 && bit == 2);
    CHECK(cpu_groups_place(&three, 66, &group, &bit) && group == 2 && bit == 63);
    CHECK(!cpu_groups_place(&three, 67, &group, &bit));
    CHECK(!cpu_groups_place(&three, UINT32_MAX, &group, &bit));
}

TEST(every_number_leads_to_its_place_and_back)
{
    for (unsigned cpu = 0; cpu < 67; cpu++) {
        unsigned group = 0, bit = 0, again = 0;
        CHECK(cpu_groups_place(&three, cpu, &group, &bit));
        CHECK(cpu_groups_number(&three, group, bit, &again));
        CHECK_U64(again, cpu);
    }
}

TEST(a_place_without_a_cpu_has_no_number)
{
    unsigned cpu = 77;
    CHECK(!cpu_groups_number(&three, 1, 1, &cpu));
    CHECK(!cpu_groups_number(&three, 3, 0, &cpu));
    CHECK(!cpu_groups_number(&three, 0, 64, &cpu));
    CHECK_U64(cpu, 77);
}

TEST(groups_begin_behind_those_before_them)
{
    CHECK_U64(cpu_groups_first(&three, 0), 0);
    CHECK_U64(cpu_groups_first(&three, 1), 64);
    CHECK_U64(cpu_groups_first(&three, 2), 66);
    CHECK_U64(cpu_groups_first(&three, 9), 67);
}

TEST(shares_are_of_all_cpus_and_of_the_busiest)
{
    const struct cpu_time before[] = {{0, 100, 0, 1000}, {1, 200, 10, 1000}};
    const struct cpu_time after[] = {{0, 150, 0, 1200}, {1, 350, 30, 1200}};
    struct cpu_shares shares;
    CHECK(cpu_shares_between(before, 2, after, 2, &shares));
    CHECK_U64(shares.count, 2);
    CHECK_DOUBLE(shares.busy, 200.0 / 400);
    CHECK_DOUBLE(shares.steal, 20.0 / 400);
    CHECK_DOUBLE(shares.busiest, 150.0 / 200);
    CHECK_U64(shares.busiest_cpu, 1);
}

/* A CPU may be missing in one reading: readings are of two groups, or the CPU was switched off. */
TEST(cpus_of_one_reading_alone_are_left_out)
{
    const struct cpu_time before[] = {{0, 900, 0, 1000}, {2, 900, 0, 1000}, {64, 10, 0, 1000}};
    const struct cpu_time after[] = {{1, 5, 0, 10}, {2, 950, 0, 1100}, {65, 0, 0, 2000}};
    struct cpu_shares shares;
    CHECK(cpu_shares_between(before, 3, after, 3, &shares));
    CHECK_U64(shares.count, 1);
    CHECK_DOUBLE(shares.busy, 0.5);
    CHECK_U64(shares.busiest_cpu, 2);
    CHECK(!cpu_shares_between(before, 1, after, 3, &shares));
}

TEST(counts_that_go_back_or_stand_still_tell_nothing_and_no_share_leaves_0_to_1)
{
    const struct cpu_time before[] = {{0, 100, 0, 1000}, {1, 100, 90, 1000}, {2, 100, 0, 1000},
                                      {3, 100, 0, 1000}};
    const struct cpu_time after[] = {{0, 99, 0, 1100}, {1, 150, 80, 1040}, {2, 150, 0, 999},
                                     {3, 100, 0, 1000}};
    struct cpu_shares shares;
    CHECK(cpu_shares_between(before, 4, after, 4, &shares));
    CHECK_U64(shares.count, 1);
    CHECK_DOUBLE(shares.busy, 1);
    CHECK_DOUBLE(shares.busiest, 1);
    CHECK_DOUBLE(shares.steal, 0);
    CHECK(!cpu_shares_between(before, 1, after, 1, &shares));
    CHECK(!cpu_shares_between(before, 0, after, 4, &shares));
}

/* The hypervisor counts steal and the system counts all time, so steal may exceed the total. */
TEST(what_was_stolen_is_no_more_than_all)
{
    const struct cpu_time before[] = {{0, 0, 0, 0}}, after[] = {{0, 1, 500, 100}};
    struct cpu_shares shares;
    CHECK(cpu_shares_between(before, 1, after, 1, &shares));
    CHECK_DOUBLE(shares.steal, 1);
}

const struct unit_test cpu_tests[] = {
    ENTRY(cpus_are_numbered_group_by_group_and_holes_have_none),
    ENTRY(every_number_leads_to_its_place_and_back),
    ENTRY(a_place_without_a_cpu_has_no_number),
    ENTRY(groups_begin_behind_those_before_them),
    ENTRY(shares_are_of_all_cpus_and_of_the_busiest),
    ENTRY(cpus_of_one_reading_alone_are_left_out),
    ENTRY(counts_that_go_back_or_stand_still_tell_nothing_and_no_share_leaves_0_to_1),
    ENTRY(what_was_stolen_is_no_more_than_all),
    {NULL, NULL},
};
