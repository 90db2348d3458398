"""Streams between two namespaces with a router between them that lose messages where a draw says.

    a seed → a case: direction, message, rate, causes → its record → what was found, and what is so

What is so does not come from netlab: it is what the test did.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path as Folder
from random import Random

from made_parts import made_run
from made_runs import made_plan
from paths import ADDRESSES, Path, hosts_on, inside, ip, record_of

from netlab.findings.finding import Kind
from netlab.kinds import Stream
from netlab.measurement.ends import Ends
from netlab.store.plan import PlannedCell
from netlab.trial.record import Record, Status

CAUSES = (
    *("none", "socket", "sender-queue", "sender-interface", "receiver-interface"),
    *("router-queue", "router-route"),
)
FLOWS = {"client-sends": ("",), "server-sends": ("",), "both": ("to_server_", "to_client_")}
SHORT_MTU_BYTES, MTU_BYTES = 700, 1500
LOST = (
    *(Kind.LOSS_SOCKET, Kind.LOSS_BACKLOG, Kind.LOSS_INTERFACE, Kind.LOSS_QUEUE),
    *(Kind.LOSS_PATH, Kind.LOSS_UNKNOWN, Kind.LOSS_UNSENT),
)


@dataclass(frozen=True)
class Case:
    """What is measured, and what loses messages of each flow."""

    direction: str
    message_bytes: int
    rate_per_s: float
    causes: tuple[str, ...]
    """Of each flow of ``FLOWS[direction]``."""
    uncounted: str = ""
    """``client`` or ``server``: its agent tells no counters."""

    @property
    def senders(self) -> tuple[str, ...]:
        """Of each flow."""
        first = "server" if self.direction == "server-sends" else "client"
        return (first,) if self.direction != "both" else ("client", "server")


def drawn(random: Random) -> Case:
    """Any case; both ways one cause for each, or the same socket buffer for both."""
    direction = random.choice(tuple(FLOWS))
    causes = tuple(random.choice(CAUSES) for _ in FLOWS[direction])
    return Case(
        direction=direction,
        message_bytes=random.choice((900, 1100, 1400)),
        rate_per_s=float(random.choice((1000, 2000, 4000))),
        causes=("socket",) * len(causes) if "socket" in causes else causes,
        uncounted=random.choice(("", "", "", "client", "server")),
    )


@dataclass
class Lab:
    """Two hosts, the router between them, and how messages are lost there."""

    ends: Ends
    stack: ExitStack = field(default_factory=ExitStack)

    def cause(self, cause: str, sender: str, case: Case) -> None:
        """Begin to lose messages of one flow."""
        receiver = "server" if sender == "client" else "client"
        half = round(case.rate_per_s * (case.message_bytes + 42) * 8 / 2)
        bucket = f"tbf rate {half}bit burst 3200 limit 6400"
        if cause == "sender-queue":
            self._shape(name(sender), "test", bucket)
        elif cause == "router-queue":
            self._shape(name("router"), receiver, bucket)
        elif cause == "sender-interface":
            # Its frames do not fit the other end of its cable: it counts them, and is told.
            self._narrow(name("router"), sender)
        elif cause == "receiver-interface":
            self._narrow(name(receiver), "test")
        elif cause == "router-route":
            route = f"route {{}} blackhole {ADDRESSES[receiver][0]}/32"
            self._alternate(name("router"), route.format("add"), route.format("delete"))

    def _shape(self, namespace: str, device: str, words: str) -> None:
        inside(namespace, "tc", *f"qdisc replace dev {device} root".split(), *words.split())
        undo = f"qdisc delete dev {device} root".split()
        self.stack.callback(inside, namespace, "tc", *undo)

    def _narrow(self, namespace: str, device: str) -> None:
        words = f"link set dev {device} mtu {{}}"
        self._alternate(namespace, words.format(SHORT_MTU_BYTES), words.format(MTU_BYTES))

    def _alternate(self, namespace: str, do: str, undo: str) -> None:
        """Every other 30 ms the one, then the other."""
        stop = threading.Event()

        def alternate() -> None:
            while not stop.wait(0.03):
                ip("-n", namespace, *do.split())
                stop.wait(0.03)
                ip("-n", namespace, *undo.split())

        thread = threading.Thread(target=alternate)
        thread.start()
        self.stack.callback(thread.join)
        self.stack.callback(stop.set)


def name(end: str) -> str:
    """The namespace of ``hosts_on``."""
    return f"netlab-test-{os.getpid()}-{end}"


@contextmanager
def routed() -> Iterator[Ends]:
    """Two hosts and a router; everything is gone afterwards."""
    with hosts_on(Path(router=True)) as ends:
        yield ends


@dataclass(frozen=True)
class Judged:
    """One flow of a case: where its loss was, and where it was said to be."""

    case: Case
    cause: str
    lost: int
    so: Kind | None
    found: Kind | None

    @property
    def verdict(self) -> str:
        """``right``, ``wrong`` or ``missed``; without loss and without a word it is right."""
        if self.found is self.so:
            return "right"
        return "missed" if self.found is Kind.LOSS_UNKNOWN else "wrong"


def judged(case: Case, ends: Ends, folder: Folder) -> tuple[Judged, ...]:
    """Measure a case; of each flow what is so and what was found. Empty without a result."""
    record = _measured(case, ends)
    if record.status is not Status.OK:
        return ()
    kinds = _findings(record, folder)
    judgements = []
    for flow, cause, sender in zip(FLOWS[case.direction], case.causes, case.senders, strict=True):
        losses, local_losses = (
            int(str(record.values.get(f"{flow}{count}", 0)))
            for count in ("lost_messages", "sender_local_drops")
        )
        so = _truth(case, cause, sender, losses, local_losses)
        judgements.append(Judged(case, cause, losses or local_losses, so, kinds.get(flow)))
    return tuple(judgements)


def _measured(case: Case, ends: Ends) -> Record:
    small = "socket" in case.causes
    setup = Stream(
        protocol="UDP",
        message_bytes=case.message_bytes,
        duration_s=0.4,
        direction=case.direction,  # type: ignore[arg-type]
        message_rate_per_s=None if small else case.rate_per_s,
        socket_buffer_bytes=4096 if small else None,
    )
    hello = {end: dict(ends.agent_of(end).hello) for end in ("client", "server")}
    lab = Lab(ends)
    with lab.stack:
        for cause, sender in zip(case.causes, case.senders, strict=True):
            lab.cause(cause, sender, case)
        for end, greeting in hello.items():
            if end == case.uncounted:
                words = str(greeting["capabilities"]).replace(",facts", "")
                ends.agent_of(end).hello = greeting | {"capabilities": words}
        try:
            return record_of("stream", setup, ends)
        finally:
            for end, greeting in hello.items():
                ends.agent_of(end).hello = greeting


def _truth(case: Case, cause: str, sender: str, losses: int, local_losses: int) -> Kind | None:
    """What ought to be said: the place, or that it cannot be told where nobody counts there."""
    if cause.startswith("sender"):
        return Kind.LOSS_UNSENT if local_losses else None
    if not losses:
        return None
    if cause == "socket":
        return Kind.LOSS_SOCKET
    if cause == "receiver-interface":
        is_counted = case.uncounted in ("", sender)
        return Kind.LOSS_INTERFACE if is_counted else Kind.LOSS_UNKNOWN
    return Kind.LOSS_UNKNOWN if case.uncounted else Kind.LOSS_PATH


def _findings(record: Record, folder: Folder) -> dict[str, Kind]:
    """Flow → where it was said to have lost messages."""
    cell = PlannedCell(record.cell, record.pairing, record.test, dict(record.settings))
    run = made_run(folder, made_plan(cells=(cell,), repeats=1), [record])
    flows = {"": "", "to server": "to_server_", "to client": "to_client_"}
    return {
        flows[finding.group.flow]: finding.kind for finding in run.findings if finding.kind in LOST
    }


def table(judgements: Sequence[Judged]) -> str:
    """Rows of a table: a cause each, with its counts."""
    lines = []
    for cause in (*CAUSES, "all"):
        cause_judgements = [
            judgement for judgement in judgements if cause in (judgement.cause, "all")
        ]
        counts = {
            verdict: sum(judgement.verdict == verdict for judgement in cause_judgements)
            for verdict in ("right", "wrong", "missed")
        }
        lossy = sum(judgement.lost > 0 for judgement in cause_judgements)
        lines.append(f"{cause}: {len(cause_judgements)} flows, {lossy} with loss, {counts}")
    return "\n".join(lines)
