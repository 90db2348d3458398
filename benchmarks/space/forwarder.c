/* Forwards Ethernet frames between two interfaces of a network namespace, and acts on chosen ones.

       forwarder LONGEST_FRAME_BYTES SEED INTERFACE INTERFACE [RULE]...

   A rule is a list NAME=VALUE,NAME=VALUE…; `names` below has all of them. What it selects by is
   joined by "and". The first interface is `a`, the second `b`: way=ab is what comes in at `a`.

   The program prints `ready`. On its standard input it takes `on N`, `off N` (a rule by its number,
   from 0), `limit N NUMBER` and `tell`, which prints the counters as a line of JSON. They are printed at the end too,
   when standard input ends.

   The kernel's own forwarding between the interfaces must be off. Frames must be as they are on a
   wire: without segmentation offload, and with their checksums computed. */

#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <math.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "waiting.h"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

enum { BATCH = 64, MOST_RULES = 16, HEADER = 14, OVERHEAD = 24, LEAST_WIRE = 84, PRIORITY = 10 };
enum { IN_TCP = 6, IN_UDP = 17, IN_ICMP6 = 58, V6_FRAGMENT = 44 };
#define POOL_BYTES (48u << 20)
#define BUFFER_BYTES (64 << 20)
#define MS 1000000.0
#define LATE_NS 200000u
#define HOLD_NS 5000000u /* how long jitter stays as it is: what comes together waits together */
#define FLOWS 65536

enum deed { DROP, DELAY, JITTER, ORDER, COPY, CORRUPT, RATE, PACKETS, LENGTH, MSS, PAUSE, DEEDS };
static const char *const deeds[] = {"drop",    "delay", "jitter",  "order",  "copy", "corrupt",
                                    "rate",    "packets", "length", "mss",   "pause"};
enum time { ALWAYS, PERIODIC, BURSTS, BEGIN, TIMES };
static const char *const times[] = {"always", "periodic", "bursts", "begin"};

struct rule {
    /* which */
    double ways, family, protocol, longer, shorter, dscp, flow, of, acks, fragments;
    /* what: a share 0 to 1, milliseconds, a number (bit/s, packets a second, bytes) */
    double share, ms, number, queue_ms, shared;
    /* when */
    double on_ms, off_ms, after_ms, off;
    enum deed deed;
    enum time time;
    /* the present state, by way where it has two */
    uint64_t next_ns[2], last_ns[2], held_ns[2], turn_ns, began_ns;
    double held[2], times_as_long;
    bool is_on;
    uint64_t matched[2], matched_bytes[2], active[2], acted[2], acted_bytes[2], dropped[2];
};

static const struct {
    const char *name;
    size_t at;
} names[] = {
    {"family", offsetof(struct rule, family)},     {"protocol", offsetof(struct rule, protocol)},
    {"longer", offsetof(struct rule, longer)},     {"shorter", offsetof(struct rule, shorter)},
    {"dscp", offsetof(struct rule, dscp)},         {"flow", offsetof(struct rule, flow)},
    {"of", offsetof(struct rule, of)},             {"acks", offsetof(struct rule, acks)},
    {"fragments", offsetof(struct rule, fragments)}, {"share", offsetof(struct rule, share)},
    {"ms", offsetof(struct rule, ms)},             {"number", offsetof(struct rule, number)},
    {"queue_ms", offsetof(struct rule, queue_ms)}, {"shared", offsetof(struct rule, shared)},
    {"on_ms", offsetof(struct rule, on_ms)},       {"off_ms", offsetof(struct rule, off_ms)},
    {"after_ms", offsetof(struct rule, after_ms)}, {"off", offsetof(struct rule, off)},
};

struct port {
    const char *name;
    int in, out;
    uint64_t frames, bytes, sent, refused, late, own_ns, longest_own_ns;
    uint64_t missed;
};

/* What the rules select by. */
struct seen {
    int family, protocol, dscp;
    unsigned length; /* of the IP packet */
    bool is_ack, is_fragment, is_syn;
    uint32_t ports;
    uint8_t *transport, *payload, *end;
};

