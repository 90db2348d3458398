/* Tests the parser of request lines. */
#include "harness.h"
#include "protocol/error.h"
#include "protocol/request.h"

static struct request request;
static struct request_fault fault;

/* Parses a copy with an `x` behind it, because the parser must write a NUL to that place. */
static const char *parse_bytes(const char *text, size_t length)
{
    static char line[16384];
    memcpy(line, text, length);
    line[length] = 'x';
    const char *word = request_parse(line, length, &request, &fault);
    CHECK(fault.detail != NULL);
    CHECK(word == NULL || error_word_known(word));
    CHECK(word == fault.word);
    return word;
}

static const char *parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

TEST(a_line_is_cut_into_id_verb_and_pairs)
{
    CHECK_TEXT(parse("7.a_B-9 send kind=stream to=[::1]:5001 message=1448"), NULL);
    CHECK_TEXT(request.id, "7.a_B-9");
    CHECK_TEXT(request.verb, "send");
    CHECK_U64(request.pairs, 3);
    CHECK_TEXT(request_value(&request, "kind"), "stream");
    CHECK_TEXT(request_value(&request, "to"), "[::1]:5001");
    CHECK_TEXT(request_value(&request, "mess"), NULL);
}

TEST(a_carriage_return_at_the_end_belongs_to_the_line_end)
{
    CHECK_TEXT(parse("1 lock owner=me\r"), NULL);
    CHECK_TEXT(request_value(&request, "owner"), "me");
    CHECK_TEXT(parse("1 lock owner=m\re"), "bad-value");
}

TEST(an_empty_line_is_a_heartbeat)
{
    CHECK_TEXT(parse(""), NULL);
    CHECK_TEXT(request.verb, "");
    CHECK_TEXT(request.id, "-");
    CHECK_TEXT(parse("\r"), NULL);
    CHECK_TEXT(request.verb, "");
}

TEST(percent_signs_stand_for_any_byte)
{
    CHECK_TEXT(parse("1 lock owner=a%20b%3d%25%C3%a4"), NULL);
    CHECK_TEXT(request_value(&request, "owner"), "a b=%\xc3\xa4");
    CHECK_TEXT(parse("1 lock owner=a%00b"), NULL);
    CHECK_U64(request.pair[0].value_length, 3);
    const char *const broken[] = {"%", "%4", "%zz", "a%2", "%%20"};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        char line[64];
        snprintf(line, sizeof line, "1 lock owner=%s", broken[i]);
        CHECK_TEXT(parse(line), "bad-value");
        CHECK_TEXT(fault.key, "owner");
    }
}

TEST(a_key_that_stands_there_twice_is_refused)
{
    CHECK_TEXT(parse("1 send message=1 message=1"), "bad-value");
    CHECK_TEXT(fault.key, "message");
    CHECK_TEXT(request.id, "1");
}

TEST(what_is_no_request_is_refused_with_its_id_where_it_has_one)
{
    const char *const anonymous[] = {" send", "a/b send", "\xff send", "\"1\" send",
                                     "123456789012345678901234567890123 send", "\t"};
    for (size_t i = 0; i < sizeof anonymous / sizeof anonymous[0]; i++) {
        CHECK_TEXT(parse(anonymous[i]), "bad-request");
        CHECK_TEXT(request.id, "-");
    }
    const char *const named[] = {"x", "x ", "x  send", "x Send", "x send ", "x send  a=1", "x send a",
                                 "x send =1", "x send A=1", "x send a-b=1"};
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        CHECK_TEXT(parse(named[i]), "bad-request");
        CHECK_TEXT(request.id, "x");
    }
}

TEST(control_characters_in_a_value_are_refused)
{
    for (int c = 1; c < 0x80; c += c == 0x1f ? 0x60 : 1) { /* 1 to 31, and 127 */
        char line[] = "1 lock owner=a?b";
        line[14] = (char)c;
        CHECK_TEXT(parse(line), "bad-value");
        CHECK_TEXT(fault.key, "owner");
    }
    CHECK_TEXT(parse_bytes("1 lock owner=a\0b", 16), "bad-value");
    CHECK_TEXT(parse_bytes("1 lo\0ck", 7), "bad-request");
}

