"""One measurement with each of the field's tools, and with netlab's probe, all alike.

Each has a receiver pinned to CPU 1 in one host's namespace and a sender pinned to CPU 0 in the
other's, the same message size, socket buffers and seconds. The figure is the receiver's: bytes that
its program took in, by its own clock. Where a tool's client repeats the sender's count as if it
were the receiver's, the server's own output is read.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from netlab.build import local_probe
from netlab.lab.plan import LabHost
from netlab.lab.programs import SEARCH_PATH

PORT, CONTROL_PORT = 5301, 5300
SENDER_CPU, RECEIVER_CPU = 0, 1
LISTEN_S, SLACK_S = 5.0, 15.0


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured."""

    protocol: str
    message_bytes: int
    buffer_bytes: int | None
    """SO_SNDBUF and SO_RCVBUF on both ends as asked for; None: the system's tuning."""
    seconds: int

    @property
    def udp(self) -> bool:
        return self.protocol == "UDP"

    def __str__(self) -> str:
        buffers = "default" if self.buffer_bytes is None else f"{self.buffer_bytes // 1024} KiB"
        return f"{self.protocol} {self.message_bytes}, {buffers}"


@dataclass(frozen=True, slots=True)
class Reading:
    """What the receiver took in."""

    mbit_per_s: float
    loss: float | None
    """Share of the datagrams sent; None for TCP."""


@dataclass(frozen=True, slots=True)
class Cable:
    """The two hosts of an unshaped lab."""

    sender: LabHost
    receiver: LabHost

    @property
    def to(self) -> str:
        return self.receiver.addresses[0]


class ToolFailedError(Exception):
    """A tool gave no figure; says what it said."""


def netlab_blocking(case: Case, cable: Cable) -> Reading:
    return _netprobe(case, cable, [])


def netlab_spinning(case: Case, cable: Cable) -> Reading:
    """Pinned by the probe itself, which refuses to spin where it may use one CPU only."""
    return _netprobe(case, cable, ["spin=1", f"cpu={RECEIVER_CPU}"], receiver_cpu=None)


def _netprobe(
    case: Case, cable: Cable, more: list[str], receiver_cpu: int | None = RECEIVER_CPU
) -> Reading:
    probe = str(local_probe())
    keys = [f"proto={case.protocol.lower()}", f"message={case.message_bytes}"]
    keys += [f"seconds={case.seconds}", f"deadline={case.seconds + 10}"]
    if case.buffer_bytes is not None:
        keys.append(f"socket_buffer={case.buffer_bytes}")
    token = {"NETPROBE_TOKEN": secrets.token_hex(16)}
    receive = [probe, "receive", "open=listen", f"bind={cable.to}", f"port={PORT}", *keys, *more]
    with _receiver(cable, receive, token, receiver_cpu) as receiver:
        _await_socket(receiver, case)
        send = [probe, "send", "open=connect", f"to={cable.to}:{PORT}", *keys]
        _send(cable, send, case, token)
        said = _rest(receiver, case)
    records = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    results = [record for record in records if record["type"] == "result"]
    if not results:
        raise ToolFailedError(said.strip())
    result = results[-1]
    loss = None
    if case.udp:
        loss = result["lost_messages"] / result["sent_messages"]
    return Reading(result["throughput_bit_per_s"] / 1e6, loss)


def iperf3(case: Case, cable: Cable) -> Reading:
    serve = ["iperf3", "-s", "-1", "-J", "-B", cable.to, "-p", str(PORT)]
    send = ["iperf3", "-c", cable.to, "-p", str(PORT), "-t", str(case.seconds)]
    send += ["-l", str(case.message_bytes), *_window(case)]
    with _receiver(cable, serve) as receiver:
        _await_socket(receiver, Case("TCP", 0, None, 0))  # its control connection
        _send(cable, [*send, "-u", "-b", "0"] if case.udp else send, case)
        said = _rest(receiver, case)
    end = json.loads(said)["end"]
    received = end["sum_received"] if not case.udp else end["sum"]
    if not case.udp:
        return Reading(received["bits_per_second"] / 1e6, None)
    # Its "bytes" of UDP are the sender's; what arrived is packets less lost ones.
    arrived = received["packets"] - received["lost_packets"]
    mbit_per_s = arrived * case.message_bytes * 8 / received["seconds"] / 1e6
    return Reading(mbit_per_s, received["lost_packets"] / received["packets"])


def iperf2(case: Case, cable: Cable) -> Reading:
    common = ["-p", str(PORT), "-l", str(case.message_bytes), "-y", "C", *_window(case)]
    udp = ["-u"] if case.udp else []
    with _receiver(cable, ["iperf", "-s", "-B", cable.to, *udp, *common]) as receiver:
        _await_socket(receiver, case)
        flat_out = ["-b", "1000g"] if case.udp else []
        _send(cable, ["iperf", "-c", cable.to, "-t", str(case.seconds), *udp, *flat_out, *common],
              case)  # fmt: skip
        time.sleep(0.3)
        receiver.send_signal(signal.SIGTERM)
        said = _rest(receiver, case)
    lines = [line.split(",") for line in said.splitlines() if line.count(",") >= 8]
    if not lines:
        raise ToolFailedError(said.strip())
    fields = lines[-1]
    loss = int(fields[10]) / int(fields[11]) if case.udp else None
    return Reading(float(fields[8]) / 1e6, loss)


