/* Finds interfaces, addresses and the route to a peer on Windows. Interfaces have the names that the
 * system shows to people, such as "Ethernet 2". */
#include "platform/address.h"

#include <iphlpapi.h>
#include <netioapi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pure/json.h"

static bool same_ip(const struct sockaddr *first, const struct sockaddr *second)
{
    if (first->sa_family != second->sa_family)
        return false;
    if (first->sa_family == AF_INET)
        return memcmp(&((const struct sockaddr_in *)(const void *)first)->sin_addr,
                      &((const struct sockaddr_in *)(const void *)second)->sin_addr, 4) == 0;
    return first->sa_family == AF_INET6 &&
           memcmp(&((const struct sockaddr_in6 *)(const void *)first)->sin6_addr,
                  &((const struct sockaddr_in6 *)(const void *)second)->sin6_addr, 16) == 0;
}

/* ---- which interface ---- */

/* All adapters with their addresses, to be freed by the caller. NULL: they cannot be read. */
static IP_ADAPTER_ADDRESSES *adapters(void)
{
    const ULONG flags = GAA_FLAG_SKIP_ANYCAST | GAA_FLAG_SKIP_MULTICAST | GAA_FLAG_SKIP_DNS_SERVER;
    ULONG size = 32768;
    for (int attempt = 0; attempt < 4; attempt++) {
        IP_ADAPTER_ADDRESSES *all = malloc(size);
        ULONG error = all != NULL ? GetAdaptersAddresses(AF_UNSPEC, flags, NULL, all, &size)
                                  : ERROR_NOT_ENOUGH_MEMORY;
        if (error == ERROR_SUCCESS)
            return all;
        free(all);
        if (error != ERROR_BUFFER_OVERFLOW)
            return NULL;
    }
    return NULL;
}

static bool index_of_address(const struct sockaddr *local, NET_IFINDEX *index)
{
    bool is_found = false;
    IP_ADAPTER_ADDRESSES *all = adapters();
    for (const IP_ADAPTER_ADDRESSES *at = all; at != NULL && !is_found; at = at->Next)
        for (const IP_ADAPTER_UNICAST_ADDRESS *own = at->FirstUnicastAddress;
             own != NULL && !is_found; own = own->Next)
            if (same_ip(own->Address.lpSockaddr, local)) {
                *index = at->IfIndex != 0 ? at->IfIndex : at->Ipv6IfIndex;
                is_found = true;
            }
    free(all);
    return is_found;
}

static bool best_route(const struct plat_address *local, const struct plat_address *peer,
                       MIB_IPFORWARD_ROW2 *route, SOCKADDR_INET *source)
{
    SOCKADDR_INET from, to;
    memset(&from, 0, sizeof from);
    memset(&to, 0, sizeof to);
    memset(route, 0, sizeof *route);
    memset(source, 0, sizeof *source);
    if (peer->length > sizeof to)
        return false;
    memcpy(&to, peer->at.bytes, peer->length);
    if (local != NULL && local->length <= sizeof from)
        memcpy(&from, local->at.bytes, local->length);
    return GetBestRoute2(NULL, 0, local != NULL ? &from : NULL, &to, 0, route, source) == NO_ERROR;
}

static bool name_of_index(NET_IFINDEX index, char into[PLAT_INTERFACE_NAME])
{
    NET_LUID luid;
    wchar_t alias[IF_MAX_STRING_SIZE + 1];
    into[0] = 0;
    if (ConvertInterfaceIndexToLuid(index, &luid) != NO_ERROR ||
        ConvertInterfaceLuidToAlias(&luid, alias, sizeof alias / sizeof alias[0]) != NO_ERROR)
        return false;
    windows_text(alias, into, PLAT_INTERFACE_NAME);
    return into[0] != 0;
}

static bool index_of_name(const char *name, NET_IFINDEX *index)
{
    NET_LUID luid;
    wchar_t alias[IF_MAX_STRING_SIZE + 1];
    return MultiByteToWideChar(CP_UTF8, 0, name, -1, alias, sizeof alias / sizeof alias[0]) > 0 &&
           ConvertInterfaceAliasToLuid(alias, &luid) == NO_ERROR &&
           ConvertInterfaceLuidToIndex(&luid, index) == NO_ERROR;
}

bool plat_interface_between(const struct plat_address *local, const struct plat_address *peer,
                            char into[PLAT_INTERFACE_NAME])
{
    MIB_IPFORWARD_ROW2 route;
    SOCKADDR_INET source;
    NET_IFINDEX index;
    if (best_route(local, peer, &route, &source))
        index = route.InterfaceIndex;
    else if (!index_of_address(sockaddr_of(local), &index))
        return false;
    return name_of_index(index, into);
}

static bool row_of_index(NET_IFINDEX index, MIB_IF_ROW2 *row)
{
    memset(row, 0, sizeof *row);
    row->InterfaceIndex = index;
    return GetIfEntry2(row) == NO_ERROR;
}

bool plat_carrier_changes(const char *name, uint64_t *out)
{
    (void)name;
    (void)out;
    return false;
}

bool plat_interface_counts(const char *name, struct plat_interface_counts *out)
{
    MIB_IF_ROW2 row;
    NET_IFINDEX index;
    if (!index_of_name(name, &index) || !row_of_index(index, &row))
        return false;
    *out = (struct plat_interface_counts){row.OutOctets, row.InOctets,
                                          row.OutUcastPkts + row.OutNUcastPkts,
                                          row.InUcastPkts + row.InNUcastPkts};
    return true;
}

