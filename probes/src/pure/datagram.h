/* Makes the headers of a stream's datagrams from those of one datagram that the system sent. Lengths and
 * checksums differ (RFC 791, 768, 8200, 1071). */
#ifndef DATAGRAM_H
#define DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATAGRAM_HEADERS_MAX 128

struct datagram {
    unsigned char headers[DATAGRAM_HEADERS_MAX]; /* link, IP, UDP with a checksum of 0 */
    unsigned header_bytes;
    size_t message_bytes;
    uint32_t sum; /* part of the checksum that is the same for all messages */
    size_t changing_bytes;
};

/* Number of bytes of the headers of IP and UDP. */
unsigned datagram_ip_bytes(bool v6);

/* Reads the `length` bytes before the payload of a datagram. Every message has message_bytes bytes and
 * is equal to `message` after the first changing_bytes (an even number). False: these are not the
 * headers of a whole UDP datagram of that IP version without options, or the message is too long. */
bool datagram_init(struct datagram *out, const unsigned char *headers, size_t length, bool v6,
                   const unsigned char *message, size_t message_bytes, size_t changing_bytes);

/* The sum of 16-bit words of RFC 1071; an odd length is padded with a zero. */
static inline uint32_t datagram_sum(const unsigned char *bytes, size_t length, uint32_t sum)
{
    size_t i = 0;
    for (; i + 1 < length; i += 2)
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    return i < length ? sum + ((uint32_t)bytes[i] << 8) : sum;
}

/* The ones' complement of such a sum, in 16 bits. */
static inline unsigned datagram_fold(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

/* Writes the checksum into the headers of a frame, for the message that follows them. */
static inline void datagram_seal(const struct datagram *datagram, unsigned char *frame)
{
    unsigned char *message = frame + datagram->header_bytes;
    unsigned checksum =
        datagram_fold(datagram_sum(message, datagram->changing_bytes, datagram->sum));
    if (checksum == 0)
        checksum = 0xffff; /* 0 means that there is none */
    message[-2] = (unsigned char)(checksum >> 8);
    message[-1] = (unsigned char)checksum;
}

#endif
