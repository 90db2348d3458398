/* Writes and reads prefaces and control datagrams, and fills messages. data_port.h explains these
 * words. */
#include "protocol/data_port.h"

#include <string.h>

#define CONTROL_MAGIC UINT32_C(0x4e4c5048) /* "NLPH" in ASCII */

bool dataport_equal(const unsigned char *first, const unsigned char *second, size_t length)
{
    volatile unsigned char difference = 0; /* volatile: the compiler must not end the loop early */
    for (size_t i = 0; i < length; i++)
        difference |= (unsigned char)(first[i] ^ second[i]);
    return difference == 0;
}

static bool all_zero(const unsigned char *bytes, size_t length)
{
    unsigned char any = 0;
    for (size_t i = 0; i < length; i++)
        any |= bytes[i];
    return any == 0;
}

/* Layout: token, stream, flags, 12 zero bytes. */
void dataport_preface_write(unsigned char into[DATAPORT_PREFACE],
                            const unsigned char token[DATAPORT_TOKEN], unsigned stream)
{
    memset(into, 0, DATAPORT_PREFACE);
    memcpy(into, token, DATAPORT_TOKEN);
    put_big16(into + 16, stream);
}

bool dataport_preface_read(const unsigned char bytes[DATAPORT_PREFACE],
                           const unsigned char token[DATAPORT_TOKEN],
                           struct dataport_preface *out)
{
    bool ours = dataport_equal(bytes, token, DATAPORT_TOKEN);
    out->stream = get_big16(bytes + 16);
    out->flags = get_big16(bytes + 18);
    return ours && all_zero(bytes + 20, DATAPORT_PREFACE - 20);
}

/* Layout: magic, kind, flags, stream, token, messages, 16 zero bytes. */
void dataport_control_write(unsigned char into[DATAPORT_CONTROL], enum dataport_kind kind,
                            unsigned stream, const unsigned char token[DATAPORT_TOKEN],
                            uint64_t messages)
{
    memset(into, 0, DATAPORT_CONTROL);
    put_big32(into, CONTROL_MAGIC);
    into[4] = (unsigned char)kind;
    put_big16(into + 6, stream);
    memcpy(into + 8, token, DATAPORT_TOKEN);
    put_big64(into + 24, kind == DATAPORT_END ? messages : 0);
}

bool dataport_control_read(const unsigned char *bytes, size_t length,
                           const unsigned char token[DATAPORT_TOKEN],
                           struct dataport_control *out)
{
    if (length != DATAPORT_CONTROL || get_big32(bytes) != CONTROL_MAGIC ||
        !dataport_equal(bytes + 8, token, DATAPORT_TOKEN))
        return false;
    out->kind = bytes[4];
    out->flags = bytes[5];
    out->stream = get_big16(bytes + 6);
    out->messages = get_big64(bytes + 24);
    bool is_known = out->kind == DATAPORT_HELLO || out->kind == DATAPORT_ANSWER ||
                    out->kind == DATAPORT_LEAVE ||
                    (out->kind == DATAPORT_END && out->messages <= DATAPORT_SEQUENCE_MAX);
    return is_known && (out->kind == DATAPORT_END || out->messages == 0) &&
           all_zero(bytes + 32, DATAPORT_CONTROL - 32);
}

uint32_t dataport_tag(const unsigned char token[DATAPORT_TOKEN])
{
    return get_big32(token) ^ get_big32(token + 4) ^ get_big32(token + 8) ^
           get_big32(token + 12);
}

bool dataport_message_of(const unsigned char *bytes, size_t length, enum dataport_kind kind,
                         const unsigned char token[DATAPORT_TOKEN])
{
    struct dataport_data data;
    return dataport_message_read(bytes, length < 16 ? length : 16, kind, dataport_tag(token), &data);
}

void dataport_bare_fill(unsigned char into[DATAPORT_BARE_MAX], uint32_t tag, unsigned stream)
{
    dataport_fill(into, DATAPORT_BARE_MAX, (uint64_t)tag << 32 | stream);
}

/* The generator is splitmix64 (Steele, Lea, Flood 2014). */
void dataport_fill(unsigned char *into, size_t length, uint64_t seed)
{
    for (size_t i = 0; i < length; i += 8) {
        unsigned char eight[8];
        uint64_t mixed = seed += UINT64_C(0x9e3779b97f4a7c15);
        mixed = (mixed ^ mixed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        mixed = (mixed ^ mixed >> 27) * UINT64_C(0x94d049bb133111eb);
        put_big64(eight, mixed ^ mixed >> 31);
        memcpy(into + i, eight, length - i < 8 ? length - i : 8);
    }
}
