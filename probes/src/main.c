/* Reads the command line of netprobe, and prints its help. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/agent.h"
#include "agent/calibration.h"
#include "platform/plat.h"
#include "test/records.h"

static const char help[] =
    "netprobe measures what a network path carries, between two of its kind.\n"
    "\n"
    "  netprobe agent                  answer requests on standard input: ID VERB key=value ...\n"
    "    lease_s=12 silence_s=60       longest time without a line: idle, and with tests running\n"
    "  netprobe VERB [key=value ...]   one request by hand; prints the same records\n"
    "  netprobe --help | --version\n"
    "\n"
    "By hand, on two hosts (the token of `ready` goes to the other side):\n"
    "  a$ netprobe receive proto=udp bind=10.0.0.2 port=5001 seconds=10\n"
    "  b$ NETPROBE_TOKEN=... netprobe send proto=udp to=10.0.0.2:5001 message=1472 seconds=10\n"
    "\n"
    "Verbs\n"
    "  hello       identity: protocol, version, build, os, clock, capabilities\n"
    "  heartbeat   only answers; every line renews the lease\n"
    "  clock       monotonic_ns, wall_ns\n"
    "  facts       hardware and settings of this host; to=ADDRESS adds the route to that peer,\n"
    "              interface=NAME the path by that interface\n"
    "  lock        owner=TEXT: one controller at a time in this network namespace\n"
    "  unlock      releases the lock\n"
    "  receive     receives a stream and measures it; keys below\n"
    "  send        sends a stream; keys below\n"
    "  ask         sends requests to a mirror and measures round trips; keys below\n"
    "  mirror      answers requests; keys below\n"
    "  run         program=NAME [arguments=WORDS] deadline=S: runs another program on this host; the\n"
    "              words are separated by %0A\n"
    "  guard       program=NAME [arguments=WORDS] deadline=S: registers a command that undoes a change;\n"
    "              an agent runs it at its end, by hand it stays for undo\n"
    "  undo        entry=ID: runs a registered command now\n"
    "  leftovers   lists registered commands of agents that no longer live\n"
    "  stop        test=ID [sent=N] [abort=1]: ends a sender or a program; tells a receiver what was\n"
    "              sent\n"
    "  quit        ends all tests, all programs and the agent\n"
    "\n"
    "Keys of send and receive\n"
    "  kind=stream|check       check: open the streams, one packet each way\n"
    "  proto=tcp|udp\n"
    "  open=listen|connect     independent of who sends; default: connect if `to` is given\n"
    "  to=ADDRESS:PORT[,PORT]  peer, IPv6 in brackets; UDP: one port per stream\n"
    "  bind=ADDRESS            local address; by hand a listener's default is loopback\n"
    "  port=N|N-M              local port or range; 0: the system's choice\n"
    "  interface=NAME          device to bind to\n"
    "  token=HEX               32 digits; by hand from NETPROBE_TOKEN, else made by the listener\n"
    "  message=BYTES           message size (one send call), 1 to 16777216 (1448)\n"
    "  seconds=S | count=N     length of the window (10), or messages in all\n"
    "  warm_up=S               before the window (0)\n"
    "  deadline=S              the test ends then in any case (warm_up + seconds + 15)\n"
    "  start_ns= window_open_ns= window_close_ns=   a common window in this host's monotonic clock\n"
    "  socket_buffer=BYTES     SO_SNDBUF and SO_RCVBUF; absent: the system's own tuning\n"
    "  congestion=NAME nodelay=1 dont_fragment=1 dscp=0..63\n"
    "  rate=BIT/S | message_rate=1/S   open-loop pacing; burst=N messages at most to catch up\n"
    "  method=plain|batch      sending: one message per call, or many\n"
    "  method=packet|xdp       sending UDP: as raw frames, many per call\n"
    "  streams=N               1 to 1000; up to 64 have a thread each\n"
    "  cpu=N | cpus=N,N        pins the test's threads, in turn to each CPU of a list\n"
    "  spin=1                  receives without blocking\n"
    "  poll=1                  receiving: polls at intervals, and is never woken\n"
    "  adapt=1                 receiving: decides during the warm-up whether it polls\n"
    "  from=socket|packet      receiving UDP by poll or spin: from the socket, or frames before IP\n"
    "  receive_call=BYTES      buffer of a TCP receive call, or the word message (262144)\n"
    "  drain=S                 receiving UDP: messages still missing after this long a silence are lost\n"
    "  interval=S              interval of the series (0.1)\n"
    "\n"
    "Keys of ask and mirror: those from proto to spin except rate, burst, streams, window_*, and\n"
    "  kind=round_trip|connect connect: a TCP connection for each\n"
    "  message=BYTES           size of a request (1448)\n"
    "  response=BYTES          size of a response (as the request)\n"
    "  outstanding=N           ask: requests in flight, 1 to 1024 (1)\n"
    "  message_rate=1/S        ask: requests at scheduled times, none skipped\n"
    "  timeout=S               ask, UDP: after it a request is lost, 0.001 to 10 (1)\n"
    "  keep=N                  ask: reports the first N round trips one by one, at most 1000 (0)\n"
    "  trips=1                 ask: reports each round trip of the window with its time\n"
    "  peer=probe|echo         ask: echo is any RFC 862 echo at `to`\n"
    "  close=reset|orderly     ask, connect: how a connection ends (reset)\n"
    "  hold=S                  mirror: waits between receive and send, at most 0.1 (0)\n"
    "  stamps=1                mirror, UDP: time in the network stack, by time stamps\n"
    "  no_checksum=1           UDP over IPv4 without a checksum\n"
    "\n"
    "Records, one JSON object per line: hello, heartbeat, clock, facts, lock, unlock, stop, quit,\n"
    "ready (the listener's port and, by hand, its generated token), progress (once a second), window\n"
    "(the receiver's window has closed), started and output (of a program), guard, leftover,\n"
    "leftovers, result, error (a word, errno, key, detail).\n"
    "docs/protocol.md explains all keys.\n";

/* Reads a word such as `lease_s=12`, where `name` is the part up to the `=`. Returns false if the
 * word has another form, or the number of seconds is not 0.1 to 86400. */
