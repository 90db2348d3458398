/* Tests how text is cut for a JSON string, and how words are quoted for a command line. */
#include "harness.h"
#include "pure/text.h"

#define BYTES(text) (const unsigned char *)(text), sizeof(text) - 1

TEST(a_text_that_fits_is_taken_whole)
{
    CHECK_U64(text_cut(BYTES("abc"), 3, false), 3);
    CHECK_U64(text_cut(BYTES("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), 9, false), 9);
    CHECK_U64(text_cut(BYTES(""), 0, true), 0);
}

TEST(a_text_is_cut_by_its_length_as_it_is_printed)
{
    CHECK_U64(text_cut(BYTES("abcd"), 3, true), 3);
    CHECK_U64(text_cut(BYTES("a\nb\n"), 8, true), 3); /* a line feed is \u000a */
    CHECK_U64(text_cut(BYTES("a\nb\n"), 14, true), 4);
    CHECK_U64(text_cut(BYTES("\"\\\""), 5, true), 2);
    CHECK_U64(text_cut(BYTES("\xff\xff"), 5, true), 1); /* each of them is U+FFFD, of three bytes */
    CHECK_U64(text_cut(BYTES("\x7f"), 5, true), 0);
}

TEST(no_character_is_cut)
{
    CHECK_U64(text_cut(BYTES("a\xe2\x82\xac"), 3, true), 1);
    CHECK_U64(text_cut(BYTES("a\xe2\x82\xac"), 4, true), 4);
}

TEST(the_beginning_of_a_character_is_left_until_its_rest_is_there)
{
    CHECK_U64(text_cut(BYTES("a\xc3"), 99, false), 1);
    CHECK_U64(text_cut(BYTES("a\xe2\x82"), 99, false), 1);
    CHECK_U64(text_cut(BYTES("a\xf0\x9f\x98"), 99, false), 1);
    CHECK_U64(text_cut(BYTES("\xf0"), 99, false), 0);
    CHECK_U64(text_cut(BYTES("a\xf0\x9f\x98"), 99, true), 4);
}

TEST(bytes_that_begin_no_character_are_not_waited_for)
{
    CHECK_U64(text_cut(BYTES("a\x80"), 99, false), 2);
    CHECK_U64(text_cut(BYTES("a\xc0"), 99, false), 2);
    CHECK_U64(text_cut(BYTES("a\xed\xa0"), 99, false), 3); /* a surrogate */
    CHECK_U64(text_cut(BYTES("a\xf4\x90"), 99, false), 3); /* beyond U+10FFFF */
    CHECK_U64(text_cut(BYTES("a\xe2" "b"), 99, false), 3);
}

TEST(a_character_is_written_as_a_string_of_json_has_it)
{
    static const struct {
        const char *bytes, *escaped;
        size_t taken;
    } rows[] = {{"ab", "a", 1},          {"\"", "\\\"", 1},  {"\\n", "\\\\", 1},
                {"\n", "\\u000a", 1},    {"\x7f", "\\u007f", 1}, {"\xe2\x82\xac" "a", "\xe2\x82\xac", 3},
                {"\xe2\x82", "\xef\xbf\xbd", 1}, {"\x80", "\xef\xbf\xbd", 1}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char into[TEXT_ESCAPED_MAX + 1] = "";
        size_t length = 0;
        CHECK_U64(text_escape((const unsigned char *)rows[i].bytes, strlen(rows[i].bytes), into,
                              &length),
                  rows[i].taken);
        into[length] = 0;
        CHECK_TEXT(into, rows[i].escaped);
    }
}

/* The examples of Microsoft's "Parsing C command-line arguments", from the words to the line. */
TEST(words_are_quoted_as_programs_of_windows_take_them_apart)
{
    static const char *const rows[][2] = {
        {"plain", "plain"},       {"", "\"\""},
        {"a b c", "\"a b c\""},   {"a\tb", "\"a\tb\""},
        {"ab\"c", "\"ab\\\"c\""}, {"a\\\\b", "a\\\\b"},
        {"\\", "\\"},             {"a\\\"b", "\"a\\\\\\\"b\""},
        {"d e\\", "\"d e\\\\\""}, {"C:\\Program Files\\", "\"C:\\Program Files\\\\\""},
        {"\"", "\"\\\"\""},       {"a\\b c", "\"a\\b c\""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char into[64];
        size_t length = text_quote(rows[i][0], into);
        CHECK_TEXT(into, rows[i][1]);
        CHECK_U64(length, strlen(into));
        CHECK(length + 1 <= 2 * strlen(rows[i][0]) + 3);
    }
}

const struct unit_test text_tests[] = {
    ENTRY(a_text_that_fits_is_taken_whole),
    ENTRY(a_text_is_cut_by_its_length_as_it_is_printed),
    ENTRY(no_character_is_cut),
    ENTRY(the_beginning_of_a_character_is_left_until_its_rest_is_there),
    ENTRY(bytes_that_begin_no_character_are_not_waited_for),
    ENTRY(a_character_is_written_as_a_string_of_json_has_it),
    ENTRY(words_are_quoted_as_programs_of_windows_take_them_apart),
    {NULL, NULL}};
