"""Hosts compared with each other: slow hosts, directions and pairs, and each host's share of times.

A mesh is a set of hosts that were measured in pairs. A pair reaches the smaller of the rates of its
two hosts, because the slower link limits the pair.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from netlab.stats import TO_DEVIATION, mean, median, pooled_deviation, t_quantile

LEAST_HOSTS = 3
"""Minimum number of hosts of a mesh: two hosts cannot be compared with others."""

LEAST_PEERS = 2
"""A host is named as slow only if it has at least this many peers that are fast with another
host."""

MARGIN = 0.02
"""Minimum margin, as a share: a value that is closer to the best value does not count as slower."""

MARGIN_UNREPEATED = 0.05
"""Minimum margin if no pair was measured twice, so that the scatter of trials is unknown."""

SPREADS = 3.0
"""The margin is at least this many standard deviations of the trials of a pair (pooled over the
pairs)."""

RARE = 0.00135
"""Probability that a normal value is at least 3 standard deviations above the mean. For the same
probability, Student's t requires more deviations if there are few trials, and Bonferroni's
correction requires more if there are many pairs, because any pair may deviate by chance."""

MeshWay = tuple[str, str]
"""Sender and receiver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshVerdict:
    """The verdict on the hosts of a mesh; all values in the unit of the trials."""

    named: tuple[str, ...]
    """The slow hosts, in the order of the pairs."""
    margin: float
    """A value counts as slower if it is below the best value by more than this share (precisely: by
    more than this difference of natural logarithms)."""
    slow_senders: frozenset[str]
    """Hosts that send slowly to all receivers. A host may be slow as sender, receiver, or both."""
    slow_receivers: frozenset[str]
    strays: Mapping[MeshWay, float]
    """Slow pair → its expected value. Both ends of such a pair are faster with other hosts."""
    undecided: Mapping[MeshWay, float]
    """Pair → the usual value of one of its ends with other hosts. The pair is slower than this. Its
    second end has no other pair, so the cause may be the pair or this second end."""

    def is_below(self, value: float, reference: float) -> bool:
        """Whether a value is below another one by more than the margin."""
        return value < reference * math.exp(-self.margin)


def judge_mesh(trials: Mapping[MeshWay, Sequence[float]]) -> MeshVerdict | None:
    """Name the hosts, and the pairs, that are slower than others of a mesh.

    ``trials``: (sender, receiver) → throughputs of the trials, or these throughputs as shares of a
    ceiling. Pairs of a host with itself, and values that are not above 0, are left out. ``None`` if
    fewer than three hosts have a figure. The logarithms of the medians are compared.

    A host is named if it is below the best pair by more than the margin, as the sender or as the
    receiver. In addition, at least two of its peers must be fast with another host. For a host that
    is slow both ways, two such peers in one direction are enough. A pair is a stray if it is below
    min(highest value of its sender, highest value of its receiver) by more than the margin. The
    margin is at least 2 % and at least 3 standard deviations of the trials of a pair.
    """
    throughputs = {
        pair: positive
        for pair, values in trials.items()
        if pair[0] != pair[1] and (positive := [value for value in values if value > 0])
    }
    if len(set(chain.from_iterable(throughputs))) < LEAST_HOSTS:
        return None
    middle = {pair: median(values) for pair, values in throughputs.items()}
    sends, receives = _most(middle, 0), _most(middle, 1)
    expectations = {pair: min(sends[pair[0]], receives[pair[1]]) for pair in middle}
    deficits = [math.log(expectations[pair] / middle[pair]) for pair in middle]
    margin = _margin(tuple(throughputs.values()), deficits)
    fast = max(middle.values()) * math.exp(-margin)
    slow_hosts = frozenset(host for end in (0, 1) for host in _short(middle, end, fast))
    # If a host is slow in one direction, half the margin is enough for the other direction.
    nearly = max(middle.values()) * math.exp(-margin / 2)
    slow_senders = frozenset(h for h in slow_hosts if sends.get(h, nearly) < nearly)
    slow_receivers = frozenset(h for h in slow_hosts if receives.get(h, nearly) < nearly)
    return MeshVerdict(
        named=tuple(h for h in {**sends, **receives} if h in slow_senders | slow_receivers),
        margin=margin,
        slow_senders=slow_senders,
        slow_receivers=slow_receivers,
        strays={
            p: expectations[p] for p in middle if middle[p] < expectations[p] * math.exp(-margin)
        },
        undecided={
            pair: usual
            for pair, usual in _usual_with_others(middle).items()
            if middle[pair] < usual * math.exp(-margin) and not slow_hosts & set(pair)
        },
    )