def nuttcp(case: Case, cable: Cable) -> Reading:
    """Its client prints what its server counted."""
    serve = ["nuttcp", "-1", "--nofork", "-P", str(CONTROL_PORT)]
    send = ["nuttcp", "-t", "-P", str(CONTROL_PORT), "-p", str(PORT), "-fparse"]
    send += [f"-l{case.message_bytes}", f"-T{case.seconds}"]
    if case.buffer_bytes is not None:
        send += [f"-w{case.buffer_bytes // 1024}"]
    if case.udp:
        send += ["-u", "-Ru"]
    with _receiver(cable, serve) as receiver:
        _await_socket(receiver, Case("TCP", 0, None, 0))
        said = _send(cable, [*send, cable.to], case)
        _rest(receiver, case)
    values = dict(re.findall(r"(\w+)=([0-9.]+)", said))
    if "rate_Mbps" not in values:
        raise ToolFailedError(said.strip())
    loss = int(values["drop"]) / int(values["pkt"]) if case.udp else None
    return Reading(float(values["rate_Mbps"]), loss)


def netperf(case: Case, cable: Cable) -> Reading:
    """Its omni test says what the other side received, by calls and as THROUGHPUT."""
    said_keys = "THROUGHPUT,LOCAL_SEND_CALLS,REMOTE_RECV_CALLS"
    send = ["netperf", "-H", cable.to, "-p", str(CONTROL_PORT), "-t", "omni", "-f", "m"]
    send += ["-l", str(case.seconds), "--", "-d", "send", "-T", case.protocol, "-k", said_keys]
    send += ["-m", str(case.message_bytes), "-P", f",{PORT}"]
    if case.udp:
        send += ["-R", "1"]  # without it, it switches routing off
    if case.buffer_bytes is not None:
        both = f"{case.buffer_bytes},{case.buffer_bytes}"
        send += ["-s", both, "-S", both]
    with _receiver(cable, ["netserver", "-D", "-p", str(CONTROL_PORT)]) as receiver:
        _await_socket(receiver, Case("TCP", 0, None, 0))
        try:
            said = _send(cable, send, case)
        finally:
            receiver.kill()
    values = dict(re.findall(r"^(\w+)=([0-9.]+)\s*$", said, re.MULTILINE))
    if "THROUGHPUT" not in values:
        raise ToolFailedError(said.strip())
    loss = None
    if case.udp:
        loss = 1 - int(values["REMOTE_RECV_CALLS"]) / int(values["LOCAL_SEND_CALLS"])
    return Reading(float(values["THROUGHPUT"]), loss)


def _window(case: Case) -> list[str]:
    return [] if case.buffer_bytes is None else ["-w", str(case.buffer_bytes)]


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool under its name."""

    name: str
    program: str | None
    """What must be installed; None: netlab builds it."""
    measure: Callable[[Case, Cable], Reading]
    package: str = ""

    @property
    def installed(self) -> bool:
        return self.program is None or shutil.which(self.program, path=SEARCH_PATH) is not None


TOOLS = (
    Tool("netlab", None, netlab_blocking),
    Tool("netlab spinning", None, netlab_spinning),
    Tool("iperf3", "iperf3", iperf3, "iperf3"),
    Tool("iperf2", "iperf", iperf2, "iperf"),
    Tool("nuttcp", "nuttcp", nuttcp, "nuttcp"),
    Tool("netperf", "netperf", netperf, "netperf (Debian: section non-free)"),
)


def _inside(host: LabHost, cpu: int | None, argv: list[str]) -> list[str]:
    pinned = [] if cpu is None else ["taskset", "-c", str(cpu)]
    return ["ip", "netns", "exec", host.namespace, *pinned, *argv]


def _environment(more: dict[str, str] | None) -> dict[str, str]:
    return {**os.environ, "PATH": SEARCH_PATH, **(more or {})}


def _receiver(
    cable: Cable,
    argv: list[str],
    more: dict[str, str] | None = None,
    cpu: int | None = RECEIVER_CPU,
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        _inside(cable.receiver, cpu, argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment(more),
    )


def _send(cable: Cable, argv: list[str], case: Case, more: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        _inside(cable.sender, SENDER_CPU, argv),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=case.seconds + SLACK_S,
        env=_environment(more),
        check=False,
    )
    if done.returncode:
        raise ToolFailedError(f"{' '.join(argv)}: {done.stdout}{done.stderr}".strip())
    return done.stdout


def _rest(receiver: subprocess.Popen[str], case: Case) -> str:
    """What the receiver still says until it ends."""
    try:
        return receiver.communicate(timeout=case.seconds + SLACK_S)[0]
    except subprocess.TimeoutExpired:
        receiver.kill()
        raise ToolFailedError("the receiver does not end") from None


def _await_socket(receiver: subprocess.Popen[str], case: Case) -> None:
    """Wait until something listens in the receiver's namespace: seen from outside, no packet."""
    kinds = ("udp", "udp6") if case.udp else ("tcp", "tcp6")
    ports = {f"{port:04X}" for port in (PORT, CONTROL_PORT)}
    end = time.monotonic() + LISTEN_S
    while time.monotonic() < end and receiver.poll() is None:
        for kind in kinds:
            try:
                text = Path(f"/proc/{receiver.pid}/net/{kind}").read_text()
            except OSError:
                continue
            for line in text.splitlines()[1:]:
                local, state = line.split()[1], line.split()[3]
                if local.rpartition(":")[2] in ports and (case.udp or state == "0A"):
                    return
        time.sleep(0.01)
    receiver.kill()
    raise ToolFailedError(f"the receiver does not listen: {receiver.communicate()[0].strip()}")
