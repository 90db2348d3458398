/* Lists the addresses of all interfaces on Linux, macOS and FreeBSD. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "platform/posix/posix.h"
#include "pure/json.h"

static unsigned prefix_of(const unsigned char *mask, size_t length)
{
    unsigned bits = 0;
    for (size_t i = 0; i < length * 8 && (mask[i / 8] >> (7 - i % 8) & 1) != 0; i++)
        bits++;
    return bits;
}

/* Writes DEVICE=ADDRESS/PREFIX. False: the address is neither IPv4 nor IPv6. */
static bool address_word(const struct ifaddrs *at, char *into, size_t capacity)
{
    char text[INET6_ADDRSTRLEN];
    const void *address, *mask;
    size_t length;
    if (at->ifa_addr == NULL || at->ifa_netmask == NULL)
        return false;
    if (at->ifa_addr->sa_family == AF_INET) {
        address = &((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr;
        mask = &((const struct sockaddr_in *)(const void *)at->ifa_netmask)->sin_addr;
        length = 4;
    } else if (at->ifa_addr->sa_family == AF_INET6) {
        address = &((const struct sockaddr_in6 *)(const void *)at->ifa_addr)->sin6_addr;
        mask = &((const struct sockaddr_in6 *)(const void *)at->ifa_netmask)->sin6_addr;
        length = 16;
    } else {
        return false;
    }
    if (inet_ntop(at->ifa_addr->sa_family, address, text, sizeof text) == NULL)
        return false;
    snprintf(into, capacity, "%s=%s/%u", at->ifa_name, text, prefix_of(mask, length));
    return true;
}

/* Writes as many addresses as fit. A host has only a few, so usually all fit. */
void posix_facts_addresses(struct json *out)
{
    struct ifaddrs *all;
    char list[8192], word[IF_NAMESIZE + INET6_ADDRSTRLEN + 8];
    size_t used = 0;
    if (getifaddrs(&all) != 0)
        return;
    for (const struct ifaddrs *at = all; at != NULL; at = at->ifa_next) {
        if (!address_word(at, word, sizeof word))
            continue;
        size_t length = strlen(word);
        if (used + 1 + length > sizeof list)
            break;
        if (used > 0)
            list[used++] = ',';
        memcpy(list + used, word, length);
        used += length;
    }
    freeifaddrs(all);
    if (used > 0)
        json_text_of(out, "addresses", list, used);
}
