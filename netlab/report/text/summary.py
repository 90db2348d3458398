"""Findings → what the page says of a run first, of each of its cells, and of all that was found.

Pure. What each kind of finding states is in the table of kinds, its figures in findings.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from netlab.findings.finding import Finding, Kind
from netlab.findings.importance import leading_kinds
from netlab.messages import Message, _, counted, joined, sentence_case
from netlab.report.tables.elements import Part, Table, TableCell, TableLine
from netlab.report.text.findings import of_what, outlier_briefly, sentence, statement, why
from netlab.report.text.run_index import RunIndex

if TYPE_CHECKING:
    from netlab.findings.analysis import Analysis

NAME = "findings"

MOST_LEADING = 5
MOST_TOGETHER = 3
"""Findings of a kind that a leading sentence puts with their figures; of others it says where."""
MOST_NAMED, MOST_BRIEFLY = 8, 1
"""Cells that such a sentence names; on the first screen."""
MOST_LISTED = 200
"""Of a run with more findings the table says how many are left out."""


def leading(run: Analysis) -> tuple[str, ...]:
    """The three to five sentences that matter most, the most important first; fewer where less was
    found, none where nothing was.
    """
    index, kinds = RunIndex(run), _by_kind(run)
    return tuple(_together(kind, those, index) for kind, those in kinds[:MOST_LEADING])


def leading_warnings(run: Analysis) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(sentence, cells) of each kind of warning, the most important first."""
    index = RunIndex(run)
    return tuple(
        (
            _in_turn(those, index, MOST_BRIEFLY),
            tuple(dict.fromkeys(cell for each in those for cell in each.cells)),
        )
        for kind, those in _by_kind(run)
        if kind.severity == "warning"
    )


def _by_kind(run: Analysis) -> list[tuple[Kind, list[Finding]]]:
    """The findings of each kind that leads, by importance."""
    kinds: dict[Kind, list[Finding]] = {}
    for finding in run.findings:
        kinds.setdefault(finding.kind, []).append(finding)
    if Kind.WIRE_CEILING in kinds and Kind.UNEXPLAINED_FALL in kinds:
        # A fall is told together with the ceiling that it falls from.
        kinds[Kind.WIRE_CEILING] += kinds.pop(Kind.UNEXPLAINED_FALL)
    return [(kind, kinds[kind]) for kind in leading_kinds(run.findings) if kind in kinds]


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
    said = [
        _(
            "{warnings}, {notes}.",
            warnings=counted("{number} warning", "{number} warnings", warnings),
            notes=counted("{number} note", "{number} notes", len(found) - warnings),
        )
    ]
    if len(found) > MOST_LISTED:
        said.append(_("The first {number} are listed.", number=MOST_LISTED))
    sheet = Table(
        title=_("What the records show"),
        corner=_("of"),
        columns=(_("severity"), _("finding"), _("what to do")),
        lines=tuple(_line(each, index) for each in found[:MOST_LISTED]),
    )
    return Part(
        name=NAME,
        title=_("Findings"),
        paragraphs=(joined(" ", said), _MEANS),
        details=(sheet,),
    )


def stated(run: Analysis) -> Part | None:
    """What a document says beside the table that was imported; ``None`` where that is nothing."""
    from netlab.store.source_facts import stated_of

    remarks = stated_of(run.plan).remarks
    if not remarks:
        return None
    sheet = Table(
        title=_("What the document says beside its table"),
        corner=_("pairings"),
        columns=(_("statement"), _("source")),
        lines=tuple(
            TableLine(
                joined(", ", each.pairings) or _("all"),
                (TableCell(each.text), TableCell(each.source)),
            )
            for each in remarks
        ),
    )
    return Part(name="stated", title=_("The document’s own words"), sheets=(sheet,))


_MEANS = _(
    "A finding is computed from the records and from nothing else; where its evidence is missing "
    "there is none. A warning says that a figure is not the network’s, or not to be believed as "
    "it stands. An outlier lies more than six scales off the median of its six nearest neighbours "
    "along the socket buffer (Hampel’s identifier; the scale is 1.4826 times the median absolute "
    "deviation, at least 1 % of the median); two adjacent cells off the same way are a step. A "
    "trial is stray by a modified z score above 3.5 among five trials and more (Iglewicz and "
    "Hoaglin). No figure is left out of a mean: the mean without it stands beside it."
)


_SEVERITIES: Mapping[str, Message] = {"warning": _("warning"), "note": _("note")}


def _line(finding: Finding, index: RunIndex) -> TableLine:
    texts = (statement(finding, index), finding.advice)
    cells = (TableCell(_("{statement}.", statement=sentence_case(text))) for text in texts)
    severity = TableCell(_SEVERITIES[finding.severity])
    return TableLine(of_what(finding.group) or _("the run"), (severity, *cells))


