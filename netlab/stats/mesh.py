"""Hosts against hosts: which of them, which way, or which pair is slower than the others. Pure.

What two hosts reach together is the less of what each reaches, as links combine by the minimum.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from netlab.stats.outliers import TO_DEVIATION
from netlab.stats.student_t import t_quantile
from netlab.stats.summary import median, pooled_deviation

LEAST_HOSTS = 3
"""Two hosts have nobody to be compared with."""

LEAST_PEERS = 2
"""So many peers, each of which is fast with another host, it takes to name a host."""

MARGIN = 0.02
"""Less than that, as a share, nothing lies below the best."""

MARGIN_UNREPEATED = 0.05
"""The same where no pair was measured twice: nothing then tells how far trials scatter."""

SPREADS = 3.0
"""So many pooled deviations within pairs lie within the margin at least."""

RARE = 0.00135
"""Chance of a normal value so far off. By Student's t it takes more deviations where few trials
tell them, and by Bonferroni's bound where pairs are many: any of them may be off by chance."""

MeshWay = tuple[str, str]
"""Who sends and who receives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MeshVerdict:
    """What the pairs of a mesh say of its hosts; all values in the unit given."""

    sends: Mapping[str, float]
    """Host → the most that it reaches as the sender."""
    receives: Mapping[str, float]
    """Host → the most that it reaches as the receiver."""
    margin: float
    """As a share: what lies less far below the best is no slower."""
    slow_senders: frozenset[str]
    """Slow to all receivers; some of the named are slow one way only."""
    slow_receivers: frozenset[str]
    strays: Mapping[MeshWay, float]
    """Pairs below what both of their ends reach with others, and what that is."""
    undecided: Mapping[MeshWay, float]
    """Pairs below what one end mostly reaches with others, where the other end has no other pair:
    it may be the pair or that host."""

    @property
    def named(self) -> tuple[str, ...]:
        """The slow hosts, in the order of the pairs."""
        every = dict.fromkeys([*self.sends, *self.receives])
        return tuple(host for host in every if host in self.slow_senders | self.slow_receivers)

    @property
    def most(self) -> float:
        """What the best pair reaches."""
        return max(self.sends.values())

    def is_below(self, value: float, other: float) -> bool:
        """Whether one value is slower than another, and not by chance."""
        return value < other * math.exp(-self.margin)


def judge_mesh(trials: Mapping[MeshWay, Sequence[float]]) -> MeshVerdict | None:
    """Name the hosts, and the pairs, that are slower than others of a mesh.

    ``trials``: of each ordered pair the throughput of its trials, or their shares of a ceiling.
    Pairs of a host with itself, and what is not above 0, are left out. ``None`` where fewer than
    three hosts have a figure. Compared are medians, by their logarithms.

    A host is named that stays below the best pair as the sender or as the receiver, with two peers
    and more that another host shows to be fast; where it is slow both ways it suffices that one of
    them has so many. A pair is a stray below min(most of its sender, most of its receiver). Both by
    max(2 %, 3 pooled deviations within pairs).
    """
    known = {
        pair: [each for each in values if each > 0]
        for pair, values in trials.items()
        if pair[0] != pair[1]
    }
    known = {pair: values for pair, values in known.items() if values}
    if len(set(chain.from_iterable(known))) < LEAST_HOSTS:
        return None
    middle = {pair: median(values) for pair, values in known.items()}
    sends, receives = _most(middle, 0), _most(middle, 1)
    expected = {pair: min(sends[pair[0]], receives[pair[1]]) for pair in middle}
    deficits = [math.log(expected[pair] / middle[pair]) for pair in middle]
    margin = _margin(tuple(known.values()), deficits)
    fast = max(middle.values()) * math.exp(-margin)
    named = frozenset(host for end in (0, 1) for host in _short(middle, end, fast))
    # Of a host that is slow one way the other way needs less to be so as well.
    nearly = max(middle.values()) * math.exp(-margin / 2)
    return MeshVerdict(
        sends=sends,
        receives=receives,
        margin=margin,
        slow_senders=frozenset(h for h in named if sends.get(h, nearly) < nearly),
        slow_receivers=frozenset(h for h in named if receives.get(h, nearly) < nearly),
        strays={p: expected[p] for p in middle if middle[p] < expected[p] * math.exp(-margin)},
        undecided={
            pair: usual
            for pair, usual in _usual_with_others(middle).items()
            if middle[pair] < usual * math.exp(-margin) and not named & set(pair)
        },
    )


def _most(middle: Mapping[MeshWay, float], end: int) -> dict[str, float]:
    found: dict[str, float] = {}
    for pair, value in middle.items():
        found[pair[end]] = max(value, found.get(pair[end], 0.0))
    return found


def _usual_with_others(middle: Mapping[MeshWay, float]) -> dict[MeshWay, float]:
    """Of the pairs with one end that has no other pair, what the other end mostly reaches."""
    found: dict[MeshWay, float] = {}
    for end in (0, 1):
        by_host: dict[str, list[MeshWay]] = {}
        for pair in middle:
            by_host.setdefault(pair[end], []).append(pair)
        at_other: dict[str, list[MeshWay]] = {}
        for pair in middle:
            at_other.setdefault(pair[1 - end], []).append(pair)
        for its in by_host.values():
            if len(its) != 1:
                continue
            (pair,) = its
            others = [middle[other] for other in at_other[pair[1 - end]] if other != pair]
            if len(others) >= LEAST_PEERS:
                found[pair] = median(others)
    return found


def _margin(trials: Sequence[Sequence[float]], deficits: Sequence[float]) -> float:
    logs = [[math.log(each) for each in values] for values in trials]
    spread, degrees = pooled_deviation(logs)
    least = MARGIN
    if not degrees:
        # Pairs instead of trials: three of five and more are as their ends let one expect.
        usual = sorted(deficits)[3 * len(deficits) // 5]
        spread, degrees = TO_DEVIATION * usual, max(1, len(trials) // 3)
        least = MARGIN_UNREPEATED
    rare = t_quantile(1 - RARE / len(trials), degrees)
    return max(least, max(SPREADS, rare) * spread)


def _fast_with(
    middle: Mapping[MeshWay, float], end: int, fast: float
) -> Mapping[str, frozenset[str]]:
    """Host at the other end → the hosts at this end with which it reaches the best."""
    found: dict[str, set[str]] = {}
    for pair, value in middle.items():
        if value >= fast:
            found.setdefault(pair[1 - end], set()).add(pair[end])
    return {host: frozenset(those) for host, those in found.items()}


def _short(middle: Mapping[MeshWay, float], end: int, fast: float) -> Iterator[str]:
    """Hosts that stay below the best at this end, with peers enough that are not to blame."""
    fast_with = _fast_with(middle, end, fast)
    peers: dict[str, int] = {}
    for pair in middle:
        others = fast_with.get(pair[1 - end], frozenset()) - {pair[end]}
        peers[pair[end]] = peers.get(pair[end], 0) + bool(others)
    for host, most in _most(middle, end).items():
        if most < fast and peers[host] >= LEAST_PEERS:
            yield host
