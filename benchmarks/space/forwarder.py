"""Builds the forwarder, and lets it stand between the two hosts of a lab in place of the switch."""

from __future__ import annotations

import hashlib
import json
import os
import select
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.stage import ROOT
from benchmarks.truths.site import ENDS_WITH_US, RECEIVER, SENDER, Site
from netlab.lab.network import HEADER_BYTES, SWITCH
from netlab.lab.programs import run

SOURCE, HEADER = (Path(__file__).with_name(name) for name in ("forwarder.c", "waiting.h"))
BUILT = ROOT / "build" / "space"
ANSWERS_S = 5.0
AS_ON_A_WIRE = "tso off gso off gro off tx-udp-segmentation off tx off rx off"
"""Offloads with which a frame at an interface is another than on a wire."""


def built(folder: Path = BUILT) -> Path:
    """The forwarder, compiled once for each content of its sources.

    Raises SystemExit with the compiler's words if it cannot be compiled.
    """
    digest = hashlib.sha256(SOURCE.read_bytes() + HEADER.read_bytes()).hexdigest()[:12]
    path = folder / f"forwarder-{digest}"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        half = folder / f"half-{os.getpid()}"
        cc = ("cc", "-O2", "-Wall", "-Wextra", "-o", str(half), str(SOURCE), "-lm")
        process = subprocess.run(cc, capture_output=True, text=True, timeout=60, check=False)
        if process.returncode:
            raise SystemExit(f"{SOURCE.name}: {process.stderr.strip()}")
        half.rename(path)
    return path


@dataclass(frozen=True, slots=True)
class Acted:
    """What one rule has done so far: pairs of numbers, for the way there and the way back."""

    matched: tuple[int, int]
    matched_bytes: tuple[int, int]
    active: tuple[int, int]
    acted: tuple[int, int]
    acted_bytes: tuple[int, int]
    dropped: tuple[int, int]

    @property
    def share(self) -> float | None:
        """The share of what it acted on, of what it selected while it was active."""
        return sum(self.acted) / sum(self.active) if sum(self.active) else None


@dataclass(frozen=True, slots=True)
class Counters:
    """The forwarder's own counters."""

    ports: tuple[Mapping[str, Any], ...]
    rules: tuple[Acted, ...]
    no_room: int

    @property
    def own_loss(self) -> int:
        """Frames that no rule dropped, and no queue of an interface."""
        return sum(int(port["missed"]) for port in self.ports)


def counters_from(line: str) -> Counters:
    """The counters in a line of JSON."""
    plain = json.loads(line)
    rules = []
    for rule in plain["rules"]:
        del rule["do"]
        rules.append(Acted(**{name: tuple(pair) for name, pair in rule.items()}))
    return Counters(tuple(plain["ports"]), tuple(rules), plain["no_room"])


class Forwarder:
    """A forwarder that runs."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def turn(self, rule: int, *, on: bool) -> None:
        """Let a rule act from now on, or no longer."""
        self._say(f"{'on' if on else 'off'} {rule}")

    def limit(self, rule: int, number: float) -> None:
        """Give a rule another number: bit/s, or packets a second."""
        self._say(f"limit {rule} {number:.6g}")

    def counters(self) -> Counters:
        """What it has done so far. RuntimeError if it does not answer."""
        self._say("tell")
        return counters_from(self.line())

    def _say(self, words: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{words}\n")
        self._process.stdin.flush()

    def line(self) -> str:
        """The next line that it prints. RuntimeError if none comes."""
        output = self._process.stdout
        assert output is not None
        ready, _, _ = select.select([output], [], [], ANSWERS_S)
        if not ready or not (line := output.readline()):
            raise RuntimeError("the forwarder does not answer")
        return line


@contextmanager
def forwarding(
    site: Site, mtu: int, rules: Sequence[str], seed: int = 1, cpu: int | None = None
) -> Iterator[Forwarder]:
    """Put the forwarder in place of the switch of a lab with the topology ``star``.

    The way ``ab`` is from the sender to the receiver. ``cpu``: the only one that it uses.
    """
    switch = site.plan.switch
    assert switch is not None
    for cable in site.plan.cables:
        for end in cable.ends:
            inside = ("ip", "netns", "exec", end.namespace, "ethtool", "-K", end.interface)
            run(*inside, *AS_ON_A_WIRE.split())
            run("ip", "-n", end.namespace, "link", "set", end.interface, "gso_max_segs", "1")
    ports = (SENDER, RECEIVER)
    for port in ports:
        run("ip", "-n", switch, "link", "set", port, "nomaster")
    words = [str(built()), str(mtu + HEADER_BYTES), str(seed), *ports, *rules]
    pinned = [] if cpu is None else ["taskset", "--cpu-list", str(cpu)]
    argv = [*ENDS_WITH_US, *pinned, "ip", "netns", "exec", switch, *words]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            forwarder = Forwarder(process)
            if forwarder.line() != "ready\n":
                raise RuntimeError("the forwarder did not start")
            yield forwarder
        finally:
            if process.stdin is not None:
                with suppress(BrokenPipeError):
                    process.stdin.close()
            with suppress(subprocess.TimeoutExpired):
                process.wait(ANSWERS_S)
            process.kill()
            process.wait()
            for port in ports:
                run("ip", "-n", switch, "link", "set", port, "master", SWITCH)
