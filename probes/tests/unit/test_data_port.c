/* Tests prefaces, control datagrams and headers of messages. */
#include "harness.h"
#include "protocol/data_port.h"

static const unsigned char token[DATAPORT_TOKEN] = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
                                                    0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff};
static const unsigned char wrong_token[DATAPORT_TOKEN] = {
    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xfe};

TEST(a_preface_is_token_stream_flags_and_zeros_in_32_bytes)
{
    unsigned char bytes[DATAPORT_PREFACE];
    struct dataport_preface preface;
    dataport_preface_write(bytes, token, 0x0102);
    CHECK(memcmp(bytes, token, 16) == 0);
    CHECK(bytes[16] == 1 && bytes[17] == 2 && bytes[18] == 0 && bytes[31] == 0);
    CHECK(dataport_preface_read(bytes, token, &preface));
    CHECK_U64(preface.stream, 0x0102);
    CHECK_U64(preface.flags, 0);
    CHECK(!dataport_preface_read(bytes, wrong_token, &preface));
}

TEST(a_preface_with_anything_else_in_it_is_not_the_peers)
{
    unsigned char bytes[DATAPORT_PREFACE];
    struct dataport_preface preface;
    for (unsigned i = 0; i < DATAPORT_PREFACE; i++) {
        dataport_preface_write(bytes, token, 3);
        bytes[i] ^= 0x40;
        bool field = i >= 16 && i < 20;
        CHECK(dataport_preface_read(bytes, token, &preface) == field);
    }
}

TEST(a_control_datagram_is_magic_kind_stream_token_and_count_in_48_bytes)
{
    static const unsigned char expected[32] = {
        'N',  'L',  'P',  'H',  3,    0,    0,    7,    0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
        0x88, 0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0,    0,    0,    1,    0,    0,    0,    2};
    unsigned char bytes[DATAPORT_CONTROL];
    struct dataport_control control;
    dataport_control_write(bytes, DATAPORT_END, 7, token, UINT64_C(0x100000002));
    CHECK(memcmp(bytes, expected, sizeof expected) == 0);
    for (unsigned i = 32; i < DATAPORT_CONTROL; i++)
        CHECK_U64(bytes[i], 0);
    CHECK(dataport_control_read(bytes, sizeof bytes, token, &control));
    CHECK_U64(control.kind, DATAPORT_END);
    CHECK_U64(control.stream, 7);
    CHECK_U64(control.messages, UINT64_C(0x100000002));
    dataport_control_write(bytes, DATAPORT_HELLO, 7, token, 5);
    CHECK(dataport_control_read(bytes, sizeof bytes, token, &control));
    CHECK_U64(control.messages, 0);
}

TEST(control_datagrams_of_other_lengths_kinds_tokens_or_fillings_are_refused)
{
    unsigned char bytes[DATAPORT_CONTROL + 1] = {0};
    struct dataport_control control;
    dataport_control_write(bytes, DATAPORT_HELLO, 1, token, 0);
    for (size_t length = 0; length <= sizeof bytes; length++)
        CHECK(dataport_control_read(bytes, length, token, &control) ==
              (length == DATAPORT_CONTROL));
    CHECK(!dataport_control_read(bytes, DATAPORT_CONTROL, wrong_token, &control));
    for (unsigned kind = 0; kind < 256; kind++) {
        bytes[4] = (unsigned char)kind;
        CHECK(dataport_control_read(bytes, DATAPORT_CONTROL, token, &control) ==
              (kind >= 1 && kind <= 4));
    }
    for (unsigned i = 0; i < DATAPORT_CONTROL; i++) {
        dataport_control_write(bytes, DATAPORT_ANSWER, 1, token, 0);
        bytes[i] ^= 0x40;
        bool field = i >= 5 && i < 8; /* the caller checks flags and stream */
        CHECK(dataport_control_read(bytes, DATAPORT_CONTROL, token, &control) == field);
    }
    dataport_control_write(bytes, DATAPORT_END, 1, token, UINT64_MAX);
    CHECK(!dataport_control_read(bytes, DATAPORT_CONTROL, token, &control));
}

TEST(the_header_of_a_data_message_goes_by_the_messages_size)
{
    static const unsigned char expected[24] = {0x00, 0x00, 0x00, 0x00, 16, 0, 1, 2, 0, 0, 0, 1,
                                               0,    0,    0,    2,    0,  0, 0, 3, 0, 0, 0, 4};
    unsigned char bytes[25];
    uint32_t tag = dataport_tag(token);
    CHECK_U64(dataport_header_bytes(1), 0);
    CHECK_U64(dataport_header_bytes(15), 0);
    CHECK_U64(dataport_header_bytes(16), 16);
    CHECK_U64(dataport_header_bytes(23), 16);
    CHECK_U64(dataport_header_bytes(24), 24);
    CHECK_U64(dataport_header_bytes(65507), 24);
    CHECK_U64(tag, 0x00112233u ^ 0x44556677u ^ 0x8899aabbu ^ 0xccddeeffu);
    for (size_t size = 1; size <= sizeof bytes; size++) {
        unsigned header = dataport_header_bytes(size);
        memset(bytes, 0xee, sizeof bytes);
        dataport_data_write(bytes, size, 0, 0x0102, UINT64_C(0x100000002), UINT64_C(0x300000004));
        CHECK(memcmp(bytes, expected, header) == 0);
        for (size_t i = header; i < sizeof bytes; i++)
            CHECK_U64(bytes[i], 0xee);
    }
}

