"""Finding → one plain sentence with its figures, whatever its kind. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from netlab.experiment.records import REASONS
from netlab.findings.finding import Finding, Group
from netlab.findings.kinds.kind import Templates
from netlab.messages import Message, _, counted, joined, sentence_case
from netlab.report.text.phrases import spanned, throughput
from netlab.report.text.run_index import RunIndex
from netlab.report.text.stream_findings import filled, value_of
from netlab.report.text.trip_findings import parts
from netlab.results.labels import setting
from netlab.stats import rounded
from netlab.units import format_bytes, format_seconds


def sentence(finding: Finding, index: RunIndex) -> Message:
    """What it states, of what, and by which figures: one sentence with its full stop."""
    said = statement(finding, index)
    where = "" if finding.kind.says_of_what else of_what(finding.group)
    if where:
        return _("{where}: {statement}.", where=where, statement=said)
    return _("{statement}.", statement=sentence_case(said))


def statement(finding: Finding, index: RunIndex | None = None) -> Message:
    """What it states, without its group; without ``index`` nothing is known of other cells."""
    kind = finding.kind
    templates = kind.says or (_LIMITED if kind.limit else ())
    said = _filled(templates, finding, index) or _(kind.replace("-", " "))
    some = finding.words.get("in_trials")
    if kind.limit is None or some is None or "{in_cells}" in templates[0].id:
        return said
    return joined(" ", (some, said))


_LIMITED = (
    _("limited by {limit} at {of_ceiling} of the wire ceiling: {shown}"),
    _("limited by {limit}: {shown}"),
    _("limited by {limit} at {of_ceiling} of the wire ceiling"),
    _("limited by {limit}"),
)


def of_what(group: Group) -> Message:
    """``LL UDP 64, streams 4``; empty for the whole run."""
    size = "" if group.message_bytes is None else str(group.message_bytes)
    words = [word for word in (group.host, group.pairing, group.protocol, size, group.flow) if word]
    settings = [setting(name, value) for name, value in group.conditions]
    return joined(", ", [joined(" ", words), *settings] if words else settings)


def outlier_briefly(finding: Finding, index: RunIndex) -> Message:
    """One of several, without saying again what it is."""
    return _filled(_OUTLIER, finding, index) or of_what(finding.group)


_OUTLIER = (_("{where} at {buffer}, {value} where its neighbours have {expected} ({means})"),)


def why(finding: Finding, *, begins: bool = True) -> Message:
    """The reason of blanks: its sentence and its word."""
    word = finding.words["reason"]
    known = REASONS.get(word)
    if known is None:
        return _("{reason}", reason=word)
    text = known.sentence.rstrip(".")
    clause = _(text[:1].lower() + text[1:])
    begun = sentence_case(clause) if begins and text[:1].isupper() else clause
    return _("{reason} ({word})", reason=begun, word=word)


def _filled(
    templates: Templates, finding: Finding, index: RunIndex | None = None
) -> Message | None:
    return filled(templates, lambda name: _value(name, finding, index))


def _value(name: str, finding: Finding, index: RunIndex | None) -> str | None:
    """The value of a name in a template's braces; ``None`` where it is not known."""
    if name in _OF_CELLS:
        return None if index is None else _OF_CELLS[name](finding, index)
    if name in _OF_FINDING:
        return _OF_FINDING[name](finding)
    if name in finding.words:
        return finding.words[name] or None
    return value_of(name, finding.evidence)


# ---- values that a finding has of its run --------------------------------------------------------


def _in_cells(finding: Finding, index: RunIndex) -> Message | None:
    """``in 7 of 13 cells (socket buffers up to 44 KiB, but for 32 KiB)``, and in which of their
    trials where it is not all.
    """
    every, those = index.cells_beside(finding.cells[0]), set(finding.cells)
    some = finding.words.get("in_trials")
    if len(every) <= len(those):
        told = _("in every cell") if len(those) > 1 else None
        return told if some is None else joined("", (some,))
    cells = _in_some_cells(every, those, index)
    return cells if some is None else joined(", ", (cells, some))


