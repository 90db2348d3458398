"""One window for all flows that run at the same time, in each agent's own clock.

Receivers have a clock each: rates of different windows are never added. The controller finds how
far each agent's clock is off its own (the quickest of several exchanges), and names start, opening
and closing as times of that clock, far enough ahead for every request to arrive before.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from netlab.experiment.kinds import Stream, TestSettings
from netlab.remote.agent import Agent, ClockOffset

START_AHEAD_S = 0.3
"""How far ahead a common window's start is set, for the requests to arrive."""

AHEAD_A_TRIAL_S = 0.005
"""And what each trial more of a round takes to be asked for."""

SETTLE_S = 0.1
"""Least time that all flows send before their common window opens."""


@dataclass(frozen=True, slots=True)
class Window:
    """A common window in one agent's own monotonic clock, ns."""

    start_ns: int
    open_ns: int
    close_ns: int

    def keys(self) -> dict[str, int]:
        """The request keys that state it."""
        return {
            "start_ns": self.start_ns,
            "window_open_ns": self.open_ns,
            "window_close_ns": self.close_ns,
        }


@dataclass(frozen=True, slots=True)
class CommonWindow:
    """When several flows start, and the window that cuts them all, by the controller's clock."""

    start_ns: int
    open_ns: int
    close_ns: int
    agents: Sequence[Agent]
    offsets: Sequence[ClockOffset]
    """How far each agent's clock is off the controller's."""
    trials: int = 1
    """How many trials it cuts."""

    def knows(self, *agents: Agent) -> bool:
        """Whether it can be told to all of these: one that came back since has another clock."""
        return all(any(agent is known for known in self.agents) for agent in agents)

    def in_clock_of(self, agent: Agent) -> Window:
        """The same times by an agent's clock."""
        offset_ns = self._offset_of(agent).offset_ns
        return Window(
            self.start_ns + offset_ns, self.open_ns + offset_ns, self.close_ns + offset_ns
        )

    def bound_ns(self, *agents: Agent) -> int:
        """How far off these agents' times may be, at most."""
        return max(self._offset_of(agent).bound_ns for agent in agents)

    def drift_ns(self, *agents: Agent) -> int:
        """By how much, at least, one of these agents' clocks has run off the controller's since
        the window was set; 0 where the exchanges do not show it. Asks them; raises ``HostGone``.
        """
        drifts = [0]
        for agent in agents:
            before, now = self._offset_of(agent), agent.clock_offset()
            moved_ns = abs(now.offset_ns - before.offset_ns)
            drifts.append(moved_ns - now.bound_ns - before.bound_ns)
        return max(drifts)

    def _offset_of(self, agent: Agent) -> ClockOffset:
        pairs = zip(self.agents, self.offsets, strict=True)
        return next(offset for known, offset in pairs if known is agent)


def is_common(setups: Sequence[TestSettings]) -> bool:
    """Whether one window can cut all of these: streams, all equally long."""
    streams = [setup for setup in setups if isinstance(setup, Stream)]
    lengths = {stream.duration_s for stream in streams}
    return len(streams) == len(setups) and len(lengths) == 1 and None not in lengths


def lead_s(streams: Sequence[Stream]) -> float:
    """How long these streams take to be asked for together and to get going, in seconds, beyond
    their own warm-up.
    """
    return _ahead_s(streams) + _settle_s(streams) - max(stream.warm_up_s for stream in streams)


def _ahead_s(streams: Sequence[Stream]) -> float:
    return START_AHEAD_S + AHEAD_A_TRIAL_S * (len(streams) - 1)


def _settle_s(streams: Sequence[Stream]) -> float:
    return max(SETTLE_S, *(stream.warm_up_s for stream in streams))


def common_window(
    streams: Sequence[Stream], agents: Sequence[Agent], executor: Executor | None = None
) -> CommonWindow:
    """A window for streams that are all equally long; a duration is wanted, not a count.

    The agents' clocks are asked first, at the same time where there is an ``executor``. Raises
    ``HostGone`` when one of them is lost meanwhile.
    """
    each = list({id(agent): agent for agent in agents}.values())
    ask = map if executor is None else executor.map
    offsets = list(ask(lambda agent: agent.clock_offset(), each))
    slowest_ns = 2 * max(offset.bound_ns for offset in offsets)
    start = time.monotonic_ns() + round(_ahead_s(streams) * 1e9) + slowest_ns
    opens = start + round(_settle_s(streams) * 1e9)
    closes = opens + round((streams[0].duration_s or 0) * 1e9)
    return CommonWindow(start, opens, closes, each, offsets, len(streams))
