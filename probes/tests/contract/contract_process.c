/* Tests the process, the lock, facts, clocks, CPU times and counters. */
#include "contract/contract.h"

#include "pure/json.h"

#include <stdlib.h>

TEST(standard_input_is_waited_for_read_and_ends)
{
    static const char ask[] = "say something\n";
    char text[64];
    uint64_t before = plat_now_ns();
    CHECK(plat_input_read(text, sizeof text, 60) == PLAT_TIMED_OUT);
    CHECK(plat_now_ns() - before >= 50 * MILLISECOND_NS);
    CHECK_ERROR(plat_output_write(ask, sizeof ask - 1));
    size_t used = 0;
    ptrdiff_t got;
    do {
        got = plat_input_read(text + used, sizeof text - used, 10000);
        used += got > 0 ? (size_t)got : 0;
    } while (got > 0);
    CHECK_U64((uint64_t)got, 0);
    CHECK(used == 10 && memcmp(text, "something\n", 10) == 0);
    CHECK(plat_input_read(text, sizeof text, 10) == 0);
}

TEST(random_bytes_differ)
{
    unsigned char first[32] = {0}, second[32] = {0}, zero[32] = {0};
    CHECK_ERROR(plat_random(first, sizeof first));
    CHECK_ERROR(plat_random(second, sizeof second));
    CHECK(memcmp(first, second, sizeof first) != 0);
    CHECK(memcmp(first, zero, sizeof first) != 0);
}

TEST(the_identity_has_what_every_system_has)
{
    struct plat_identity self;
    plat_identify(&self);
    CHECK(self.os[0] != 0);
    CHECK(self.clock[0] != 0);
    CHECK(self.os_release[0] != 0);
    CHECK(self.architecture[0] != 0);
    CHECK(self.pid > 0);
    CHECK(self.cpu_count >= 1);
    CHECK(capable("stream") && capable("tcp") && capable("udp") && capable("ipv4"));
    CHECK(!capable("strea") && !capable("cpu,") && !capable("telepathy"));
    printf("  %s %s %s, %u CPUs, %s, machine %s: %s\n", self.os, self.os_release, self.architecture,
           self.cpu_count, self.clock, self.machine_id[0] != 0 ? self.machine_id : "-",
           self.capabilities);
}

TEST(facts_are_a_record_that_names_the_kernel_and_the_way_to_a_peer)
{
    struct json *record = malloc(sizeof *record);
    CHECK(record != NULL);
    if (record == NULL)
        return;
    json_begin(record, "facts", "-");
    plat_facts(record, "127.0.0.1", NULL);
    json_end(record);
    CHECK(record->length > 2 && record->line[record->length - 1] == '\n');
    CHECK_U64(record->left_out, 0);
    record->line[record->length - 1] = 0;
    CHECK(strstr(record->line, "\"kernel\":") != NULL);
    CHECK(strstr(record->line, "\"cpu_count\":") != NULL);
    printf("  %s\n", record->line);
    json_begin(record, "facts", "-");
    plat_facts(record, NULL, NULL);
    json_end(record);
    record->line[record->length - 1] = 0;
    CHECK(strstr(record->line, "\"route_interface\":") == NULL);
    free(record);
}

TEST(counters_are_facts_that_say_nothing_of_the_machine)
{
    struct json *record = malloc(sizeof *record), *facts = malloc(sizeof *facts);
    CHECK(record != NULL && facts != NULL);
    if (record != NULL && facts != NULL) {
        json_begin(record, "facts", "-");
        plat_counters(record, "127.0.0.1", NULL);
        json_end(record);
        json_begin(facts, "facts", "-");
        plat_facts(facts, "127.0.0.1", NULL);
        json_end(facts);
        record->line[record->length - 1] = facts->line[facts->length - 1] = 0;
        CHECK(strstr(record->line, "\"kernel\":") == NULL);
        CHECK((strstr(record->line, "\"interface_sent_bytes\":") == NULL) ==
              (strstr(facts->line, "\"interface_sent_bytes\":") == NULL));
    }
    free(record);
    free(facts);
}

/* Another process of this machine may hold the lock. Then the call must name the holder. */
TEST(the_lock_is_taken_once_and_given_back)
{
    char holder[200] = "";
    int error = plat_lock_take("the contract's test", holder, sizeof holder);
    if (error == PLAT_LOCKED) {
        CHECK(holder[0] != 0);
        printf("  held by %s\n", holder);
        return;
    }
    CHECK_ERROR(error);
    CHECK_ERROR(plat_lock_take("the contract's test", holder, sizeof holder));
    plat_lock_release();
    CHECK_ERROR(plat_lock_take("again", holder, sizeof holder));
    plat_lock_release();
    plat_lock_release();
}

TEST(clocks_run_forward_and_agree)
{
    uint64_t raw_before = 0, raw_after = 0;
    bool raw = plat_raw_now_ns(&raw_before);
    uint64_t before = plat_now_ns(), wall = plat_wall_ns();
    CHECK(raw == capable("raw-clock"));
    for (int i = 0; i < 1000; i++) {
        uint64_t first = plat_now_ns(), second = plat_now_ns();
        CHECK(second >= first);
    }
    plat_sleep_ns(30 * MILLISECOND_NS);
    uint64_t took = plat_now_ns() - before, wall_took = plat_wall_ns() - wall;
    CHECK(took >= 30 * MILLISECOND_NS);
    CHECK(took < 5 * SECOND_NS);
    CHECK(wall > UINT64_C(1700000000) * SECOND_NS && wall < UINT64_C(4000000000) * SECOND_NS);
    uint64_t apart = wall_took > took ? wall_took - took : took - wall_took;
    CHECK(apart < 2 * SECOND_NS);
    if (raw) {
        plat_raw_now_ns(&raw_after);
        CHECK(raw_after - raw_before >= 29 * MILLISECOND_NS);
    }
}

