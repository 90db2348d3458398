"""Comparison of two runs, or of the levels of an axis of one run, cell by cell.

What two runs state of link, kinds of test, pairings and settings must be the same. What one of them
does not state, such as a setting that the tool of an import does not print, is a remark. Hosts,
netlab's version, the number of repeats and their order may differ. If a run lacks a setting because
its version of netlab did not have it, the default counts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from netlab.compare import align
from netlab.compare.align import PAIRED, UNPAIRED, Judged
from netlab.config.document import did_you_mean
from netlab.errors import UsageError
from netlab.ethernet import Link
from netlab.experiment.cells import OF_A_CELL, Comparison
from netlab.experiment.hosts import is_by_name, labels_of
from netlab.kinds import DEFAULTS_OF, EXCLUSIVE, ONLY_OF_TCP, ONLY_OF_UDP
from netlab.messages import counted
from netlab.results.labels import as_words, setting, setting_name, setting_value
from netlab.results.run import Run
from netlab.stats import MARGIN
from netlab.store.plan import Plan
from netlab.trial.record import Record, by_cell, grouped
from netlab.trial.settings import Level
from netlab.units import format_rate

_FACTS = (
    *("kernel", "distribution", "cpu_model", "cpu_count", "virtual", "governor", "turbo"),
    *("power_plan", "congestion", "ecn", "rmem_max_bytes", "wmem_max_bytes", "tcp_rmem"),
    *("tcp_wmem", "tcp_timestamps", "default_qdisc", "interface_mtu_bytes", "interface_driver"),
    *("interface_speed_bit_per_s", "interface_duplex", "interface_qdisc", "interface_offloads"),
)
"""Facts of a host that change only if someone changes them, unlike counters and loads."""
_SHOWN_CHANGES = 12
TestKind = tuple[str, str]
"""Kind of test, and its protocol."""
NOT_STATED = "not stated"
"""Stands for the value of a setting that a cell does not state; no setting has this value."""
_SHOWN_VALUES = 4


@dataclass(frozen=True, slots=True)
class ComparedGroup:
    """The comparison of one contender with the baseline."""

    contender: str
    rows: tuple[Judged, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The result of a comparison: its baseline, contenders, test, margin and verdicts."""

    baseline: str
    groups: tuple[ComparedGroup, ...]
    test: str
    margin: float
    differences: tuple[str, ...] = ()
    """Differences that forbid a comparison, if the runs were compared nevertheless."""
    remarks: tuple[str, ...] = ()
    """Cells without a counterpart, and other known changes."""

    @property
    def rows(self) -> tuple[Judged, ...]:
        """The verdicts of all groups."""
        return tuple(row for group in self.groups for row in group.rows)

    @property
    def judged_together(self) -> int:
        """Number of comparisons with a p-value, which were corrected together."""
        return sum(row.verdict.p is not None for row in self.rows)


def compare_runs(
    baseline: Run, contender: Run, *, anyway: bool = False, margin: float = MARGIN
) -> Compared:
    """Compare matching cells; UsageError without any, or if runs differ and not ``anyway``."""
    agreed = agreed_on(baseline, contender, anyway=anyway)
    rows = align.judge(align.align_runs(agreed.pairs, baseline.trials, contender.trials), margin)
    remarks = [f"changed between them: {change}" for change in changes(baseline, contender)]
    return Compared(
        baseline=str(baseline.path),
        groups=(ComparedGroup(str(contender.path), rows),),
        test=UNPAIRED,
        margin=margin,
        differences=agreed.differences,
        remarks=(*agreed.remarks, *remarks),
    )


def agreed_on(baseline: Run, contender: Run, *, anyway: bool = False) -> Agreement:
    """The matching cells of two runs; UsageError as in ``compare_runs``."""
    agreed = agreement(baseline.plan, contender.plan)
    if not agreed.pairs:
        reasons = "; ".join(dict.fromkeys((*agreed.differences, *agreed.remarks)))
        raise UsageError(
            f"{contender.path} and {baseline.path} have no cell in common: {reasons}. What an "
            "import lacks can be stated: import --setting"
        )
    if agreed.differences and not anyway:
        raise UsageError(
            f"{contender.path} cannot be compared with {baseline.path}: "
            f"{'; '.join(agreed.differences)}. With --anyway they are compared nevertheless "
            "(the output states these differences)"
        )
    return agreed