static struct rule rules[MOST_RULES];
static struct port ports[2];
static uint8_t *pool;
static uint32_t slot_count, *free_slots, free_count;
static struct waiting *batch[2];
static int batch_count[2], rule_count;
static uint64_t number, no_room, chance_state, slot_bytes;
static uint32_t flows[FLOWS], flow_count; /* by their ports: numbers from 1; 0 is not seen yet */

static void fail(const char *format, ...) {
    va_list words;
    va_start(words, format);
    fprintf(stderr, "forwarder: ");
    vfprintf(stderr, format, words);
    fprintf(stderr, "\n");
    va_end(words);
    exit(1);
}

static uint64_t now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* 0 to 1, by xorshift64* (Vigna 2016). */
static double chance(void) {
    chance_state ^= chance_state >> 12;
    chance_state ^= chance_state << 25;
    chance_state ^= chance_state >> 27;
    return (double)((chance_state * 2685821657736338717u) >> 11) / 9007199254740992.0;
}

/* ---- sending ---- */
static void flush(int out) {
    struct mmsghdr messages[BATCH] = {0};
    struct iovec parts[BATCH];
    struct port *port = &ports[out];
    int count = batch_count[out], done = 0;
    for (int i = 0; i < count; i++) {
        struct waiting *item = &batch[out][i];
        parts[i] = (struct iovec){pool + item->slot * slot_bytes, item->length};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
    }
    while (done < count) {
        int sent = sendmmsg(port->out, messages + done, (unsigned)(count - done), MSG_DONTWAIT);
        if (sent <= 0) { /* the queue of the interface is full: its counters have it too */
            port->refused++;
            done++;
        } else {
            port->sent += (uint64_t)sent;
            done += sent;
        }
    }
    uint64_t now = count ? now_ns(CLOCK_MONOTONIC) : 0;
    for (int i = 0; i < count; i++) {
        struct waiting *item = &batch[out][i];
        uint64_t due = item->due_ns > item->arrived_ns ? item->due_ns : item->arrived_ns;
        uint64_t own = now > due ? now - due : 0;
        port->own_ns += own;
        port->late += own > LATE_NS;
        if (own > port->longest_own_ns)
            port->longest_own_ns = own;
        free_slots[free_count++] = item->slot;
    }
    batch_count[out] = 0;
}

static void send_soon(struct waiting item) {
    batch[item.out][batch_count[item.out]++] = item;
    if (batch_count[item.out] == BATCH)
        flush(item.out);
}

/* ---- which packets ---- */
static unsigned get16(const uint8_t *at) { return (unsigned)(at[0] << 8 | at[1]); }

static void see_transport(struct seen *seen, bool is_first) {
    size_t left = (size_t)(seen->end - seen->transport);
    seen->payload = seen->transport;
    if (!is_first)
        return;
    if (seen->protocol == IN_UDP && left >= 8)
        seen->payload += 8;
    if (seen->protocol == IN_TCP && left >= 20) {
        size_t header = (size_t)(seen->transport[12] >> 4) * 4;
        unsigned flags = seen->transport[13];
        seen->payload = seen->transport + (header < left ? header : left);
        seen->is_syn = flags & 2;
        seen->is_ack = (flags & 0x17) == 0x10 && seen->payload == seen->end;
    }
    if ((seen->protocol == IN_UDP || seen->protocol == IN_TCP) && left >= 4)
        seen->ports = get16(seen->transport) + get16(seen->transport + 2); /* both ways the same */
}

