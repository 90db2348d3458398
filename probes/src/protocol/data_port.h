/* The wire formats on the data ports, as in docs/protocol.md. They are prefaces, control datagrams and
 * headers of data messages; all integers are big-endian. Readers are safe on any bytes of any length,
 * compare tokens in constant time, and return false for bytes without the token. */
#ifndef DATAPORT_H
#define DATAPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pure/big_endian.h"

#define DATAPORT_TOKEN 16
#define DATAPORT_PREFACE 32
#define DATAPORT_CONTROL 48
#define DATAPORT_HEADER_MAX 24
#define DATAPORT_BARE_MAX 16 /* shorter messages have no header */
#define DATAPORT_SEQUENCE_MAX (UINT64_C(1) << 62) /* greater numbers are not valid */

enum dataport_kind {
    DATAPORT_HELLO = 1,
    DATAPORT_ANSWER = 2,
    DATAPORT_END = 3,
    DATAPORT_LEAVE = 4,    /* the asker changes its port: the mirror accepts a hello from another */
    DATAPORT_DATA = 16,    /* of a stream */
    DATAPORT_REQUEST = 18, /* of a round trip: the only kind that a mirror answers */
    DATAPORT_RESPONSE = 19
};

/* Compares bytes in a time that depends only on their number. */
bool dataport_equal(const unsigned char *first, const unsigned char *second, size_t length);

/* TCP: the first bytes of a connection. */
struct dataport_preface {
    unsigned stream, flags;
};
void dataport_preface_write(unsigned char into[DATAPORT_PREFACE],
                            const unsigned char token[DATAPORT_TOKEN], unsigned stream);
bool dataport_preface_read(const unsigned char bytes[DATAPORT_PREFACE],
                           const unsigned char token[DATAPORT_TOKEN],
                           struct dataport_preface *out);

/* UDP: a hello, an answer, an end marker or a leave. `messages` is the sender's count in an end marker,
 * otherwise 0. */
struct dataport_control {
    unsigned kind, flags, stream;
    uint64_t messages;
};
void dataport_control_write(unsigned char into[DATAPORT_CONTROL], enum dataport_kind kind,
                            unsigned stream, const unsigned char token[DATAPORT_TOKEN],
                            uint64_t messages);
/* True only for a control datagram of 48 bytes with the token. */
bool dataport_control_read(const unsigned char *bytes, size_t length,
                           const unsigned char token[DATAPORT_TOKEN],
                           struct dataport_control *out);

/* The header of a UDP message. */
struct dataport_data {
    unsigned flags, stream;
    uint64_t sequence;
    uint64_t due_ns; /* by the sender's clock; only if `timed` */
    bool timed;
};
/* The XOR of the four 32-bit words of the token. */
uint32_t dataport_tag(const unsigned char token[DATAPORT_TOKEN]);

/* Header bytes of messages of this size: 24, 16, or 0. */
static inline unsigned dataport_header_bytes(size_t message_bytes)
{
    return message_bytes >= 24 ? 24 : message_bytes >= 16 ? 16 : 0;
}

/* Writes the header of a message of message_bytes, the size of `into`. Below 16 bytes, requests and
 * responses have only their kind, as the first byte, so that no mirror mistakes a response for a
 * request. Data messages below 16 bytes have no header. */
static inline void dataport_message_write(unsigned char *into, size_t message_bytes,
                                          enum dataport_kind kind, uint32_t tag, unsigned stream,
                                          uint64_t sequence, uint64_t due_ns)
{
    if (message_bytes < 16) {
        if (kind != DATAPORT_DATA)
            into[0] = (unsigned char)kind;
        return;
    }
    put_big32(into, tag);
    put_big32(into + 4, (uint32_t)kind << 24 | (stream & 0xffff));
    put_big64(into + 8, sequence);
    if (message_bytes >= 24)
        put_big64(into + 16, due_ns);
}

static inline void dataport_data_write(unsigned char *into, size_t message_bytes, uint32_t tag,
                                       unsigned stream, uint64_t sequence, uint64_t due_ns)
{
    dataport_message_write(into, message_bytes, DATAPORT_DATA, tag, stream, sequence, due_ns);
}

/* Reads the header of a datagram of `length` bytes. False: shorter than 16, another tag or kind, or
 * an invalid sequence number. The caller must check the message length and the number of the stream. */
static inline bool dataport_message_read(const unsigned char *bytes, size_t length,
                                         enum dataport_kind kind, uint32_t tag,
                                         struct dataport_data *out)
{
    if (length < 16 || get_big32(bytes) != tag || bytes[4] != kind)
        return false;
    out->flags = bytes[5];
    out->stream = (unsigned)bytes[6] << 8 | bytes[7];
    out->sequence = get_big64(bytes + 8);
    out->timed = length >= 24;
    out->due_ns = out->timed ? get_big64(bytes + 16) : 0;
    return out->sequence <= DATAPORT_SEQUENCE_MAX;
}

static inline bool dataport_data_read(const unsigned char *bytes, size_t length, uint32_t tag,
                                      struct dataport_data *out)
{
    return dataport_message_read(bytes, length, DATAPORT_DATA, tag, out);
}

/* Whether a datagram of 1 to 15 bytes is of this kind (request or response), by its first byte. */
static inline bool dataport_bare_is(const unsigned char *bytes, size_t length,
                                    enum dataport_kind kind)
{
    return length >= 1 && length < 16 && bytes[0] == kind;
}

/* Whether a datagram begins like a message of this kind with the tag of this token. Only the first 16 of
 * `length` bytes are checked. */
bool dataport_message_of(const unsigned char *bytes, size_t length, enum dataport_kind kind,
                         const unsigned char token[DATAPORT_TOKEN]);

/* Writes the content of every message of a stream without headers. Only this content distinguishes the
 * messages from late ones of an earlier test on the same ports. */
void dataport_bare_fill(unsigned char into[DATAPORT_BARE_MAX], uint32_t tag, unsigned stream);

/* Fills memory with pseudo-random bytes, which are equal for equal seeds and hardly compressible. */
void dataport_fill(unsigned char *into, size_t length, uint64_t seed);

#endif
