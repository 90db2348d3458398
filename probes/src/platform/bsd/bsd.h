/* Declares the common code of macOS and FreeBSD, and what each of them must provide for it. */
#ifndef PLAT_BSD_H
#define PLAT_BSD_H

#include "platform/posix/posix.h"

/* ---- shared ---- */

void bsd_put(struct plat_tcp_info *out, enum plat_tcp_fact fact, uint64_t value);
/* Puts the MSS, and the congestion window in segments, as Linux counts it; macOS and FreeBSD count
 * it in bytes. */
void bsd_put_window(struct plat_tcp_info *out, uint64_t cwnd_bytes, uint64_t mss);
void bsd_name_option(struct plat_tcp_info *out, bool on, const char *name);

/* ---- provided by each system ---- */

extern const char bsd_name[], bsd_clock[], bsd_capabilities[];
/* sysctl names of the processor's name and of the memory's size. */
extern const char bsd_cpu_model[], bsd_memory[];
/* The id of the machine; empty if there is none. */
void bsd_machine_id(char *into, size_t capacity);
void bsd_distribution(char *into, size_t capacity);
/* Number of CPUs that this process may use; 0: all CPUs that are online. */
unsigned bsd_usable_cpus(void);
/* Number of bytes that an address of that length takes in a message of the routing socket. */
size_t bsd_rounded(size_t length);

struct bsd_interface_counters {
    uint64_t mtu_bytes, speed_bit_per_s;
    uint64_t sent_bytes, received_bytes, sent_packets, received_packets, dropped, errors;
};
bool bsd_interface_counters(const char *name, struct bsd_interface_counters *out);

#endif
