"""How long a mirror waits between a request and its answer: as long as it was asked to."""

from __future__ import annotations

from typing import Any

import pytest
from netprobe_agents import CPUS, agents, netprobe
from round_trip_peers import Agents, done

__all__ = ["agents", "netprobe"]

pytestmark = [pytest.mark.night, pytest.mark.alone]

HOLD_S, HOLD_NS, OFF_NS = 500e-6, 500_000, 20_000
PAIRS = 6


def shortest_ns(agents: Agents, hold_s: float, **keys: Any) -> int:
    """The shortest of 200 round trips between two ends that never sleep, a CPU each: what others
    take of the CPUs lengthens round trips and shortens none."""
    spinning = [{"spin": 1, "cpu": cpu} for cpu in (CPUS[0], CPUS[-1])]
    if len(CPUS) < 2:
        spinning = [{}, {}]
    ask, mirror = spinning
    outcome = done(agents, message=64, count=200, ask=ask, mirror=mirror | {"hold": hold_s}, **keys)
    return int(outcome.asked["rtt_min_ns"])


@pytest.mark.parametrize(
    "keys", [{"proto": "udp"}, {"proto": "tcp", "nodelay": 1}, {"kind": "connect"}], ids=str
)
def test_a_mirror_that_holds_requests_for_500_us_lengthens_round_trips_by_500_us(
    agents: Agents, keys: dict[str, Any]
) -> None:
    """To 20 us, by the shortest with the hold and without it, in turns."""
    pairs = []
    for _ in range(PAIRS):
        pairs.append([shortest_ns(agents, hold_s, **keys) for hold_s in (0, HOLD_S)])
    base_ns, delayed_ns = map(min, zip(*pairs, strict=True))
    assert delayed_ns - base_ns == pytest.approx(HOLD_NS, abs=OFF_NS), pairs
