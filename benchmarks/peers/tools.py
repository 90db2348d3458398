"""Functions that make one measurement, with netlab's probe or with another tool.

Each measurement has a receiver pinned to CPU 1 in the namespace of one host, and a sender pinned
to CPU 0 in the namespace of the other host. Message size, socket buffers and duration are the
same. The figure is the receiver's: the bytes that its program took in, by its own clock. Some
clients print the sender's count as if it were the receiver's; for such a tool, the server's
output is read.
"""

from __future__ import annotations

import json
import re
import secrets
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.peers.ends import (
    CONTROL_PORT,
    PORT,
    RECEIVER_CPU,
    Cable,
    Tool,
    ToolFailedError,
    await_socket,
    netperf_omni,
    rest_of,
    result_of,
    run_to_end,
    start,
)
from netlab.build.binaries import local_probe
from netlab.runner.two_hosts import WARM_UP_S


@dataclass(frozen=True, slots=True)
class Case:
    """What is measured."""

    protocol: str
    message_bytes: int
    buffer_bytes: int | None
    """Requested SO_SNDBUF and SO_RCVBUF at both ends; ``None``: the system chooses them."""
    seconds: int

    @property
    def udp(self) -> bool:
        return self.protocol == "UDP"

    def __str__(self) -> str:
        buffers = "default" if self.buffer_bytes is None else f"{self.buffer_bytes // 1024} KiB"
        return f"{self.protocol} {self.message_bytes}, {buffers}"


@dataclass(frozen=True, slots=True)
class Reading:
    """The figures of the receiver."""

    mbit_per_s: float
    loss: float | None
    """The share of the sent datagrams that was lost; ``None`` for TCP."""


def netlab_blocking(case: Case, cable: Cable) -> Reading:
    """With at most one message per receive call, as in the other tools (iperf's -l is for both
    ends).
    """
    return netprobe(case, cable, receiving=[] if case.udp else ["receive_call=message"])


def netlab_all(case: Case, cable: Cable) -> Reading:
    """With receive calls that take everything that has arrived.

    Over UDP this is the same as ``netlab_blocking``, so the difference shows the random scatter.
    """
    return netprobe(case, cable)


def netlab_polling(case: Case, cable: Cable) -> Reading:
    return netprobe(case, cable, receiving=["poll=1"])


def netlab_spinning(case: Case, cable: Cable) -> Reading:
    """The probe pins itself, because it refuses to spin if only one CPU is allowed."""
    return netprobe(case, cable, receiving=["spin=1", f"cpu={RECEIVER_CPU}"], receiver_cpu=None)


def netlab_adaptive(case: Case, cable: Cable) -> Reading:
    """With the warm-up of `netlab measure`, in which the receiver chooses how to wait."""
    warm_up = f"warm_up={WARM_UP_S:g}"
    return netprobe(case, cable, [warm_up], ["adapt=1", warm_up])


def netlab_batched(case: Case, cable: Cable) -> Reading:
    """With many messages per send call, and a receiver that polls."""
    return netprobe(case, cable, ["method=batch"], ["poll=1"])


def netprobe(
    case: Case,
    cable: Cable,
    sample: Sequence[str] = (),
    receiving: Sequence[str] = (),
    receiver_cpu: int | None = RECEIVER_CPU,
) -> Reading:
    """Measure with netlab's probe.

    ``sample``: further keys of the sender's request, ``receiving``: of the receiver's request.
    """
    probe = str(local_probe())
    keys = [f"proto={case.protocol.lower()}", f"message={case.message_bytes}"]
    keys += [f"seconds={case.seconds}", f"deadline={case.seconds + 10}"]
    if case.buffer_bytes is not None:
        keys.append(f"socket_buffer={case.buffer_bytes}")
    token = {"NETPROBE_TOKEN": secrets.token_hex(16)}
    receive = [probe, "receive", "open=listen", f"bind={cable.to}", f"port={PORT}", *keys]
    with start(cable, [*receive, *receiving], token, receiver_cpu) as receiver:
        await_socket(receiver, case.protocol, PORT)
        send = [probe, "send", "open=connect", f"to={cable.to}:{PORT}", *keys, *sample]
        run_to_end(cable, send, case.seconds, token)
        result = result_of(rest_of(receiver, case.seconds))
    loss = None
    if case.udp:
        loss = result["lost_messages"] / result["sent_messages"]
    return Reading(result["throughput_bit_per_s"] / 1e6, loss)