/* Whether the frame carries an IP packet that rules may select. */
static bool see(struct seen *seen, uint8_t *frame, size_t length) {
    uint8_t *ip = frame + HEADER;
    bool is_first = true;
    memset(seen, 0, sizeof *seen);
    if (length < HEADER + 20)
        return false;
    unsigned type = get16(frame + 12);
    if (type == ETH_P_IP) {
        unsigned fragment = get16(ip + 6);
        seen->family = 4;
        seen->length = get16(ip + 2);
        seen->dscp = ip[1] >> 2;
        seen->protocol = ip[9];
        seen->is_fragment = fragment & 0x3fff;
        is_first = !(fragment & 0x1fff);
        seen->transport = ip + (ip[0] & 15) * 4;
    } else if (type == ETH_P_IPV6 && length >= HEADER + 48) {
        seen->family = 6;
        seen->length = get16(ip + 4) + 40;
        seen->dscp = (int)(get16(ip) >> 6 & 63);
        seen->protocol = ip[6];
        seen->transport = ip + 40;
        if (seen->protocol == V6_FRAGMENT) {
            seen->is_fragment = true;
            seen->protocol = seen->transport[0];
            is_first = !(get16(seen->transport + 2) & 0xfff8);
            seen->transport += 8;
        }
        /* Without its neighbours a host reaches nobody: the cause would be another one. */
        if (seen->protocol == IN_ICMP6 && seen->transport[0] >= 133 && seen->transport[0] <= 137)
            return false;
    } else {
        return false;
    }
    seen->end = ip + seen->length;
    if (seen->end > frame + length)
        seen->end = frame + length;
    if (seen->transport > seen->end)
        return false;
    see_transport(seen, is_first);
    return true;
}

/* Flows are counted in the order in which they come, from 0: chance may not take all or none. */
static uint32_t flow_of(const struct seen *seen) {
    uint32_t *flow = &flows[seen->ports % FLOWS];
    if (!*flow)
        *flow = ++flow_count;
    return *flow - 1;
}

static bool selects(const struct rule *rule, const struct seen *seen, int way) {
    return ((int)rule->ways >> way & 1) && (!rule->family || rule->family == seen->family) &&
           (!rule->protocol || rule->protocol == seen->protocol) &&
           (!rule->longer || seen->length > rule->longer) &&
           (!rule->shorter || seen->length < rule->shorter) &&
           (rule->dscp < 0 || rule->dscp == seen->dscp) &&
           (!rule->acks || seen->is_ack) && (!rule->fragments || seen->is_fragment) &&
           (!rule->of || flow_of(seen) % (uint32_t)rule->of == rule->flow);
}

/* ---- when ---- */
/* Whether the rule acts at this moment; `ends` is when it stops, if it does. */
static bool is_active(struct rule *rule, uint64_t at, uint64_t *ends) {
    uint64_t on = (uint64_t)(rule->on_ms * MS), off = (uint64_t)(rule->off_ms * MS);
    *ends = at;
    if (rule->off)
        return false;
    if (rule->time == PERIODIC) {
        *ends = at - at % (on + off) + on;
        return at % (on + off) < on;
    }
    if (rule->time == BURSTS) {
        if (!rule->turn_ns)
            rule->turn_ns = at;
        while (rule->turn_ns <= at) { /* the lengths of turns are exponential */
            rule->is_on = !rule->is_on;
            if (rule->is_on) /* and it is off for as many times its mean, so the share stays */
                rule->times_as_long = -log(1 - chance());
            double mean = rule->is_on ? rule->on_ms : rule->off_ms;
            rule->turn_ns += 1 + (uint64_t)(rule->times_as_long * mean * MS);
        }
        *ends = rule->turn_ns;
        return rule->is_on;
    }
    if (rule->time == BEGIN) { /* of the trial: it begins with what comes first after `on` */
        if (!rule->began_ns)
            rule->began_ns = at;
        uint64_t begins = rule->began_ns + (uint64_t)(rule->after_ms * MS);
        *ends = begins + on;
        return at >= begins && at < *ends;
    }
    return true;
}

/* ---- what ---- */
/* A bit of the payload turns over, and the checksum stays as it was. */
static void corrupt(struct seen *seen) {
    uint8_t *from = seen->payload, *at;
    if (from >= seen->end) { /* no payload: the window of TCP, or the last byte of the header */
        at = seen->protocol == IN_TCP ? seen->transport + 14 : seen->end - 1;
    } else {
        at = from + (size_t)(chance() * (double)(seen->end - from));
    }
    *at ^= (uint8_t)(1u << (unsigned)(chance() * 8));
}

