"""Findings → the main sentences of a run, the sentences of each cell, and the full list."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter

from netlab.findings.analysis import Analysis
from netlab.findings.finding import Finding, Kind, leading_kinds
from netlab.messages import Message, _, counted, joined, sentence_case
from netlab.report.tables.elements import Part, table
from netlab.report.text.findings import RunIndex, of_what, outlier_briefly, sentence, statement, why
from netlab.store.plan import Remark, stated_facts_of
from netlab.trial.figures import FigureColumn
from netlab.trial.record import grouped

NAME = "findings"

MOST_LEADING = 5
MOST_TOGETHER = 3
"""Maximum number of outliers with figures in a leading sentence; it counts the others."""
MOST_NAMED, MOST_BRIEFLY = 8, 1
"""Maximum number of groups in a list: in leading sentences, and in the page's warnings."""
MOST_LISTED = 200
"""Maximum number of findings in the table; a paragraph tells the reader if a run has more."""


def leading(run: Analysis) -> tuple[str, ...]:
    """The most important sentences, up to five, one for each kind of finding, by importance."""
    index, kinds = RunIndex(run), _by_kind(run)
    return tuple(
        sentence(findings[0], index)
        if len(findings) == 1 and not kind.says_of_what
        else _TOGETHER.get(kind, _in_turn)(findings, index)
        for kind, findings in kinds[:MOST_LEADING]
    )


