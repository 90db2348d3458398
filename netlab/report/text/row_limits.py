"""What limits the figures of a row of the answer, and what to change; or why it is not known."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from netlab.findings.analysis import Analysis
from netlab.findings.finding import Finding, Kind
from netlab.findings.stream_limits import FILLED, FILLED_BOTH_WAYS
from netlab.kinds.throughput_search.tables import limit_words
from netlab.messages import Message, _, joined
from netlab.results.layout import LevelValue
from netlab.stats import mean
from netlab.trial.column import THROUGHPUTS, Quantity
from netlab.trial.figures import results_of
from netlab.trial.record import PREFIXES, Record, grouped

_STOPPED = {
    Kind.INTERRUPTION_FINAL: ("stopped_ns", _("pauses without data")),
    Kind.HOST_DELAY_PROCESS: ("stalled_ns", _("pauses of a host’s process")),
}
"""Kind of finding → the evidence with the time in which nothing moved, and the limit in words."""
_SLOWER = {
    Kind.MESH_LIMIT_HOST: _("a slow host"),
    Kind.MESH_LIMIT_PAIR: _("a slow pair of hosts"),
    Kind.MESH_LIMIT_MESH: _("a slow mesh"),
}
"""Kind of finding about a mesh → the limit in words."""
_CHANGED = frozenset(
    {Kind.TREND_PROVED, Kind.TREND_POSSIBLE, Kind.FIRST_TRIAL_SLOWER, Kind.DEVIATION_TRIAL}
)
_ABOVE = frozenset({Kind.ABOVE_WIRE_RATE, Kind.ABOVE_WIRE_TOOL, Kind.ABOVE_WIRE_EITHER})
_Found = Mapping[Kind, Finding]
_READ = frozenset({*_STOPPED, *_SLOWER, *_CHANGED, *_ABOVE})
_REASONS = {
    _ABOVE: _("the figure is above the wire ceiling: state the link’s rate"),
    _CHANGED: _("the rate changed between trials: find what changed, then repeat the cells"),
}
"""Kinds of findings → why the limit of a row that has one of them is unknown."""
_NO_CAUSE = _(
    "the records show no cause: measure TCP and UDP with several message sizes, three trials each"
)


@dataclass(frozen=True)
class AnswerCell:
    """The trials of one cell for one quantity and direction of the data."""

    trials: Sequence[Record]
    quantity: Quantity
    flow: str
    """A name of ``FLOWS``."""
    values: Sequence[float]
    """The figures of the trials with a result, in the quantity's unit."""
    ceiling: float | None
    """The wire ceiling in the quantity's unit; ``None`` if there is none, or it is not known."""
    levels: Mapping[str, LevelValue]
    """Axis → the cell's value on it."""

    @property
    def cell(self) -> str:
        """Key of the cell."""
        return self.trials[0].cell

    @cached_property
    def mean(self) -> float:
        """The mean of the trials."""
        return mean(self.values)

    @property
    def share(self) -> float | None:
        """The mean as a share of the wire ceiling."""
        return None if self.ceiling is None else self.mean / self.ceiling


@dataclass(frozen=True, slots=True)
class RowLimit:
    """What limits a row."""

    words: str = ""
    """The limit, several limits, or "unknown"; empty: the quantity has none."""
    advice: str = ""
    """What to change; of an unknown limit, why it is unknown, and what would make it known."""
    known: bool = False


def _is_named(kind: Kind) -> bool:
    return kind.limit is not None and kind is not Kind.NOT_DETERMINED


