"""Runs programs at the two ends of a lab's cable, each in its host's namespace and pinned to a CPU.

The program that sends or asks runs on CPU 0, the program that receives or answers on CPU 1. Tools
are measured in interleaved rounds. Each round begins with another tool, so that no tool always runs
in the same state of the machine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

from netlab.lab.plan import LabHost
from netlab.lab.programs import SEARCH_PATH

SENDER_CPU, RECEIVER_CPU = 0, 1
LISTEN_S, SLACK_S = 5.0, 15.0
PORT, CONTROL_PORT = 5301, 5300
MOST_STOLEN = 0.02

Case = TypeVar("Case")
Reading = TypeVar("Reading")


@dataclass(frozen=True, slots=True)
class Cable:
    """The two hosts of an unshaped lab."""

    sender: LabHost
    receiver: LabHost

    @property
    def to(self) -> str:
        return self.receiver.addresses[0]


class ToolFailedError(Exception):
    """A tool gave no figure. The text is what the tool printed."""


def _inside(host: LabHost, cpu: int | None, argv: list[str]) -> list[str]:
    pinned = [] if cpu is None else ["taskset", "-c", str(cpu)]
    return ["ip", "netns", "exec", host.namespace, *pinned, *argv]


def _environment(more: dict[str, str] | None) -> dict[str, str]:
    return {**os.environ, "PATH": SEARCH_PATH, **(more or {})}


def start(
    cable: Cable,
    argv: list[str],
    more: dict[str, str] | None = None,
    cpu: int | None = RECEIVER_CPU,
) -> subprocess.Popen[str]:
    """Start the receiving program."""
    return subprocess.Popen(
        _inside(cable.receiver, cpu, argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment(more),
    )


def run_to_end(
    cable: Cable,
    argv: list[str],
    seconds: float,
    more: dict[str, str] | None = None,
    cpu: int | None = SENDER_CPU,
) -> str:
    """Run the sending program to its end, and return its standard output.

    Raises ToolFailedError with its output if it fails.
    """
    process = subprocess.run(
        _inside(cable.sender, cpu, argv),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds + SLACK_S,
        env=_environment(more),
        check=False,
    )
    if process.returncode:
        raise ToolFailedError(f"{' '.join(argv)}: {process.stdout}{process.stderr}".strip())
    return process.stdout


def rest_of(receiver: subprocess.Popen[str], seconds: float) -> str:
    """The rest of what the receiver prints until it ends. ToolFailedError if it does not end."""
    try:
        return receiver.communicate(timeout=seconds + SLACK_S)[0]
    except subprocess.TimeoutExpired:
        receiver.kill()
        raise ToolFailedError("the receiver does not end") from None


def await_socket(receiver: subprocess.Popen[str], protocol: str, port: int) -> None:
    """Wait until a program listens on the port in the receiver's namespace. Sends no packet.

    Raises ToolFailedError if none listens in time.
    """
    protocol = protocol.lower()
    end = time.monotonic() + LISTEN_S
    while time.monotonic() < end and receiver.poll() is None:
        for kind in (protocol, f"{protocol}6"):
            try:
                text = Path(f"/proc/{receiver.pid}/net/{kind}").read_text()
            except OSError:
                continue
            for line in text.splitlines()[1:]:
                local, state = line.split()[1], line.split()[3]
                bound = local.rpartition(":")[2] == f"{port:04X}"
                if bound and (protocol == "udp" or state == "0A"):
                    return
        time.sleep(0.01)
    receiver.kill()
    raise ToolFailedError(f"the receiver does not listen: {receiver.communicate()[0].strip()}")


# ---- output of programs ----


def result_of(output: str) -> dict[str, Any]:
    """The last `result` among a probe's records; ToolFailedError with its output if there is
    none.
    """
    records = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    results: list[dict[str, Any]] = [record for record in records if record["type"] == "result"]
    if not results:
        raise ToolFailedError(output.strip())
    return results[-1]


def netperf_omni(cable: Cable, seconds: int, fields: str, words: Sequence[str]) -> dict[str, str]:
    """Run netperf's test omni. Returns the values of ``fields``, which must include THROUGHPUT."""
    ask = ["netperf", "-H", cable.to, "-p", str(CONTROL_PORT), "-t", "omni", "-l", str(seconds)]
    ask += [*words, "-P", f",{PORT}", "-k", fields]
    with start(cable, ["netserver", "-D", "-p", str(CONTROL_PORT)]) as server:
        await_socket(server, "tcp", CONTROL_PORT)
        try:
            output = run_to_end(cable, ask, seconds)
        finally:
            server.kill()
    values = dict(re.findall(r"^(\w+)=([0-9.]+)\s*$", output, re.MULTILINE))
    if "THROUGHPUT" not in values:
        raise ToolFailedError(output.strip())
    return values


