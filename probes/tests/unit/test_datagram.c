/* Tests the headers of our own frames. */
#include "harness.h"
#include "pure/datagram.h"

/* Headers of Ethernet, IPv4 and UDP, with the lengths, identification and checksums of another
 * datagram. The IPv4 header of the new datagram has a known checksum, b861. */
static const unsigned char v4[14 + 20 + 8] = {
    2,    0, 0,    0,    0,    2,    2,    0,    0, 0,    0, 1,   8,    0,    0x45, 0, 0x01,
    0x23, 5, 6,    0,    0,    0x40, 0x11, 7,    8, 0xc0, 0xa8, 0, 1,  0xc0, 0xa8, 0, 0xc7,
    0x13, 0x89, 0x1f, 0x90, 9, 9, 9, 9};
/* Headers of IPv6 and UDP without a link header, as on a tunnel. */
static const unsigned char v6[40 + 8] = {
    0x60, 0x01, 0x02, 0x03, 9, 9, 17, 64, 0xfd, 0, 0, 0, 0,    0,    0,    0,    0, 0, 0, 0,
    0,    0,    0,    1,    0xfd, 0, 0, 0, 0,   0, 0, 0, 0,    0,    0,    0,    0, 0, 0, 2,
    0x13, 0x89, 0x1f, 0x90, 9, 9, 9, 9};

static void fill(unsigned char *message, size_t length)
{
    for (size_t i = 0; i < length; i++)
        message[i] = (unsigned char)(7 * i);
}

static unsigned get16(const unsigned char *from)
{
    return (unsigned)from[0] << 8 | from[1];
}

static unsigned sealed(const struct datagram *datagram, unsigned char *frame)
{
    datagram_seal(datagram, frame);
    return get16(frame + datagram->header_bytes - 2);
}

TEST(the_checksum_is_the_one_of_rfc_1071)
{
    static const unsigned char bytes[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    CHECK_U64(datagram_sum(bytes, 8, 0), 0x2ddf0);
    CHECK_U64(datagram_fold(0x2ddf0), 0x220d);
    CHECK_U64(datagram_sum(bytes, 3, 1), 0x0001 + 0xf200 + 1);
    CHECK_U64(datagram_fold(0xffffffff), 0);
}

TEST(the_headers_of_one_datagram_become_those_of_another)
{
    unsigned char frame[sizeof v4 + 87];
    struct datagram datagram;
    fill(frame + sizeof v4, 87);
    CHECK(datagram_init(&datagram, v4, sizeof v4, false, frame + sizeof v4, 87, 24));
    CHECK_U64(datagram.header_bytes, sizeof v4);
    memcpy(frame, datagram.headers, sizeof v4);
    CHECK(memcmp(frame, v4, 16) == 0);          /* link, version, type of service */
    CHECK_U64(get16(frame + 16), 0x73);         /* length */
    CHECK_U64(get16(frame + 18), 0);            /* identification */
    CHECK_U64(get16(frame + 20), 0x4000);       /* DF */
    CHECK_U64(get16(frame + 24), 0xb861);       /* checksum of the header */
    CHECK(memcmp(frame + 26, v4 + 26, 12) == 0); /* addresses and ports */
    CHECK_U64(get16(frame + 38), 95);           /* length of the datagram */
    CHECK_U64(sealed(&datagram, frame), 0x7a5b);
    memset(frame + sizeof v4, 0xff, 24);
    CHECK_U64(sealed(&datagram, frame), 0x1a4f);
}

TEST(ipv6_has_its_checksum_in_udp_alone_and_one_of_zero_is_written_as_ones)
{
    unsigned char frame[sizeof v6 + 33];
    struct datagram datagram;
    fill(frame + sizeof v6, 33);
    CHECK(datagram_init(&datagram, v6, sizeof v6, true, frame + sizeof v6, 33, 24));
    memcpy(frame, datagram.headers, sizeof v6);
    CHECK(memcmp(frame, v6, 4) == 0);
    CHECK_U64(get16(frame + 4), 41);
    CHECK_U64(get16(frame + 44), 41);
    CHECK_U64(sealed(&datagram, frame), 0x5b77);
    frame[sizeof v6] = 0x5b;
    frame[sizeof v6 + 1] = 0x7e;
    CHECK_U64(sealed(&datagram, frame), 0xffff);
}

TEST(what_is_no_whole_udp_datagram_shows_no_way)
{
    unsigned char headers[sizeof v4], message[100] = {0};
    struct datagram datagram;
    static const struct {
        size_t at;
        unsigned char value;
    } wrong[] = {{14, 0x46}, {14, 0x65}, {20, 0x20}, {21, 1}, {23, 6}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        memcpy(headers, v4, sizeof v4);
        headers[wrong[i].at] = wrong[i].value;
        CHECK(!datagram_init(&datagram, headers, sizeof v4, false, message, 100, 24));
    }
    CHECK(!datagram_init(&datagram, v4, 27, false, message, 100, 24));
    CHECK(!datagram_init(&datagram, v4, sizeof v4, true, message, 100, 24));
    CHECK(!datagram_init(&datagram, v4, sizeof v4, false, message, 18, 24));
    CHECK(!datagram_init(&datagram, v4, sizeof v4, false, message, 65508, 24));
}

const struct unit_test datagram_tests[] = {
    ENTRY(the_checksum_is_the_one_of_rfc_1071),
    ENTRY(the_headers_of_one_datagram_become_those_of_another),
    ENTRY(ipv6_has_its_checksum_in_udp_alone_and_one_of_zero_is_written_as_ones),
    ENTRY(what_is_no_whole_udp_datagram_shows_no_way),
    {NULL, NULL},
};