TEST(a_host_that_is_awake_is_not_suspended)
{
    uint64_t before = 0, after = 0;
    bool is_known = plat_suspended_ns(&before);
    plat_sleep_ns(500 * MILLISECOND_NS);
    CHECK(plat_suspended_ns(&after) == is_known);
    /* The time of suspension is the difference of two clocks, which are read one after the other. */
    CHECK(after < before + 400 * MILLISECOND_NS && before < after + 400 * MILLISECOND_NS);
}

TEST(cpu_times_grow_with_work_and_cover_every_cpu)
{
    static struct plat_cpu_times open, close;
    uint64_t user, system, user_after, system_after, own, own_after;
    volatile uint64_t work = 0;
    CHECK(plat_process_cpu_ns(&user, &system));
    CHECK(plat_own_cpu_ns(&own));
    plat_cpu_times(&open);
    for (uint64_t until = soon_ns(120); plat_now_ns() < until;)
        for (int i = 0; i < 1000; i++)
            work = work + 1;
    plat_cpu_times(&close);
    CHECK(plat_process_cpu_ns(&user_after, &system_after));
    CHECK(plat_own_cpu_ns(&own_after));
    /* Any growth is enough: some systems count coarsely, and other processes may use the CPU. */
    CHECK(user_after + system_after > user + system);
    CHECK(own_after > own);
    CHECK_U64(close.count, open.count);
    CHECK((open.count > 0) == capable("cpu"));
    CHECK(open.tells_steal == close.tells_steal);
    uint64_t total = 0, busy = 0;
    for (unsigned i = 0; i < close.count; i++) {
        CHECK(close.core[i].busy <= close.core[i].total);
        total += close.core[i].total - open.core[i].total;
        busy += close.core[i].busy - open.core[i].busy;
    }
    CHECK(close.count == 0 || (total > 0 && busy > 0 && busy <= total));
}

TEST(counters_of_the_udp_stack_are_there_or_absent)
{
    uint64_t before = 0, after = 0;
    bool is_known = plat_udp_receive_buffer_errors(&before);
    CHECK(plat_udp_receive_buffer_errors(&after) == is_known);
    CHECK(!is_known || after >= before);
}

TEST(counters_of_wrong_checksums_are_there_or_absent)
{
    for (int udp = 0; udp < 2; udp++) {
        uint64_t before = 0, after = 0;
        bool is_known = plat_checksum_errors(udp == 1, &before);
        CHECK(plat_checksum_errors(udp == 1, &after) == is_known);
        CHECK(!is_known || after >= before);
    }
}

TEST(the_counters_of_packets_that_arrived_are_there_or_absent)
{
    for (unsigned which = 0; which < PLAT_ARRIVED; which++) {
        uint64_t before = 0, after = 0;
        bool is_known = plat_arrived(which, &before);
        CHECK(plat_arrived(which, &after) == is_known);
        CHECK(!is_known || after >= before);
    }
}

TEST(what_a_quota_cost_is_there_or_absent)
{
    struct plat_throttling before, after;
    bool is_known = plat_throttling(&before);
    CHECK(plat_throttling(&after) == is_known);
    CHECK(!is_known ||
          (after.periods >= before.periods && after.throttled_ns >= before.throttled_ns));
    CHECK(!is_known || after.throttled_periods <= after.periods);
}

TEST(words_and_sentences_stand_for_error_numbers)
{
    char text[128] = "";
    CHECK_TEXT(plat_word(123456), "system");
    plat_describe(123456, text, sizeof text);
    CHECK(text[0] != 0);
    plat_describe(2, text, 8);
    CHECK(strlen(text) < 8);
    CHECK(!plat_is_no_buffers(0) && !plat_is_transient(0));
    CHECK(!plat_is_peer_gone(0) && !plat_is_address_in_use(0) && !plat_is_unreachable(0));
}

const struct unit_test contract_process_tests[] = {
    ENTRY(standard_input_is_waited_for_read_and_ends),
    ENTRY(random_bytes_differ),
    ENTRY(the_identity_has_what_every_system_has),
    ENTRY(facts_are_a_record_that_names_the_kernel_and_the_way_to_a_peer),
    ENTRY(counters_are_facts_that_say_nothing_of_the_machine),
    ENTRY(the_lock_is_taken_once_and_given_back),
    ENTRY(clocks_run_forward_and_agree),
    ENTRY(a_host_that_is_awake_is_not_suspended),
    ENTRY(cpu_times_grow_with_work_and_cover_every_cpu),
    ENTRY(counters_of_the_udp_stack_are_there_or_absent),
    ENTRY(counters_of_wrong_checksums_are_there_or_absent),
    ENTRY(the_counters_of_packets_that_arrived_are_there_or_absent),
    ENTRY(what_a_quota_cost_is_there_or_absent),
    ENTRY(words_and_sentences_stand_for_error_numbers),
    {NULL, NULL},
};
