/* Declares what headers of old kernels (down to Linux 3.10) lack, as newer headers declare it. The
 * running kernel may be newer than the headers and support these calls. An older kernel refuses the
 * call or returns a shorter answer. Enumerators are declared here as macros: a macro that is
 * defined after its header works whether the header has the enumerator or not. */
#ifndef PLAT_LINUX_NEWER_H
#define PLAT_LINUX_NEWER_H

#include <sys/socket.h>
#include <time.h>

#include <linux/errqueue.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/net_tstamp.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/types.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(4, 12, 0)
#define SK_MEMINFO_DROPS 8
#undef SK_MEMINFO_VARS
#define SK_MEMINFO_VARS 9
#ifndef SO_MEMINFO
#if defined __sparc__
#define SO_MEMINFO 0x0039
#elif defined __hppa__
#define SO_MEMINFO 0x4030
#else
#define SO_MEMINFO 55
#endif
#endif
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(4, 2, 0)
#define SOF_TIMESTAMPING_OPT_ID (1 << 7)
#define SOF_TIMESTAMPING_OPT_TSONLY (1 << 11)
#define SCM_TSTAMP_SND 0
#endif
#ifndef SIOCGHWTSTAMP
#define SIOCGHWTSTAMP 0x89b1
#endif

#if LINUX_VERSION_CODE < KERNEL_VERSION(3, 15, 0)
#define IFLA_CARRIER_CHANGES 35
#undef IFLA_MAX
#define IFLA_MAX IFLA_CARRIER_CHANGES
#endif

#ifndef ETHTOOL_GLINKSETTINGS
#define ETHTOOL_GLINKSETTINGS 0x0000004c
struct ethtool_link_settings {
    __u32 cmd;
    __u32 speed;
    __u8 duplex, port, phy_address, autoneg, mdio_support, eth_tp_mdix, eth_tp_mdix_ctrl;
    __s8 link_mode_masks_nwords;
    __u32 reserved[8];
    __u32 link_mode_masks[];
};
#endif

/* linux/if_xdp.h exists since Linux 4.18; these structures have the form of 5.4 and newer. */
#ifndef AF_XDP
#define AF_XDP 44
#endif
#define NEWER_SOL_XDP 283
enum newer_xdp_option {
    NEWER_XDP_MMAP_OFFSETS = 1,
    NEWER_XDP_TX_RING = 3,
    NEWER_XDP_UMEM_REG,
    NEWER_XDP_UMEM_FILL_RING,
    NEWER_XDP_UMEM_COMPLETION_RING
};
#define NEWER_XDP_COPY 2 /* sxdp_flags */
#define NEWER_XDP_PGOFF_TX_RING 0x80000000ull
#define NEWER_XDP_UMEM_PGOFF_COMPLETION_RING 0x180000000ull

struct newer_sockaddr_xdp {
    __u16 sxdp_family, sxdp_flags;
    __u32 sxdp_ifindex, sxdp_queue_id, sxdp_shared_umem_fd;
};

struct newer_xdp_memory {
    __u64 addr, len;
    __u32 chunk_size, headroom;
};

struct newer_xdp_offsets {
    struct newer_xdp_ring_offsets {
        __u64 producer, consumer, desc, flags;
    } rx, tx, fill, completion;
};

struct newer_xdp_frame {
    __u64 addr;
    __u32 len, options;
};

/* struct ethtool_rxfh, since Linux 3.16. `hash` exists since 3.19; before, it was reserved and
 * 0. */
#ifndef ETHTOOL_GRSSH
#define ETHTOOL_GRSSH 0x00000046
#endif
struct newer_rxfh {
    __u32 cmd, context, table_places, key_bytes;
    __u8 hash, input, reserved_bytes[2];
    __u32 reserved;
    __u32 config[]; /* the table, then the key */
};

/* struct scm_timestamping, since Linux 3.17. */
struct newer_stamps {
    struct timespec ts[3];
};

/* struct tcp_info as of Linux 6.1. Each kernel fills in the fields that it knows. */
struct newer_tcp_info {
    __u8 tcpi_state, tcpi_ca_state, tcpi_retransmits, tcpi_probes, tcpi_backoff, tcpi_options;
    __u8 tcpi_snd_wscale : 4, tcpi_rcv_wscale : 4;
    __u8 tcpi_delivery_rate_app_limited : 1, tcpi_fastopen_client_fail : 2;
    __u32 tcpi_rto, tcpi_ato, tcpi_snd_mss, tcpi_rcv_mss;
    __u32 tcpi_unacked, tcpi_sacked, tcpi_lost, tcpi_retrans, tcpi_fackets;
    __u32 tcpi_last_data_sent, tcpi_last_ack_sent, tcpi_last_data_recv, tcpi_last_ack_recv;
    __u32 tcpi_pmtu, tcpi_rcv_ssthresh, tcpi_rtt, tcpi_rttvar, tcpi_snd_ssthresh;
    __u32 tcpi_snd_cwnd, tcpi_advmss, tcpi_reordering, tcpi_rcv_rtt, tcpi_rcv_space;
    __u32 tcpi_total_retrans;
    __u64 tcpi_pacing_rate, tcpi_max_pacing_rate, tcpi_bytes_acked, tcpi_bytes_received;
    __u32 tcpi_segs_out, tcpi_segs_in, tcpi_notsent_bytes, tcpi_min_rtt;
    __u32 tcpi_data_segs_in, tcpi_data_segs_out;
    __u64 tcpi_delivery_rate, tcpi_busy_time, tcpi_rwnd_limited, tcpi_sndbuf_limited;
    __u32 tcpi_delivered, tcpi_delivered_ce;
    __u64 tcpi_bytes_sent, tcpi_bytes_retrans;
    __u32 tcpi_dsack_dups, tcpi_reord_seen, tcpi_rcv_ooopack, tcpi_snd_wnd;
};

#endif
