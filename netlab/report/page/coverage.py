"""Readings and notes → what the page says about a run: coverage, settings, hosts. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from netlab.experiment.records import Status
from netlab.messages import _, counted, joined
from netlab.results.labels import as_words, setting_name, setting_value
from netlab.results.layout import level, levels_of
from netlab.results.readings import STATUSES, Reading
from netlab.units import plain_figures

if TYPE_CHECKING:
    from netlab.results.run import Run
    from netlab.store.plan import Plan

_SHOWN_DETAILS = 3
_SHOWN_ELSEWHERE = ("hosts",)
_NOTHING: tuple[object, ...] = (None, "", {}, [], ())
_COUNTERS = ("_sent_bytes", "_received_bytes", "_sent_packets", "_received_packets")


@dataclass(frozen=True, slots=True)
class PairingCount:
    """How many trials of a pairing ended how."""

    pairing: str
    statuses: tuple[int, ...]
    """In the order of ``records.Status``."""
    total: int


@dataclass(frozen=True, slots=True)
class Blank:
    """One reason why trials have no result."""

    sentence: str
    trials: int
    pairings: str
    details: tuple[str, ...]
    """What the hosts said, the first few that differ."""
    more: int
    """How many others there are."""


@dataclass(frozen=True, slots=True)
class HostFact:
    """One fact of a host, before the first session and after the last; empty is not known."""

    name: str
    before: str
    after: str

    @property
    def changed(self) -> bool:
        """Whether both are known and differ, and it is no counter: those go on by themselves."""
        known = bool(self.before and self.after)
        return known and self.before != self.after and not self.name.endswith(_COUNTERS)


@dataclass(frozen=True, slots=True)
class HostFacts:
    """All that was noted about a host."""

    name: str
    found: tuple[tuple[str, str], ...]
    """How it was found by the last session."""
    facts: tuple[HostFact, ...]

    def words_of(self, name: str) -> str:
        """A fact as it was before the run, else as it was noted at all; empty: it was not."""
        noted = {fact.name: fact.before or fact.after for fact in self.facts}
        return noted.get(name) or dict(self.found).get(name, "")

    @property
    def noted_twice(self) -> bool:
        """Whether anything is known of it before and after."""
        return any(fact.before and fact.after for fact in self.facts)


def counts(readings: Sequence[Reading]) -> tuple[PairingCount, ...]:
    """By pairing in the plan's order; with several pairings a last line for all."""
    pairings = dict.fromkeys(reading.pairing for reading in readings)
    found = [_count(name, [r for r in readings if r.pairing == name]) for name in pairings]
    return (*found, *([_count(_("all"), readings)] if len(found) > 1 else []))


def summary(readings: Sequence[Reading]) -> str:
    """``416 cells: 346 ok, 70 pending``."""
    found = Counter(reading.status for reading in readings)
    cells = len({reading.cell for reading in readings})
    planned = [counted("{number} cell", "{number} cells", cells)]
    if len(readings) > cells:
        planned.append(counted("{number} trial", "{number} trials", len(readings)))
    how = [joined(" ", [f"{found[each]:,}", STATUSES[each]]) for each in Status if found[each]]
    return joined(": ", [joined(", ", each) for each in (planned, how) if each])


def blanks(readings: Iterable[Reading]) -> tuple[Blank, ...]:
    """Every reason with its number of trials, the most frequent first."""
    groups: dict[str, list[Reading]] = {}
    for reading in readings:
        if reading.status != Status.OK:
            groups.setdefault(reading.why_blank, []).append(reading)
    ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
    return tuple(_blank(sentence, group) for sentence, group in ordered)


def settings(readings: Sequence[Reading]) -> tuple[tuple[str, str], ...]:
    """(setting, its value or values) of everything that the plan asks for."""
    names = dict.fromkeys(name for reading in readings for name in reading.settings)
    return tuple(
        (
            setting_name(name),
            joined(", ", (setting_value(name, each) for each in _asked(readings, name))),
        )
        for name in names
    )