def iperf3(case: Case, cable: Cable) -> Reading:
    serve = ["iperf3", "-s", "-1", "-J", "-B", cable.to, "-p", str(PORT)]
    send = ["iperf3", "-c", cable.to, "-p", str(PORT), "-t", str(case.seconds)]
    send += ["-l", str(case.message_bytes), *_window(case)]
    with start(cable, serve) as receiver:
        await_socket(receiver, "tcp", PORT)  # its control connection
        run_to_end(cable, [*send, "-u", "-b", "0"] if case.udp else send, case.seconds)
        output = rest_of(receiver, case.seconds)
    end = json.loads(output)["end"]
    received = end["sum_received"] if not case.udp else end["sum"]
    if not case.udp:
        return Reading(received["bits_per_second"] / 1e6, None)
    # For UDP, its "bytes" are those that were sent. Arrived are the packets without the lost ones.
    arrived = received["packets"] - received["lost_packets"]
    mbit_per_s = arrived * case.message_bytes * 8 / received["seconds"] / 1e6
    return Reading(mbit_per_s, received["lost_packets"] / received["packets"])


def iperf2(case: Case, cable: Cable) -> Reading:
    common = ["-p", str(PORT), "-l", str(case.message_bytes), "-y", "C", *_window(case)]
    udp = ["-u"] if case.udp else []
    with start(cable, ["iperf", "-s", "-B", cable.to, *udp, *common]) as receiver:
        await_socket(receiver, case.protocol, PORT)
        flat_out = ["-b", "1000g"] if case.udp else []
        send = ["iperf", "-c", cable.to, "-t", str(case.seconds), *udp, *flat_out, *common]
        run_to_end(cable, send, case.seconds)
        time.sleep(0.3)
        receiver.send_signal(signal.SIGTERM)
        output = rest_of(receiver, case.seconds)
    lines = [line.split(",") for line in output.splitlines() if line.count(",") >= 8]
    if not lines:
        raise ToolFailedError(output.strip())
    fields = lines[-1]
    loss = int(fields[10]) / int(fields[11]) if case.udp else None
    return Reading(float(fields[8]) / 1e6, loss)


def nuttcp(case: Case, cable: Cable) -> Reading:
    """nuttcp's client prints what its server counted."""
    serve = ["nuttcp", "-1", "--nofork", "-P", str(CONTROL_PORT)]
    send = ["nuttcp", "-t", "-P", str(CONTROL_PORT), "-p", str(PORT), "-fparse"]
    send += [f"-l{case.message_bytes}", f"-T{case.seconds}"]
    if case.buffer_bytes is not None:
        send += [f"-w{case.buffer_bytes // 1024}"]
    if case.udp:
        send += ["-u", "-Ru"]
    with start(cable, serve) as receiver:
        await_socket(receiver, "tcp", CONTROL_PORT)
        output = run_to_end(cable, [*send, cable.to], case.seconds)
        rest_of(receiver, case.seconds)
    values = dict(re.findall(r"(\w+)=([0-9.]+)", output))
    if "rate_Mbps" not in values:
        raise ToolFailedError(output.strip())
    loss = int(values["drop"]) / int(values["pkt"]) if case.udp else None
    return Reading(float(values["rate_Mbps"]), loss)


def netperf(case: Case, cable: Cable) -> Reading:
    """netperf's test omni prints what the other side received: its calls and THROUGHPUT."""
    words = ["-f", "m", "--", "-d", "send", "-T", case.protocol, "-m", str(case.message_bytes)]
    if case.udp:
        words += ["-R", "1"]  # without it, netperf does not use routes (SO_DONTROUTE)
    if case.buffer_bytes is not None:
        sizes = f"{case.buffer_bytes},{case.buffer_bytes}"
        words += ["-s", sizes, "-S", sizes]
    fields = "THROUGHPUT,LOCAL_SEND_CALLS,REMOTE_RECV_CALLS"
    values = netperf_omni(cable, case.seconds, fields, words)
    loss = None
    if case.udp:
        loss = 1 - int(values["REMOTE_RECV_CALLS"]) / int(values["LOCAL_SEND_CALLS"])
    return Reading(float(values["THROUGHPUT"]), loss)


def _window(case: Case) -> list[str]:
    return [] if case.buffer_bytes is None else ["-w", str(case.buffer_bytes)]


IPERF3 = Tool("iperf3", "iperf3", iperf3, "iperf3")
IPERF2 = Tool("iperf2", "iperf", iperf2, "iperf")
NUTTCP = Tool("nuttcp", "nuttcp", nuttcp, "nuttcp")
NETPERF = Tool("netperf", "netperf", netperf, "netperf (Debian: section non-free)")
RIVALS = (IPERF3, IPERF2, NUTTCP, NETPERF)