def _in_some_cells(every: Sequence[str], those: Collection[str], index: RunIndex) -> Message:
    said = counted(
        "in {those} of {number} cell", "in {those} of {number} cells", len(every), those=len(those)
    )
    sized = [cell for cell in every if index.buffer_bytes(cell) is not None]
    its = [at for at, cell in enumerate(sized) if cell in those]
    # Where one buffer stands for several cells, which differ otherwise, it names none of them.
    one_each = len({index.buffer_bytes(cell) for cell in sized}) == len(sized)
    if not its or len(its) < len(those) or not one_each:
        return said
    if its[0] == 0:
        inside, edge, templates = sized[: its[-1] + 1], sized[its[-1]], _UP_TO
    elif its[-1] == len(sized) - 1:
        inside, edge, templates = sized[its[0] :], sized[its[0]], _FROM
    else:
        return said
    holes = [_buffer(cell, index) for cell in inside if cell not in those]
    if len(holes) > 2:
        return said
    values = {"cells": said, "edge": _buffer(edge, index)}
    return (
        filled(templates, {**values, "holes": joined(", ", holes) if holes else None}.get) or said
    )


_UP_TO = (
    _("{cells} (socket buffers up to {edge}, but for {holes})"),
    _("{cells} (socket buffers up to {edge})"),
)
_FROM = (
    _("{cells} (socket buffers from {edge} on, but for {holes})"),
    _("{cells} (socket buffers from {edge} on)"),
)


def _size(cell: str, index: RunIndex) -> str | None:
    """``None`` where it is the system's own."""
    size = index.buffer_bytes(cell)
    return None if size is None else format_bytes(size)


def _buffer(cell: str, index: RunIndex) -> str:
    return _size(cell, index) or _("the system’s tuning")


_TRIAL = (
    _("trial {trial} of {trials} at a socket buffer of {socket_buffer}"),
    _("trial {trial} of {trials}"),
)

_OF_CELLS: Mapping[str, Callable[[Finding, RunIndex], str | None]] = {
    "in_cells": _in_cells,
    "socket_buffer": lambda each, index: _size(each.cells[0], index),
    "buffer": lambda each, index: _buffer(each.cells[0], index),
    "buffers": lambda each, index: _listed(_buffer(cell, index) for cell in each.cells),
    "which_trial": lambda each, index: _filled(_TRIAL, each, index),
}


# ---- values that it has of its own ---------------------------------------------------------------


def _quantity(finding: Finding) -> str:
    known = ("throughput_bit_per_s", "rtt_mean_ns")
    of_evidence = next((name for name in known if name in finding.evidence), known[0])
    return finding.words.get("quantity", of_evidence)


def _amount(name: str) -> Callable[[Finding], str | None]:
    """A throughput or a round trip with its unit."""

    def amount(finding: Finding) -> str | None:
        quantity = _quantity(finding)
        value = finding.evidence.get(name or quantity)
        if value is None or not quantity.endswith("_ns"):
            return None if value is None else throughput(value)
        return format_seconds(value / 1e9).replace("us", "µs")

    return amount


_MEANS = (
    _("mean {mean} with it, {mean_without} without, median {median}"),
    _("mean {mean} with it, median {median}"),
)


def _listed(texts: Iterable[str]) -> str:
    """``a and b and c``."""
    first, *rest = texts
    for each in rest:
        first = _("{first} and {next}", first=first, next=each)
    return first


_ENDS = {
    "sender": (_("the sender"), _("of the sender")),
    "receiver": (_("the receiver"), _("of the receiver")),
    "client": (_("the client"), _("of the client")),
    "server": (_("the server"), _("of the server")),
}


def _ends(form: int) -> Callable[[Finding], str]:
    return lambda finding: _listed(_ENDS[end][form] for end in finding.words["ends"].split(", "))


