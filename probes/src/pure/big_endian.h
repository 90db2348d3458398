/* Writes and reads integers in network byte order, at any address. */
#ifndef BIG_ENDIAN_H
#define BIG_ENDIAN_H

#include <stdint.h>

static inline void put_big16(unsigned char *into, unsigned value)
{
    into[0] = (unsigned char)(value >> 8);
    into[1] = (unsigned char)value;
}

static inline unsigned get_big16(const unsigned char *from)
{
    return (unsigned)from[0] << 8 | from[1];
}

static inline void put_big32(unsigned char *into, uint32_t value)
{
    into[0] = (unsigned char)(value >> 24);
    into[1] = (unsigned char)(value >> 16);
    into[2] = (unsigned char)(value >> 8);
    into[3] = (unsigned char)value;
}

static inline void put_big64(unsigned char *into, uint64_t value)
{
    put_big32(into, (uint32_t)(value >> 32));
    put_big32(into + 4, (uint32_t)value);
}

static inline uint32_t get_big32(const unsigned char *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

static inline uint64_t get_big64(const unsigned char *from)
{
    return (uint64_t)get_big32(from) << 32 | get_big32(from + 4);
}

#endif
