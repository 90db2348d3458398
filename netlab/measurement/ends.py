"""The two ends of a test: the agents of a pairing, and how they reach each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from netlab.errors import ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host, Mirror
from netlab.experiment.kinds import RoundTrip, Stream, TestSettings
from netlab.measurement.common_window import CommonWindow
from netlab.measurement.rendezvous import Participant
from netlab.remote.agent import Agent


@dataclass(frozen=True, slots=True)
class Ends:
    """The two hosts of a pairing, with their agents."""

    server: Agent | None
    """``None`` where the server runs no agent and only echoes what it receives."""
    client: Agent
    same_host: bool
    """Whether both are one machine and one network namespace: the cable is not touched."""
    connected_by: Mapping[str, str] = field(default_factory=dict)
    """Protocol → ``client`` or ``server``, the side that connects; the client where not named."""
    mirror: Mirror | None = None
    """Where a server without an agent echoes."""
    mirror_name: str = ""
    """Name of that host."""
    networks: Mapping[str, str] = field(default_factory=dict)
    """``server`` or ``client`` → the one network of it that a pairing names."""
    window: CommonWindow | None = None
    """Of all trials that run at the same time; ``None``: this one is by itself."""
    participant: Participant | None = None
    """Its place among the pairs that search together; ``None``: it searches by itself."""
    captures: Path | None = None
    """Folder for captured frames, made where it is missing; ``None``: they are not kept."""
    link_rate_bit_per_s: float | None = None
    """Line rate of the link between them, where the matrix says it."""
    observed: tuple[Agent, ...] = ()
    """Agents of hosts that are neither end, whose load and drops stand in the record."""

    @property
    def server_name(self) -> str:
        """Name of the server's host."""
        return self.mirror_name if self.server is None else self.server.host.name

    @property
    def agent_of_server(self) -> Agent:
        """The server's agent; ProbeError where it has none."""
        if self.server is None:
            detail = "it runs no probe: only round trips can be measured with it"
            raise ProbeError(self.mirror_name, "not-as-set-up", detail=detail)
        return self.server

    def agent_of(self, whose: str) -> Agent:
        """The agent of the ``server`` or the ``client``; ProbeError where it has none."""
        return self.agent_of_server if whose == "server" else self.client

    def connects(self, protocol: str) -> str:
        """Whose side connects: ``client`` or ``server``. It decides about TCP timestamps, and
        with them about the MSS.
        """
        return self.connected_by.get(protocol, "client")

    def address(self, whose: str, setup: TestSettings) -> str:
        """The test address of the ``server`` or the ``client`` for a setup; UsageError without."""
        network = self.networks.get(whose) or setup.network
        return self.agent_of(whose).host.address(network, setup.ip_version)

    def reversed(self) -> Ends:
        """Server and client in each other's place; who connects stays who it is."""
        other = {"client": "server", "server": "client"}
        return Ends(
            server=self.client,
            client=self.agent_of_server,
            same_host=self.same_host,
            connected_by={each: other[self.connects(each)] for each in ("TCP", "UDP")},
            link_rate_bit_per_s=self.link_rate_bit_per_s,
            window=self.window,
            networks={other[whose]: network for whose, network in self.networks.items()},
        )


@dataclass(frozen=True, slots=True)
class SoFar:
    """What one flow of a trial has carried by now."""

    flow: str
    """Prefix of its values, one of ``records.FLOWS``."""
    payload_bytes: int
    """As the receiver counts them, from the first message on, warm-up included."""
    elapsed_s: float
    """Since that end began."""
    messages: int = 0
    """Those received; of round trips, those that came back."""

    @property
    def rate_bit_per_s(self) -> float:
        """Goodput so far; 0 before anything has passed."""
        return 8 * self.payload_bytes / self.elapsed_s if self.elapsed_s > 0 else 0.0

    def since(self, before: SoFar | None) -> SoFar:
        """What was carried after ``before``; all of it where the flow began anew meanwhile."""
        if before is None or before.elapsed_s > self.elapsed_s:
            return self
        return SoFar(
            self.flow,
            max(0, self.payload_bytes - before.payload_bytes),
            self.elapsed_s - before.elapsed_s,
            max(0, self.messages - before.messages),
        )


OnGoodput = Callable[[Cell, SoFar], None]
"""Called about once a second with what has been carried so far."""


def so_far(record: Mapping[str, Any], flow: str = "") -> SoFar:
    """What a probe's ``progress`` says."""
    elapsed_s = record.get("elapsed_ns", 0) / 1e9
    return SoFar(flow, int(record.get("bytes", 0)), elapsed_s, int(record.get("messages", 0)))


def connected_as_set(setup: TestSettings) -> dict[str, str]:
    """Protocol → ``client`` or ``server``, the side that a setup has connect; empty where it leaves
    that to what firewalls let through.
    """
    opening = setup.opening if isinstance(setup, Stream | RoundTrip) else None
    return {} if opening is None else {setup.protocol: opening.removesuffix("-connects")}


def address_of(host: Host, cell: Cell) -> str:
    """The test address of ``host`` that ``cell`` uses."""
    return host.address(cell.setup.network, cell.setup.ip_version)