def trials(plan: Plan) -> str:
    """How often a cell is measured: ``10``; ``10, 15`` where cells differ; or until when."""
    rules = dict.fromkeys(plan.rule_of(cell) for cell in plan.cells)
    return joined(
        ", ",
        (
            str(rule)
            if isinstance(rule, int)
            else _(
                "{least} to {most}, until the {confidence} % interval is within {within} % of the "
                "mean",
                least=rule.at_least,
                most=rule.at_most,
                confidence=plain_figures(100 * rule.confidence, 6),
                within=plain_figures(100 * rule.within, 6),
            )
            for rule in rules
        ),
    )


def hosts(run: Run) -> tuple[HostFacts, ...]:
    """The facts of each host, in the order in which they were first noted."""
    found: dict[str, Mapping[str, Any]] = {}
    for session in run.sessions:
        found |= _mapping(session.get("hosts"))
    before: dict[str, Mapping[str, Any]] = {}
    after: dict[str, Mapping[str, Any]] = {}
    for note in run.facts:
        name, facts = str(note.get("host", "")), _mapping(note.get("facts"))
        if note.get("when") == "after":
            after[name] = facts
        else:
            before.setdefault(name, facts)
    names = dict.fromkeys([*found, *before, *after])
    return tuple(
        HostFacts(
            name,
            tuple(
                (str(key), as_words(value))
                for key, value in _mapping(found.get(name)).items()
                if value not in _NOTHING and value != before.get(name, {}).get(key)
            ),
            _facts(before.get(name, {}), after.get(name, {})),
        )
        for name in names
    )


def changes(found: Iterable[HostFacts]) -> tuple[tuple[str, HostFact], ...]:
    """(host, fact) of all that changed from before the first session to after the last."""
    return tuple((host.name, fact) for host in found for fact in host.facts if fact.changed)


def shared_machines(found: Sequence[HostFacts]) -> tuple[str, ...]:
    """A sentence for each machine that several of the hosts run on, as their machine id tells."""
    machines: dict[str, list[str]] = {}
    for host in found:
        if machine := host.words_of("machine_id"):
            machines.setdefault(machine, []).append(host.name)
    return tuple(
        _(
            "{hosts} are one machine: they share its CPUs and its load figures.",
            hosts=joined(", ", names),
        )
        for names in machines.values()
        if len(names) > 1
    )


def sessions(run: Run) -> tuple[tuple[tuple[str, str], ...], ...]:
    """What was noted when each session began, hosts aside."""
    return tuple(
        tuple(
            (str(key), as_words(value))
            for key, value in session.items()
            if key not in _SHOWN_ELSEWHERE and value not in _NOTHING
        )
        for session in run.sessions
    )


def _count(name: str, readings: Sequence[Reading]) -> PairingCount:
    found = Counter(reading.status for reading in readings)
    return PairingCount(name, tuple(found[status] for status in Status), len(readings))


def _blank(sentence: str, group: Sequence[Reading]) -> Blank:
    details = tuple(dict.fromkeys(reading.detail for reading in group if reading.detail))
    return Blank(
        sentence=sentence,
        trials=len(group),
        pairings=joined(", ", dict.fromkeys(reading.pairing for reading in group)),
        details=details[:_SHOWN_DETAILS],
        more=max(0, len(details) - _SHOWN_DETAILS),
    )


def _asked(readings: Sequence[Reading], name: str) -> tuple[Any, ...]:
    """The levels of a setting; its absence counts only where the same protocol has it elsewhere."""
    having = {reading.protocol for reading in readings if level(reading, name) is not None}
    return levels_of((reading for reading in readings if reading.protocol in having), name)


def _facts(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[HostFact, ...]:
    names = dict.fromkeys([*before, *after])
    return tuple(
        HostFact(
            str(name),
            as_words(before[name]) if name in before else "",
            as_words(after[name]) if name in after else "",
        )
        for name in names
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