/* The segment size that an opening packet offers becomes at most `most` (RFC 1624 for the sum). */
static bool clamp_mss(struct seen *seen, unsigned most) {
    uint8_t *tcp = seen->transport, *end = seen->payload;
    for (uint8_t *at = tcp + 20; at + 4 <= end;) {
        if (at[0] == 0)
            break;
        if (at[0] == 1) {
            at++;
            continue;
        }
        if (at[0] == 2 && at[1] == 4 && get16(at + 2) > most) {
            uint32_t old = get16(at + 2), new = most;
            if ((at + 2 - tcp) & 1) {
                old = (old >> 8 | old << 8) & 0xffff;
                new = (new >> 8 | new << 8) & 0xffff;
            }
            uint32_t sum = (~get16(tcp + 16) & 0xffff) + (~old & 0xffff) + new;
            sum = (sum & 0xffff) + (sum >> 16);
            sum = ~((sum & 0xffff) + (sum >> 16)) & 0xffff;
            at[2] = (uint8_t)(most >> 8);
            at[3] = (uint8_t)most;
            tcp[16] = (uint8_t)(sum >> 8);
            tcp[17] = (uint8_t)sum;
            return true;
        }
        if (at[1] < 2)
            break;
        at += at[1];
    }
    return false;
}

/* The moment at which a rate lets the packet go; 0 if its queue is full. */
static uint64_t paced(struct rule *rule, size_t bytes, int way, uint64_t due) {
    int whose = rule->shared ? 0 : way;
    double bits = (bytes + OVERHEAD < LEAST_WIRE ? LEAST_WIRE : (double)bytes + OVERHEAD) * 8;
    double takes_ns = (rule->deed == PACKETS ? 1 : bits) / rule->number * 1e9;
    uint64_t from = rule->next_ns[whose] > due ? rule->next_ns[whose] : due;
    if ((double)(from - due) > rule->queue_ms * MS)
        return 0;
    rule->next_ns[whose] = from + (uint64_t)takes_ns;
    return rule->next_ns[whose];
}

/* Whether the packet passes. Moves `due`, and counts `copies`. */
static bool act(struct rule *rule, struct seen *seen, size_t bytes, int way, uint64_t at,
                uint64_t *due, int *copies) {
    uint64_t ends, was = *due;
    bool passes = true, has_acted = true;
    rule->matched[way]++;
    rule->matched_bytes[way] += bytes;
    if (!is_active(rule, at, &ends)) {
        /* What waits for this rule is not overtaken when the rule ends. */
        if (rule->last_ns[way] > *due)
            *due = rule->last_ns[way];
        return true;
    }
    rule->active[way]++;
    bool is_chosen = rule->share >= 1 || chance() < rule->share;
    switch (rule->deed) {
    case DROP: passes = !is_chosen; has_acted = is_chosen; break;
    case DELAY: *due += (uint64_t)(rule->ms * MS); break;
    case JITTER:
        if (at > rule->held_ns[way] + HOLD_NS) {
            rule->held_ns[way] = at;
            rule->held[way] = chance() * rule->ms * MS;
        }
        *due += (uint64_t)rule->held[way];
        break;
    case ORDER: *due += is_chosen ? (uint64_t)(rule->ms * MS) : 0; has_acted = is_chosen; break;
    case COPY: *copies += is_chosen; has_acted = is_chosen; break;
    case CORRUPT:
        has_acted = is_chosen;
        if (is_chosen)
            corrupt(seen);
        break;
    case RATE:
    case PACKETS: {
        uint64_t from = paced(rule, bytes, way, *due);
        passes = from != 0;
        *due = from > *due ? from : *due;
        break;
    }
    case LENGTH: passes = seen->length <= rule->number; has_acted = !passes; break;
    case MSS: has_acted = seen->is_syn && clamp_mss(seen, (unsigned)rule->number); break;
    case PAUSE: *due = ends > *due ? ends : *due; break;
    default: break;
    }
    bool keeps_order = rule->deed != ORDER && *due > was;
    if (keeps_order && rule->last_ns[way] > *due)
        *due = rule->last_ns[way];
    if (keeps_order)
        rule->last_ns[way] = *due;
    rule->acted[way] += has_acted;
    rule->acted_bytes[way] += has_acted ? bytes : 0;
    rule->dropped[way] += !passes;
    return passes;
}