TEST(a_line_of_8192_bytes_with_its_end_is_taken_and_a_longer_one_is_not)
{
    static char line[9000];
    memset(line, 'a', sizeof line);
    memcpy(line, "1 lock owner=", 13);
    CHECK_TEXT(parse_bytes(line, 8191), NULL);
    CHECK_U64(request.pair[0].value_length, 8191 - 13);
    CHECK_TEXT(parse_bytes(line, 8192), "line-too-long");
}

TEST(sixty_four_keys_are_taken_and_one_more_is_not)
{
    char line[1024] = "1 send";
    for (int i = 0; i < 64; i++)
        snprintf(line + strlen(line), 32, " k%d=%d", i, i);
    CHECK_TEXT(parse(line), NULL);
    CHECK_U64(request.pairs, 64);
    CHECK_TEXT(request_value(&request, "k63"), "63");
    strcat(line, " z=1");
    CHECK_TEXT(parse(line), "bad-request");
}

TEST(a_key_longer_than_any_key_is_unknown_and_named_up_to_its_limit)
{
    CHECK_TEXT(parse("1 send abcdefghijklmnopqrstuvwxyz0123456789=1"), "unknown-key");
    CHECK_TEXT(fault.key, "abcdefghijklmnopqrstuvwxyz01234");
}

TEST(words_of_a_command_line_mean_the_same_and_may_hold_spaces)
{
    char verb[] = "lock", pair[] = "owner=a b%21", bad[] = "--help";
    char *words[] = {verb, pair};
    CHECK_TEXT(request_from_words("hand", 2, words, &request, &fault), NULL);
    CHECK_TEXT(request.id, "hand");
    CHECK_TEXT(request.verb, "lock");
    CHECK_TEXT(request_value(&request, "owner"), "a b!");
    words[1] = bad;
    CHECK_TEXT(request_from_words("hand", 2, words, &request, &fault), "bad-request");
    CHECK_TEXT(request_from_words("hand", 0, words, &request, &fault), "bad-request");
}

TEST(a_key_that_is_not_allowed_is_named)
{
    static const char *const allowed[] = {"test", "sent"};
    const char *unknown = NULL;
    parse("1 stop test=a sent=1");
    CHECK_TEXT(request_only(&request, allowed, 2, &unknown), NULL);
    parse("1 stop test=a sen=1");
    CHECK_TEXT(request_only(&request, allowed, 2, &unknown), "unknown-key");
    CHECK_TEXT(unknown, "sen");
    CHECK_TEXT(request_only(&request, NULL, 0, &unknown), "unknown-key");
    CHECK_TEXT(unknown, "test");
}

/* Reads a number; returns 77 if the reader did not change it. */
static uint64_t number(const char *value, uint64_t least, uint64_t most, const char *word)
{
    char line[128];
    uint64_t out = 77;
    snprintf(line, sizeof line, "1 send n=%s", value);
    CHECK_TEXT(parse(line), NULL);
    CHECK_TEXT(request_u64(&request, "n", least, most, &out), word);
    return out;
}

