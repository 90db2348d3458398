/* Makes the headers of a datagram that the system sent those of another one. That is of the same
 * stream, with its own length and checksum (RFC 791, 768, 8200, 1071). */
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
    uint32_t sum; /* of all that the checksum is of and that no message changes */
    size_t changing_bytes;
};

/* Bytes of IP's and UDP's headers. */
unsigned datagram_ip_bytes(bool v6);

/* From `length` bytes that stood before the payload of a datagram. Of messages of message_bytes,
 * which `message` is like, the first changing_bytes (even) differ from one to the next. False:
 * these are no headers of one whole UDP datagram of that version of IP without options, or the
 * message has no room in one. */
bool datagram_init(struct datagram *out, const unsigned char *headers, size_t length, bool v6,
                   const unsigned char *message, size_t message_bytes, size_t changing_bytes);

/* The sum of 16-bit words that RFC 1071 builds on; of an odd length, as if a zero followed. */
static inline uint32_t datagram_sum(const unsigned char *bytes, size_t length, uint32_t sum)
{
    size_t i = 0;
    for (; i + 1 < length; i += 2)
        sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
    return i < length ? sum + ((uint32_t)bytes[i] << 8) : sum;
}

/* Its ones' complement in 16 bits. */
static inline unsigned datagram_fold(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return ~sum & 0xffff;
}

/* Puts the checksum of the message behind them into the headers of a frame. */
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
