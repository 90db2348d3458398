"""What `netlab measure` measures between two hosts, and the text of the matrix for it. No I/O.

The request of the command line is called a question here: "What is the throughput?".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from netlab.experiment.feasibility import STREAMS_WITH_A_THREAD
from netlab.experiment.hosts import Host
from netlab.experiment.matrix import Link
from netlab.runner.start.yaml_text import flow, host_lines

Senders = Literal["client-sends", "server-sends", "both"]

TCP_MESSAGE_BYTES = 128 * 1024
"""Message size of TCP, as iperf3 sends by default (its ``-l``)."""
UDP_MESSAGE_BYTES = {4: 1472, 6: 1452}
"""IP version → payload that fills an Ethernet frame of MTU 1500 (RFC 791, RFC 8200, RFC 768)."""
PING_BYTES = 64
"""Size of a request, and of its answer, when latency is measured."""
IDLE_S = 5.0
"""Duration of the round trips without a load, before the load and after it."""
WARM_UP_S = 0.2
"""Time of sending before the measured time: enough for TCP's slow start on the path of a lab."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to measure between two hosts: throughput, latency, or latency under load."""

    protocol: Literal["TCP", "UDP"] = "TCP"
    message_bytes: int | None = None
    """``None``: the size that this file defines for the protocol and the test."""
    direction: Senders = "client-sends"
    latency: bool = False
    """Measure round trips instead of throughput."""
    load: bool = False
    """Measure round trips before, while and after streams fill the path."""
    seconds: float = 5.0
    streams: int = 1
    rate: str | None = None
    """The offered rate, as a matrix writes it; ``None``: as fast as possible."""

    def test(self, ip_version: int) -> Mapping[str, Any]:
        """The entry of ``tests:`` in the matrix, which measures what this question asks for."""
        if self.latency:
            return {
                "test": "round_trip",
                "protocol": self.protocol,
                "message_size": self.message_bytes or PING_BYTES,
            }
        if self.load:
            idle = f"{IDLE_S:g}s"
            load = self._streams(ip_version)
            return {"test": "latency_under_load", "load": load, "idle": idle, "after": idle}
        adaptive = {"receive": "adaptive"} if self.asks_for_capacity else {}
        return {"test": "stream", **self._streams(ip_version), **adaptive}

    @property
    def what(self) -> str:
        """The measured quantity, for a title."""
        if self.load:
            return "Latency under load"
        return "Round trips" if self.latency else "Throughput"

    def _streams(self, ip_version: int) -> Mapping[str, Any]:
        usual = UDP_MESSAGE_BYTES[ip_version] if self.protocol == "UDP" else TCP_MESSAGE_BYTES
        return {
            "protocol": self.protocol,
            "message_size": self.message_bytes or usual,
            **({} if self.direction == "client-sends" else {"direction": self.direction}),
            **({} if self.streams == 1 else {"streams": self.streams}),
            **({} if self.rate is None else {"rate": self.rate}),
        }

    @property
    def asks_for_capacity(self) -> bool:
        """Whether to measure the highest possible throughput. If so, the receiver chooses its
        receive call (``adaptive``), so that the receiver is not the bottleneck. Streams that share
        threads can only use blocking calls, so the result is false for them.
        """
        return self.rate is None and self.streams <= STREAMS_WITH_A_THREAD


def matrix_text(
    question: Question, server: Host, client: Host, link: Link | None, ip_version: int
) -> str:
    """The text of a matrix that contains its hosts: `netlab run` can repeat the measurement."""
    is_one_host = server.name == client.name
    between = f"within {server.name}" if is_one_host else f"from {client.name} to {server.name}"
    lines = [
        f"title: {flow(f'{question.what}, {question.protocol}, {between}')}",
        "hosts:",
        *host_lines([server, client]),
        *([] if link is None else [f"link: {flow(_link(link))}"]),
        f"pairings: [{server.name}+{client.name}]",
        f"defaults: {flow(_defaults(question, ip_version))}",
        "tests:",
        f"  - {flow(question.test(ip_version))}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _defaults(question: Question, ip_version: int) -> Mapping[str, Any]:
    return {
        "duration": f"{question.seconds:g}s",
        **({} if question.load else {"warm_up": f"{WARM_UP_S:g}s"}),
        **({} if ip_version == 4 else {"ip": ip_version}),
    }


def _link(link: Link) -> Mapping[str, Any]:
    return {"rate": round(link.rate_bit_per_s), "mtu": link.mtu_bytes}
