"""Causes that single streams show: stops, pauses, losses, buffers, and what interfaces state."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.truths.causes import Cause, Experiment, restated, share
from benchmarks.truths.plants.hosts import saving, short_backlog
from benchmarks.truths.plants.paths import (
    closed_at_times,
    dropped,
    own_queue,
    own_silent_queue,
    short_mtu_at_times,
    short_queue,
    slower,
)
from benchmarks.truths.plants.trials import for_a_while, one_stream_stopped
from benchmarks.truths.rows_hosts import (
    OVER_DELAY,
    PINNED,
    PLAIN_TCP,
    UNSHAPED,
)
from benchmarks.truths.rows_paths import BY_TCP, NOT_FULL, SLOWER, THREE_CEILINGS, nothing
from benchmarks.truths.rows_trips import ONE
from benchmarks.truths.site import RECEIVER

UDP = "  - {test: stream, protocol: UDP, message_size: 1472}"
LONG_UDP = Experiment(lab="cable", tests=(UDP,), repeats=2, seconds=6)
ONE_UDP = Experiment(lab="cable", tests=(UDP,), repeats=2, seconds=1)
PACING = frozenset({"pacing"})
PACED = replace(ONE_UDP, tests=(f"{UDP[:-1]}, rate: 80Mbit}}",), anyway=PACING)
"""The offered rate is the limit, as the matrix states it."""
LOST = frozenset({"loss/path", "loss-limit/path", "loss/unknown", "loss-limit/unknown"})
FOUR_STREAMS = Experiment(
    lab="cable",
    tests=("  - {test: stream, protocol: TCP, message_size: 1448, streams: 4}",),
    seconds=2,
    warm_up_s=0.3,
    repeats=2,
)

REACHED = Experiment(
    lab="cable",
    tests=(f"{PLAIN_TCP[:-1]}, socket_buffer: 4MiB}}\n{UDP[:-1]}, rate: 60Mbit}}",),
    repeats=1,
    anyway=PACING,
)
FULL_WINDOW = replace(
    OVER_DELAY,
    tests=(f"{PLAIN_TCP[:-1]}, socket_buffer: 48KiB}}",),
    seconds=15,
    repeats=1,
)
ONE_A_CALL = replace(
    UNSHAPED,
    tests=(
        "  - {test: stream, protocol: TCP, message_size: 16, congestion: cubic, "
        f"tcp_send_method: batch, tcp_receive_call: message, {PINNED}}}",
    ),
)
each_dropped = dropped(
    "router",
    "forward",
    "meta length > 1000 numgen inc mod {0} vmap {{ 0 : drop, 50 : drop, 100 : drop }}",
)

ROWS = (
    Cause(
        name="slower-three-sizes",
        what="a cable slower than stated, with UDP messages of three sizes",
        experiment=Experiment(lab="cable", tests=(THREE_CEILINGS,)),
        plant=slower(),
        dial={"gross": (0.36, 0.44)},
        expected=("rate-limit/link", "rate-limit/either"),
        denied=NOT_FULL,
        effect=BY_TCP,
        alone=True,
        takes=share(),
    ),
    Cause(
        name="dips",
        what="nothing passes for a few milliseconds of each half second",
        experiment=LONG_UDP,
        plant=closed_at_times,
        dial={"gross": (25, 35)},
        expected=("loss-limit/path", "loss/path", "path-pauses"),
        also=LOST | {"loss/socket", "interruption/final"},
    ),
    Cause(
        name="rare-loss",
        what="a router of a path of 20 ms that drops three packets of each so many thousands",
        experiment=replace(FULL_WINDOW, seconds=20),
        plant=each_dropped,
        dial={"gross": (8000, 9000)},
        expected=("loss-recovery", "congestion"),
        also=frozenset({"congestion", "sent-again", "buffer-limit/sender"}),
    ),
    Cause(
        name="sawtooth",
        what="a queue of few frames before the slowest cable of a path of 20 ms, and Reno",
        experiment=replace(
            OVER_DELAY,
            tests=(f"{PLAIN_TCP.replace('cubic', 'reno')[:-1]}, tcp_receive_call: message}}",),
            seconds=20,
            repeats=2,
        ),
        plant=short_queue,
        dial={"gross": (8, 12)},
        expected=("congestion",),
        also=frozenset({"congestion", "sent-again", "loss-recovery"}),
    ),
    Cause(
        name="own-queue",
        what="a queue of few frames before the sender's own cable, which is slower than offered",
        experiment=PACED,
        plant=own_queue,
        dial={"gross": (0.45, 0.55)},
        expected=("loss-limit/sender-queue", "loss/unsent"),
        also=frozenset({"loss/unsent", "loss/queue", "off-rate/less", "off-rate/held"}),
        takes=lambda dial: 1 - dial / 0.8,
        denied=PACING,
    ),
    Cause(
        name="own-silent-queue",
        what="a queue before the sender's own slower cable that drops its oldest frames",
        experiment=PACED,
        plant=own_silent_queue,
        dial={"gross": (0.45, 0.55)},
        expected=("loss-limit/host", "loss/queue"),
        also=frozenset(
            {"loss/queue", "off-rate/less", "off-rate/held", "rate-limit/either", "rate-limit/link"}
        ),
        takes=lambda dial: 1 - dial / 0.8,
        limits=SLOWER,
        denied=PACING,
    ),
    Cause(
        name="short-backlog",
        what="a CPU of the receiver takes in all frames, and lets a few of them wait",
        experiment=replace(
            ONE_UDP,
            lab="router",
            tests=(f"{UDP.replace('1472', '18')[:-1]}, socket_buffer: 4MiB, {PINNED}}}",),
        ),
        plant=short_backlog,
        dial={"gross": (1, 3)},
        expected=("loss/backlog", "loss-limit/host"),
        also=frozenset({"loss-limit/host", "cpu-bound/sender"}),
        alone=True,
    ),
    Cause(
        name="small-receive-calls",
        what="a receiver that takes one small message a call, from a sender that sends 32 a call",
        experiment=ONE_A_CALL,
        plant=nothing,
        dial=ONE,
        expected=("cpu-bound/receiver",),
        alone=True,
    ),
    Cause(
        name="refused-frames",
        what="an interface of the receiver that refuses long frames for a part of the time",
        experiment=ONE_UDP,
        plant=short_mtu_at_times,
        dial={"gross": (25, 30)},
        expected=("loss-limit/host", "loss/interface"),
        also=LOST | {"mtu-mismatch/stream", "interface/mtu", "facts-changed"},
        takes=share(1 / 60),
    ),
    Cause(
        name="one-stream-stopped",
        what="nothing of one of four streams comes through for a part of a second",
        experiment=FOUR_STREAMS,
        plant=one_stream_stopped(0.7),
        dial={"gross": (0.8, 0.9)},
        expected=("interruption/one-stream",),
        also=frozenset({"congestion", "sent-again", "interruption/final"}),
    ),
    Cause(
        name="late-data",
        what="a slower cable in the warm-up of a paced stream, so its window has what was late",
        experiment=Experiment(
            lab="router",
            tests=(f"{UDP[:-1]}, rate: 50Mbit}}",),
            repeats=2,
            seconds=1,
            warm_up_s=1.5,
            anyway=PACING,
        ),
        plant=for_a_while(slower(RECEIVER), 0.8, 0.2),
        dial={"gross": (1.08, 1.12)},
        expected=("off-rate/more",),
        also=frozenset({"interruption/final", "sent-again", "interruption/earlier"}),
    ),
    Cause(
        name="large-buffers",
        what="socket buffers above what the hosts allow",
        experiment=Experiment(
            lab="cable",
            tests=(f"{PLAIN_TCP[:-1]}, socket_buffer: [16MiB, 32MiB]}}",),
            repeats=2,
        ),
        plant=nothing,
        dial=ONE,
        expected=("socket-buffer/capped", "socket-buffer/same"),
        also=frozenset({"socket-buffer/same", "socket-buffer/doubled"}),
    ),
    Cause(
        name="slow-interface",
        what="a link stated with more than the interfaces have",
        experiment=replace(UNSHAPED, repeats=2),
        plant=nothing,
        stated=restated,
        dial={"gross": (2.4, 2.6)},
        expected=("interface/speed",),
        also=frozenset({"link-far-below", "rate-limit/either"}),
        alone=True,
    ),
    Cause(
        name="tool-above-stated",
        what="a link stated with less than it has, and measured by another tool alone",
        experiment=Experiment(
            lab="cable",
            tests=(f"{PLAIN_TCP[:-1]}, engine: iperf3}}",),
            repeats=2,
            seconds=1,
            warm_up_s=1,
        ),
        plant=nothing,
        stated=restated,
        dial={"gross": (0.55, 0.65)},
        expected=("above-wire/either",),
        also=frozenset({"interface/speed"}),
        denied=NOT_FULL,
    ),
    Cause(
        name="near-target",
        what="a target that the path reaches",
        experiment=replace(
            REACHED, head="target: {rtt: 4ms, rate: 40Mbit}\n", seconds=4, repeats=2
        ),
        plant=nothing,
        dial=ONE,
        expected=("target/passes",),
    ),
    Cause(
        name="unclear-target",
        what="a target that trials of a fifth of a second cannot prove",
        experiment=replace(REACHED, head="target: {rtt: 100ms, rate: 90Mbit}\n", seconds=0.2),
        plant=nothing,
        dial=ONE,
        expected=("target/undecided",),
    ),
    Cause(
        name="power-saving",
        what="a governor that saves power, as the sender's /sys says",
        experiment=replace(UNSHAPED, repeats=1),
        plant=saving,
        dial=ONE,
        expected=("power-saving",),
        alone=True,
    ),
)
