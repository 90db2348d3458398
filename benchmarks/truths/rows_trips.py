"""Causes that round trips, connections and searches show."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.truths.causes import Cause, Dial, Experiment, restated, share
from benchmarks.truths.plants.hosts import often_busy, quota
from benchmarks.truths.plants.paths import (
    dropped,
    long_queue,
    lost_fragments,
    narrow,
    reported_mtu,
    stunned,
)
from benchmarks.truths.plants.trials import in_trials
from benchmarks.truths.rows_hosts import PINNED
from benchmarks.truths.rows_paths import PAYLOADS, SLOWER, nothing
from benchmarks.truths.site import RECEIVER_CPU, SENDER, SENDER_CPU

ONE: Dial = {"gross": (1, 1)}
"""For causes that are present or absent: the dial means nothing."""
TRIPS = Experiment(
    lab="cable",
    tests=(f"  - {{test: round_trip, protocol: UDP, message_size: 64, count: 10000, {PINNED}}}",),
    anyway=frozenset({"below-floor"}),
)
CONNECTIONS = Experiment(
    lab="router",
    tests=("  - {test: connect, message_size: 64, count: 150}",),
    repeats=2,
    anyway=frozenset({"below-floor"}),
)
UNDER_UDP = Experiment(
    lab="router",
    tests=(
        "  - {test: latency_under_load, duration: 4s, idle: 2s, after: 2s, "
        "request_size: 1400, load: {protocol: UDP, rate: RATE}}",
    ),
    repeats=1,
)
SEARCH = "  - {test: throughput_search, duration: 400ms, settle: 50ms, residual: 150ms"
SEARCHES = Experiment(
    lab="router", tests=(f"{SEARCH}, frame_size: [512, 1518], socket_buffer: 1MiB}}",), repeats=1
)

ON_CABLE = replace(SEARCHES, lab="cable", tests=(f"{SEARCH}, frame_size: 1518}}",))

ROWS = (
    Cause(
        name="trips-beside-work",
        what="a neighbour on the client's core, often and shortly, in two of three trials of trips",
        experiment=TRIPS,
        plant=in_trials(often_busy(SENDER_CPU), lambda number: number != 1),
        dial={"gross": (1.8, 2.2)},
        expected=("trip-waited-for-cpu",),
        also=frozenset({"other-load", "host-delay/process", "rtt-outliers"}),
        alone=True,
    ),
    Cause(
        name="lost-opening",
        what="a router that drops one packet in 20 of those that open a connection",
        experiment=CONNECTIONS,
        plant=dropped(
            "router", "forward", "tcp flags & (syn | ack) == syn numgen random mod {0} == 0 drop"
        ),
        dial={"gross": (18, 22)},
        expected=("first-packet-lost",),
        also=frozenset({"rtt-outliers"}),
    ),
    Cause(
        name="reported-mtu",
        what="a router whose cable to the receiver has a smaller MTU, which it reports",
        experiment=PAYLOADS,
        plant=reported_mtu,
        dial={"gross": (90, 110)},
        expected=("mtu-mismatch/reported", "mtu-mismatch/stream"),
        also=frozenset({"mtu-mismatch/stream", "mtu-mismatch/black-hole", "interface/mtu"}),
    ),
    Cause(
        name="lost-fragments",
        what="the same, and the router drops fragments",
        experiment=PAYLOADS,
        plant=lost_fragments,
        dial={"gross": (90, 110)},
        expected=("fragments-lost",),
        also=frozenset(
            {
                "mtu-mismatch/stream",
                "mtu-mismatch/reported",
                "mtu-mismatch/black-hole",
                "interface/mtu",
            }
        ),
    ),
    Cause(
        name="overloaded-queue",
        what="a load of UDP above the rate of a slower cable, whose queue has few frames",
        experiment=UNDER_UDP,
        plant=narrow,
        dial={"gross": (0.75, 0.85)},
        expected=("requests-lost-under-load",),
        also=frozenset({"queue-under-load/standing"}),
        takes=lambda offered: 1 - 0.5 / offered,
        limits=SLOWER | {"loss-limit/path"},
    ),
    Cause(
        name="light-load",
        what="a load of half of what the path carries",
        experiment=UNDER_UDP,
        plant=nothing,
        dial={"gross": (0.45, 0.55)},
        expected=("queue-under-load/not-full",),
        also=frozenset({"queue-under-load/none"}),
    ),
    Cause(
        name="search-closed",
        what="a router that forwards no test frame",
        experiment=SEARCHES,
        plant=dropped("router", "forward", "meta length > 400 limit rate over 5/second drop"),
        dial=ONE,
        expected=("search-limit/none",),
        alone=True,
        takes=lambda _: 1.0,
    ),
    Cause(
        name="search-slow-sender",
        what="a CPU quota on the sender of a search",
        experiment=Experiment(
            lab="cable",
            tests=(
                f"{SEARCH}, frame_size: 128, client_cpus: [{SENDER_CPU}], "
                f"server_cpus: [{RECEIVER_CPU}], socket_buffer: 1MiB}}",
            ),
            repeats=1,
        ),
        plant=quota(SENDER, SENDER_CPU),
        dial={"gross": (0.55, 0.65)},
        expected=("search-limit/sender",),
        also=frozenset({"search-limit/none"}),
        alone=True,
        takes=share(),
        limits=frozenset({"search-limit/none"}),  # its sentence names the sender
    ),
    Cause(
        name="search-short-socket",
        what="a receiver of a search whose socket holds few frames",
        experiment=replace(
            ON_CABLE,
            tests=(
                f"{SEARCH}, frame_size: 64, socket_buffer: 4KiB, back_to_back: 2, "
                "frame_loss: true}",
            ),
        ),
        plant=nothing,
        dial=ONE,
        expected=("search-limit/receiver", "back-to-back/own-hosts", "frame-loss/own-hosts"),
        also=frozenset({"search-limit/none", "search-doubt/not-monotone"}),
        alone=True,
    ),
    Cause(
        name="search-slow-router",
        what="a router that drops one frame in 2000 of a search, at any rate",
        experiment=SEARCHES,
        plant=dropped("router", "forward", "meta length > 400 numgen random mod {0} == 0 drop"),
        dial={"gross": (300, 500)},
        expected=("search-limit/device", "search-limit/none"),
        also=frozenset({"search-doubt/not-monotone"}),
        alone=True,
        takes=lambda _: 1.0,
    ),
    Cause(
        name="search-long-queue",
        what="a slower cable after the router, whose queue takes all that a search sends",
        experiment=SEARCHES,
        plant=long_queue,
        dial={"gross": (0.35, 0.45)},
        expected=("search-limit/queue", "search-limit/bit-rate"),
        also=frozenset({"search-limit/bit-rate", "search-limit/device"}),
        alone=True,
        takes=share(),
        limits=frozenset({"search-limit/device"}),
    ),
    Cause(
        name="search-stunned-router",
        what="a router that stops forwarding for a while when too many frames come in",
        experiment=replace(
            SEARCHES, tests=(f"{SEARCH}, frame_size: 512, socket_buffer: 1MiB, frame_loss: true}}",)
        ),
        plant=stunned,
        dial={"gross": (8000, 10000)},
        expected=("frame-loss/overload",),
        also=frozenset({"search-limit/device", "search-limit/none", "search-doubt/not-monotone"}),
        alone=True,
        takes=lambda per_second: 1 - per_second / 23_496,
        limits=frozenset({"search-limit/device"}),
    ),
    Cause(
        name="search-fast-link",
        what="a search over a link stated with less than it has",
        experiment=ON_CABLE,
        plant=nothing,
        stated=restated,
        dial={"gross": (0.45, 0.55)},
        expected=("search-doubt/outrun",),
        alone=True,
    ),
    Cause(
        name="search-large-buffer",
        what="a search with a socket buffer above what the hosts allow",
        experiment=replace(
            ON_CABLE, tests=(f"{SEARCH}, frame_size: 1518, socket_buffer: 32MiB}}",)
        ),
        plant=nothing,
        dial=ONE,
        expected=("socket-buffer/search-capped",),
        also=frozenset({"search-limit/line-rate"}),
        alone=True,
    ),
)
