"""The counters of all hosts of a trial, read before and after it: both ends and observed hosts.

An observed host is a host on the path that is no end of the test, such as the tested device. If it
does not answer, it has no figures, and the trial is measured anyway.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from netlab.errors import HostGone, ProbeError
from netlab.kinds import Stream, ThroughputSearch
from netlab.measurement.conversation import can
from netlab.measurement.ends import Ends
from netlab.remote.agent import ANSWER_S, Agent
from netlab.remote.answers import Pending
from netlab.trial.host_counters import Counters, Watched, counters_in, cpu_between, cpu_in, drops_in
from netlab.trial.record import Value

WHOSE = ("client", "server")


def share_a_machine(agents: Sequence[Agent]) -> bool:
    """Whether two of these hosts are one machine, so that they share CPUs and backlogs (the queues
    of received frames in Linux, one per CPU).
    """
    machines = [agent.hello["machine_id"] for agent in agents if "machine_id" in agent.hello]
    return len(set(machines)) < len(machines)


@dataclass(slots=True)
class Watch:
    """The readings of the hosts of one trial; the first reading is before the trial."""

    routes: Mapping[str, tuple[Agent, tuple[str, ...]]]
    """Key of a host (``server``, ``client``, ``observed_1`` …) → its agent, and the addresses
    whose routes are read."""
    before: Mapping[str, Counters]
    own_backlog: bool
    """Whether every host is on its own machine."""
    sent: dict[str, Pending] = field(default_factory=dict)
    """Key of an observed host → the reading requested when the last frame had been sent."""

    @classmethod
    def begin(cls, ends: Ends, setup: ThroughputSearch) -> Watch:
        """Read all counters for the first time. Raises HostGone if an end is lost."""
        address = {end: ends.address(end, setup) for end in WHOSE}
        routes: dict[str, tuple[Agent, tuple[str, ...]]] = {
            "client": (ends.client, (address["server"],)),
            "server": (ends.agent_of_server, (address["client"],)),
        }
        for number, agent in enumerate(ends.observed, start=1):
            routes[f"observed_{number}"] = agent, tuple(address.values())
        own_backlog = not share_a_machine([agent for agent, _ in routes.values()])
        watch = cls(routes, {}, own_backlog)
        watch.before = watch._read()
        return watch

    def all_sent(self) -> None:
        """Request the CPU times of the observed hosts now, without waiting for the answers."""
        for key, (agent, _) in self.routes.items():
            if key not in WHOSE:
                self.sent[key] = agent.start("facts", cpu_times=1, counters=1)

    def end(self, results: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Watched]:
        """The load of each host, and its drops until the last frame has arrived or counts as lost.
        The probe of an end measures the load itself.

        ``results``: ``server`` or ``client`` → the results of its probe.
        """
        counters = self._read()
        watched = {}
        for key, (agent, _) in self.routes.items():
            of_end = results.get(key, ())
            before, after = (
                readings.get(key, Counters({})) for readings in (self.before, counters)
            )
            drops, pauses = before.until(after)
            if (at_socket := dropped_at_socket(of_end)) is not None:
                drops["socket"] = at_socket
            cpu = next(filter(None, map(cpu_in, of_end)), None)
            if key in self.sent and key in self.before:
                # From before the streams were opened until the last frame had been sent.
                with suppress(HostGone, ProbeError):
                    sent = counters_in([self.sent[key].record(ANSWER_S)])
                    cpu = cpu_between(self.before[key], sent)
            watched[key] = Watched(agent.host.name, cpu, drops, pauses)
        return watched

    def _read(self) -> dict[str, Counters]:
        """Key of each host that answers → its counters."""
        counters = {}
        for key, (agent, addresses) in self.routes.items():
            try:
                facts = [agent.ask("facts", to=to, cpu_times=1, counters=1) for to in addresses]
            except (HostGone, ProbeError):
                if key in WHOSE:
                    raise
                continue
            counters[key] = counters_in(facts, softnet=self.own_backlog)
        return counters


@dataclass(slots=True)
class DropWatch:
    """The drops of both hosts of a stream, and the pause frames of their interfaces.

    Drops are counted from before the stream is opened until after its end; for a TCP stream in one
    direction, until the sender is told to stop. The requests for the counters go out together with
    the stream's own requests, so that they take no extra time. Left out are the figures of a device
    that the stream does not use, counters that a system does not have, and those of a lost host.
    """

    ends: Ends
    setup: Stream
    before: Mapping[str, Pending] = field(default_factory=dict)
    """``client`` or ``server`` → its first reading, and in ``after`` its last one."""
    after: Mapping[str, Pending] = field(default_factory=dict)

    def ask(self) -> None:
        """Request the first readings, without waiting for the answers."""
        self.before = self._request()

    def ask_again(self) -> None:
        """Request the last readings without waiting for the answers. A second call does nothing."""
        self.after = self.after or self._request()

    def end(self) -> dict[str, Value]:
        """The counts as values of a record: ``client_queue_dropped_frames`` …"""
        agents = [self.ends.agent_of(end) for end in WHOSE]
        several = not self.ends.same_host and share_a_machine(agents)
        values: dict[str, Value] = {}
        for end, reading in self.after.items():
            try:
                facts = [pending.record(ANSWER_S) for pending in (self.before[end], reading)]
            except (HostGone, ProbeError):
                continue
            first, last = map(drops_in, facts)
            drops, pauses = first.until(last)
            # Only if all readings are of the device that the stream uses are they the stream's.
            devices = {reading.get("route_interface") for reading in facts}
            if len(devices | ({self._bound(end)} - {None})) != 1:
                drops = {place: n for place, n in drops.items() if place == "softnet"}
                pauses = {}
            # The hosts of one machine share the backlog: only a count of 0 is valid for each host.
            if several and drops.get("softnet"):
                del drops["softnet"]
            values |= {f"{end}_{place}_dropped_frames": n for place, n in drops.items()}
            values |= {f"{end}_pause_frames_{way}": n for way, n in pauses.items()}
        return values

    def grown(self, agent: Agent, counter: str) -> int | None:
        """Growth of a counter of the interface of a host between the readings, if it is known."""
        end = "client" if agent is self.ends.client else "server"
        with suppress(HostGone, ProbeError, LookupError):
            first, last = (reading[end].record(ANSWER_S) for reading in (self.before, self.after))
            return int(last[counter]) - int(first[counter])
        return None

    def _request(self) -> dict[str, Pending]:
        peers = {"client": "server", "server": "client"}
        readings = {}
        for end in WHOSE:
            agent, bound = self.ends.agent_of(end), self._bound(end)
            if can(agent, "facts"):
                by: dict[str, Any] = {} if bound is None else {"interface": bound}
                to = self.ends.address(peers[end], self.setup)
                readings[end] = agent.start("facts", counters=1, to=to, **by)
        return readings

    def _bound(self, end: str) -> str | None:
        """The device that the stream is bound to at this end; ``None``: the route decides."""
        return self.setup.interface if end == self.ends.connects(self.setup.protocol) else None


def dropped_at_socket(results: Sequence[Mapping[str, Any]]) -> int | None:
    """Frames dropped because the receiving socket was full; ``None`` if no system reports them."""
    # Drops of the receiver's own socket, and of all sockets of its system: of the same frames.
    names = ("queue_drops", "udp_receive_buffer_errors")
    drops = [result[name] for result in results for name in names if name in result]
    return max(drops, default=None)
