"""The two ends of a test: how agents reach each other, share a window, and search with other pairs.

Rates of several flows are added only if all were measured in one window. Each receiver has its own
clock, so the controller measures the offset of each agent's clock by the fastest of several
exchanges, and sends each agent the times of the window by its own clock.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from netlab import clock
from netlab.errors import ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host, Mirror, Service
from netlab.experiment.matrix import NamedMirror
from netlab.kinds import Setup, Stream
from netlab.kinds.groups import Talk
from netlab.trial.record import Value

if TYPE_CHECKING:  # `netlab plan` connects to no host
    from netlab.remote.agent import Agent
    from netlab.remote.answers import ClockOffset

DEVICE = re.compile(r"[A-Za-z0-9_.:@-]{1,15}")
"""Interfaces whose names need no quoting in any shell."""
START_AHEAD_S = 0.3
"""Time from the requests of the flows to their common start, so that they arrive before it."""
AHEAD_A_TRIAL_S = 0.005
"""Addition to ``START_AHEAD_S`` for each further trial of a round."""
EXCHANGES_AHEAD = 3
"""Number of exchanges with the slowest agent that fit between the requests and the start."""
DRIFT_BOUNDS = 2
"""To find a drift, an offset is measured until its bound is at most this many times the bound of
the offset before the window."""
SETTLE_S = 0.1
"""Minimum time for which all flows send before their common window opens."""


@dataclass(frozen=True)
class CommonWindow:
    """The start of several flows and their common window, by the controller's clock."""

    start_ns: int
    open_ns: int
    close_ns: int
    agents: Sequence[Agent]
    offsets: Sequence[ClockOffset]
    """Offset of each agent's clock from the controller's."""
    trials: int = 1
    drift_offsets: Sequence[ClockOffset | None] = ()
    """Offsets from this process's clock, if another controller set the window by its own clock:
    drift is measured against these, and not for an agent whose offset is ``None``."""

    @cached_property
    def _by_id(self) -> dict[int, tuple[ClockOffset, ClockOffset | None]]:
        """The identity (`id`) of each agent → its two offsets: there may be a thousand agents."""
        offsets = zip(self.offsets, self.drift_offsets or self.offsets, strict=True)
        return dict(zip(map(id, self.agents), offsets, strict=True))

    def knows(self, *agents: Agent) -> bool:
        """Whether the clocks of all these agents were measured; false after a reconnection."""
        return all(id(agent) in self._by_id for agent in agents)

    def offset_of(self, agent: Agent) -> ClockOffset:
        """The offset of an agent's clock from the clock by which the window is set."""
        return self._by_id[id(agent)][0]

    def keys(self, agent: Agent) -> dict[str, int]:
        """The request keys of the window: its times by an agent's own monotonic clock, ns."""
        names = ("start_ns", "window_open_ns", "window_close_ns")
        times_ns = self.start_ns, self.open_ns, self.close_ns
        shift_ns = self.offset_of(agent).offset_ns
        return {name: at_ns + shift_ns for name, at_ns in zip(names, times_ns, strict=True)}

    def bound_ns(self, *agents: Agent) -> int:
        """Largest possible error, in ns, of a time converted to one of these agents' clocks."""
        return max(self.offset_of(agent).bound_ns for agent in agents)

    def drift_ns(self, *agents: Agent) -> int:
        """The largest drift, in ns, of these agents' clocks against the controller's clock that new
        exchanges prove since the window was set; 0 if they prove none. Raises ``HostGone``.
        """
        drifts = [0]
        for agent in agents:
            old_offset = self._by_id[id(agent)][1]
            if old_offset is None:
                continue
            # All pairs of a round come here at once, so there are no more exchanges than needed.
            new_offset = agent.clock_offset(enough_ns=DRIFT_BOUNDS * old_offset.bound_ns)
            moved_ns = abs(new_offset.offset_ns - old_offset.offset_ns)
            drifts.append(moved_ns - new_offset.bound_ns - old_offset.bound_ns)
        return max(drifts)


def is_common(setups: Sequence[Setup]) -> bool:
    """Whether one window fits all of these: streams of netlab's own probe, of equal duration."""
    streams = [setup for setup in setups if isinstance(setup, Stream) and setup.engine is None]
    lengths = {stream.duration_s for stream in streams}
    return len(streams) == len(setups) and len(lengths) == 1 and None not in lengths


def lead_s(streams: Sequence[Stream]) -> float:
    """Time in seconds that a common window adds to these streams, besides their own warm-up."""
    return _ahead_s(streams) + _settle_s(streams) - max(stream.warm_up_s for stream in streams)


def _ahead_s(streams: Sequence[Stream]) -> float:
    return START_AHEAD_S + AHEAD_A_TRIAL_S * (len(streams) - 1)


def _settle_s(streams: Sequence[Stream]) -> float:
    return max(SETTLE_S, *(stream.warm_up_s for stream in streams))


