"""Causes that concern a part of a run: one host of a mesh, some trials of a cell, a drift."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.truths import tools
from benchmarks.truths.causes import Cause, Effect, Experiment, share
from benchmarks.truths.plants.hosts import busy, farther
from benchmarks.truths.plants.paths import slower, slower_to, slower_towards
from benchmarks.truths.plants.trials import growing, in_trials
from benchmarks.truths.rows_hosts import BY_IPERF, PLAIN_TCP, TCP, WAITS
from benchmarks.truths.rows_paths import BY_TCP, NOT_FULL, SLOWER
from benchmarks.truths.site import SENDER_CPU

MESH = Experiment(
    lab="mesh",
    tests=(PLAIN_TCP,),
    pairings="{between: all, inside: false}",
    repeats=2,
    seconds=0.5,
)
BLOCKS = 8
LONG = Experiment(lab="cable", tests=(PLAIN_TCP,), repeats=BLOCKS, seconds=0.5)
SIZES = (
    "  - {test: stream, protocol: TCP, message_size: "
    "[600, 700, 800, 900, 1000, 1200, 1400, 1448], congestion: cubic}"
)
EIGHT_CELLS = Experiment(lab="cable", tests=(SIZES,), repeats=3, seconds=0.3)
FOUR_BLOCKS = Experiment(lab="cable", tests=(SIZES,), repeats=4, seconds=0.3)
SIX = Experiment(lab="cable", tests=(PLAIN_TCP,), repeats=6, seconds=0.5)
THREE_TRIALS = Experiment(lab="cable", tests=(TCP,), repeats=3)
IN_MESH = Effect(measure=tools.slowest_way, tool="iperf3, TCP, each way of the mesh")
STRAY = frozenset({"deviation/trial"})
SLOWER_HOST = ("mesh-limit/host", "link-far-below")
OTHERS = frozenset({"rate-limit/either", "rate-limit/link", "one-way"})

ROWS = (
    Cause(
        name="slow-host",
        what="one host of a mesh whose cable is slower, both ways",
        experiment=MESH,
        plant=slower("linux-b"),
        expected=SLOWER_HOST,
        also=OTHERS,
        about=("linux-b",),
        effect=IN_MESH,
        alone=True,  # three hosts on two CPUs are sensitive to all other work
        takes=share(),
        limits=SLOWER,
    ),
    Cause(
        name="slow-direction",
        what="one host of a mesh that the switch sends to more slowly",
        experiment=MESH,
        plant=slower_towards("linux-c"),
        expected=("mesh-limit/host",),
        also=OTHERS,
        about=("linux-c",),
        effect=IN_MESH,
        alone=True,  # three hosts on two CPUs are sensitive to all other work
        takes=share(),
        limits=SLOWER,
        limited=("to linux-c",),
    ),
    Cause(
        name="far-host",
        what="one host of a mesh of four that is farther away",
        experiment=replace(
            MESH,
            lab="four",
            tests=("  - {test: round_trip, protocol: UDP, message_size: 64, count: 100}",),
            repeats=3,
            anyway=frozenset({"below-floor"}),
        ),
        plant=farther("linux-d"),
        dial={"gross": (1.8, 2.2)},
        expected=("far-host",),
        about=("linux-d",),
        alone=True,
    ),
    Cause(
        name="slow-pair",
        what="one pair of a mesh, one way: its sender is slower towards that peer",
        experiment=MESH,
        plant=slower_to("linux-a", "linux-c"),
        expected=("mesh-limit/pair",),
        also=OTHERS,
        about=("linux-c+linux-a",),
        effect=IN_MESH,
        alone=True,  # three hosts on two CPUs are sensitive to all other work
        takes=share(),
        limits=SLOWER,
    ),
    Cause(
        name="slow-mesh",
        what="a mesh whose cables are all slower than stated",
        experiment=MESH,
        plant=slower(),
        expected=("mesh-limit/mesh", "rate-limit/either", "rate-limit/link"),
        also=frozenset({"rate-limit/either", "rate-limit/link", "mesh-limit/mesh"}),
        denied=NOT_FULL,
        effect=IN_MESH,
        alone=True,  # three hosts on two CPUs are sensitive to all other work
        takes=share(),
        limits=SLOWER,
    ),
    Cause(
        name="drift",
        what="a cable that gets slower over the run",
        experiment=LONG,
        plant=growing(slower(), BLOCKS),
        steady=slower(),
        expected=("trend/proved", "trend/possible"),
        also=frozenset({"rate-limit/either", "rate-limit/link"}),
        effect=BY_TCP,
        takes=share(1 / 2),
        limits=SLOWER,
    ),
    Cause(
        name="stray",
        what="one of six trials over a slower cable",
        experiment=SIX,
        plant=in_trials(slower(), lambda number: number == 4),
        steady=slower(),
        expected=("deviation/trial", "deviation/cell"),
        also=frozenset({"rate-limit/either", "rate-limit/link"}),
        effect=BY_TCP,
        takes=share(1 / 6),
        limits=SLOWER,
    ),
    Cause(
        name="first-trial",
        what="the first of three trials of eight cells over a slower cable",
        experiment=EIGHT_CELLS,
        plant=in_trials(slower(), lambda number: number == 1),
        steady=slower(),
        expected=("first-trial-slower",),
        also=frozenset({"rate-limit/either", "rate-limit/link"}),
        effect=BY_TCP,
        takes=share(1 / 3),
        limits=SLOWER,
    ),
    Cause(
        name="few-blocks",
        what="a cable that gets slower over four blocks of trials",
        experiment=FOUR_BLOCKS,
        plant=growing(slower(), 4),
        steady=slower(),
        expected=("trend/possible",),
        also=frozenset({"rate-limit/either", "rate-limit/link"}),
        effect=BY_TCP,
        takes=share(1 / 2),
        limits=SLOWER,
    ),
    Cause(
        name="some-trials",
        what="a busy neighbour on the sender's core in one of three trials",
        experiment=THREE_TRIALS,
        plant=in_trials(busy(str(SENDER_CPU)), lambda number: number == 2),
        steady=busy(str(SENDER_CPU)),
        expected=("cpu-wait/sender-programs",),
        also=WAITS | STRAY,
        effect=BY_IPERF,
        alone=True,
        takes=share(1 / 3),
    ),
)