class RowLimits:
    """What limits the trials of some cells, by the findings about streams."""

    def __init__(self, run: Analysis) -> None:
        self._run = run
        self._missing: dict[tuple[str, str], dict[int, float]] = {}
        """(cell, flow) → trial → the share of the wire ceiling that it misses."""
        for sample in run.samples:
            if sample.ceiling_bit_per_s:
                own = self._missing.setdefault((sample.cell, sample.flow), {})
                own[sample.trial] = max(0.0, sample.missing_share)
        self._kinds: dict[tuple[str, str], list[tuple[Kind, int, float]]] = {}
        """(cell, flow) → limits: the kind, the trial, and what share of the ceiling it costs."""
        for finding in run.limits:
            cost = finding.evidence.get("costs_share", math.inf)
            for cell, trial in finding.trials:
                limits = self._kinds.setdefault((cell, finding.group.flow), [])
                limits.append((finding.kind, trial, cost))
        self._about: dict[str, list[Finding]] = {}
        for finding in run.findings:
            if finding.kind in _READ:
                for cell in finding.cells:
                    self._about.setdefault(cell, []).append(finding)
            if finding.kind in _SLOWER and "as_link_rate_bit_per_s" in finding.evidence:
                self._add_slower(finding)

    def _add_slower(self, finding: Finding) -> None:
        """Count a slower link of a host, or of a mesh, for the trials that have no limit."""
        for cell, trial in finding.trials:
            for key in {(cell, flow) for flow in PREFIXES} & self._missing.keys():
                own = self._kinds.setdefault(key, [])
                if all(number != trial or not _is_named(kind) for kind, number, _cost in own):
                    own.append((Kind.LINK_FAR_BELOW, trial, math.inf))

    def of(self, places: Sequence[AnswerCell]) -> RowLimit:
        """The limit that costs most of what the row misses; without one, why it is unknown."""
        test = places[0].trials[0].test
        if test == "throughput_search":
            words = dict.fromkeys(limit_words(r) for p in places for r in results_of(p.trials))
            return RowLimit(joined("; ", filter(None, words)), known=any(words))
        if test != "stream":
            if places[0].quantity not in THROUGHPUTS.values():
                return RowLimit()
            if all((place.share or 0.0) >= FILLED_BOTH_WAYS for place in places):
                return _known(Kind.WIRE_CEILING)
            why = _("limits are known of streams: add a stream test to the matrix")
            return RowLimit(_("unknown"), why)
        return self._of_streams(places)

    def _of_streams(self, places: Sequence[AnswerCell]) -> RowLimit:
        weights, numbers, total = self._weights(places)
        named = sorted(weights, key=lambda kind: -weights[kind])
        if named and 2 * weights[named[0]] > total:
            of_one = 0 if places[1:] else len(places[0].values)
            return _known(named[0], numbers[named[0]], of_one)
        found = self._found(places)
        if other := _other(places, found, total):
            return other
        if all((place.share or 0.0) >= FILLED for place in places):
            return _known(Kind.WIRE_CEILING)
        if named[1:]:
            words = joined("; ", [kind.limit or "" for kind in named[:3]])
            return RowLimit(_("several"), _("{limits}: see the cells", limits=words))
        return RowLimit(_("unknown"), self._why(places, found))

    def _weights(
        self, places: Sequence[AnswerCell]
    ) -> tuple[dict[Kind, float], Counter[Kind], float]:
        """The weight and the number of trials of each kind of limit, and the weight of all trials.

        If the row is below the ceiling, a trial weighs what it misses: few slow trials lower a mean
        more than many that fill the wire. Otherwise all trials weigh the same.
        """
        weights: dict[Kind, float] = {}
        numbers: Counter[Kind] = Counter()
        shares = [place.share for place in places]
        known = [share for share in shares if share is not None]
        is_low = len(known) == len(shares) and mean(known) < FILLED_BOTH_WAYS
        for place in places:
            missing = self._missing.get((place.cell, place.flow), {})
            kinds = self._kinds.get((place.cell, place.flow), ())
            limits = Counter(trial for _kind, trial, _cost in kinds)
            for kind, own in grouped(kinds, lambda limit: limit[0]).items():
                # Of one limit alone it is all that the trial misses.
                costs = {
                    trial: min(cost if limits[trial] > 1 else math.inf, missing.get(trial, 0.0))
                    for _kind, trial, cost in own
                }
                rest = [share for trial, share in missing.items() if trial not in costs]
                # What also the other trials miss has another cause, if they are not fewer.
                less = mean(rest) if rest and len(rest) >= len(costs) else 0.0
                cost = math.fsum(max(0.0, share - less) for share in costs.values())
                cost = 0.0 if kind is Kind.WIRE_CEILING else cost
                numbers[kind] += len(own)
                if (weight := cost if is_low else float(len(own))) and _is_named(kind):
                    weights[kind] = weights.get(kind, 0.0) + weight
        if not is_low:
            return weights, numbers, sum(len(place.values) for place in places)
        every = (self._missing.get((place.cell, place.flow), {}) for place in places)
        return weights, numbers, math.fsum(share for own in every for share in own.values())

    def _found(self, places: Sequence[AnswerCell]) -> _Found:
        """The kinds of findings about most of the cells of a row."""
        numbers: Counter[Kind] = Counter()
        found: dict[Kind, Finding] = {}
        for place in places:
            for finding in self._about.get(place.cell, ()):
                if finding.group.flow in ("", place.flow):
                    numbers[finding.kind] += 1
                    found[finding.kind] = finding
        return {kind: own for kind, own in found.items() if 2 * numbers[kind] > len(places)}

    def _why(self, places: Sequence[AnswerCell], found: _Found) -> Message:
        first = places[0].trials[0]
        if self._run.plan.source is not None:
            return _("the document does not say it: measure it with netlab")
        if engine := first.settings.get("engine"):
            return _("{engine} records no causes: measure with netlab’s probe", engine=str(engine))
        if all(record.same_host for place in places for record in place.trials):
            return _("the data stayed within one host: measure over a cable")
        if any(place.ceiling is None for place in places):
            return _("the link’s rate is not stated: give it with --link, or in the matrix")
        return next((words for kinds, words in _REASONS.items() if found.keys() & kinds), _NO_CAUSE)


def _known(kind: Kind, some: int = 1, trials: int = 0) -> RowLimit:
    """The limit; if it is that of half of ``trials`` or fewer, in how many."""
    words: str = kind.limit or ""
    if 2 * some <= trials:
        words = _("{limit} ({some} of {all} trials)", limit=words, some=some, all=trials)
    return RowLimit(words, kind.advice if kind.explains else "", known=True)


def _other(places: Sequence[AnswerCell], found: _Found, total: float) -> RowLimit | None:
    """The limit of a row in which time without data costs at least half of what it misses, or
    most of whose cells have a slow host or pair, or a slow mesh.
    """
    cells = {place.cell for place in places}
    for kind, (figure, words) in _STOPPED.items():
        if finding := found.get(kind):
            # The finding without trials is about the longest pause; it has their number.
            most = min(finding.evidence.get("trials", 1), sum(len(p.values) for p in places))
            trials = sum(cell in cells for cell, _trial in finding.trials) or most
            share = finding.evidence.get(figure, 0.0) / finding.evidence.get("window_ns", 1.0)
            if 2 * share * trials >= total:
                return RowLimit(words, kind.advice, known=True)
    slow = next((kind for kind in _SLOWER if kind in found), None)
    return None if slow is None else RowLimit(_SLOWER[slow], slow.advice, known=True)
