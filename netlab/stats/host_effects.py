"""Hosts compared with each other: the time that each host adds to its round trips. No I/O.

A trial is one execution of a test.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from netlab.stats.mesh import SPREADS, MeshWay
from netlab.stats.outliers import TO_DEVIATION
from netlab.stats.summary import mean, median, pooled_deviation

LEAST_POLISHED = 4
"""Minimum number of hosts. With fewer hosts, round trips cannot be separated into the times that
single hosts add."""

POLISHED_MARGIN = 0.1
"""Minimum time that a host must add to be named, as a share of the typical round trip."""

_SWEEPS = 50
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class HostEffects:
    """The time that each host adds to its round trips; all values in the unit of the trials."""

    added: Mapping[str, float]
    """Host → added time; the median host adds 0."""
    typical: float
    """Round trip between two median hosts."""
    margin: float
    """An added time up to this may be chance."""

    @property
    def far(self) -> tuple[str, ...]:
        """The hosts that add more time than ``margin``, that is, more than may be chance."""
        return tuple(host for host, effect in self.added.items() if effect > self.margin)


def host_effects(trials: Mapping[MeshWay, Sequence[float]]) -> HostEffects | None:
    """The time that each host adds to its round trips.

    ``trials``: (host, peer) → the round trips of its trials. The method is median polish (Tukey,
    Exploratory Data Analysis, 1977) of a table with one value per pair: the mean of the medians of
    its two directions. The margin is the largest of three values: 10 % of the typical round trip,
    3 times 1.4826 times the median absolute residual, and 3 standard deviations of the trials of a
    pair (pooled over the pairs). ``None`` below 4 hosts, or if a host has fewer than three peers.
    """
    medians: dict[MeshWay, list[float]] = {}
    for (host, peer), values in trials.items():
        if host != peer and values:
            medians.setdefault((min(host, peer), max(host, peer)), []).append(median(values))
    table = {pair: mean(values) for pair, values in medians.items()}
    peers: dict[str, dict[str, float]] = {}
    for (host, peer), value in table.items():
        peers.setdefault(host, {})[peer] = value
        peers.setdefault(peer, {})[host] = value
    if len(peers) < LEAST_POLISHED or min(map(len, peers.values())) < LEAST_POLISHED - 1:
        return None
    # Polishing may miss the best fit, so it is started from several typical values. (Among four
    # hosts, one slow host makes half of the pairs slow, and the median of all pairs is too high.)
    sorted_trips = sorted(table.values())
    fits = [
        _polished(peers, start)
        for start in (sorted_trips[0], sorted_trips[len(sorted_trips) // 4], median(sorted_trips))
    ]
    distances = [
        [abs(v - typical - effects[host] - effects[peer]) for (host, peer), v in table.items()]
        for effects, typical in fits
    ]
    best = min(range(len(fits)), key=lambda at: sum(distances[at]))
    (effects, typical), residuals = fits[best], distances[best]
    spread, _ = pooled_deviation(tuple(trials.values()))
    chance = SPREADS * max(TO_DEVIATION * median(residuals), spread)
    return HostEffects(effects, typical, max(POLISHED_MARGIN * typical, chance))


def round_trip_deviations(trials: Mapping[MeshWay, Sequence[float]]) -> dict[MeshWay, float]:
    """Each pair whose round trips are longer than the times that its hosts add explain → the round
    trip that these times predict.
    """
    effects = host_effects(trials)
    if effects is None:
        return {}
    expected_times = {
        (host, peer): effects.typical + effects.added[host] + effects.added[peer]
        for (host, peer), values in trials.items()
        if host != peer and values
    }
    return {p: e for p, e in expected_times.items() if median(trials[p]) > e + effects.margin}


def _polished(
    peers: Mapping[str, Mapping[str, float]], typical: float
) -> tuple[dict[str, float], float]:
    effects = dict.fromkeys(peers, 0.0)
    for _ in range(_SWEEPS):
        largest_step = 0.0
        for host, trips in peers.items():
            step = median(
                [v - typical - effects[host] - effects[peer] for peer, v in trips.items()]
            )
            effects[host] += step
            largest_step = max(largest_step, abs(step))
        middle = median(list(effects.values()))
        effects = {host: effect - middle for host, effect in effects.items()}
        typical += 2 * middle
        if largest_step <= _NOTHING * abs(typical):
            break
    return effects, typical
