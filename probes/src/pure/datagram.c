/* Writes the lengths in a frame's headers, and sums the constant part of its UDP checksum. */
#include "pure/datagram.h"

#include <string.h>

#include "pure/big_endian.h"

#define UDP_BYTES 8
#define V4_BYTES 20
#define V6_BYTES 40
#define UDP_PROTOCOL 17

unsigned datagram_ip_bytes(bool v6)
{
    return (v6 ? V6_BYTES : V4_BYTES) + UDP_BYTES;
}

/* Whether this is an IPv4 header without options, of a UDP datagram that is not fragmented. */
static bool is_v4(const unsigned char *ip)
{
    return ip[0] == 0x45 && ip[9] == UDP_PROTOCOL && (ip[6] & 0x3f) == 0 && ip[7] == 0;
}

static bool is_v6(const unsigned char *ip)
{
    return ip[0] >> 4 == 6 && ip[6] == UDP_PROTOCOL;
}

/* Completes an IPv4 header. The packet must not be fragmented (DF), so it needs no identification
 * (RFC 6864). */
static void finish_v4(unsigned char *ip, size_t udp_bytes)
{
    put_big16(ip + 2, (unsigned)(V4_BYTES + udp_bytes));
    put_big16(ip + 4, 0);
    put_big16(ip + 6, 0x4000);
    put_big16(ip + 10, 0);
    put_big16(ip + 10, datagram_fold(datagram_sum(ip, V4_BYTES, 0)));
}

bool datagram_init(struct datagram *out, const unsigned char *headers, size_t length, bool v6,
                   const unsigned char *message, size_t message_bytes, size_t changing_bytes)
{
    const size_t ip_bytes = v6 ? V6_BYTES : V4_BYTES, udp_bytes = UDP_BYTES + message_bytes;
    memset(out, 0, sizeof *out);
    if (length < ip_bytes + UDP_BYTES || length > DATAGRAM_HEADERS_MAX ||
        changing_bytes > message_bytes || udp_bytes + (v6 ? 0 : V4_BYTES) > 65535)
        return false;
    memcpy(out->headers, headers, length);
    unsigned char *udp = out->headers + length - UDP_BYTES, *ip = udp - ip_bytes;
    if (!(v6 ? is_v6 : is_v4)(ip))
        return false;
    if (v6)
        put_big16(ip + 4, (unsigned)udp_bytes);
    else
        finish_v4(ip, udp_bytes);
    put_big16(udp + 4, (unsigned)udp_bytes);
    put_big16(udp + 6, 0);
    out->header_bytes = (unsigned)length;
    out->message_bytes = message_bytes;
    out->changing_bytes = changing_bytes;
    /* The pseudo header consists of addresses, protocol and length. The addresses are the last bytes
     * of the IP header in both versions. */
    const size_t addresses_bytes = v6 ? 32 : 8;
    uint32_t sum = UDP_PROTOCOL + (uint32_t)udp_bytes;
    sum = datagram_sum(udp - addresses_bytes, addresses_bytes, sum);
    sum = datagram_sum(udp, UDP_BYTES, sum);
    out->sum = datagram_sum(message + changing_bytes, message_bytes - changing_bytes, sum);
    return true;
}
