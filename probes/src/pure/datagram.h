/* Makes the headers of a stream's datagrams from the headers of one that the system sent. It
 * computes each datagram's lengths and checksums (RFC 791, 768, 8200, 1071). */
#ifndef DATAGRAM_H
#define DATAGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATAGRAM_HEADERS_MAX 128

struct datagram {
    /* link, IP and UDP headers; the UDP checksum is 0 */
    unsigned char headers[DATAGRAM_HEADERS_MAX];
    unsigned header_bytes;
    size_t message_bytes;
    uint32_t sum; /* the part of the checksum's sum that is the same for all messages */
    size_t changing_bytes;
};

/* Number of bytes of the IP header and the UDP header. */
unsigned datagram_ip_bytes(bool v6);

/* Reads `headers`, the `length` bytes before the payload of a datagram. Every message of the stream
 * has message_bytes bytes; only its first changing_bytes bytes (an even number) may differ from
 * `message`. False: `headers` are not the headers of an unfragmented UDP datagram of that IP
 * version without options, or the message is too long. */
bool datagram_init(struct datagram *out, const unsigned char *headers, size_t length, bool v6,
                   const unsigned char *message, size_t message_bytes, size_t changing_bytes);

/* Adds the 16-bit words of `bytes` to `sum` (RFC 1071). An odd number of bytes is padded with a
 * zero. */
static inline uint32_t datagram_sum(const unsigned char *bytes, size_t length, uint32_t sum)
{
    size_t i = 0;
    for (; i + 1 < length; i += 2)
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    return i < length ? sum + ((uint32_t)bytes[i] << 8) : sum;
}

/* The ones' complement of a sum from datagram_sum, folded to 16 bits. */
static inline unsigned datagram_fold(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

/* Writes the UDP checksum of a frame into the frame's headers. `frame` has the headers, then the
 * message. */
static inline void datagram_seal(const struct datagram *datagram, unsigned char *frame)
{
    unsigned char *message = frame + datagram->header_bytes;
    unsigned checksum =
        datagram_fold(datagram_sum(message, datagram->changing_bytes, datagram->sum));
    if (checksum == 0)
        checksum = 0xffff; /* in UDP, 0 means that there is no checksum */
    message[-2] = (unsigned char)(checksum >> 8);
    message[-1] = (unsigned char)checksum;
}

#endif
