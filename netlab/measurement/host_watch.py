"""The counters of all hosts of a trial, read around it: of both ends, and of those observed.

The CPU of an end is its probe's own figure, over the window of the trial. Of an observed host it is
the difference between a reading just before the streams are opened and one as soon as the last
frame has been sent. Drops are the difference between the first reading and one after the last frame
has arrived or is given up. An observed host that does not answer has no figures, and the trial is
measured all the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netlab.errors import HostGone, ProbeError
from netlab.experiment.host_counters import (
    Counters,
    Cpu,
    Watched,
    counters_in,
    cpu_between,
    cpu_in,
    dropped_between,
    drops_in,
    paused_between,
)
from netlab.experiment.kinds import Stream, ThroughputSearch
from netlab.experiment.records import Value
from netlab.measurement.ends import Ends
from netlab.measurement.requests import can
from netlab.remote.agent import ANSWER_S, Agent
from netlab.remote.pending import Pending

WHOSE = ("client", "server")
SOCKET_DROPS = ("queue_drops", "udp_receive_buffer_errors")
"""What a receiving probe says of its socket, and its system of all: the same frame counts twice."""


def share_a_machine(agents: Sequence[Agent]) -> bool:
    """Whether some of these hosts are one machine: CPUs and backlogs are those of all of them."""
    known = [each.hello["machine_id"] for each in agents if "machine_id" in each.hello]
    return len(set(known)) < len(known)


@dataclass(slots=True)
class Watch:
    """The readings of one trial, from its beginning on."""

    ends: Ends
    routes: Mapping[str, tuple[Agent, tuple[str, ...]]]
    """Key of a host (an end's role, ``observed_1`` …) → its agent, and where it sends frames to."""
    before: Mapping[str, Counters]
    own_backlog: bool
    """Whether no two of the hosts are one machine."""
    sent: dict[str, Pending] = field(default_factory=dict)
    """The readings asked for when the last frame had been sent."""

    @classmethod
    def begin(cls, ends: Ends, setup: ThroughputSearch) -> Watch:
        """Read all counters for the first time. Raises HostGone when an end is lost."""
        address = {whose: ends.address(whose, setup) for whose in WHOSE}
        routes: dict[str, tuple[Agent, tuple[str, ...]]] = {
            "client": (ends.client, (address["server"],)),
            "server": (ends.agent_of_server, (address["client"],)),
        }
        for number, agent in enumerate(ends.observed, start=1):
            routes[f"observed_{number}"] = agent, tuple(address.values())
        own_backlog = not share_a_machine([agent for agent, _ in routes.values()])
        watch = cls(ends, routes, {}, own_backlog)
        watch.before = watch._read()
        return watch

    def all_sent(self) -> None:
        """Ask the observed hosts for their CPU times, now; waits for nothing."""
        for key, (agent, _) in self.routes.items():
            if key not in WHOSE:
                self.sent[key] = agent.start("facts", cpu_times=1, counters=1)

    def end(self, results: Mapping[str, Sequence[Mapping[str, Any]]]) -> dict[str, Watched]:
        """What became of each host; ``results``: of an end, what its probe said of the trial."""
        after = self._read()
        watched = {}
        for key, (agent, _) in self.routes.items():
            said = results.get(key, ())
            dropped: dict[str, int] = {}
            pauses: dict[str, int] = {}
            if key in self.before and key in after:
                dropped = dropped_between(self.before[key], after[key])
                pauses = paused_between(self.before[key], after[key])
            if (at_socket := dropped_at_socket(said)) is not None:
                dropped["socket"] = at_socket
            if key in WHOSE:
                cpu = next((found for each in said if (found := cpu_in(each))), None)
            else:
                cpu = self._cpu_of_observed(key)
            watched[key] = Watched(agent.host.name, cpu, dropped, pauses)
        return watched

    def _cpu_of_observed(self, key: str) -> Cpu | None:
        if key not in self.sent or key not in self.before:
            return None
        try:
            return cpu_between(self.before[key], counters_in([self.sent[key].record(ANSWER_S)]))
        except (HostGone, ProbeError):
            return None

    def _read(self) -> dict[str, Counters]:
        found = {}
        for key, (agent, addresses) in self.routes.items():
            try:
                facts = [agent.ask("facts", to=each, cpu_times=1, counters=1) for each in addresses]
            except (HostGone, ProbeError):
                if key in WHOSE:
                    raise
                continue
            found[key] = counters_in(facts, softnet=self.own_backlog)
        return found


@dataclass(slots=True)
class DropWatch:
    """What both hosts of a stream dropped on its way, and their interfaces' pause frames, from
    before it was opened to after its end; of TCP, until its sender is told that it is over.

    The requests go out together with the stream's own, so that they take no time of it. What
    cannot be told is left out: another device than the one the stream is bound to, counters of a
    system that has none, a host that went away.
    """

    ends: Ends
    setup: Stream
    before: Mapping[str, Pending] = field(default_factory=dict)
    """``client`` or ``server`` → its first reading."""
    after: Mapping[str, Pending] = field(default_factory=dict)
    """And its last one."""

    def ask(self) -> None:
        """Ask both hosts for the first time; waits for nothing."""
        self.before = self._asked()

    def ask_again(self) -> None:
        """Ask both hosts a last time, unless they were; waits for nothing."""
        self.after = self.after or self._asked()

    def end(self) -> dict[str, Value]:
        """``client_queue_dropped_frames``, ``server_pause_frames_sent`` …: what is counted."""
        agents = [self.ends.agent_of(whose) for whose in WHOSE]
        several = not self.ends.same_host and share_a_machine(agents)
        values: dict[str, Value] = {}
        for whose, reading in self.after.items():
            try:
                facts = [each.record(ANSWER_S) for each in (self.before[whose], reading)]
            except (HostGone, ProbeError):
                continue
            counters = [drops_in(each) for each in facts]
            dropped, pauses = dropped_between(*counters), paused_between(*counters)
            if not self._is_of_stream(whose, facts):
                dropped = {place: n for place, n in dropped.items() if place == "softnet"}
                pauses = {}
            # The backlog is the machine's: where it dropped nothing, neither of its hosts did.
            if several and dropped.get("softnet"):
                del dropped["softnet"]
            values |= {f"{whose}_{place}_dropped_frames": n for place, n in dropped.items()}
            values |= {f"{whose}_pause_frames_{way}": n for way, n in pauses.items()}
        return values

    def _asked(self) -> dict[str, Pending]:
        peers = {"client": "server", "server": "client"}
        found = {}
        for whose in WHOSE:
            agent, bound = self.ends.agent_of(whose), self._bound(whose)
            if can(agent, "facts"):
                by: dict[str, Any] = {} if bound is None else {"interface": bound}
                to = self.ends.address(peers[whose], self.setup)
                found[whose] = agent.start("facts", counters=1, to=to, **by)
        return found

    def _bound(self, whose: str) -> str | None:
        """The device that the stream is bound to at this end, whatever the route is."""
        return self.setup.interface if whose == self.ends.connects(self.setup.protocol) else None

    def _is_of_stream(self, whose: str, facts: Sequence[Mapping[str, Any]]) -> bool:
        """Whether it is the one device that the stream leaves a host by."""
        devices = {each.get("route_interface") for each in facts} | ({self._bound(whose)} - {None})
        return len(devices) == 1


def dropped_at_socket(results: Sequence[Mapping[str, Any]]) -> int | None:
    """Frames that found no room in a receiving socket; ``None`` where no system tells."""
    told = [each[name] for each in results for name in SOCKET_DROPS if name in each]
    return max(told, default=None)