uint64_t plat_interface_mtu(const char *name)
{
    MIB_IF_ROW2 row;
    NET_IFINDEX index;
    return index_of_name(name, &index) && row_of_index(index, &row) ? row.Mtu : 0;
}

bool plat_window_scaling(bool *out)
{
    (void)out;
    return false;
}

/* This option determines the interface only for sent packets; the local address does so for
 * received packets. */
int plat_interface_set(plat_socket socket, const char *name)
{
    struct windows_socket *own = windows_socket(socket);
    NET_IFINDEX index;
    if (!index_of_name(name, &index))
        return ERROR_DEV_NOT_EXIST;
    /* IPv4 requires the interface's number in network byte order, like an address. */
    DWORD value = own->v6 ? index : htonl(index);
    return setsockopt(own->socket, own->v6 ? IPPROTO_IPV6 : IPPROTO_IP,
                      own->v6 ? IPV6_UNICAST_IF : IP_UNICAST_IF, (const char *)&value,
                      sizeof value) == SOCKET_ERROR
               ? WSAGetLastError()
               : 0;
}

/* ---- facts ---- */

static void address_text(struct json *out, const char *key, const void *address, size_t length)
{
    struct plat_address copy;
    char text[PLAT_ADDRESS_TEXT];
    memset(&copy, 0, sizeof copy);
    memcpy(copy.at.bytes, address, length);
    copy.length = sockaddr_of(&copy)->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
                                                    : sizeof(struct sockaddr_in);
    plat_address_text(&copy, text);
    json_text(out, key, text[0] != 0 ? text : NULL);
}

static bool is_nowhere(const SOCKADDR_INET *address)
{
    static const unsigned char zero[16];
    if (address->si_family == AF_INET)
        return address->Ipv4.sin_addr.s_addr == 0;
    return memcmp(&address->Ipv6.sin6_addr, zero, sizeof zero) == 0;
}

static void counters(struct json *out, const MIB_IF_ROW2 *row)
{
    json_u64(out, "interface_carrier", row->MediaConnectState == MediaConnectStateConnected);
    json_u64(out, "interface_sent_bytes", row->OutOctets);
    json_u64(out, "interface_received_bytes", row->InOctets);
    json_u64(out, "interface_sent_packets", row->OutUcastPkts + row->OutNUcastPkts);
    json_u64(out, "interface_received_packets", row->InUcastPkts + row->InNUcastPkts);
    json_u64(out, "interface_dropped_packets", row->InDiscards + row->OutDiscards);
    json_u64(out, "interface_errors", row->InErrors + row->OutErrors);
}

void windows_facts_route(struct json *out, const struct plat_address *to, const char *device)
{
    MIB_IPFORWARD_ROW2 route;
    MIB_IF_ROW2 row;
    SOCKADDR_INET source;
    char text[256];
    NET_IFINDEX index;
    DWORD best;
    if (device != NULL) {
        if (!index_of_name(device, &index))
            return;
    } else if (best_route(NULL, to, &route, &source)) {
        index = route.InterfaceIndex;
        if (!is_nowhere(&source))
            address_text(out, "route_source", &source, sizeof source);
        if (!is_nowhere(&route.NextHop))
            address_text(out, "route_gateway", &route.NextHop, sizeof route.NextHop);
    } else if (!index_of_address(sockaddr_of(to), &index)) {
        if (GetBestInterfaceEx((struct sockaddr *)(uintptr_t)sockaddr_of(to), &best) != NO_ERROR)
            return;
        index = best;
    }
    if (name_of_index(index, text))
        json_text(out, "route_interface", text);
    if (!row_of_index(index, &row))
        return;
    json_u64(out, "interface_mtu_bytes", row.Mtu);
    windows_text(row.Description, text, sizeof text);
    json_text(out, "interface_driver", text[0] != 0 ? text : NULL);
    if (row.TransmitLinkSpeed != 0 && row.TransmitLinkSpeed != UINT64_MAX)
        json_u64(out, "interface_speed_bit_per_s", row.TransmitLinkSpeed);
    counters(out, &row);
}

/* Writes as many words NAME=ADDRESS/PREFIX as fit. In names, the characters that separate words or
 * their parts are replaced. */
void windows_facts_addresses(struct json *out)
{
    char list[8192], name[PLAT_INTERFACE_NAME], text[PLAT_ADDRESS_TEXT];
    size_t used = 0;
    IP_ADAPTER_ADDRESSES *all = adapters();
    for (const IP_ADAPTER_ADDRESSES *at = all; at != NULL; at = at->Next) {
        windows_text(at->FriendlyName, name, sizeof name);
        for (char *byte = name; *byte != 0; byte++)
            if (*byte == ',' || *byte == ' ' || *byte == '=')
                *byte = '_';
        for (const IP_ADAPTER_UNICAST_ADDRESS *own = at->FirstUnicastAddress; own != NULL;
             own = own->Next) {
            if (getnameinfo(own->Address.lpSockaddr, own->Address.iSockaddrLength, text,
                            sizeof text, NULL, 0, NI_NUMERICHOST) != 0)
                continue;
            text[strcspn(text, "%")] = 0;
            if (used + strlen(name) + strlen(text) + 8 > sizeof list)
                break;
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s=%s/%u",
                                     used > 0 ? "," : "", name, text, own->OnLinkPrefixLength);
        }
    }
    free(all);
    if (used > 0)
        json_text_of(out, "addresses", list, used);
}