def compare_levels(
    run: Run, axis: str, against: str | None = None, *, margin: float = MARGIN
) -> Compared:
    """Compare every level of an axis with the baseline: the first level, or ``against``.
    UsageError for an unknown axis or level, and for an axis with a single level.
    """
    from netlab.config.settings import FIELD_OF, NAME_OF

    trials = run.trials
    name = FIELD_OF.get(axis, axis)
    fields = {*OF_A_CELL, *(field for record in trials for field in record.settings)}
    if name not in fields and axis not in FIELD_OF:
        close = did_you_mean(axis, [*OF_A_CELL, *FIELD_OF])
        raise UsageError(
            f"--by {axis}: no such axis{close}; this run has {', '.join(sorted(fields))}"
        )
    levels = _levels(name, trials)
    if len(levels) < 2:
        only = setting(name, levels[0]) if levels else f"no {setting_name(name)}"
        names = dict.fromkeys(field for record in trials for field in align.plain_cell(record))
        axes = [NAME_OF.get(field, field) for field in names if len(_levels(field, trials)) > 1]
        words = f"the axes of this run are {', '.join(axes)}" if axes else "this run has no axis"
        raise UsageError(f"--by {axis}: every cell of {run.path} has {only}; {words}")
    first = levels[0] if against is None else _level_named(against, name, levels)
    contenders = [level for level in levels if level != first]
    comparisons = [
        Comparison(setting(name, level), {name: first}, {name: level}) for level in contenders
    ]
    aligned = [align.align_cells(comparison, trials) for comparison in comparisons]
    if not any(aligned):
        raise UsageError(
            f"--by {axis}: no two cells of {run.path} differ only in {setting_name(name)}"
        )
    groups = [
        ComparedGroup(comparison.name, rows)
        for comparison, rows in zip(comparisons, align.judge_groups(aligned, margin), strict=True)
    ]
    reason = f"no cell differs only in it from a cell of {setting(name, first)}"
    return Compared(
        baseline=f"{run.path}, {setting(name, first)}",
        groups=tuple(group for group in groups if group.rows),
        test=PAIRED,
        margin=margin,
        remarks=tuple(f"{group.contender}: {reason}" for group in groups if not group.rows),
    )


# Axes and their levels


def _level_named(word: str, name: str, levels: Sequence[Level]) -> Level:
    """The level that ``word`` names, written as in a matrix or as in the report."""

    def folded(text: str) -> str:
        return text.replace(" ", "").casefold()

    for level in levels:
        if folded(word) in {folded(str(level)), folded(setting_value(name, level))}:
            return level
    names = ", ".join(setting_value(name, level) for level in levels)
    raise UsageError(f"--against {word}: not a value of {setting_name(name)}; the run has {names}")


def _levels(name: str, trials: Sequence[Record]) -> list[Level]:
    cells = [align.plain_cell(records[0]) for records in by_cell(trials).values()]
    levels = [((cell["test"], cell.get("protocol")), cell.get(name)) for cell in cells]
    # Absence is a level only if other cells of the same test and protocol have the setting: no UDP
    # cell has a congestion control.
    kinds = {kind for kind, level in levels if level is not None}
    return [*dict.fromkeys(level for kind, level in levels if kind in kinds)]


# Known changes


def changes(baseline: Run, contender: Run) -> tuple[str, ...]:
    """A phrase per fact of both runs that differs, and per run that has hosts of its own; after
    ``_SHOWN_CHANGES`` phrases, the number of the others.
    """
    old, new = _known(baseline), _known(contender)
    phrases = []
    for side, own, counterpart in (("baseline", old, new), ("contender", new, old)):
        known_hosts = {host for host, _fact in counterpart}
        only = dict.fromkeys(host for host, _fact in own if host and host not in known_hosts)
        if only:
            phrases.append(f"hosts only in the {side}: {', '.join(only)}")
    phrases += [
        f"{' '.join(word for word in key if word)}: {old[key]}, then {new[key]}"
        for key in old
        if key in new and old[key] != new[key]
    ]
    more = len(phrases) - _SHOWN_CHANGES
    return (*phrases[:_SHOWN_CHANGES], *([f"and {more} more"] if more > 0 else []))