/* ---- receiving ---- */
static void take(int way, uint32_t slot, size_t length, uint64_t arrived, uint64_t now) {
    uint8_t *frame = pool + slot * slot_bytes;
    struct seen seen;
    uint64_t due = arrived;
    int copies = 0;
    ports[way].frames++;
    ports[way].bytes += length;
    if (see(&seen, frame, length)) {
        for (int i = 0; i < rule_count; i++) {
            if (selects(&rules[i], &seen, way) &&
                !act(&rules[i], &seen, length, way, due, &due, &copies)) {
                free_slots[free_count++] = slot;
                return;
            }
        }
    }
    struct waiting item = {due, number++, arrived, slot, (uint32_t)length, !way};
    while (copies-- > 0 && free_count > 2 * BATCH) {
        struct waiting copy = item;
        copy.slot = free_slots[--free_count];
        copy.number = number++;
        memcpy(pool + copy.slot * slot_bytes, frame, length);
        push(copy);
    }
    /* What is due already may not overtake what is due before it, and waits for its release. */
    if (due > now || (heap_count && heap[0].due_ns <= due))
        push(item);
    else
        send_soon(item);
}

static uint64_t stamp_of(struct msghdr *header) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part; part = CMSG_NXTHDR(header, part)) {
        if (part->cmsg_level == SOL_SOCKET && part->cmsg_type == SCM_TIMESTAMPNS) {
            struct timespec stamp;
            memcpy(&stamp, CMSG_DATA(part), sizeof stamp);
            return (uint64_t)stamp.tv_sec * 1000000000u + (uint64_t)stamp.tv_nsec;
        }
    }
    return 0;
}

static int receive(int way) {
    struct mmsghdr messages[BATCH] = {0};
    struct iovec parts[BATCH];
    char stamps[BATCH][64] __attribute__((aligned(8)));
    uint32_t slots[BATCH];
    int room = free_count < BATCH ? (int)free_count : BATCH;
    if (room == 0) { /* all slots wait: what comes in stays with the kernel */
        no_room++;
        return 0;
    }
    for (int i = 0; i < room; i++) {
        slots[i] = free_slots[--free_count];
        parts[i] = (struct iovec){pool + slots[i] * slot_bytes, slot_bytes};
        messages[i].msg_hdr.msg_iov = &parts[i];
        messages[i].msg_hdr.msg_iovlen = 1;
        messages[i].msg_hdr.msg_control = stamps[i];
        messages[i].msg_hdr.msg_controllen = sizeof stamps[i];
    }
    int got = recvmmsg(ports[way].in, messages, (unsigned)room, MSG_DONTWAIT, NULL);
    if (got < 0)
        got = 0;
    uint64_t real = got ? now_ns(CLOCK_REALTIME) : 0, now = got ? now_ns(CLOCK_MONOTONIC) : 0;
    for (int i = room - 1; i >= got; i--)
        free_slots[free_count++] = slots[i];
    for (int i = 0; i < got; i++) {
        uint64_t stamp = stamp_of(&messages[i].msg_hdr);
        uint64_t ago = stamp && stamp < real ? real - stamp : 0;
        take(way, slots[i], messages[i].msg_len, now - (ago < now ? ago : 0), now);
    }
    return got;
}

/* ---- what it tells, and is told ---- */
static void tell_pair(const char *name, const uint64_t pair[2], const char *end) {
    printf("\"%s\": [%llu, %llu]%s", name, (unsigned long long)pair[0],
           (unsigned long long)pair[1], end);
}

