"""Hosts against hosts: the time that each host adds to its round trips. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netlab.stats.mesh import SPREADS, MeshWay
from netlab.stats.outliers import TO_DEVIATION
from netlab.stats.summary import mean, median, pooled_deviation

LEAST_POLISHED = 4
"""Fewest hosts for separating round trips into effects of hosts."""

POLISHED_MARGIN = 0.1
"""Least time that a named host adds, as a share of the typical round trip."""

_SWEEPS = 50
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class HostEffects:
    """The time that each host adds to its round trips; all in the unit of the trials."""

    added: Mapping[str, float]
    """Host → added time; 0 for the median host."""
    typical: float
    """Round trip between two median hosts."""
    margin: float
    """Added time up to this may be chance."""

    @property
    def far(self) -> tuple[str, ...]:
        """The hosts that add more than the others, and not by chance."""
        return tuple(host for host, added in self.added.items() if added > self.margin)


def host_effects(trials: Mapping[MeshWay, Sequence[float]]) -> HostEffects | None:
    """The time that each host adds to its round trips, by median polish (Tukey, Exploratory Data
    Analysis, 1977) of the table of medians, host by host, both directions of a pair together.

    The margin is max(10 % of the typical round trip, 3 times 1.4826 the median absolute residual, 3
    pooled deviations within pairs). ``None`` below 4 hosts, or if a host has fewer than three
    peers.
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
    # Polishing may miss the best fit, so several starts are tried: among few hosts, one slow host
    # makes half of the pairs slow.
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


def round_trip_deviations(trials: Mapping[MeshWay, Sequence[float]]) -> dict[MeshWay, float]:
    """Pair whose round trips are longer than the effects of its hosts → the time expected of it."""
    effects = host_effects(trials)
    if effects is None:
        return {}
    expected = {
        (one, other): effects.typical + effects.added[one] + effects.added[other]
        for (one, other), values in trials.items()
        if one != other and values
    }
    return {p: e for p, e in expected.items() if median(trials[p]) > e + effects.margin}


def _polished(
    peers: Mapping[str, Mapping[str, float]], typical: float
) -> tuple[dict[str, float], float]:
    added = dict.fromkeys(peers, 0.0)
    for _ in range(_SWEEPS):
        moved = 0.0
        for host, trips in peers.items():
            step = median([v - typical - added[host] - added[peer] for peer, v in trips.items()])
            added[host] += step
            moved = max(moved, abs(step))
        middle = median(list(added.values()))
        added = {host: effect - middle for host, effect in added.items()}
        typical += 2 * middle
        if moved <= _NOTHING * abs(typical):
            break
    return added, typical
