/* Tests how records are written. */
#include <math.h>
#include <stdlib.h>

#include "harness.h"
#include "pure/json.h"

static struct json json;

static const char *ended(void)
{
    const char *line = json_end(&json);
    CHECK(json.length <= JSON_LINE_MAX);
    CHECK(line[json.length - 1] == '\n');
    return line;
}

TEST(a_record_is_one_line_with_type_and_id_first)
{
    static const uint64_t values[] = {0, 1, UINT64_MAX};
    json_begin(&json, "result", "a.1");
    json_text(&json, "role", "send");
    json_u64(&json, "total_bytes", UINT64_MAX);
    json_i64(&json, "raw_clock_ppm", -12);
    json_flag(&json, "coarse", true);
    json_flag(&json, "spin", false);
    json_text(&json, "absent", NULL);
    json_u64s(&json, "interval_bytes", values, 3);
    json_u64s(&json, "none", values, 0);
    CHECK_TEXT(ended(), "{\"type\":\"result\",\"id\":\"a.1\",\"role\":\"send\","
                        "\"total_bytes\":18446744073709551615,\"raw_clock_ppm\":-12,\"coarse\":1,"
                        "\"interval_bytes\":[0,1,18446744073709551615],\"none\":[]}\n");
    CHECK_U64(json.left_out, 0);
}

TEST(numbers_that_are_not_finite_leave_their_key_out)
{
    json_begin(&json, "t", "-");
    json_double(&json, "a", NAN);
    json_double(&json, "b", INFINITY);
    json_double(&json, "c", -INFINITY);
    CHECK_TEXT(ended(), "{\"type\":\"t\",\"id\":\"-\"}\n");
    CHECK_U64(json.left_out, 3);
}

TEST(doubles_read_back_as_they_were)
{
    static const double values[] = {0, 0.1, 94148192.3, 1e300, -2.5, 1.0 / 3, 5e-324, 123456789012345678.0};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        json_begin(&json, "t", "-");
        json_double(&json, "v", values[i]);
        double back = strtod(strstr(ended(), "\"v\":") + 4, NULL);
        CHECK(memcmp(&back, &values[i], sizeof back) == 0);
    }
    json_begin(&json, "t", "-");
    json_double(&json, "v", 0.1);
    CHECK_TEXT(ended(), "{\"type\":\"t\",\"id\":\"-\",\"v\":0.1}\n");
}

static void quoted(const char *bytes, size_t length, const char *expected)
{
    char line[256];
    json_begin(&json, "t", "-");
    json_text_of(&json, "v", bytes, length);
    snprintf(line, sizeof line, "{\"type\":\"t\",\"id\":\"-\",\"v\":\"%s\"}\n", expected);
    CHECK_TEXT(ended(), line);
}

TEST(texts_are_escaped_and_made_valid)
{
    quoted("a\"b\\c/", 6, "a\\\"b\\\\c/");
    quoted("\n\t\0\x1f\x7f", 5, "\\u000a\\u0009\\u0000\\u001f\\u007f");
    quoted("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
    quoted("", 0, "");
}

TEST(bytes_that_are_no_utf8_become_replacement_characters)
{
    static const struct {
        const char *bytes;
        size_t replaced;
    } wrong[] = {{"\x80", 1}, {"\xff", 1}, {"\xc0\xaf", 2}, {"\xc3", 1}, {"\xe2\x82", 2},
                 {"\xe0\x80\x80", 3}, {"\xed\xa0\x80", 3}, {"\xf0\x80\x80\x80", 4},
                 {"\xf4\x90\x80\x80", 4}, {"\xf5\x80\x80\x80", 4}, {"\xf0\x9f\x98", 3}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char expected[64] = "";
        for (size_t k = 0; k < wrong[i].replaced; k++)
            strcat(expected, "\xef\xbf\xbd");
        quoted(wrong[i].bytes, strlen(wrong[i].bytes), expected);
    }
    quoted("\xc3" "a", 2, "\xef\xbf\xbd" "a");
}

TEST(a_value_that_does_not_fit_is_left_out_whole_and_the_line_still_ends)
{
    static char big[JSON_LINE_MAX];
    static uint64_t many[4000];
    memset(big, 'a', sizeof big - 1);
    memset(many, 0xff, sizeof many);
    json_begin(&json, "t", "-");
    json_text(&json, "first", "x");
    json_text(&json, "big", big);
    json_u64s(&json, "many", many, 4000);
    json_u64(&json, "last", 1);
    CHECK_U64(json.left_out, 2);
    CHECK_TEXT(ended(), "{\"type\":\"t\",\"id\":\"-\",\"first\":\"x\",\"last\":1}\n");
}

TEST(a_line_can_be_filled_to_its_last_byte_and_no_further)
{
    static char big[JSON_LINE_MAX];
    size_t frame = strlen("{\"type\":\"t\",\"id\":\"-\",\"v\":\"\"}\n");
    memset(big, 'a', sizeof big);
    json_begin(&json, "t", "-");
    json_text_of(&json, "v", big, JSON_LINE_MAX - frame);
    json_u64(&json, "n", 1);
    CHECK_U64(json.left_out, 1);
    ended();
    CHECK_U64(json.length, JSON_LINE_MAX);
    json_begin(&json, "t", "-");
    json_text_of(&json, "v", big, JSON_LINE_MAX - frame + 1);
    CHECK_U64(json.left_out, 1);
    CHECK_TEXT(ended(), "{\"type\":\"t\",\"id\":\"-\"}\n");
}

TEST(the_longest_series_and_histogram_fit_one_record)
{
    static uint64_t series[1000], histogram[64];
    memset(series, 0xff, sizeof series);
    memset(histogram, 0xff, sizeof histogram);
    json_begin(&json, "result", "12345678901234567890123456789012");
    json_u64s(&json, "interval_bytes", series, 1000);
    json_u64s(&json, "late_histogram_ns", histogram, 64);
    CHECK_U64(json.left_out, 0);
    CHECK(json.length < JSON_LINE_MAX / 2);
}

const struct unit_test json_tests[] = {
    ENTRY(a_record_is_one_line_with_type_and_id_first),
    ENTRY(numbers_that_are_not_finite_leave_their_key_out),
    ENTRY(doubles_read_back_as_they_were),
    ENTRY(texts_are_escaped_and_made_valid),
    ENTRY(bytes_that_are_no_utf8_become_replacement_characters),
    ENTRY(a_value_that_does_not_fit_is_left_out_whole_and_the_line_still_ends),
    ENTRY(a_line_can_be_filled_to_its_last_byte_and_no_further),
    ENTRY(the_longest_series_and_histogram_fit_one_record),
    {NULL, NULL}};
