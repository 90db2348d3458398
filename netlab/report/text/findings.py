"""A finding of any kind → one English sentence with its figures. No I/O.

A finding is a statement about a run that is computed from its records (stored results of trials).
It is about a group: cells that differ only in settings that the group does not name. A cell is one
combination of test, pairing (server and client) and settings; a trial is one measurement of a cell.
"""

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
    """The whole sentence with its full stop: the group of cells, the statement, the figures."""
    text = statement(finding, index)
    subject = "" if finding.kind.says_of_what else of_what(finding.group)
    if subject:
        return _("{where}: {statement}.", where=subject, statement=text)
    return _("{statement}.", statement=sentence_case(text))


def statement(finding: Finding, index: RunIndex | None = None) -> Message:
    """The statement of a finding, without its group of cells and its full stop.

    Values that depend on other cells of the run are left out if ``index`` is ``None``.
    """
    kind = finding.kind
    templates = kind.says or (_LIMITED if kind.limit else ())
    text = _filled(templates, finding, index) or _("finding {kind}", kind=str(kind))
    in_trials = finding.words.get("in_trials")
    if kind.limit is None or in_trials is None or "{in_cells}" in templates[0].id:
        return text
    return joined(" ", (in_trials, text))


_LIMITED = (
    _("limited by {limit} at {of_ceiling} of the wire ceiling: {shown}"),
    _("limited by {limit}: {shown}"),
    _("limited by {limit} at {of_ceiling} of the wire ceiling"),
    _("limited by {limit}"),
)


def of_what(group: Group) -> Message:
    """The group in words, such as ``LL UDP 64, streams 4``; empty for the whole run."""
    size = "" if group.message_bytes is None else str(group.message_bytes)
    words = [word for word in (group.host, group.pairing, group.protocol, size, group.flow) if word]
    settings = [setting(name, value) for name, value in group.conditions]
    return joined(", ", [joined(" ", words), *settings] if words else settings)


def outlier_briefly(finding: Finding, index: RunIndex) -> Message:
    """The text of one outlier in a list of outliers: its place and figures."""
    return _filled(_OUTLIER, finding, index) or of_what(finding.group)


_OUTLIER = (_("{where} at {buffer}: {value}, its neighbours have {expected} ({means})"),)


def why(finding: Finding, *, begins: bool = True) -> Message:
    """Why cells have no result: a sentence and, in brackets, the word that records have for it."""
    word = finding.words["reason"]
    reason = REASONS.get(word)
    if reason is None:
        return _("{reason}", reason=word)
    return _("{reason} ({word})", reason=reason.words if begins else reason.clause, word=word)


def _filled(
    templates: Templates, finding: Finding, index: RunIndex | None = None
) -> Message | None:
    return filled(templates, lambda name: _value(name, finding, index))


def _value(name: str, finding: Finding, index: RunIndex | None) -> str | None:
    """The value of a name in a template's braces; ``None`` if it is not known."""
    if name in _OF_CELLS:
        return None if index is None else _OF_CELLS[name](finding, index)
    if name in _OF_FINDING:
        return _OF_FINDING[name](finding)
    if name in finding.words:
        return finding.words[name] or None
    return value_of(name, finding.evidence)


# ---- values that depend on other cells of the run ------------------------------------------------


def _in_cells(finding: Finding, index: RunIndex) -> Message | None:
    """A text such as ``in 7 of 13 cells (socket buffers up to 44 KiB, except 32 KiB)``.

    The number of trials follows if not all trials of these cells are concerned.
    """
    every, concerned = index.cells_of_group(finding.cells[0]), set(finding.cells)
    in_trials = finding.words.get("in_trials")
    if len(every) <= len(concerned):
        in_every = _("in every cell") if len(concerned) > 1 else None
        return in_every if in_trials is None else joined("", (in_trials,))
    cells = _in_some_cells(every, concerned, index)
    return cells if in_trials is None else joined(", ", (cells, in_trials))


def _in_some_cells(every: Sequence[str], concerned: Collection[str], index: RunIndex) -> Message:
    number = counted(
        "in {those} of {number} cell",
        "in {those} of {number} cells",
        len(every),
        those=len(concerned),
    )
    sized = [cell for cell in every if index.buffer_bytes(cell) is not None]
    positions = [at for at, cell in enumerate(sized) if cell in concerned]
    # If several cells have the same buffer size, the size does not identify a cell.
    one_each = len({index.buffer_bytes(cell) for cell in sized}) == len(sized)
    if not positions or len(positions) < len(concerned) or not one_each:
        return number
    if positions[0] == 0:
        inside, edge, templates = sized[: positions[-1] + 1], sized[positions[-1]], _UP_TO
    elif positions[-1] == len(sized) - 1:
        inside, edge, templates = sized[positions[0] :], sized[positions[0]], _FROM
    else:
        return number
    holes = [_buffer(cell, index) for cell in inside if cell not in concerned]
    if len(holes) > 2:
        return number
    values = {"cells": number, "edge": _buffer(edge, index)}
    return (
        filled(templates, {**values, "holes": joined(", ", holes) if holes else None}.get) or number
    )


_UP_TO = (
    _("{cells} (socket buffers up to {edge}, except {holes})"),
    _("{cells} (socket buffers up to {edge})"),
)
_FROM = (
    _("{cells} (socket buffers from {edge} upwards, except {holes})"),
    _("{cells} (socket buffers from {edge} upwards)"),
)


