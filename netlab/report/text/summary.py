"""Findings → what the page says of a run first, of each of its cells, and of all that was found.

Pure. What each kind of finding is called and how its figures are put stands in finding_words.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from netlab.findings.finding import Finding, Kind
from netlab.report.tables.elements import Part, Table, TableCell, TableLine
from netlab.report.text.findings import fall, of_what, outlier_briefly, sentence, why
from netlab.report.text.run_index import RunIndex
from netlab.results.labels import count

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis

NAME = "findings"

MOST_LEADING = 5
MOST_TOGETHER = 3
"""Findings of a kind that a leading sentence puts with their figures; of others it says where."""
MOST_LISTED = 200
"""Of a run with more findings the table says how many are left out."""

_FIRST = (
    *(Kind.ABOVE_CEILING, Kind.LINK_FAR_BELOW, Kind.LINK_SPEED, Kind.LINK_MTU, Kind.DUPLEX),
    *(Kind.FACTS_CHANGED, Kind.CLOCK_STEP, Kind.FAILED, Kind.OUTLIER),
)
_LAST = (
    *(Kind.WIRE_CEILING, Kind.FALL, Kind.UNREPEATED, Kind.OFF_TIME, Kind.BUFFER_CAPPED),
    *(Kind.ONE_WAY, Kind.STEP, Kind.NO_TIMESTAMPS, Kind.PACKET_RATE, Kind.CONGESTION),
    *(Kind.STRAY_TRIAL, Kind.BUFFER_NO_EFFECT, Kind.MISSING, Kind.FEWER_CELLS, Kind.FRAGMENTED),
)
"""What matters most first. Warnings that neither names stand between the two, notes at the end."""

_NEVER = frozenset({Kind.NOT_DETERMINED, Kind.BUFFER_DOUBLED, Kind.PACING})
"""What was to be expected, or says nothing by itself: it stands with its cells."""


def leading(run: Analysis) -> tuple[str, ...]:
    """The three to five sentences that matter most, the most important first; fewer where less was
    found, none where nothing was.
    """
    index = RunIndex(run)
    kinds: dict[Kind, list[Finding]] = {}
    for finding in run.findings:
        kinds.setdefault(finding.kind, []).append(finding)
    if Kind.WIRE_CEILING in kinds and Kind.FALL in kinds:
        # A fall is told together with the ceiling that it falls from.
        kinds[Kind.WIRE_CEILING] += kinds.pop(Kind.FALL)
    telling = [kind for kind in kinds if kind not in _NEVER]
    ordered = sorted(telling, key=lambda kind: _place(kind, kinds[kind]))
    return tuple(_together(kind, kinds[kind], index) for kind in ordered[:MOST_LEADING])


def sentences_of(run: Analysis) -> dict[str, tuple[str, ...]]:
    """Key of a cell → what is said of it, a sentence a finding."""
    index = RunIndex(run)
    said: dict[str, list[str]] = {}
    for finding in run.findings:
        words = sentence(finding, index)
        for cell in finding.cells:
            said.setdefault(cell, []).append(words)
    return {cell: tuple(sentences) for cell, sentences in said.items()}


def all_findings(run: Analysis) -> Part | None:
    """Every finding with its severity and advice, warnings first; ``None`` where there is none."""
    found = run.findings
    if not found:
        return None
    index = RunIndex(run)
    warnings = sum(each.severity == "warning" for each in found)
    said = [f"{count(warnings, 'warning')}, {count(len(found) - warnings, 'note')}."]
    if len(found) > MOST_LISTED:
        said.append(f"The first {MOST_LISTED} are listed.")
    sheet = Table(
        title="What the records show",
        corner="of",
        columns=("severity", "finding", "what to do"),
        lines=tuple(_line(each, index) for each in found[:MOST_LISTED]),
    )
    return Part(
        name=NAME,
        title="Findings",
        paragraphs=(" ".join(said), _MEANS),
        details=(sheet,),
    )


def stated(run: Analysis) -> Part | None:
    """What a document says beside the table that was imported; ``None`` where that is nothing."""
    from netlab.store.source_facts import stated_of

    remarks = stated_of(run.plan).remarks
    if not remarks:
        return None
    sheet = Table(
        title="What the document says beside its table",
        corner="pairings",
        columns=("statement", "source"),
        lines=tuple(
            TableLine(
                ", ".join(each.pairings) or "all", (TableCell(each.text), TableCell(each.source))
            )
            for each in remarks
        ),
    )
    return Part(name="stated", title="The document’s own words", sheets=(sheet,))


_MEANS = (
    "A finding is computed from the records and from nothing else; where its evidence is missing "
    "there is none. A warning says that a figure is not the network’s, or not to be believed as "
    "it stands. An outlier lies more than six scales off the median of its six nearest neighbours "
    "along the socket buffer (Hampel’s identifier; the scale is 1.4826 times the median absolute "
    "deviation, at least 1 % of the median); two adjacent cells off the same way are a step. A "
    "trial is stray by a modified z score above 3.5 among five trials and more (Iglewicz and "
    "Hoaglin). No figure is left out of a mean: the mean without it stands beside it."
)


def _line(finding: Finding, index: RunIndex) -> TableLine:
    where = of_what(finding.group) or "the run"
    whole = sentence(finding, index).removeprefix(f"{where}: ")
    advice = f"{finding.advice[:1].upper()}{finding.advice[1:]}."
    places = (
        TableCell(finding.severity),
        TableCell(f"{whole[:1].upper()}{whole[1:]}"),
        TableCell(advice),
    )
    return TableLine(where, places)


def _place(kind: Kind, found: Sequence[Finding]) -> tuple[int, int]:
    if kind in _FIRST:
        return 0, _FIRST.index(kind)
    if kind in _LAST:
        return 2, _LAST.index(kind)
    return (1, 0) if found[0].severity == "warning" else (3, 0)


def _together(kind: Kind, found: Sequence[Finding], index: RunIndex) -> str:
    """One sentence for all findings of a kind."""
    words = _TOGETHER.get(kind)
    if len(found) == 1 and kind is not Kind.UNREPEATED:
        return sentence(found[0], index)
    return _in_turn(found, index) if words is None else words(found, index)


def _in_turn(found: Sequence[Finding], index: RunIndex) -> str:
    """The first with its figures; those that say the same of others with it, the rest by name."""
    first = sentence(found[0], index)
    where = of_what(found[0].group)
    said = first.removeprefix(f"{where}: ")
    same: list[str] = [where]
    others: list[str] = []
    for each in found[1:]:
        its = of_what(each.group)
        alike = where and sentence(each, index).removeprefix(f"{its}: ") == said
        (same if alike else others).append(its)
    head = f"{_named(same)}: {said}" if len(same) > 1 else first
    return f"{head} Likewise, with other figures: {_named(others)}." if any(others) else head


def _blanks(found: Sequence[Finding], index: RunIndex) -> str:
    """All cells of one reason together: their names stand in the table."""
    reasons: dict[str, set[str]] = {}
    for each in found:
        reasons.setdefault(why(each), set()).update(each.cells)
    said = [f"{len(cells)}, {reason[:1].lower()}{reason[1:]}" for reason, cells in reasons.items()]
    return f"Of {count(len(index.cells), 'cell')} without a result: {'; '.join(said)}."


def _outliers(found: Sequence[Finding], index: RunIndex) -> str:
    told = [outlier_briefly(each, index) for each in found[:MOST_TOGETHER]]
    more = len(found) - len(told)
    rest = f"; and {count(more, 'other cell')}" if more else ""
    return f"{count(len(found), 'outlier')}: {'; '.join(told)}{rest}."


def _ceiling(found: Sequence[Finding], index: RunIndex) -> str:
    """The group that framing leaves least, where the author of a table may blame a host for it;
    first of those that fall off the ceiling.
    """
    full = [each for each in found if each.kind is Kind.WIRE_CEILING]
    falls = {_names(each): each for each in found if each.kind is Kind.FALL}
    least = min(
        full,
        key=lambda each: (
            _names(each) not in falls,
            each.evidence.get("ceiling_bit_per_s", float("inf")),
        ),
    )
    said = sentence(least, index).removesuffix(".")
    if _names(least) in falls:
        said += f"; {fall(falls[_names(least)], index)}"
    others = len({each.group for each in full}) - 1
    beside = "" if not others else f" The wire is the limit of {_groups(others)} as well."
    return f"{said}.{beside}"


def _groups(number: int) -> str:
    return "one other column" if number == 1 else f"{number} other columns"


def _names(finding: Finding) -> tuple[object, ...]:
    """What the group of a series and that of a limit have in common where they are of one table."""
    group = finding.group
    return group.pairing, group.protocol, group.message_bytes, group.flow


def _comparisons(found: Sequence[Finding], index: RunIndex) -> str:
    """The two pairings that lie closest: there it matters most that nobody can tell."""
    closest = min(found, key=_apart)
    said = sentence(closest, index)
    rest = len(found) - 1
    return said if not rest else f"{said} Nor can any other comparison of pairings: one trial each."


def _apart(finding: Finding) -> float:
    return max(abs(finding.evidence[name] - 1) for name in ("least_ratio", "most_ratio"))


def _named(names: Iterable[str]) -> str:
    kept = [name for name in names if name]
    shown = ", ".join(kept[:8])
    return shown if len(kept) <= 8 else f"{shown} and {len(kept) - 8} more"


_TOGETHER: dict[Kind, Callable[[Sequence[Finding], RunIndex], str]] = {
    Kind.OUTLIER: _outliers,
    Kind.MISSING: _blanks,
    Kind.WIRE_CEILING: _ceiling,
    Kind.UNREPEATED: _comparisons,
}
