/* A network stack of its own in user space: a UDP echo behind a TUN interface, which holds each
 * datagram for a while. It never sleeps, so that nothing but the hold takes time.
 *
 * tun_echo INTERFACE HOLD_US LIFE_S: creates the interface, prints "ready", echoes IPv4 over UDP. */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Exchanging both addresses and both ports leaves every checksum as it is. */
static void exchange(unsigned char *a, unsigned char *b, size_t bytes)
{
    unsigned char kept[4];
    memcpy(kept, a, bytes);
    memcpy(a, b, bytes);
    memcpy(b, kept, bytes);
}

int main(int count, char **words)
{
    static unsigned char packet[65536];
    struct ifreq request;
    if (count != 4)
        return 2;
    const uint64_t hold_ns = 1000 * strtoull(words[2], NULL, 10);
    const uint64_t end_ns = now_ns() + 1000000000 * strtoull(words[3], NULL, 10);
    int tun = open("/dev/net/tun", O_RDWR | O_NONBLOCK);
    memset(&request, 0, sizeof request);
    request.ifr_flags = IFF_TUN | IFF_NO_PI;
    strncpy(request.ifr_name, words[1], sizeof request.ifr_name - 1);
    if (tun < 0 || ioctl(tun, TUNSETIFF, &request) < 0) {
        perror("/dev/net/tun");
        return 1;
    }
    puts("ready");
    fflush(stdout);
    while (now_ns() < end_ns) {
        ssize_t bytes = read(tun, packet, sizeof packet);
        const uint64_t came_ns = now_ns();
        if (bytes < 28 || packet[0] != 0x45 || packet[9] != 17)
            continue;
        exchange(packet + 12, packet + 16, 4);
        exchange(packet + 20, packet + 22, 2);
        while (now_ns() < came_ns + hold_ns)
            ;
        if (write(tun, packet, (size_t)bytes) != bytes)
            return 1;
    }
    return 0;
}