def common_window(
    streams: Sequence[Stream], agents: Sequence[Agent], executor: Executor | None = None
) -> CommonWindow:
    """A window for streams of equal duration, not of a number of messages.

    This function first measures the agents' clocks; with an ``executor``, all of them at the same
    time. Raises ``HostGone`` if a host is lost.
    """
    unique_agents = list({id(agent): agent for agent in agents}.values())
    ask = map if executor is None else executor.map
    offsets = list(ask(lambda agent: agent.clock_offset(), unique_agents))
    slowest_ns = 2 * max(offset.bound_ns for offset in offsets)
    ahead_ns = round(_ahead_s(streams) * 1e9) + EXCHANGES_AHEAD * slowest_ns
    start_ns = clock.monotonic_ns() + ahead_ns
    open_ns = start_ns + round(_settle_s(streams) * 1e9)
    close_ns = open_ns + round((streams[0].duration_s or 0) * 1e9)
    return CommonWindow(start_ns, open_ns, close_ns, unique_agents, offsets, len(streams))


PAIR_GONE = "pair-gone"
"""Reason of a search that failed because another pair left; all pairs repeat the search."""

Contribution = TypeVar("Contribution")


@dataclass(frozen=True, slots=True)
class ExchangedResults(Generic[Contribution]):
    """The contributions of all pairs to one meeting."""

    said: tuple[Contribution, ...]
    """The first is that of the pair that receives this object."""
    over_ns: int
    """When the last pair arrived, by this process's monotonic clock; the same for all pairs."""


class Rendezvous:
    """Where the threads of the pairs that search together wait for each other."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        """Names of the pairs that have not left, in the order of the argument."""
        self._waiting: dict[str, Any] = {}
        self._met: dict[str, Any] = {}
        self._meetings = 0
        self._over_ns = 0
        self._gone: str | None = None
        self._changed = threading.Condition()

    def meet(self, name: str, contribution: Contribution) -> ExchangedResults[Contribution]:
        """Contribute to a meeting and wait for all others; ProbeError if a pair has left."""
        with self._changed:
            meetings = self._meetings
            self._waiting[name] = contribution
            self._end_if_complete()
            self._changed.wait_for(lambda: self._meetings > meetings or self._gone is not None)
            if self._meetings == meetings:
                detail = f"{self._gone} left the common search of all pairs"
                raise ProbeError(name, PAIR_GONE, detail=detail)
            contributions = (self._met[pair] for pair in self._met if pair != name)
            return ExchangedResults((contribution, *contributions), self._over_ns)

    def leave(self, name: str) -> None:
        """Leave the search, at its end or earlier. Safe to call again."""
        with self._changed:
            if name not in self.names:
                return
            self.names = tuple(other for other in self.names if other != name)
            self._waiting.pop(name, None)
            if self._meetings:
                self._gone = self._gone or name
                self._changed.notify_all()
            else:
                self._end_if_complete()

    def _end_if_complete(self) -> None:
        """End the meeting if all pairs have contributed and none has left."""
        if self._gone is None and self.names and self._waiting.keys() == set(self.names):
            self._met, self._waiting = self._waiting, {}
            self._meetings += 1
            self._over_ns = clock.monotonic_ns()
            self._changed.notify_all()


@dataclass(frozen=True, slots=True)
class Participant:
    """One pair at the rendezvous."""

    rendezvous: Rendezvous
    name: str

    def meet(self, contribution: Contribution) -> ExchangedResults[Contribution]:
        """Contribute to a meeting; returns the contributions of all pairs."""
        return self.rendezvous.meet(self.name, contribution)

    def turns(self) -> Iterator[bool]:
        """Let the pairs act one after the other: yields once per pair, true if it is this pair's
        turn. All pairs wait until a turn has ended.
        """
        for name in self.rendezvous.names:
            yield name == self.name
            self.meet(None)

    def leave(self) -> None:
        """Leave the search, at its end or earlier."""
        self.rendezvous.leave(self.name)


def alone() -> Participant:
    """The participant of a search with a single pair."""
    return Participant(Rendezvous([""]), "")


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
    """Name in the setting ``mirror`` → the mirror on the server."""
    mirror_name: str = ""
    """Name of the server's host, if it runs no agent."""
    networks: Mapping[str, str] = field(default_factory=dict)
    """``server`` or ``client`` → the test network that the pairing names for this end, if any."""
    window: CommonWindow | None = None
    """The window (the time that is measured) of all trials that run at the same time; ``None``:
    this trial has its own window."""
    participant: Participant | None = None
    """How these two hosts take part in a search of several pairs; ``None``: they search alone."""
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
        """The side that connects. Its system decides about TCP timestamps, and thus the MSS."""
        return self.connected_by.get(protocol, "client")

    def address(self, end: str, setup: Setup) -> str:
        """The test address of an end for these settings; UsageError if its host has none."""
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
    """Prefix of the flow's values in a record."""
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


def connected_as_set(setup: Setup) -> dict[str, str]:
    """Protocol → the side that connects according to the settings; empty if the settings leave it
    open, so that the check of firewalls decides.
    """
    opening = setup.opening if isinstance(setup, Talk) else None
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
