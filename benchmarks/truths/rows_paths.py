"""Causes on the path: its rate, queue, packets, other traffic, and false statements about it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.truths import tools
from benchmarks.truths.causes import (
    COSTS,
    Cause,
    Dial,
    Effect,
    Experiment,
    only,
    restated,
    share,
    times,
)
from benchmarks.truths.plants.paths import (
    black_hole,
    other_flow,
    packet_rate,
    shaper,
    short_queue,
    slower,
    small_mtu,
)
from benchmarks.truths.rows_hosts import (
    BY_IPERF,
    OVER_DELAY,
    PLAIN_TCP,
    SMALL_BUFFERS,
    TCP_OR_BOTH,
)
from benchmarks.truths.site import RATE_BIT_PER_S, RECEIVER, SENDER, Site

UDP_SIZES = "  - {test: stream, protocol: UDP, message_size: [512, 1472]}"
COLUMNS = f"{PLAIN_TCP}\n{UDP_SIZES}"
THREE_CEILINGS = "  - {test: stream, protocol: UDP, message_size: [384, 640, 1472]}"
"""Their ceilings differ by at least 5 %, so it can be found what a limit counts: packets or
bytes."""
ANY = Experiment(lab="cable", tests=(COLUMNS, PLAIN_TCP, UDP_SIZES))
THREE = Experiment(lab="cable", tests=(COLUMNS,))
ROUTED = Experiment(lab="router", tests=(f"{PLAIN_TCP}\n{THREE_CEILINGS}",))
PACKET_SIZES = Experiment(
    lab="router",
    tests=("  - {test: stream, protocol: UDP, message_size: [128, 256, 512, 1024]}",),
)
PACED = Experiment(
    lab="cable", tests=("  - {test: stream, protocol: UDP, message_size: 1472, rate: RATE}",)
)
PAYLOADS = Experiment(
    lab="router", tests=("  - {test: payload_search, protocol: UDP, duration: 200ms}",), repeats=1
)
PINGS = Experiment(
    lab="cable",
    tests=("  - {test: round_trip, protocol: UDP, message_size: [64, 1472], count: 2000}",),
    anyway=frozenset({"below-floor"}),  # the lab's cables delay no single frame
)
SLOWER = frozenset({"rate-limit/either", "rate-limit/link"})
ON_PATH = frozenset({"loss-limit/path", "loss/path", "congestion"})
NOT_FULL = frozenset({"wire-ceiling"})
BY_TCP = Effect(measure=tools.tcp, tool="iperf3, TCP")
BY_COUNTERS = Effect(
    measure=tools.wire_rate(),
    tool="the interface's counters, while no test runs",
    shown=0.15,
    of_dial=lambda share: share * RATE_BIT_PER_S,
)
A_TENTH: Dial = {"gross": (0.9, 0.9)}
OTHER_SHARES: Dial = COSTS


@contextmanager
def nothing(_: Site, __: float) -> Iterator[None]:
    """Plants nothing: the cause is only in the matrix."""
    yield


ROWS = (
    Cause(
        name="slower-cable",
        what="a cable slower than stated",
        experiment=ANY,
        plant=slower(),
        dial={**COSTS, "gross": (0.36, 0.8)},
        expected=("rate-limit/either", "rate-limit/link"),
        denied=NOT_FULL,
        rate_of=lambda cost: RATE_BIT_PER_S * (1 - cost),
        effect=Effect(
            measure=tools.tcp,
            tool="iperf3, TCP",
            shown={"just": (0.005, 0.05), "plain": (0.06, 0.16), "gross": (0.3, 0.85)},
        ),
        takes=share(),
    ),
    Cause(
        name="cable-a-step-below",
        what="a cable at the next lower rate that links negotiate",
        experiment=ANY,
        plant=slower(),
        dial=A_TENTH,
        expected=("link-far-below", "rate-limit/either", "rate-limit/link"),
        denied=NOT_FULL,
        also=SLOWER,
        effect=Effect(measure=tools.tcp, tool="iperf3, TCP", shown={"gross": (0.85, 0.95)}),
        takes=share(),
    ),
    Cause(
        name="shaper",
        what="a shaper in the router that counts packets, not what they are on the wire",
        experiment=ROUTED,
        plant=shaper(RECEIVER),
        expected=("rate-limit/shaper", "rate-limit/either"),
        also=ON_PATH,
        effect=BY_TCP,
        alone=True,  # small messages at line rate take most of a CPU
        takes=share(),
    ),
    Cause(
        name="slower-cable-64k",
        what="a cable slower than stated, with buffers of 64 KiB",
        experiment=SMALL_BUFFERS,
        plant=slower(),
        expected=("rate-limit/either", "rate-limit/link"),
        denied=NOT_FULL,
        effect=BY_IPERF,
        mixes="pair",
        takes=share(),
    ),
    Cause(
        name="stated-too-high",
        what="a link stated with more than it has",
        experiment=ANY,
        plant=nothing,
        stated=lambda experiment, cost: restated(experiment, 1 / (1 - cost)),
        expected=("rate-limit/either", "rate-limit/link", "link-far-below"),
        denied=NOT_FULL,
        rate_of=lambda _: RATE_BIT_PER_S,
        takes=share(),
    ),
    Cause(
        name="stated-too-low",
        what="a link stated with less than it has",
        experiment=ANY,
        plant=nothing,
        stated=lambda experiment, cost: restated(experiment, 1 - cost),
        expected=("above-wire/rate",),
        also=frozenset({"interface/speed"}),
        denied=NOT_FULL,
    ),
    Cause(
        name="short-queue",
        what="a queue of few frames before the slowest cable of a path of 20 ms",
        experiment=OVER_DELAY,
        plant=short_queue,
        dial=only(COSTS, "plain"),  # a queue of one frame costs 12 %
        expected=("congestion",),
        effect=Effect(
            measure=tools.tcp_over_delay,
            tool="iperf3, TCP",
            shown={"plain": (0.05, 0.22)},
        ),
        search=(1, 60),
        takes=share(),
    ),
    Cause(
        name="smaller-mtu",
        what="cables whose MTU is smaller than stated",
        experiment=THREE,
        plant=small_mtu,
        dial={"just": (20, 28), "plain": (50, 80), "gross": (200, 220)},
        expected=("mtu-mismatch/stream", "interface/mtu"),
        also=frozenset({"mtu-mismatch/stream", "interface/mtu", "fragmented"}),
        effect=Effect(
            measure=tools.path_mtu,
            tool="the longest datagram of a plain socket",
            shown=0.005,
            of_dial=lambda below: 1500 - round(below),
        ),
    ),
    Cause(
        name="black-hole",
        what="a router that drops long packets without a word",
        experiment=PAYLOADS,
        plant=black_hole,
        dial={"just": (20, 28), "plain": (50, 80), "gross": (200, 500)},
        expected=("mtu-mismatch/black-hole", "mtu-mismatch/stream"),
        also=frozenset({"mtu-mismatch/stream", "no-result/cells"}),
        effect=Effect(
            measure=tools.path_mtu,
            tool="the longest datagram of a plain socket",
            shown=0.005,
            of_dial=lambda below: 1500 - round(below),
        ),
    ),
    Cause(
        name="other-flow",
        what="a second flow on the same cable",
        experiment=TCP_OR_BOTH,
        plant=other_flow(SENDER),
        dial=OTHER_SHARES,
        expected=("other-traffic",),
        denied=NOT_FULL,
        effect=BY_COUNTERS,
        mixes="pair",
        takes=share(),
    ),
    Cause(
        name="other-interface",
        what="a second flow on the hosts' other interface, which is no cause",
        experiment=THREE,
        plant=other_flow(SENDER, management=True),
        dial=OTHER_SHARES,
        expected=(),
        effect=Effect(
            measure=tools.wire_rate("management"),
            tool="the interface's counters, while no test runs",
            shown=0.15,
            of_dial=lambda share: share * RATE_BIT_PER_S,
        ),
    ),
    Cause(
        name="other-from-device",
        what="a second flow on the device only: from the router to the receiver",
        experiment=Experiment(lab="router", tests=(PLAIN_TCP,)),
        plant=other_flow("router"),
        dial=OTHER_SHARES,
        expected=("other-traffic",),
        also=frozenset({"congestion"}),
        denied=NOT_FULL,
        effect=BY_COUNTERS,
        takes=share(),
    ),
    Cause(
        name="offered-rate",
        what="an offered rate below what the link carries",
        experiment=PACED,
        plant=nothing,
        stated=lambda experiment, _: experiment,
        dial={"just": (0.935, 0.94), "plain": (0.85, 0.87), "gross": (0.5, 0.6)},
        expected=("pacing",),
        alone=True,  # a paced sender never sleeps
        takes=lambda dial: 1 - dial,
    ),
    Cause(
        name="packet-rate",
        what="a device that forwards so many packets a second, of any size",
        experiment=PACKET_SIZES,
        plant=packet_rate,
        # Messages of 512 bytes fill 100 Mbit/s at 21,626 per second; the rule needs three sizes
        # below 95 %.
        dial={"just": (20.7e3, 21.0e3), "plain": (18.8e3, 19.6e3), "gross": (9e3, 11e3)},
        expected=("packet-rate",),
        also=ON_PATH,
        denied=frozenset(),
        alone=True,  # small messages at line rate take most of a CPU
        takes=lambda per_second: 1 - per_second / 21_626,
    ),
    Cause(
        name="below-floor",
        what="round trips faster than the stated link delays single frames",
        experiment=PINGS,
        plant=nothing,
        stated=lambda experiment, times_less: restated(experiment, 1 / times_less),
        dial=times(1.01, by=(40, 80, 200)),
        expected=("below-floor",),
        alone=True,  # any other work of the machine changes a round trip of 20 us
    ),
)