static void tell(void) {
    printf("{\"ports\": [");
    for (int i = 0; i < 2; i++) {
        struct port *port = &ports[i];
        struct tpacket_stats stats = {0};
        socklen_t size = sizeof stats;
        getsockopt(port->in, SOL_PACKET, PACKET_STATISTICS, &stats, &size);
        port->missed += stats.tp_drops;
        printf("%s{\"name\": \"%s\", \"frames\": %llu, \"bytes\": %llu, \"sent\": %llu, "
               "\"refused\": %llu, \"missed\": %llu, \"late\": %llu, \"own_us\": %.1f, "
               "\"longest_own_us\": %.1f}",
               i ? ", " : "", port->name, (unsigned long long)port->frames,
               (unsigned long long)port->bytes, (unsigned long long)port->sent,
               (unsigned long long)port->refused, (unsigned long long)port->missed,
               (unsigned long long)port->late,
               port->sent ? (double)port->own_ns / 1e3 / (double)port->sent : 0.0,
               (double)port->longest_own_ns / 1e3);
    }
    printf("], \"no_room\": %llu, \"rules\": [", (unsigned long long)no_room);
    for (int i = 0; i < rule_count; i++) {
        struct rule *rule = &rules[i];
        printf("%s{\"do\": \"%s\", ", i ? ", " : "", deeds[rule->deed]);
        tell_pair("matched", rule->matched, ", ");
        tell_pair("matched_bytes", rule->matched_bytes, ", ");
        tell_pair("active", rule->active, ", ");
        tell_pair("acted", rule->acted, ", ");
        tell_pair("acted_bytes", rule->acted_bytes, ", ");
        tell_pair("dropped", rule->dropped, "}");
    }
    printf("]}\n");
    fflush(stdout);
}

/* A trial begins for the rule: so do its time, if it has one, and the numbers of the flows. */
static void turn_on(struct rule *rule) {
    rule->off = rule->began_ns = 0;
    memset(flows, 0, sizeof flows);
    flow_count = 0;
}

/* Whether standard input goes on. */
static bool hear(void) {
    static char text[256];
    static size_t length;
    ssize_t got = read(0, text + length, sizeof text - 1 - length);
    if (got <= 0)
        return false;
    length += (size_t)got;
    text[length] = 0;
    for (char *end; (end = strchr(text, '\n'));) {
        int which = -1;
        double limit;
        *end = 0;
        if (!strcmp(text, "tell"))
            tell();
        else if (sscanf(text, "on %d", &which) == 1 && which >= 0 && which < rule_count)
            turn_on(&rules[which]);
        else if (sscanf(text, "off %d", &which) == 1 && which >= 0 && which < rule_count)
            rules[which].off = 1;
        else if (sscanf(text, "limit %d %lf", &which, &limit) == 2 && which >= 0 &&
                 which < rule_count && limit > 0)
            rules[which].number = limit;
        length -= (size_t)(end + 1 - text);
        memmove(text, end + 1, length + 1);
    }
    return length < sizeof text - 1;
}

static void run(void) {
    struct pollfd waits[3] = {{0, POLLIN, 0}, {ports[0].in, POLLIN, 0}, {ports[1].in, POLLIN, 0}};
    uint64_t heard = 0;
    for (;;) {
        uint64_t now = now_ns(CLOCK_MONOTONIC);
        while (heap_count && heap[0].due_ns <= now)
            send_soon(pop());
        int got = receive(0) + receive(1);
        flush(0);
        flush(1);
        if (got && now < heard + 1000000u)
            continue;
        heard = now;
        struct timespec wait = {0, 0}, *until = &wait;
        if (!got) {
            now = now_ns(CLOCK_MONOTONIC);
            uint64_t left = heap_count && heap[0].due_ns > now ? heap[0].due_ns - now : 0;
            wait.tv_sec = (time_t)(left / 1000000000u);
            wait.tv_nsec = (long)(left % 1000000000u);
            until = heap_count ? &wait : NULL;
        }
        /* With no free slot only time helps. */
        nfds_t count = free_count ? 3 : 1;
        if (ppoll(waits, count, until, NULL) > 0 && waits[0].revents && !hear())
            return;
    }
}

/* ---- beginning ---- */
static int number_of(const char *word, const char *const *words, int count) {
    for (int i = 0; i < count; i++)
        if (!strcmp(word, words[i]))
            return i;
    fail("%s: not known", word);
    return 0;
}

static void set(struct rule *rule, const char *name, const char *value) {
    if (!strcmp(name, "do")) {
        rule->deed = (enum deed)number_of(value, deeds, DEEDS);
    } else if (!strcmp(name, "when")) {
        rule->time = (enum time)number_of(value, times, TIMES);
    } else if (!strcmp(name, "way")) {
        static const char *const ways[] = {"", "ab", "ba", "both"};
        rule->ways = number_of(value, ways, 4);
    } else {
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            if (!strcmp(name, names[i].name)) {
                char *end;
                double read = strtod(value, &end);
                if (*end || end == value)
                    fail("%s=%s: not a number", name, value);
                memcpy((char *)rule + names[i].at, &read, sizeof read);
                return;
            }
        }
        fail("%s: a rule has no such name", name);
    }
}