def _most(middle: Mapping[MeshWay, float], end: int) -> dict[str, float]:
    """Host → the highest value of its pairs at this end."""
    most: dict[str, float] = defaultdict(float)
    for pair, value in middle.items():
        most[pair[end]] = max(value, most[pair[end]])
    return dict(most)


def _usual_with_others(middle: Mapping[MeshWay, float]) -> dict[MeshWay, float]:
    """Each pair with an end that has no other pair → the median over the other pairs of its other
    end.
    """
    usual: dict[MeshWay, float] = {}
    for end in (0, 1):
        pairs_of = Counter(pair[end] for pair in middle)
        by_other: dict[str, dict[MeshWay, float]] = defaultdict(dict)
        for pair, value in middle.items():
            by_other[pair[1 - end]][pair] = value
        for pair in middle:
            others = [v for other, v in by_other[pair[1 - end]].items() if other != pair]
            if pairs_of[pair[end]] == 1 and len(others) >= LEAST_PEERS:
                usual[pair] = median(others)
    return usual


def _margin(trials: Sequence[Sequence[float]], deficits: Sequence[float]) -> float:
    logs = [[math.log(value) for value in values] for values in trials]
    spread, degrees = pooled_deviation(logs)
    least = MARGIN
    if not degrees:
        # The scatter of pairs replaces the scatter of trials: at least three of five pairs are
        # assumed to have their expected value.
        usual = sorted(deficits)[3 * len(deficits) // 5]
        spread, degrees = TO_DEVIATION * usual, max(1, len(trials) // 3)
        least = MARGIN_UNREPEATED
    rare = t_quantile(1 - RARE / len(trials), degrees)
    return max(least, max(SPREADS, rare) * spread)


def _short(middle: Mapping[MeshWay, float], end: int, fast: float) -> Iterator[str]:
    """Hosts that are slow at this end although enough of their peers are fast with another host."""
    # Host at the other end → the hosts at this end with which that host is fast.
    fast_with: dict[str, set[str]] = defaultdict(set)
    for pair, value in middle.items():
        if value >= fast:
            fast_with[pair[1 - end]].add(pair[end])
    peers = Counter(pair[end] for pair in middle if fast_with[pair[1 - end]] - {pair[end]})
    for host, most in _most(middle, end).items():
        if most < fast and peers[host] >= LEAST_PEERS:
            yield host


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
    medians: dict[MeshWay, list[float]] = defaultdict(list)
    for (host, peer), values in trials.items():
        if host != peer and values:
            medians[min(host, peer), max(host, peer)].append(median(values))
    table = {pair: mean(values) for pair, values in medians.items()}
    peers: dict[str, dict[str, float]] = defaultdict(dict)
    for (host, peer), value in table.items():
        peers[host][peer] = peers[peer][host] = value
    if len(peers) < LEAST_POLISHED or min(map(len, peers.values())) < LEAST_POLISHED - 1:
        return None
    # Polishing may miss the best fit, so it is started from several typical values. (Among four
    # hosts, one slow host makes half of the pairs slow, and the median of all pairs is too high.)
    trips = sorted(table.values())
    fits = [_polished(peers, at) for at in (trips[0], trips[len(trips) // 4], median(trips))]
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
            rests = [v - typical - effects[host] - effects[peer] for peer, v in trips.items()]
            step = median(rests)
            effects[host] += step
            largest_step = max(largest_step, abs(step))
        middle = median(list(effects.values()))
        effects = {host: effect - middle for host, effect in effects.items()}
        typical += 2 * middle
        if largest_step <= _NOTHING * abs(typical):
            break
    return effects, typical