static bool read_seconds(const char *word, const char *name, uint64_t *nanoseconds)
{
    const char *value = word + strlen(name);
    char *end;
    if (strncmp(word, name, strlen(name)) != 0 || value[0] < '0' || value[0] > '9')
        return false;
    double seconds = strtod(value, &end);
    if (*end != 0 || !(seconds >= 0.1 && seconds <= 86400))
        return false;
    *nanoseconds = (uint64_t)(seconds * 1e9);
    return true;
}

static bool read_patience(int count, char **words, struct agent_patience *out)
{
    *out = (struct agent_patience){AGENT_LEASE_NS, AGENT_SILENCE_NS};
    for (int i = 0; i < count; i++)
        if (!read_seconds(words[i], "lease_s=", &out->lease_ns) &&
            !read_seconds(words[i], "silence_s=", &out->silence_ns))
            return false;
    return true;
}

static int wrong(const char *message)
{
    fprintf(stderr, "netprobe: %s; `netprobe --help` explains it\n", message);
    return 2;
}

int main(int count, char **words)
{
    struct agent_patience patience;
    if (count < 2)
        return wrong("a verb is missing");
    if (strcmp(words[1], "--help") == 0 || strcmp(words[1], "-h") == 0)
        return fputs(help, stdout) < 0;
    if (strcmp(words[1], "--version") == 0)
        return printf("netprobe %s (%s)\n", NETPROBE_VERSION, NETPROBE_BUILD) < 0;
    if (plat_start() != 0)
        return wrong("the system refuses a basic function");
    record_start();
    calibration_start();
    if (strcmp(words[1], "agent") != 0)
        return agent_by_hand((unsigned)count - 1, words + 1);
    if (!read_patience(count - 2, words + 2, &patience))
        return wrong("agent takes lease_s=SECONDS and silence_s=SECONDS (0.1 to 86400)");
    return agent_run(&patience);
}