def _size(cell: str, index: RunIndex) -> str | None:
    """The socket buffer; ``None`` if the system chooses it."""
    size = index.buffer_bytes(cell)
    return None if size is None else format_bytes(size)


def _buffer(cell: str, index: RunIndex) -> str:
    return _size(cell, index) or _("the system’s own size")


_TRIAL = (
    _("trial {trial} of {trials} at a socket buffer of {socket_buffer}"),
    _("trial {trial} of {trials}"),
)

_OF_CELLS: Mapping[str, Callable[[Finding, RunIndex], str | None]] = {
    "in_cells": _in_cells,
    "socket_buffer": lambda finding, index: _size(finding.cells[0], index),
    "buffer": lambda finding, index: _buffer(finding.cells[0], index),
    "buffers": lambda finding, index: _listed(_buffer(cell, index) for cell in finding.cells),
    "which_trial": lambda finding, index: _filled(_TRIAL, finding, index),
}


# ---- values of the finding alone -----------------------------------------------------------------


def _quantity(finding: Finding) -> str:
    names = ("throughput_bit_per_s", "rtt_mean_ns")
    in_evidence = next((name for name in names if name in finding.evidence), names[0])
    return finding.words.get("quantity", in_evidence)


def _amount(name: str) -> Callable[[Finding], str | None]:
    """A function that returns a throughput or the time of a round trip, with the unit."""

    def amount(finding: Finding) -> str | None:
        quantity = _quantity(finding)
        value = finding.evidence.get(name or quantity)
        if value is None or not quantity.endswith("_ns"):
            return None if value is None else throughput(value)
        return format_seconds(value / 1e9).replace("us", "µs")

    return amount


_MEANS = (
    _("mean {mean}, {mean_without} without outliers, median {median}"),
    _("mean {mean}, median {median}"),
)


def _listed(texts: Iterable[str]) -> str:
    """Texts as one list, such as ``a and b and c``."""
    text, *rest = texts
    for following in rest:
        text = _("{first} and {next}", first=text, next=following)
    return text


_ENDS = {
    "sender": (_("the sender"), _("of the sender")),
    "receiver": (_("the receiver"), _("of the receiver")),
    "client": (_("the client"), _("of the client")),
    "server": (_("the server"), _("of the server")),
}


def _ends(form: int) -> Callable[[Finding], str]:
    return lambda finding: _listed(_ENDS[end][form] for end in finding.words["ends"].split(", "))


def _requested(finding: Finding) -> str:
    least, most = (
        format_bytes(round(finding.evidence[name]))
        for name in ("least_asked_bytes", "most_asked_bytes")
    )
    return spanned(least, most)


def _named(finding: Finding) -> list[Message]:
    """Each fact with its name."""
    return [
        _("{fact} {value}", fact=_(name.replace("_", " ")), value=value)
        for name, value in finding.words.items()
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
    """The figures of all attempts at a trial; ``None`` if there is only one."""
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
    """The message sizes of a finding, one or several; ``None`` if it names no size."""
    sizes = finding.words.get("message_bytes")
    if not sizes:
        return None
    return counted("{sizes} byte", "{sizes} bytes", 1 if sizes == "1" else 2, sizes=sizes)


def _nor_others(number: int) -> Message | None:
    if number <= 0:
        return None
    return counted("like one other trial", "like {number} other trials", number)


def _cells(number: float) -> Message:
    return counted("{number} cell", "{number} cells", int(number))


def _trials(finding: Finding) -> Message:
    return counted("{number} trial", "{number} trials", int(finding.evidence["trials"]))


def _outliers(finding: Finding) -> Message | None:
    number = int(finding.evidence["outliers"])
    return counted("{number} outlier", "{number} outliers", number) if number else None


_OF_FINDING: Mapping[str, Callable[[Finding], str | None]] = {
    "where": lambda finding: of_what(finding.group),
    "pairing": lambda finding: finding.group.pairing,
    "protocol": lambda finding: finding.group.protocol,
    "interface": lambda finding: finding.words["interface"] or _("its interface"),
    "limit": lambda finding: finding.kind.limit,
    "shown": lambda finding: _filled(finding.kind.shown, finding),
    "margin": lambda finding: "4 %" if finding.group.flow else "2 %",
    "value": _amount(""),
    **{name: _amount(name) for name in ("expected", "least", "most")},
    **{name: _amount(name) for name in ("mean", "mean_without", "median")},
    "means": lambda finding: _filled(_MEANS, finding),
    "nor_others": lambda finding: _nor_others(round(finding.evidence["stray_trials"]) - 1),
    "outliers": _outliers,
    "of_bytes": _of_bytes,
    "asked": _requested,
    "ends": _ends(0),
    "of_ends": _ends(1),
    "its_cells": lambda finding: _cells(len(finding.cells)),
    "counted_cells": lambda finding: _cells(finding.evidence["cells"]),
    "all_cells": lambda finding: _cells(finding.evidence["of_cells"]),
    "counted_trials": _trials,
    "facts": lambda finding: joined("; ", _named(finding)[:_MOST_FACTS]),
    "more_facts": lambda finding: _more(len(finding.words) - _MOST_FACTS),
    "savings": lambda finding: joined(", ", _named(finding)),
    "controls": lambda finding: joined("; ", (joined(": ", w) for w in finding.words.items())),
    "difference": _difference,
    "attempts": _attempts,
    "when": _when,
    "why": why,
    "trip_parts": parts,
}
"""Name in a template → its value. Other names are keys of ``Finding.evidence`` or ``words``."""