TEST(data_headers_are_read_back_and_others_refused)
{
    unsigned char bytes[24];
    struct dataport_data data;
    uint32_t tag = dataport_tag(token);
    dataport_data_write(bytes, 24, tag, 5, 6, 7);
    CHECK(dataport_data_read(bytes, 24, tag, &data));
    CHECK(data.stream == 5 && data.sequence == 6 && data.timed && data.due_ns == 7);
    CHECK(dataport_data_read(bytes, 23, tag, &data));
    CHECK(!data.timed && data.due_ns == 0);
    for (size_t length = 0; length < 16; length++)
        CHECK(!dataport_data_read(bytes, length, tag, &data));
    CHECK(!dataport_data_read(bytes, 24, tag ^ 1, &data));
    CHECK(dataport_message_of(bytes, 24, DATAPORT_DATA, token));
    CHECK(dataport_message_of(bytes, 16, DATAPORT_DATA, token));
    CHECK(!dataport_message_of(bytes, 15, DATAPORT_DATA, token));
    CHECK(!dataport_message_of(bytes, 24, DATAPORT_DATA, wrong_token));
    bytes[4] = DATAPORT_HELLO;
    CHECK(!dataport_data_read(bytes, 24, tag, &data));
    dataport_data_write(bytes, 24, tag, 5, DATAPORT_SEQUENCE_MAX, 0);
    CHECK(dataport_data_read(bytes, 24, tag, &data));
    dataport_data_write(bytes, 24, tag, 5, DATAPORT_SEQUENCE_MAX + 1, 0);
    CHECK(!dataport_data_read(bytes, 24, tag, &data));
}

TEST(tokens_are_equal_only_in_every_byte)
{
    unsigned char copy[DATAPORT_TOKEN];
    memcpy(copy, token, sizeof copy);
    CHECK(dataport_equal(copy, token, sizeof copy));
    for (unsigned i = 0; i < DATAPORT_TOKEN; i++) {
        copy[i] ^= 1;
        CHECK(!dataport_equal(copy, token, sizeof copy));
        copy[i] ^= 1;
    }
}

TEST(the_filling_is_repeatable_fills_any_length_and_is_not_constant)
{
    unsigned char one[64], two[64];
    for (size_t length = 0; length < 20; length++) {
        memset(one, 0xee, sizeof one);
        dataport_fill(one, length, 9);
        for (size_t i = length; i < sizeof one; i++)
            CHECK_U64(one[i], 0xee);
    }
    dataport_fill(one, 64, 9);
    dataport_fill(two, 64, 9);
    CHECK(memcmp(one, two, 64) == 0);
    dataport_fill(two, 64, 10);
    CHECK(memcmp(one, two, 64) != 0);
    CHECK(memcmp(one, one + 8, 56) != 0);
}

TEST(requests_responses_and_data_are_never_taken_for_each_other)
{
    static const enum dataport_kind kinds[] = {DATAPORT_DATA, DATAPORT_REQUEST, DATAPORT_RESPONSE};
    unsigned char bytes[64];
    struct dataport_data data;
    const uint32_t tag = dataport_tag(token);
    for (size_t size = 1; size <= sizeof bytes; size++)
        for (int written = 0; written < 3; written++) {
            memset(bytes, 0, sizeof bytes);
            dataport_message_write(bytes, size, kinds[written], tag, 3, 99, 1000);
            for (int read = 0; read < 3; read++) {
                bool whole = dataport_message_read(bytes, size, kinds[read], tag, &data);
                bool bare = dataport_bare_is(bytes, size, kinds[read]);
                CHECK(whole == (size >= 16 && read == written));
                CHECK(bare == (size < 16 && read == written && kinds[read] != DATAPORT_DATA));
                if (whole)
                    CHECK(data.sequence == 99 && data.stream == 3 && data.timed == (size >= 24));
            }
        }
    CHECK(!dataport_bare_is(bytes, 0, DATAPORT_REQUEST));
}

const struct unit_test dataport_tests[] = {
    ENTRY(requests_responses_and_data_are_never_taken_for_each_other),
    ENTRY(a_preface_is_token_stream_flags_and_zeros_in_32_bytes),
    ENTRY(a_preface_with_anything_else_in_it_is_not_the_peers),
    ENTRY(a_control_datagram_is_magic_kind_stream_token_and_count_in_48_bytes),
    ENTRY(control_datagrams_of_other_lengths_kinds_tokens_or_fillings_are_refused),
    ENTRY(the_header_of_a_data_message_goes_by_the_messages_size),
    ENTRY(data_headers_are_read_back_and_others_refused),
    ENTRY(tokens_are_equal_only_in_every_byte),
    ENTRY(the_filling_is_repeatable_fills_any_length_and_is_not_constant),
    {NULL, NULL}};