TEST(whole_numbers_are_read_within_their_range_and_nothing_else_is)
{
    CHECK_U64(number("0", 0, 10, NULL), 0);
    CHECK_U64(number("0010", 10, 10, NULL), 10);
    CHECK_U64(number("18446744073709551615", 0, UINT64_MAX, NULL), UINT64_MAX);
    const char *const bad[] = {"", "-1", "+1", "1.0", "1e3", "0x10", "1%20", "%201", "1%00", "ten",
                               "18446744073709551616", "99999999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_U64(number(bad[i], 0, UINT64_MAX, "bad-value"), 77);
    CHECK_U64(number("4", 5, 9, "bad-value"), 77);
    CHECK_U64(number("10", 5, 9, "bad-value"), 77);
    CHECK_U64(number("5", 0, 4, "bad-value"), 77);
}

TEST(an_absent_key_leaves_every_default)
{
    uint64_t u64 = 1, numerator = 2, denominator = 3;
    bool flag = true;
    unsigned char hex[2] = {4, 5};
    unsigned choice = 6, first = 7, last = 8;
    char text[4] = "abc";
    parse("1 send");
    CHECK_TEXT(request_u64(&request, "k", 0, 0, &u64), NULL);
    CHECK_TEXT(request_seconds_ns(&request, "k", 0, 0, &u64), NULL);
    CHECK_TEXT(request_decimal(&request, "k", &numerator, &denominator), NULL);
    CHECK_TEXT(request_flag(&request, "k", &flag), NULL);
    CHECK_TEXT(request_hex(&request, "k", hex, 2), NULL);
    CHECK_TEXT(request_choice(&request, "k", NULL, 0, &choice), NULL);
    CHECK_TEXT(request_text(&request, "k", text, sizeof text), NULL);
    CHECK_TEXT(request_ports(&request, "k", &first, &last), NULL);
    CHECK(u64 == 1 && numerator == 2 && denominator == 3 && flag && hex[1] == 5 && choice == 6 &&
          first == 7 && last == 8 && strcmp(text, "abc") == 0);
}

static uint64_t seconds(const char *value, const char *word)
{
    char line[128];
    uint64_t out = 77;
    snprintf(line, sizeof line, "1 send s=%s", value);
    parse(line);
    CHECK_TEXT(request_seconds_ns(&request, "s", 0, UINT64_C(3600000000000), &out), word);
    return out;
}

TEST(seconds_become_nanoseconds_without_rounding)
{
    CHECK_U64(seconds("10", NULL), UINT64_C(10000000000));
    CHECK_U64(seconds("0.1", NULL), 100000000);
    CHECK_U64(seconds("0.3", NULL), 300000000); /* 0.3 x 1e9 in doubles is 299999999.99… */
    CHECK_U64(seconds(".5", NULL), 500000000);
    CHECK_U64(seconds("2.", NULL), UINT64_C(2000000000));
    CHECK_U64(seconds("1.000000001", NULL), 1000000001);
    CHECK_U64(seconds("0", NULL), 0);
    CHECK_U64(seconds("3600", NULL), UINT64_C(3600000000000));
    const char *const bad[] = {"", ".", "-1", "1e3", "nan", "inf", "1.0000000001", "1.2.3", "1,5",
                               "1s", "3600.000000001", "99999999999999999999", "1%00"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_U64(seconds(bad[i], "bad-value"), 77);
}

static void fraction(const char *value, uint64_t numerator, uint64_t denominator)
{
    char line[128];
    uint64_t up = 0, down = 0;
    snprintf(line, sizeof line, "1 send rate=%s", value);
    parse(line);
    CHECK_TEXT(request_decimal(&request, "rate", &up, &down),
               denominator > 0 ? NULL : "bad-value");
    CHECK_U64(up, numerator);
    CHECK_U64(down, denominator);
}

TEST(decimals_become_fractions_in_lowest_terms)
{
    fraction("100000000", 100000000, 1);
    fraction("0.5", 1, 2);
    fraction("2.50", 5, 2);
    fraction("0.000000001", 1, 1000000000);
    fraction("999999999.999999999", UINT64_C(999999999999999999), 1000000000);
    fraction("999999999999999", UINT64_C(999999999999999), 1);
    fraction("333.333", 333333, 1000);
    fraction("0", 0, 0);
    fraction("0.000", 0, 0);
    fraction("1000000000000000", 0, 0);
    fraction("9999999999.999999999", 0, 0); /* 19 digits */
    fraction("-1", 0, 0);
    fraction("1e9", 0, 0);
    fraction(".", 0, 0);
    fraction("", 0, 0);
}

TEST(flags_hex_words_texts_and_ports_are_read_and_checked)
{
    static const char *const protocols[] = {"tcp", "udp"};
    bool flag = false;
    unsigned choice = 9, first = 1, last = 1;
    unsigned char hex[2] = {0, 0};
    char text[4] = "";
    parse("1 send f=1 g=2 h=0aF9 i=0aF j=0aFg p=udp q=udpx t=abc u=abcd v= w=a%00 e=0");
    CHECK_TEXT(request_flag(&request, "f", &flag), NULL);
    CHECK(flag);
    CHECK_TEXT(request_flag(&request, "g", &flag), "bad-value");
    CHECK_TEXT(request_flag(&request, "e", &flag), NULL);
    CHECK(!flag);
    CHECK_TEXT(request_hex(&request, "h", hex, 2), NULL);
    CHECK(hex[0] == 0x0a && hex[1] == 0xf9);
    CHECK_TEXT(request_hex(&request, "i", hex, 2), "bad-value");
    CHECK_TEXT(request_hex(&request, "j", hex, 2), "bad-value");
    CHECK_TEXT(request_choice(&request, "p", protocols, 2, &choice), NULL);
    CHECK_U64(choice, 1);
    CHECK_TEXT(request_choice(&request, "q", protocols, 2, &choice), "bad-value");
    CHECK_TEXT(request_text(&request, "t", text, sizeof text), NULL);
    CHECK_TEXT(text, "abc");
    CHECK_TEXT(request_text(&request, "u", text, sizeof text), "bad-value");
    CHECK_TEXT(request_text(&request, "v", text, sizeof text), "bad-value");
    CHECK_TEXT(request_text(&request, "w", text, sizeof text), "bad-value");
    parse("1 send a=5001 b=5001-5100 c=0 d=0-5 e=5100-5001 f=65536 g=1- h=1-2-3 i= j=65535-65535");
    CHECK_TEXT(request_ports(&request, "a", &first, &last), NULL);
    CHECK(first == 5001 && last == 5001);
    CHECK_TEXT(request_ports(&request, "b", &first, &last), NULL);
    CHECK(first == 5001 && last == 5100);
    const char *const bad[] = {"d", "e", "f", "g", "h", "i"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_TEXT(request_ports(&request, bad[i], &first, &last), "bad-value");
    CHECK(first == 5001 && last == 5100);
    CHECK_TEXT(request_ports(&request, "c", &first, &last), NULL);
    CHECK(first == 0 && last == 0);
    CHECK_TEXT(request_ports(&request, "j", &first, &last), NULL);
    CHECK(first == 65535 && last == 65535);
}

const struct unit_test request_tests[] = {
    ENTRY(a_line_is_cut_into_id_verb_and_pairs),
    ENTRY(a_carriage_return_at_the_end_belongs_to_the_line_end),
    ENTRY(an_empty_line_is_a_heartbeat),
    ENTRY(percent_signs_stand_for_any_byte),
    ENTRY(a_key_that_stands_there_twice_is_refused),
    ENTRY(what_is_no_request_is_refused_with_its_id_where_it_has_one),
    ENTRY(control_characters_in_a_value_are_refused),
    ENTRY(a_line_of_8192_bytes_with_its_end_is_taken_and_a_longer_one_is_not),
    ENTRY(sixty_four_keys_are_taken_and_one_more_is_not),
    ENTRY(a_key_longer_than_any_key_is_unknown_and_named_up_to_its_limit),
    ENTRY(words_of_a_command_line_mean_the_same_and_may_hold_spaces),
    ENTRY(a_key_that_is_not_allowed_is_named),
    ENTRY(whole_numbers_are_read_within_their_range_and_nothing_else_is),
    ENTRY(an_absent_key_leaves_every_default),
    ENTRY(seconds_become_nanoseconds_without_rounding),
    ENTRY(decimals_become_fractions_in_lowest_terms),
    ENTRY(flags_hex_words_texts_and_ports_are_read_and_checked),
    {NULL, NULL}};