def _known(run: Run) -> dict[tuple[str, str], str]:
    """(host, name of a fact) → its latest text; the host is empty for facts of the run itself."""
    known: dict[tuple[str, str], str] = {}
    for session in run.sessions:
        known["", "netlab"] = as_words(session.get("netlab"))
    for note in run.facts:
        facts: Any = note.get("facts")
        if isinstance(facts, Mapping):
            host = str(note.get("host", ""))
            known |= {(host, name): as_words(facts[name]) for name in _FACTS if name in facts}
    return known


# Agreement of two runs


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether two plans can be compared cell by cell."""

    differences: tuple[str, ...]
    """One phrase per difference that forbids a comparison: what both plans state, and state
    differently, or else cells without a counterpart; empty if the plans agree."""
    pairs: tuple[tuple[str, str], ...]
    """Keys of matching cells, in the baseline's order; settings with one value a run may differ."""
    remarks: tuple[str, ...]
    """One phrase about what only one of the plans states, and one per run that has cells without a
    counterpart in the other run."""


class _MatchedCell(NamedTuple):
    """A planned cell: its kind, and what it states of its other settings and its hosts."""

    key: str
    kind: TestKind
    settings: Mapping[str, Level]


def _matched_cells(plan: Plan) -> list[_MatchedCell]:
    # Of two settings that exclude each other one is absent: no default is assumed for either.
    exclusive = {name for pair in EXCLUSIVE for name in pair}
    cells = []
    for cell in plan.cells:
        # A setting that an imported document does not state is unknown, not the default.
        defaults = DEFAULTS_OF.get(cell.test, {}) if plan.source is None else {}
        settings = {name: None if name in exclusive else defaults[name] for name in defaults}
        settings |= {name: own for name, own in cell.settings.items() if not isinstance(own, list)}
        kind = cell.test, str(settings.pop("protocol", None) or "")
        for name in (ONLY_OF_TCP if kind[1] == "UDP" else ONLY_OF_UDP) & settings.keys():
            del settings[name]
        cells.append(_MatchedCell(cell.key, kind, {**_ends(cell.pairing, plan), **settings}))
    return cells


def _ends(pairing: str, plan: Plan) -> dict[str, Level]:
    """What a pairing states: letters state systems, names state hosts. If the output of a tool has
    no name of an end, an importer names the end by its role, which states nothing.
    """
    if not is_by_name(pairing):
        return {"pairing": pairing}
    ends = zip(("server", "client"), labels_of(pairing), strict=True)
    return {role: name for role, name in ends if plan.source is None or name != role}