# ---- tools in rounds ----


@dataclass(frozen=True, slots=True)
class Tool(Generic[Case, Reading]):
    """A tool, or one way of using it."""

    name: str
    program: str | None
    """The program that must be installed; ``None`` if netlab builds it."""
    measure: Callable[[Case, Cable], Reading]
    package: str = ""

    @property
    def installed(self) -> bool:
        return self.program is None or shutil.which(self.program, path=SEARCH_PATH) is not None


def those_installed(
    tools: Sequence[Tool[Case, Reading]], ours: Collection[str]
) -> list[Tool[Case, Reading]]:
    """The installed tools. Prints which are left out.

    ``ours``: names of the tools of netlab. Raises SystemExit if no other tool is installed, or if
    there is only one CPU.
    """
    if (os.cpu_count() or 1) < 2:
        raise SystemExit("two CPUs are needed: one for each end")
    present_tools = [tool for tool in tools if tool.installed]
    for tool in tools:
        if tool not in present_tools:
            print(f"{tool.name} is not installed and left out: apt-get install {tool.package}")
    if all(tool.name in ours for tool in present_tools):
        raise SystemExit("nothing to compare with")
    return present_tools


def interleaved(
    cases: Sequence[Case], tools: Sequence[Tool[Case, Reading]], cable: Cable, rounds: int
) -> dict[Case, list[dict[str, Reading]]]:
    """Measure every case with every tool, once per round.

    Returns case → for each round, tool's name → reading. Each round begins with another tool. The
    readings of a case in a round are a turn. A turn is measured once more if the hypervisor took
    more than ``MOST_STOLEN`` of the CPUs' time, or if a tool gave no figure. The second turn is
    kept as it is, without the tools that gave no figure.
    """
    readings: dict[Case, list[dict[str, Reading]]] = {case: [] for case in cases}
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        tool_order = [*tools[number % len(tools) :], *tools[: number % len(tools)]]
        for case in cases:
            turn_readings, stolen = _turn(case, tool_order, cable)
            if stolen > MOST_STOLEN or len(turn_readings) < len(tools):
                print(f"{case}: again, {100 * stolen:.1f} % stolen", file=sys.stderr, flush=True)
                turn_readings, _ = _turn(case, tool_order, cable)
            readings[case].append(turn_readings)
    return readings


def by_tool(rounds: Sequence[dict[str, Reading]]) -> dict[str, list[Reading]]:
    """Tool's name → its readings, from the rounds in which it gave a figure."""
    names = dict.fromkeys(name for readings in rounds for name in readings)
    return {name: [readings[name] for readings in rounds if name in readings] for name in names}


def _turn(
    case: Case, tools: Sequence[Tool[Case, Reading]], cable: Cable
) -> tuple[dict[str, Reading], float]:
    """The readings of the tools that gave a figure, and the share of the CPUs' time that was
    stolen.
    """
    readings: dict[str, Reading] = {}
    stolen, total = _cpu_times()
    for tool in tools:
        try:
            readings[tool.name] = tool.measure(case, cable)
        except (ToolFailedError, KeyError, ValueError) as error:
            print(f"{case}: {tool.name} gave no figure: {error}", file=sys.stderr)
    stolen_then, total_then = _cpu_times()
    return readings, (stolen_then - stolen) / max(1, total_then - total)


def _cpu_times() -> tuple[int, int]:
    """Stolen time and all time of all CPUs since the start, in ticks: proc_stat(5)."""
    user_to_steal = [int(word) for word in Path("/proc/stat").read_text().split()[1:9]]
    return user_to_steal[7], sum(user_to_steal)
