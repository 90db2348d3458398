"""Hosts against hosts: what each adds to the round trips that it takes part in. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netlab.stats.mesh import SPREADS, MeshWay
from netlab.stats.outliers import TO_DEVIATION
from netlab.stats.summary import mean, median, pooled_deviation

LEAST_POLISHED = 4
"""Hosts from which on round trips are taken apart."""

POLISHED_MARGIN = 0.1
"""What a host must add at least to be named, as a share of the typical round trip."""

_SWEEPS = 50
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class HostEffects:
    """What each host adds to its round trips; all in the unit given."""

    added: Mapping[str, float]
    """0 for the host in the middle."""
    typical: float
    """Between two hosts in the middle."""
    margin: float
    """What is no more than this is no more than chance."""

    @property
    def far(self) -> tuple[str, ...]:
        """The hosts that add more than the others, and not by chance."""
        return tuple(host for host, added in self.added.items() if added > self.margin)


def host_effects(trials: Mapping[MeshWay, Sequence[float]]) -> HostEffects | None:
    """What each host adds to its round trips, by median polish (Tukey, Exploratory Data Analysis,
    1977) of the medians, hosts with hosts, both directions of a pair taken together.

    The margin is max(10 % of the typical one, 3 times 1.4826 the median distance of what is left
    over, 3 pooled deviations within pairs). ``None`` below 4 hosts, or where a host has fewer than
    three peers.
    """
    both: dict[MeshWay, list[float]] = {}
    for (one, other), values in trials.items():
        if one != other and values:
            both.setdefault((min(one, other), max(one, other)), []).append(median(values))
    table = {pair: mean(values) for pair, values in both.items()}
    peers: dict[str, dict[str, float]] = {}
    for (one, other), value in table.items():
        peers.setdefault(one, {})[other] = value
        peers.setdefault(other, {})[one] = value
    if len(peers) < LEAST_POLISHED or min(map(len, peers.values())) < LEAST_POLISHED - 1:
        return None
    # Polishing may end short of the best: of few hosts one makes half of the pairs slow.
    ordered = sorted(table.values())
    fits = [
        _polished(peers, start)
        for start in (ordered[0], ordered[len(ordered) // 4], median(ordered))
    ]
    distances = [
        [abs(v - typical - added[one] - added[two]) for (one, two), v in table.items()]
        for added, typical in fits
    ]
    best = min(range(len(fits)), key=lambda at: sum(distances[at]))
    (added, typical), left = fits[best], distances[best]
    spread, _ = pooled_deviation(tuple(trials.values()))
    chance = SPREADS * max(TO_DEVIATION * median(left), spread)
    return HostEffects(added, typical, max(POLISHED_MARGIN * typical, chance))


def strays_of_round_trips(trials: Mapping[MeshWay, Sequence[float]]) -> dict[MeshWay, float]:
    """The pairs whose round trips are longer than what their hosts add, and what that comes to."""
    found = host_effects(trials)
    if found is None:
        return {}
    expected = {
        (one, other): found.typical + found.added[one] + found.added[other]
        for (one, other), values in trials.items()
        if one != other and values
    }
    return {p: e for p, e in expected.items() if median(trials[p]) > e + found.margin}


def _polished(
    peers: Mapping[str, Mapping[str, float]], typical: float
) -> tuple[dict[str, float], float]:
    added = dict.fromkeys(peers, 0.0)
    for _ in range(_SWEEPS):
        moved = 0.0
        for host, its in peers.items():
            step = median([v - typical - added[host] - added[peer] for peer, v in its.items()])
            added[host] += step
            moved = max(moved, abs(step))
        middle = median(list(added.values()))
        added = {host: effect - middle for host, effect in added.items()}
        typical += 2 * middle
        if moved <= _NOTHING * abs(typical):
            break
    return added, typical
