/* The wire formats on the data ports, as in docs/protocol.md. They are prefaces (the first bytes of
 * TCP connections), control datagrams (UDP datagrams without data, such as a hello) and headers of
 * UDP messages. All integers are big-endian. A token is a secret of 16 bytes that both sides of a
 * test know; the header of a message has a tag of 4 bytes that is made from the token. An asker
 * sends requests to measure round trips; a mirror answers requests. The functions that read a
 * format accept any bytes, and return false if the token or the tag is wrong. Tokens are compared
 * in constant time. */
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
#define DATAPORT_SEQUENCE_MAX (UINT64_C(1) << 62) /* greater sequence numbers are not valid */

enum dataport_kind {
    DATAPORT_HELLO = 1,
    DATAPORT_ANSWER = 2,
    DATAPORT_END = 3,
    DATAPORT_LEAVE = 4,    /* the asker changes its port: the mirror then accepts another port */
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

/* UDP: a hello (opens a stream), an answer to a hello, an end marker (follows the last message of a
 * sender) or a leave (see DATAPORT_LEAVE). In an end marker, `messages` is the number of messages
 * that the sender has sent; otherwise it is 0. */
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
    uint64_t due_ns; /* when it was due or sent, by the sender's clock; 0 unless `timed` */
    bool timed;
};
/* The XOR of the four 32-bit words of the token. */
uint32_t dataport_tag(const unsigned char token[DATAPORT_TOKEN]);

/* Number of header bytes in a message of this size: 24, 16, or 0. */
static inline unsigned dataport_header_bytes(size_t message_bytes)
{
    return message_bytes >= 24 ? 24 : message_bytes >= 16 ? 16 : 0;
}

/* Writes the header of a message into `into`, which has message_bytes. If the message is shorter
 * than 16 bytes, a request or a response has only its kind in the first byte, so that no mirror
 * mistakes a response for a request; a data message has no header. */
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

/* Reads the header of a datagram of `length` bytes. Returns false if the datagram is shorter than
 * 16 bytes, has another tag or kind, or an invalid sequence number. The caller must check the
 * message length and the number of the stream. */
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

/* Whether a datagram has 1 to 15 bytes, and the first byte is the number of this kind (request or
 * response). */
static inline bool dataport_bare_is(const unsigned char *bytes, size_t length,
                                    enum dataport_kind kind)
{
    return length >= 1 && length < 16 && bytes[0] == kind;
}

/* Whether a datagram begins like a message of this kind with the tag of this token. Only the first
 * 16 of `length` bytes are checked. */
bool dataport_message_of(const unsigned char *bytes, size_t length, enum dataport_kind kind,
                         const unsigned char token[DATAPORT_TOKEN]);

/* Writes the content that all messages of a stream have if they are too short for a header. Only
 * this content distinguishes these messages from late messages of an earlier test on the same
 * ports. */
void dataport_bare_fill(unsigned char into[DATAPORT_BARE_MAX], uint32_t tag, unsigned stream);

/* Fills memory with pseudo-random bytes, which are equal for equal seeds and hardly
 * compressible. */
void dataport_fill(unsigned char *into, size_t length, uint64_t seed);

#endif
