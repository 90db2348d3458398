/* A Windows program for the tests of the lab's Windows hosts: one deed a run, errors as numbers.
 *
 *   exit N            ends with status N
 *   echo              standard input to standard output, byte by byte the same
 *   wait              reads standard input to its end
 *   sleep             does nothing for ten minutes and reads nothing
 *   take PORT         takes one TCP connection to its end, says how many bytes came
 *   give IP PORT MS   sends TCP for that long, says how many bytes went
 *   dgram IP PORT N   sends one UDP datagram of N bytes unfragmented; exit status 0, or 1 and
 *                     the error number on standard output */
#include <winsock2.h>
#include <ws2tcpip.h>

#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char block[65536];

static int failed(const char *what)
{
    printf("%s %d\n", what, WSAGetLastError());
    return 1;
}

static struct sockaddr_in address(const char *ip, const char *port)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((u_short)atoi(port))};
    to.sin_addr.s_addr = inet_addr(ip);
    return to;
}

static int echo(void)
{
    int got;
    _setmode(0, _O_BINARY);
    _setmode(1, _O_BINARY);
    while ((got = _read(0, block, sizeof block)) > 0)
        if (_write(1, block, (unsigned)got) != got)
            return 1;
    return got < 0;
}

static int take(const char *port)
{
    struct sockaddr_in here = address("0.0.0.0", port);
    SOCKET door = socket(AF_INET, SOCK_STREAM, 0), link;
    long long total = 0;
    int got;
    if (bind(door, (struct sockaddr *)&here, sizeof here) != 0 || listen(door, 1) != 0)
        return failed("listen");
    printf("ready\n");
    fflush(stdout);
    link = accept(door, NULL, NULL);
    while ((got = recv(link, block, sizeof block, 0)) > 0)
        total += got;
    if (got < 0)
        return failed("recv");
    printf("%lld\n", total);
    return 0;
}

static int give(const char *ip, const char *port, DWORD duration_ms)
{
    struct sockaddr_in to = address(ip, port);
    SOCKET link = socket(AF_INET, SOCK_STREAM, 0);
    DWORD begin;
    long long total = 0;
    if (connect(link, (struct sockaddr *)&to, sizeof to) != 0)
        return failed("connect");
    for (begin = GetTickCount(); GetTickCount() - begin < duration_ms; total += sizeof block)
        if (send(link, block, sizeof block, 0) != sizeof block)
            return failed("send");
    shutdown(link, SD_SEND);
    printf("%lld\n", total);
    return recv(link, block, 1, 0) != 0;
}

static int dgram(const char *ip, const char *port, int size)
{
    struct sockaddr_in to = address(ip, port);
    SOCKET link = socket(AF_INET, SOCK_DGRAM, 0);
    int yes = 1;
    if (setsockopt(link, IPPROTO_IP, IP_DONTFRAGMENT, (char *)&yes, sizeof yes) != 0)
        return failed("setsockopt");
    if (sendto(link, block, size, 0, (struct sockaddr *)&to, sizeof to) != size)
        return failed("sendto");
    return 0;
}

int main(int count, char **words)
{
    const char *deed = count > 1 ? words[1] : "";
    WSADATA data;
    WSAStartup(MAKEWORD(2, 2), &data);
    if (!strcmp(deed, "exit") && count == 3)
        return atoi(words[2]);
    if (!strcmp(deed, "echo"))
        return echo();
    if (!strcmp(deed, "wait") || !strcmp(deed, "sleep")) {
        printf("ready\n");
        fflush(stdout);
        if (deed[0] == 's')
            Sleep(600000);
        while (_read(0, block, sizeof block) > 0)
            continue;
        return 0;
    }
    if (!strcmp(deed, "take") && count == 3)
        return take(words[2]);
    if (!strcmp(deed, "give") && count == 5)
        return give(words[2], words[3], (DWORD)atoi(words[4]));
    if (!strcmp(deed, "dgram") && count == 5)
        return dgram(words[2], words[3], atoi(words[4]));
    fprintf(stderr, "no such deed\n");
    return 99;
}