static void read_rule(const char *words) {
    char text[512];
    if (rule_count == MOST_RULES || strlen(words) >= sizeof text)
        fail("too many rules, or too long a rule");
    strcpy(text, words);
    struct rule *rule = &rules[rule_count++];
    *rule = (struct rule){.ways = 3, .dscp = -1, .share = 1, .queue_ms = 50};
    for (char *word = strtok(text, ","); word; word = strtok(NULL, ",")) {
        char *equals = strchr(word, '=');
        if (!equals)
            fail("%s: a rule has NAME=VALUE", word);
        *equals = 0;
        set(rule, word, equals + 1);
    }
    if (rule->time != ALWAYS && !(rule->on_ms > 0))
        fail("%s: needs on_ms", words);
    if ((rule->deed == RATE || rule->deed == PACKETS) && !(rule->number > 0))
        fail("%s: needs a number", words);
    if (rule->deed == PAUSE && rule->time == ALWAYS)
        fail("%s: a pause has an end", words);
}

static int opened(int index, int protocol) {
    int socket_ = socket(AF_PACKET, SOCK_RAW, 0), yes = 1, bytes = BUFFER_BYTES;
    struct sockaddr_ll at = {.sll_family = AF_PACKET,
                             .sll_protocol = htons((uint16_t)protocol),
                             .sll_ifindex = index};
    if (socket_ < 0)
        fail("AF_PACKET: %s", strerror(errno));
    setsockopt(socket_, SOL_SOCKET, protocol ? SO_RCVBUFFORCE : SO_SNDBUFFORCE, &bytes,
               sizeof bytes);
    if (protocol) {
        struct packet_mreq all = {.mr_ifindex = index, .mr_type = PACKET_MR_PROMISC};
        if (setsockopt(socket_, SOL_PACKET, PACKET_IGNORE_OUTGOING, &yes, sizeof yes) ||
            setsockopt(socket_, SOL_SOCKET, SO_TIMESTAMPNS, &yes, sizeof yes) ||
            setsockopt(socket_, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof all))
            fail("a socket's options: %s", strerror(errno));
    }
    if (bind(socket_, (struct sockaddr *)&at, sizeof at))
        fail("bind: %s", strerror(errno));
    return socket_;
}

int main(int count, char **words) {
    if (count < 5)
        fail("LONGEST_FRAME_BYTES SEED INTERFACE INTERFACE [RULE]...");
    slot_bytes = (strtoul(words[1], NULL, 10) + 127) / 64 * 64;
    chance_state = strtoull(words[2], NULL, 10) * 2654435769u + 1;
    slot_count = (uint32_t)(POOL_BYTES / slot_bytes);
    pool = calloc(slot_count, slot_bytes);
    heap = calloc(slot_count, sizeof *heap);
    free_slots = calloc(slot_count, sizeof *free_slots);
    for (int i = 5; i < count; i++)
        read_rule(words[i]);
    for (int i = 0; i < 2; i++) {
        int index = (int)if_nametoindex(words[3 + i]);
        if (!index)
            fail("%s: no such interface", words[3 + i]);
        ports[i] = (struct port){.name = words[3 + i],
                                 .in = opened(index, ETH_P_ALL),
                                 .out = opened(index, 0)};
        batch[i] = calloc(BATCH, sizeof **batch);
    }
    if (!pool || !heap || !free_slots || !batch[0] || !batch[1])
        fail("no memory");
    while (free_count < slot_count)
        free_slots[free_count] = free_count, free_count++;
    struct sched_param first = {.sched_priority = PRIORITY};
    if (mlockall(MCL_CURRENT) || sched_setscheduler(0, SCHED_FIFO, &first))
        fail("no right to memory that stays, or to go first: %s", strerror(errno));
    printf("ready\n");
    fflush(stdout);
    run();
    tell();
    return 0;
}