def doubts(run: Analysis) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(sentence, cells) of each kind of warning except limits of streams, by importance."""
    index = RunIndex(run)
    return tuple(
        (
            _in_turn(findings, index, MOST_BRIEFLY),
            tuple(dict.fromkeys(cell for finding in findings for cell in finding.cells)),
        )
        for kind, findings in _by_kind(run)
        if kind.severity == "warning" and kind.limit is None
    )


def _by_kind(run: Analysis) -> list[tuple[Kind, list[Finding]]]:
    """The kinds of findings that may be stated first, each with its findings, by importance."""
    kinds = grouped(run.findings, lambda finding: finding.kind)
    if Kind.WIRE_CEILING in kinds and Kind.UNEXPLAINED_FALL in kinds:
        # A fall is reported together with the ceiling that it falls from.
        kinds[Kind.WIRE_CEILING] += kinds.pop(Kind.UNEXPLAINED_FALL)
    return [(kind, kinds[kind]) for kind in leading_kinds(run.findings) if kind in kinds]


def sentences_of(run: Analysis) -> dict[str, tuple[str, ...]]:
    """Key of a cell → one sentence for each finding about it."""
    index = RunIndex(run)
    by_cell: dict[str, list[str]] = {}
    for finding in run.findings:
        words = sentence(finding, index)
        for cell in finding.cells:
            by_cell.setdefault(cell, []).append(words)
    return {cell: tuple(sentences) for cell, sentences in by_cell.items()}


def all_findings(run: Analysis) -> Part | None:
    """Every finding with its severity and advice, warnings first; ``None`` if there is none."""
    findings = run.findings
    if not findings:
        return None
    index = RunIndex(run)
    number = sum(finding.severity == "warning" for finding in findings)
    warnings = counted("{number} warning", "{number} warnings", number)
    notes = counted("{number} note", "{number} notes", len(findings) - number)
    summary = [_("{warnings}, {notes}.", warnings=warnings, notes=notes)]
    if len(findings) > MOST_LISTED:
        summary.append(_("The table has the first {number}.", number=MOST_LISTED))
    columns: list[FigureColumn[Finding]] = [
        FigureColumn(_("severity"), lambda finding: _SEVERITIES[finding.severity]),
        FigureColumn(
            _("finding"),
            lambda finding: _("{statement}.", statement=sentence_case(statement(finding, index))),
        ),
        FigureColumn(
            _("advice"), lambda finding: _("{statement}.", statement=sentence_case(finding.advice))
        ),
    ]
    sheet = table(
        _("All findings"),
        _("cells"),
        columns,
        [(of_what(one.group) or _("the run"), "", one) for one in findings[:MOST_LISTED]],
    )
    paragraphs = joined(" ", summary), _MEANS
    return Part(name=NAME, title=_("Findings"), paragraphs=paragraphs, details=(sheet,))


def stated(run: Analysis) -> Part | None:
    """Remarks of an imported document outside its table; ``None`` if it has none."""
    remarks = stated_facts_of(run.plan).remarks
    if not remarks:
        return None
    columns: list[FigureColumn[Remark]] = [
        FigureColumn(_("statement"), lambda remark: remark.text),
        FigureColumn(_("source"), lambda remark: remark.source),
    ]
    sheet = table(
        _("Remarks of the document outside its table"),
        _("pairings"),
        columns,
        [(joined(", ", remark.pairings) or _("all"), "", remark) for remark in remarks],
    )
    return Part(name="stated", title=_("Remarks of the document"), sheets=(sheet,))


_MEANS = _(
    "A finding is computed from the records alone. If its evidence is missing, there is no "
    "finding. A warning means that a figure does not describe the network, or is not reliable. A "
    "cell is an outlier if it is more than six scales away from the median of its six nearest "
    "neighbours along the socket buffer (Hampel’s identifier; the scale is 1.4826 times the median "
    "absolute deviation, at least 1 % of the median). Two adjacent cells that deviate in the same "
    "direction are a step. A trial is an outlier if its modified z score is above 3.5 among five "
    "or more trials of its cell (Iglewicz and Hoaglin). No figure is left out of a mean: the mean "
    "without the outliers is given next to the mean."
)


_SEVERITIES: Mapping[str, Message] = {"warning": _("warning"), "note": _("note")}


def _in_turn(findings: Sequence[Finding], index: RunIndex, most: int = MOST_NAMED) -> Message:
    """The first finding with figures, the groups that are like it, and the names of all others."""
    first = findings[0]
    subject, text = of_what(first.group), statement(first, index)
    same: list[str] = [subject]
    other_subjects: list[str] = []
    for finding in findings[1:]:
        alike = subject and statement(finding, index) == text
        (same if alike else other_subjects).append(of_what(finding.group))
    head = sentence(first, index)
    if len(same) > 1:
        head = _("{where}: {statement}.", where=_named(same, most), statement=text)
    if not any(other_subjects):
        return head
    likewise = _("Likewise: {others}.")
    if most > MOST_BRIEFLY:
        likewise = _("Likewise, with other figures: {others}.")
    others = _named(other_subjects, most)
    return joined(" ", (head, _(likewise.id, others=others)))


def _blanks(findings: Sequence[Finding], index: RunIndex) -> Message:
    """How many cells have no result, by reason; the table of findings names the cells."""
    reasons: dict[Message, set[str]] = {}
    for finding in findings:
        reasons.setdefault(why(finding, begins=False), set()).update(finding.cells)
    parts = [_("{number}, {reason}", number=len(own), reason=why) for why, own in reasons.items()]
    cells = counted("{number} cell", "{number} cells", len(index.cells))
    reasons_words = joined("; ", parts)
    return _("Of {cells}, these have no result: {reasons}.", cells=cells, reasons=reasons_words)


def _outliers(findings: Sequence[Finding], index: RunIndex) -> Message:
    texts = [outlier_briefly(finding, index) for finding in findings[:MOST_TOGETHER]]
    more = len(findings) - len(texts)
    if more:
        texts.append(counted("and {number} other cell", "and {number} other cells", more))
    outliers = counted("{number} outlier", "{number} outliers", len(findings))
    return _("{outliers}: {each}.", outliers=outliers, each=joined("; ", texts))


def _ceiling(findings: Sequence[Finding], index: RunIndex) -> Message:
    """On the group with the lowest ceiling, rather with a fall: it may look like a host's fault."""
    full = [finding for finding in findings if finding.kind is Kind.WIRE_CEILING]
    # A fall and its ceiling are about the same column of a table.
    column_of = attrgetter("group.pairing", "group.protocol", "group.message_bytes", "group.flow")
    falls = {column_of(f): f for f in findings if f.kind is Kind.UNEXPLAINED_FALL}

    def order(finding: Finding) -> tuple[bool, float]:
        ceiling = finding.evidence.get("ceiling_bit_per_s", float("inf"))
        return column_of(finding) not in falls, ceiling

    least = min(full, key=order)
    text = sentence(least, index)
    if (fall := falls.get(column_of(least))) is not None:
        limit, words = statement(least, index), statement(fall, index)
        where = of_what(least.group)
        text = _("{where}: {limit}; {fall}.", where=where, limit=limit, fall=words)
    count = len({finding.group for finding in full}) - 1
    if not count:
        return text
    columns = counted(
        "The wire is also the limit of one other column.",
        "The wire is also the limit of {number} other columns.",
        count,
    )
    return joined(" ", (text, columns))


def _comparisons(findings: Sequence[Finding], index: RunIndex) -> Message:
    """A sentence on the two closest pairings, which a reader is most likely to misjudge."""

    def distance(finding: Finding) -> float:
        return max(abs(finding.evidence[name] - 1) for name in ("least_ratio", "most_ratio"))

    text = sentence(min(findings, key=distance), index)
    if len(findings) == 1:
        return text
    remark = _("The other pairings also have one trial per cell, so there is no verdict on them.")
    return joined(" ", (text, remark))


def _named(names: Iterable[str], most: int) -> Message:
    words = [name for name in names if name]
    first = joined(", ", words[:most])
    more = len(words) - most
    return first if more <= 0 else _("{names} and {number} more", names=first, number=more)


_TOGETHER: Mapping[Kind, Callable[[Sequence[Finding], RunIndex], Message]] = {
    Kind.DEVIATION_CELL: _outliers,
    Kind.NO_RESULT_CELLS: _blanks,
    Kind.WIRE_CEILING: _ceiling,
    Kind.CANNOT_TELL: _comparisons,
}
"""Kinds whose findings are summed up by a function of their own."""