def _together(kind: Kind, found: Sequence[Finding], index: RunIndex) -> Message:
    """One sentence for all findings of a kind."""
    if len(found) == 1 and not kind.says_of_what:
        return sentence(found[0], index)
    return _TOGETHER.get(kind, _in_turn)(found, index)


def _in_turn(found: Sequence[Finding], index: RunIndex, most: int = MOST_NAMED) -> Message:
    """The first with its figures; those that say the same of others with it, the rest by name, and
    ``most`` of either."""
    where, said = of_what(found[0].group), statement(found[0], index)
    same: list[str] = [where]
    others: list[str] = []
    for each in found[1:]:
        alike = where and statement(each, index) == said
        (same if alike else others).append(of_what(each.group))
    head = sentence(found[0], index)
    if len(same) > 1:
        head = _("{where}: {statement}.", where=_named(same, most), statement=said)
    if not any(others):
        return head
    named = _named(others, most)
    likewise = (
        _("Likewise, with other figures: {others}.", others=named)
        if most > MOST_BRIEFLY
        else _("Likewise: {others}.", others=named)
    )
    return joined(" ", (head, likewise))


def _blanks(found: Sequence[Finding], index: RunIndex) -> Message:
    """All cells of one reason together: their names stand in the table."""
    reasons: dict[Message, set[str]] = {}
    for each in found:
        reasons.setdefault(why(each, begins=False), set()).update(each.cells)
    parts = [_("{number}, {reason}", number=len(its), reason=each) for each, its in reasons.items()]
    return _(
        "Of {cells} without a result: {reasons}.",
        cells=counted("{number} cell", "{number} cells", len(index.cells)),
        reasons=joined("; ", parts),
    )


def _outliers(found: Sequence[Finding], index: RunIndex) -> Message:
    told = [outlier_briefly(each, index) for each in found[:MOST_TOGETHER]]
    more = len(found) - len(told)
    if more:
        told.append(counted("and {number} other cell", "and {number} other cells", more))
    outliers = counted("{number} outlier", "{number} outliers", len(found))
    return _("{outliers}: {each}.", outliers=outliers, each=joined("; ", told))


def _ceiling(found: Sequence[Finding], index: RunIndex) -> Message:
    """The group that framing leaves least, where the author of a table may blame a host for it;
    first of those that fall off the ceiling.
    """
    full = [each for each in found if each.kind is Kind.WIRE_CEILING]
    falls = {_names(each): each for each in found if each.kind is Kind.UNEXPLAINED_FALL}
    least = min(
        full,
        key=lambda each: (
            _names(each) not in falls,
            each.evidence.get("ceiling_bit_per_s", float("inf")),
        ),
    )
    said = sentence(least, index)
    if _names(least) in falls:
        said = _(
            "{where}: {limit}; {fall}.",
            where=of_what(least.group),
            limit=statement(least, index),
            fall=statement(falls[_names(least)], index),
        )
    others = len({each.group for each in full}) - 1
    if not others:
        return said
    beside = counted(
        "The wire is the limit of one other column as well.",
        "The wire is the limit of {number} other columns as well.",
        others,
    )
    return joined(" ", (said, beside))


def _names(finding: Finding) -> tuple[object, ...]:
    """What the group of a series and that of a limit have in common where they are of one table."""
    group = finding.group
    return group.pairing, group.protocol, group.message_bytes, group.flow


def _comparisons(found: Sequence[Finding], index: RunIndex) -> Message:
    """The two pairings that lie closest: there it matters most that nobody can tell."""
    said = sentence(min(found, key=_apart), index)
    if len(found) == 1:
        return said
    return joined(" ", (said, _("Nor can any other comparison of pairings: one trial each.")))


def _apart(finding: Finding) -> float:
    return max(abs(finding.evidence[name] - 1) for name in ("least_ratio", "most_ratio"))


def _named(names: Iterable[str], most: int) -> Message:
    kept = [name for name in names if name]
    shown = joined(", ", kept[:most])
    more = len(kept) - most
    return shown if more <= 0 else _("{names} and {number} more", names=shown, number=more)


_TOGETHER: Mapping[Kind, Callable[[Sequence[Finding], RunIndex], Message]] = {
    Kind.OUTLIER: _outliers,
    Kind.MISSING_CELLS: _blanks,
    Kind.WIRE_CEILING: _ceiling,
    Kind.CANNOT_TELL: _comparisons,
}
"""Kinds of which several are put in a sentence of their own."""