def _asked(finding: Finding) -> str:
    least, most = (
        format_bytes(round(finding.evidence[name]))
        for name in ("least_asked_bytes", "most_asked_bytes")
    )
    return spanned(least, most)


def _named(finding: Finding) -> list[Message]:
    """Facts with what they are."""
    return [
        _("{fact} {value}", fact=_(name.replace("_", " ")), value=said)
        for name, said in finding.words.items()
    ]


_MOST_FACTS = 3


def _when(finding: Finding) -> Message:
    if "at_ns" not in finding.evidence:
        return _("at a time that is not recorded")
    at, gaps = str(value_of("at_ns", finding.evidence)), int(finding.evidence["gaps"])
    if gaps == 1:
        return _("at {at}", at=at)
    return _("in {gaps} gaps, the longest at {at}", gaps=gaps, at=at)


def _attempts(finding: Finding) -> Message | None:
    """What the attempts at a trial came to, where there are several."""
    names = [name for name in finding.evidence if name.startswith("attempt_")]
    if len(names) < 2:
        return None
    return joined(", ", [str(value_of(name, finding.evidence)) for name in names])


def _difference(finding: Finding) -> str:
    least, most = (
        f"{rounded(finding.evidence[name] / 1e6, 2):+f}"
        for name in ("least_difference_bit_per_s", "most_difference_bit_per_s")
    )
    return spanned(least, most)


def _more(number: float) -> str | None:
    return str(round(number)) if number > 0 else None


def _of_bytes(finding: Finding) -> Message | None:
    """One length of messages, or several."""
    sizes = finding.words.get("message_bytes")
    if not sizes:
        return None
    return counted("{sizes} byte", "{sizes} bytes", 1 if sizes == "1" else 2, sizes=sizes)


def _nor_others(number: int) -> Message | None:
    return counted("nor does one other", "nor do {number} others", number) if number > 0 else None


def _cells(number: float) -> Message:
    return counted("{number} cell", "{number} cells", int(number))


def _trials(finding: Finding) -> Message:
    return counted("{number} trial", "{number} trials", int(finding.evidence["trials"]))


def _outliers(finding: Finding) -> Message | None:
    number = int(finding.evidence["outliers"])
    return counted("{number} outlier", "{number} outliers", number) if number else None


_OF_FINDING: Mapping[str, Callable[[Finding], str | None]] = {
    "where": lambda each: of_what(each.group),
    "pairing": lambda each: each.group.pairing,
    "protocol": lambda each: each.group.protocol,
    "interface": lambda each: each.words["interface"] or _("its interface"),
    "limit": lambda each: each.kind.limit,
    "shown": lambda each: _filled(each.kind.shown, each),
    "filled": lambda each: "96 %" if each.group.flow else "98 %",
    "value": _amount(""),
    **{name: _amount(name) for name in ("expected", "least", "most")},
    **{name: _amount(name) for name in ("mean", "mean_without", "median")},
    "means": lambda each: _filled(_MEANS, each),
    "nor_others": lambda each: _nor_others(round(each.evidence["stray_trials"]) - 1),
    "outliers": _outliers,
    "of_bytes": _of_bytes,
    "asked": _asked,
    "ends": _ends(0),
    "of_ends": _ends(1),
    "its_cells": lambda each: _cells(len(each.cells)),
    "counted_cells": lambda each: _cells(each.evidence["cells"]),
    "all_cells": lambda each: _cells(each.evidence["of_cells"]),
    "counted_trials": _trials,
    "facts": lambda each: joined("; ", _named(each)[:_MOST_FACTS]),
    "more_facts": lambda each: _more(len(each.words) - _MOST_FACTS),
    "savings": lambda each: joined(", ", _named(each)),
    "controls": lambda each: joined("; ", (joined(": ", both) for both in each.words.items())),
    "difference": _difference,
    "attempts": _attempts,
    "when": _when,
    "why": why,
    "trip_parts": parts,
}
"""Name in a template → what it is; any other name is one of evidence or of words."""
