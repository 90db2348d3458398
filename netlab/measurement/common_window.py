"""One measurement window for all flows that run at the same time, in each agent's own clock.

A window is the time that is measured. Rates of several flows (directions of data) are added only if
all were measured in one window, but each receiver has its own clock. So the controller (this
process) measures the offset of each agent's clock (of the probe on a host) from its own clock, by
the fastest of several exchanges. It then sends to each agent, by the agent's own clock, the times
at which the flow starts and at which the window opens and closes. It sends them early enough for
every request to arrive in time. A round is the trials that run at the same time.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netlab import clock
from netlab.experiment.kinds import Stream, TestSettings

if TYPE_CHECKING:
    from netlab.remote.agent import Agent
    from netlab.remote.upkeep.clock import ClockOffset

START_AHEAD_S = 0.3
"""Time from the requests of the flows to their common start, so that the requests arrive before
the start."""

AHEAD_A_TRIAL_S = 0.005
"""Addition to ``START_AHEAD_S`` for each further trial of a round."""

EXCHANGES_AHEAD = 3
"""Number of exchanges with the slowest agent that fit between the requests and the start."""

DRIFT_BOUNDS = 2
"""To find a drift, an offset is measured until its bound is at most this many times the bound of
the offset before the window."""

SETTLE_S = 0.1
"""Minimum time for which all flows send before their common window opens."""


@dataclass(frozen=True, slots=True)
class Window:
    """A common window in one agent's own monotonic clock, ns."""

    start_ns: int
    open_ns: int
    close_ns: int

    def keys(self) -> dict[str, int]:
        """The request keys of the window."""
        return {
            "start_ns": self.start_ns,
            "window_open_ns": self.open_ns,
            "window_close_ns": self.close_ns,
        }


@dataclass(frozen=True, slots=True)
class CommonWindow:
    """The start of several flows and their common window, by the controller's clock."""

    start_ns: int
    open_ns: int
    close_ns: int
    agents: Sequence[Agent]
    offsets: Sequence[ClockOffset]
    """Offset of each agent's clock from the controller's."""
    trials: int = 1
    """Number of trials in the window."""
    drift_offsets: Sequence[ClockOffset | None] = ()
    """Offsets from this process's clock, if another controller set the window by its own clock:
    drift is measured against these, and not for an agent whose offset is ``None``."""
    _offset_by_id: dict[int, ClockOffset] = field(init=False, repr=False, compare=False)
    """The identity (`id`) of each agent → its offset: a window may have a thousand agents."""

    def __post_init__(self) -> None:
        offsets = zip(self.agents, self.offsets, strict=True)
        by_id = {id(agent): offset for agent, offset in offsets}
        object.__setattr__(self, "_offset_by_id", by_id)

    def knows(self, *agents: Agent) -> bool:
        """Whether the clocks of all these agents were measured; false after a reconnection."""
        return all(id(agent) in self._offset_by_id for agent in agents)

    def in_clock_of(self, agent: Agent) -> Window:
        """The window by an agent's clock."""
        offset_ns = self.offset_of(agent).offset_ns
        return Window(
            self.start_ns + offset_ns, self.open_ns + offset_ns, self.close_ns + offset_ns
        )

    def bound_ns(self, *agents: Agent) -> int:
        """Largest possible error, in ns, of a time converted to one of these agents' clocks."""
        return max(self.offset_of(agent).bound_ns for agent in agents)

    def drift_ns(self, *agents: Agent) -> int:
        """The drift, in ns, of these agents' clocks against the controller's clock since the window
        was set. The result is the largest drift that new exchanges with the agents prove, and 0 if
        they prove none. Raises ``HostGone``.
        """
        drifts = [0]
        for agent in agents:
            old_offset = self._offset_for_drift(agent)
            if old_offset is None:
                continue
            # All pairs of a round come here at once, so there are no more exchanges than needed.
            new_offset = agent.clock_offset(enough_ns=DRIFT_BOUNDS * old_offset.bound_ns)
            moved_ns = abs(new_offset.offset_ns - old_offset.offset_ns)
            drifts.append(moved_ns - new_offset.bound_ns - old_offset.bound_ns)
        return max(drifts)

    def offset_of(self, agent: Agent) -> ClockOffset:
        """The offset of an agent's clock from the clock by which the window is set."""
        return self._offset_by_id[id(agent)]

    def _offset_for_drift(self, agent: Agent) -> ClockOffset | None:
        if not self.drift_offsets:
            return self.offset_of(agent)
        pairs = zip(self.agents, self.drift_offsets, strict=True)
        return next(offset for member, offset in pairs if member is agent)


def is_common(setups: Sequence[TestSettings]) -> bool:
    """Whether one window fits all of these settings: streams of netlab's own probe, of equal
    duration.
    """
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
    """A window for streams of equal duration; a stream with a number of messages instead of a
    duration cannot have a common window.

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
