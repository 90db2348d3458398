/* Reads, writes and compares numeric addresses, by calls that every system has. */
#define _GNU_SOURCE /* getaddrinfo, if only C11 is requested */
#include "platform/address.h"

bool plat_address_parse(const char *text, unsigned port, struct plat_address *out)
{
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
    struct addrinfo *result;
    /* Windows accepts an empty name as this host, and brackets as a part of the address. */
    if (text[0] == 0 || text[0] == '[' || getaddrinfo(text, NULL, &hints, &result) != 0)
        return false;
    bool is_ip = result->ai_family == AF_INET || result->ai_family == AF_INET6;
    struct sockaddr *place = sockaddr_into(out);
    if (is_ip)
        memcpy(place, result->ai_addr, result->ai_addrlen);
    out->length = (unsigned)result->ai_addrlen;
    freeaddrinfo(result);
    if (is_ip)
        plat_address_set_port(out, port);
    return is_ip;
}

bool plat_address_v6(const struct plat_address *address)
{
    return sockaddr_of(address)->sa_family == AF_INET6;
}

static const struct sockaddr_in *v4(const struct plat_address *address)
{
    return (const struct sockaddr_in *)(const void *)address->at.bytes;
}

static const struct sockaddr_in6 *v6(const struct plat_address *address)
{
    return (const struct sockaddr_in6 *)(const void *)address->at.bytes;
}

unsigned plat_address_port(const struct plat_address *address)
{
    return plat_address_v6(address) ? ntohs(v6(address)->sin6_port) : ntohs(v4(address)->sin_port);
}

void plat_address_set_port(struct plat_address *address, unsigned port)
{
    void *bytes = address->at.bytes;
    if (plat_address_v6(address))
        ((struct sockaddr_in6 *)bytes)->sin6_port = htons((uint16_t)port);
    else
        ((struct sockaddr_in *)bytes)->sin_port = htons((uint16_t)port);
}

bool plat_address_equal(const struct plat_address *first, const struct plat_address *second)
{
    if (sockaddr_of(first)->sa_family != sockaddr_of(second)->sa_family)
        return false;
    if (plat_address_v6(first))
        return v6(first)->sin6_port == v6(second)->sin6_port &&
               memcmp(&v6(first)->sin6_addr, &v6(second)->sin6_addr, sizeof(struct in6_addr)) == 0;
    return v4(first)->sin_port == v4(second)->sin_port &&
           v4(first)->sin_addr.s_addr == v4(second)->sin_addr.s_addr;
}

void plat_address_text(const struct plat_address *address, char into[PLAT_ADDRESS_TEXT])
{
    if (getnameinfo(sockaddr_of(address), (socklen_t)address->length, into, PLAT_ADDRESS_TEXT, NULL,
                    0, NI_NUMERICHOST) != 0)
        into[0] = 0;
}