def agreement(baseline: Plan, contender: Plan) -> Agreement:
    """The differences of two plans, and their matching cells."""
    sides = ("baseline", _matched_cells(baseline)), ("contender", _matched_cells(contender))
    old, new = (grouped(cells, lambda cell: cell.kind) for _side, cells in sides)
    differences, unstated = list[str](), list[str]()
    phrases = differences if baseline.link and contender.link else unstated
    phrases += link_differences(baseline.link, contender.link)
    for side, own, other in (("baseline", old, new), ("contender", new, old)):
        kinds = (" over ".join(filter(None, kind)) for kind in own if kind not in other)
        differences += [f"{kind}: only in the {side}" for kind in kinds]
    pairs: dict[str, str] = {}
    for kind in (kind for kind in old if kind in new):
        # Cells match even if they differ in settings that have one value in each run.
        left_out, unsure = set[str](), set[str]()
        for name in dict.fromkeys(n for cell in (*old[kind], *new[kind]) for n in cell.settings):
            one, two = (
                frozenset(cell.settings.get(name, NOT_STATED) for cell in side[kind])
                for side in (old, new)
            )
            # A value is only of one run if all cells of the other run state theirs.
            only = [
                frozenset[Level]() if NOT_STATED in b else a - b - {NOT_STATED}
                for a, b in ((one, two), (two, one))
            ]
            is_single, every = len(one) == 1 == len(two), one | two
            if is_single or {NOT_STATED} in (one, two):
                left_out.add(name)
            elif NOT_STATED in every:
                unsure.add(name)
            if any(only):
                word = "" if is_single else "only "
                differences.append(_side_by_side(name, only[0], only[1], word))
            elif one != two and NOT_STATED in every and every - {NOT_STATED, None}:
                unstated.append(_side_by_side(name, one, two))
        for without in dict.fromkeys((frozenset(left_out), frozenset(left_out | unsure))):
            pairs = dict(_matches(old[kind], new[kind], without, unsure)) | pairs
    remarks = [f"not stated by both: {'; '.join(dict.fromkeys(unstated))}"] if unstated else []
    alone = []
    for (side, cells), paired in zip(sides, ({*pairs}, {*pairs.values()}), strict=True):
        if keys := [cell.key for cell in cells if cell.key not in paired]:
            number = counted("{number} cell", "{number} cells", len(keys))
            alone.append(f"{number} only in the {side}, such as {keys[0]}")
    in_order = tuple((cell.key, pairs[cell.key]) for cell in sides[0][1] if cell.key in pairs)
    return Agreement(
        tuple(dict.fromkeys(differences)) or tuple(alone), in_order, (*alone, *remarks)
    )


def _matches(
    old: Sequence[_MatchedCell],
    new: Sequence[_MatchedCell],
    without: frozenset[str],
    unsure: set[str],
) -> Iterator[tuple[str, str]]:
    """Keys of two cells of one kind, each the only one of its run with these settings. Settings in
    ``without`` may differ; those that are ``unsure`` may not, if both cells state them.
    """

    def content(cell: _MatchedCell) -> Hashable:
        return frozenset(item for item in cell.settings.items() if item[0] not in without)

    counterparts = grouped(new, content)
    for settings, cells in grouped(old, content).items():
        if len(cells) == 1 == len(others := counterparts.get(settings, [])):
            one, other = cells[0].settings, others[0].settings
            stated_by_both = unsure & one.keys() & other.keys()
            if all(one[name] == other[name] for name in stated_by_both):
                yield cells[0].key, others[0].key


def identities(plan: Plan) -> dict[str, Hashable]:
    """Key of each cell → what identifies it in every run: kind, pairing, settings."""
    cells = _matched_cells(plan)
    return {cell.key: (cell.kind, frozenset(cell.settings.items())) for cell in cells}


def link_differences(old: Link | None, new: Link | None) -> Iterator[str]:
    """One phrase per difference of two links."""
    for name, of in _LINK_WORDS.items():
        words = ["not stated" if link is None else of(link) for link in (old, new)]
        if words[0] != words[1]:
            yield f"link’s {name}: {words[0]} in the baseline, {words[1]} in the contender"


_LINK_WORDS: Mapping[str, Callable[[Link], str]] = {
    "rate": lambda link: format_rate(link.rate_bit_per_s),
    "MTU": lambda link: f"{link.mtu_bytes} B",
    "VLAN tag": lambda link: "yes" if link.vlan else "no",
    "overhead": lambda link: f"{link.overhead_bytes} B",
    "hops": lambda link: str(link.hops),
}


def _side_by_side(name: str, old: frozenset[Level], new: frozenset[Level], only: str = "") -> str:
    sides = ("baseline", old), ("contender", new)
    phrases = [f"{_words(name, own)} {only}in the {side}" for side, own in sides if own]
    return f"{setting_name(name)}: {('; ' if only else ', ').join(phrases)}"


def _words(name: str, levels: frozenset[Level]) -> str:
    """The first few values, numbers by size, such as ``64, 576``."""
    sorted_levels = sorted(
        levels, key=lambda level: (level is None, isinstance(level, str), level or 0)
    )
    text = ", ".join(setting_value(name, level) for level in sorted_levels[:_SHOWN_VALUES])
    more = len(sorted_levels) - _SHOWN_VALUES
    return f"{text} and {more} more" if more > 0 else text
