"""The two ends of a test: the agents of a pairing, and how they reach each other.

A pairing is two hosts, the server and the client of a test. An agent is a running probe, the
program of netlab on a host. A mirror is a program that answers requests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.errors import ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host, Mirror, Service
from netlab.experiment.kinds import RoundTrip, Stream, TestSettings
from netlab.experiment.matrix import NamedMirror
from netlab.experiment.records import Value
from netlab.measurement.common_window import CommonWindow
from netlab.measurement.rendezvous import Participant

if TYPE_CHECKING:
    from netlab.remote.agent import Agent


@dataclass(frozen=True, slots=True)
class Ends:
    """The two hosts of a pairing, with their agents."""

    server: Agent | None
    """``None`` if the server's host runs no agent, but an echo service (``mirror``) or a tool
    (``served``)."""
    client: Agent
    same_host: bool
    """Whether both hosts are one machine and network namespace, so that no cable is used."""
    connected_by: Mapping[str, str] = field(default_factory=dict)
    """Protocol → the side that connects, ``client`` or ``server``; by default the client."""
    mirror: Mirror | None = None
    """Address and port of the echo service, if the server runs no agent."""
    served: Mapping[str, Service] = field(default_factory=dict)
    """Tool → its server that already runs, if the server's host runs no agent."""
    mirrors: Mapping[str, NamedMirror] = field(default_factory=dict)
    """Name in the setting ``mirror`` → the mirror on the server with this name."""
    mirror_name: str = ""
    """Name of the server's host, if it runs no agent."""
    networks: Mapping[str, str] = field(default_factory=dict)
    """``server`` or ``client`` → the test network that the pairing names for this end, if any."""
    window: CommonWindow | None = None
    """The window (the time that is measured) of all trials that run at the same time; ``None``:
    this trial has its own window."""
    participant: Participant | None = None
    """How these two hosts take part in a search of several pairs (rendezvous.py); ``None``: they
    search alone."""
    captures: Path | None = None
    """Folder for captured frames, created if missing; ``None``: the frames are not kept."""
    link_rate_bit_per_s: float | None = None
    """Line rate of the link between the two hosts, if the matrix states it."""
    observed: tuple[Agent, ...] = ()
    """Agents of observed hosts: hosts that are no end of the test, but whose load and drops are in
    its record."""

    @property
    def server_name(self) -> str:
        """Name of the server's host."""
        return self.mirror_name if self.server is None else self.server.host.name

    @property
    def agent_of_server(self) -> Agent:
        """The server's agent; ProbeError if it has none."""
        if self.server is None:
            detail = "it runs no probe: only round trips can be measured with it"
            raise ProbeError(self.mirror_name, "not-as-set-up", detail=detail)
        return self.server

    def agent_of(self, end: str) -> Agent:
        """The agent of the ``server`` or the ``client``; ProbeError if this end has no agent."""
        return self.agent_of_server if end == "server" else self.client

    def connects(self, protocol: str) -> str:
        """The side that connects: ``client`` or ``server``. The system of this side decides whether
        TCP uses timestamps, and thus how long the MSS is.
        """
        return self.connected_by.get(protocol, "client")

    def address(self, end: str, setup: TestSettings) -> str:
        """The test address of the ``server`` or the ``client`` for these settings; UsageError if
        its host has none.
        """
        network = self.networks.get(end) or setup.network
        return self.agent_of(end).host.address(network, setup.ip_version)

    def reversed(self) -> Ends:
        """The same two hosts with server and client swapped; the same host still connects."""
        opposites = {"client": "server", "server": "client"}
        return Ends(
            server=self.client,
            client=self.agent_of_server,
            same_host=self.same_host,
            connected_by={name: opposites[self.connects(name)] for name in ("TCP", "UDP")},
            link_rate_bit_per_s=self.link_rate_bit_per_s,
            window=self.window,
            networks={opposites[end]: network for end, network in self.networks.items()},
        )


@dataclass(frozen=True, slots=True)
class SoFar:
    """The totals of one flow of a trial so far."""

    flow: str
    """Prefix of the flow's values in a record, one of ``records.FLOWS``."""
    payload_bytes: int
    """Payload that the receiver has counted since the first message, warm-up included."""
    elapsed_s: float
    """Time since the reporting end began."""
    messages: int = 0
    """Messages received; for round trips, the answers."""

    @property
    def rate_bit_per_s(self) -> float:
        """Throughput so far; 0 before any payload has arrived."""
        return 8 * self.payload_bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def since(self, baseline: SoFar | None) -> SoFar:
        """The totals since ``baseline``; all totals if the flow was restarted in between."""
        if baseline is None or baseline.elapsed_s > self.elapsed_s:
            return self
        return SoFar(
            self.flow,
            max(0, self.payload_bytes - baseline.payload_bytes),
            self.elapsed_s - baseline.elapsed_s,
            max(0, self.messages - baseline.messages),
        )


OnGoodput = Callable[[Cell, SoFar], None]
"""Called about once a second with the totals so far."""


def so_far(record: Mapping[str, Any], flow: str = "") -> SoFar:
    """The totals in a probe's ``progress`` record."""
    elapsed_s = record.get("elapsed_ns", 0) / 1e9
    return SoFar(flow, int(record.get("bytes", 0)), elapsed_s, int(record.get("messages", 0)))


def connected_as_set(setup: TestSettings) -> dict[str, str]:
    """Protocol → the side that connects according to the settings, ``client`` or ``server``; empty
    if the settings leave it open, so that the check of firewalls decides.
    """
    opening = setup.opening if isinstance(setup, Stream | RoundTrip) else None
    return {} if opening is None else {setup.protocol: opening.removesuffix("-connects")}


def address_of(host: Host, cell: Cell) -> str:
    """The test address of ``host`` that ``cell`` uses."""
    return host.address(cell.setup.network, cell.setup.ip_version)


NOT_MEASURED = frozenset({"type", "id", "role", "protocol", "message_bytes", "streams"})
"""Keys of a probe's `result` that only repeat the request."""


def prefixed(prefix: str, result: Mapping[str, Any]) -> dict[str, Value]:
    """All measured values of one end, each name with ``prefix``."""
    return {f"{prefix}{key}": value for key, value in result.items() if key not in NOT_MEASURED}


def of_connection(prefix: str, *results: Mapping[str, Any]) -> dict[str, Value]:
    """MSS and timestamps of a TCP connection, each from the first end whose system reports it."""
    values: dict[str, Value] = {}
    # Both ends agreed on the options, so the report of either system is enough.
    for result in results:
        if "tcp_end_snd_mss" in result:
            values.setdefault(prefix + "mss_bytes", result["tcp_end_snd_mss"])
        if "tcp_end_options" in result:
            options = str(result["tcp_end_options"]).split(",")
            values.setdefault(prefix + "tcp_timestamps", "timestamps" in options)
    return values
