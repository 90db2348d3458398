"""A finding of any kind → one sentence with its figures; the findings of a run for programs.

A finding is about a group: the cells that share the settings that the group names.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, reduce
from string import Formatter
from typing import TYPE_CHECKING

from netlab.findings.catalogue import expect_words, words_of
from netlab.findings.claims import Claim
from netlab.findings.finding import Finding, Group, Kind
from netlab.findings.kind import Templates
from netlab.findings.series import AXIS
from netlab.findings.stream_rules import STARVED
from netlab.messages import Message, _, counted, joined, listed, sentence_case
from netlab.report.text.phrases import spanned, throughput
from netlab.results.labels import setting, setting_name, setting_value
from netlab.stats import rounded
from netlab.trial.record import REASONS, Status, Value
from netlab.units import format_bytes, format_rate, format_seconds, format_share, plain_figures

if TYPE_CHECKING:
    from netlab.compare.check import FindingSentences
    from netlab.findings.analysis import Analysis
    from netlab.results.run import Run
    from netlab.store.plan import PlannedCell


def sentence(finding: Finding, index: RunIndex) -> Message:
    """The whole sentence with its full stop: the group of cells, the statement, the figures."""
    text = statement(finding, index)
    subject = "" if finding.kind.says_of_what else of_what(finding.group)
    if subject:
        return _("{where}: {statement}.", where=subject, statement=text)
    return _("{statement}.", statement=sentence_case(text))


def statement(finding: Finding, index: RunIndex | None = None) -> Message:
    """The statement without group and full stop; without ``index``, also without other cells."""
    kind = finding.kind
    templates = kind.says or (_LIMITED if kind.limit else ())
    text = _filled(templates, finding, index) or _("finding {kind}", kind=str(kind))
    if terms := _only(finding):
        text = _("{statement}; only with {terms}", statement=text, terms=listed(terms))
    in_trials = finding.words.get("in_trials")
    if in_trials is None or any("{in_" in template.id for template in templates):
        return text
    return joined(": " if kind.limit is None else " ", (in_trials, text))


def _only(finding: Finding) -> list[Message]:
    """What the cells of a claim have in common, without what the group names already."""
    group, claim = finding.group, finding.claim
    of_group = {"protocol": group.protocol, "message_bytes": group.message_bytes}

    def term(name: str, values: Iterable[Value | None]) -> Message:
        words = joined(", ", [setting_value(name, value) for value in values])
        if name == "message_bytes":
            return _("messages of {sizes} bytes", sizes=words)
        return _("{setting} {value}", setting=setting_name(name), value=words)

    terms = claim.only if claim else ()
    return [term(name, values) for name, values in terms if values != (of_group.get(name),)]


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
    def value(name: str) -> str | None:
        if name in _OF_CELLS:
            return None if index is None else _OF_CELLS[name](finding, index)
        if name in _OF_FINDING:
            return _OF_FINDING[name](finding)
        if name in finding.words:
            return finding.words[name] or None
        return value_of(name, finding.evidence)

    return filled(templates, value)


def in_english(run: Run) -> Callable[[Finding], str]:
    """A function that turns a finding of this run into one English sentence."""
    index = RunIndex(run)
    return lambda finding: str(sentence(finding, index))


def finding_sentences(run: Run) -> FindingSentences:
    """All findings of a run, for ``netlab check``."""
    from netlab.compare.check import FindingSentence, FindingSentences
    from netlab.findings.analysis import Analysis

    in_words = in_english(run)
    findings = run.findings if isinstance(run, Analysis) else Analysis(run.stored).findings
    return FindingSentences(
        expect_words(),
        [
            FindingSentence(
                str(finding.kind),
                finding.severity,
                finding.cells,
                in_words(finding),
                words_of(finding.kind),
            )
            for finding in findings
        ],
    )


def findings_json(run: Analysis) -> bytes:
    """An array with one object for each finding, warnings first.

    ``evidence`` maps names, which include the units, to numbers. A property that a finding does not
    depend on is absent from ``about``. The text is ASCII and ends with a line feed.
    """
    in_words = in_english(run)
    lines = []
    for finding in run.findings:
        group = finding.group
        about = {
            "host": group.host,
            "pairing": group.pairing,
            "protocol": group.protocol,
            "message_bytes": group.message_bytes,
            "flow": group.flow,
            "settings": dict(group.conditions),
        }
        document = {
            "kind": finding.kind.name,
            **({"value": finding.value} if finding.value else {}),
            "severity": finding.severity,
            "about": {name: value for name, value in about.items() if value or value == 0},
            "cells": [*finding.cells],
            "trials": [{"cell": cell, "trial": trial} for cell, trial in finding.trials],
            "evidence": {name: n for name, n in finding.evidence.items() if math.isfinite(n)},
            "words": {name: str(text) for name, text in finding.words.items()},
            **({"claim": _claim(finding.claim)} if finding.claim else {}),
            "sentence": in_words(finding),
            "advice": str(finding.advice),
        }
        lines.append(json.dumps(document, allow_nan=False))
    text = ",\n".join(lines)
    return (f"[\n{text}\n]\n" if text else "[]\n").encode("ascii")


def _claim(claim: Claim) -> dict[str, object]:
    """A claim for programs: without words and hosts of which it says nothing."""
    said = {name: value for name, value in asdict(claim).items() if value not in ("", None, ())}
    return said | ({"only": {name: [*values] for name, values in claim.only}} if claim.only else {})


@dataclass(frozen=True)
class RunIndex:
    """Look-ups of one run's cells, each computed once."""

    run: Run

    @cached_property
    def cells(self) -> Mapping[str, PlannedCell]:
        """Key → planned cell."""
        return {cell.key: cell for cell in self.run.plan.cells}

    @cached_property
    def measured(self) -> frozenset[str]:
        """Keys of the cells that have a result."""
        latest = self.run.latest.items()
        return frozenset(cell for (cell, _), record in latest if record.status is Status.OK)

    @cached_property
    def by_group(self) -> Mapping[tuple[object, ...], tuple[str, ...]]:
        """Common settings of a group → its cells with a result, sorted by socket buffer size."""
        groups: dict[tuple[object, ...], list[str]] = {}
        for cell in self.run.plan.cells:
            if cell.key in self.measured:
                groups.setdefault(_common(cell), []).append(cell.key)
        return {
            key: tuple(sorted(cells, key=lambda cell: self.buffer_bytes(cell) or 2**62))
            for key, cells in groups.items()
        }

    def buffer_bytes(self, cell: str) -> int | None:
        """The socket buffer that a cell requests; ``None`` if the operating system chooses it."""
        planned_cell = self.cells.get(cell)
        size = None if planned_cell is None else planned_cell.settings.get(AXIS)
        return size if isinstance(size, int) else None


def _common(cell: PlannedCell) -> tuple[object, ...]:
    settings = cell.settings
    return cell.pairing, cell.test, settings.get("protocol"), settings.get("message_bytes")


# ---- figures of the evidence ---


CALLED: Mapping[Kind, Message] = {kind: kind.limit for kind in Kind if kind.limit is not None}

Figures = Mapping[str, float]


def filled(templates: Templates, value_of: Callable[[str], str | None]) -> Message | None:
    """The first template whose values are all known, filled in; ``None`` if there is none."""
    for template in templates:
        names = [name for field in Formatter().parse(template) if (name := field[1])]
        values = {name: value_of(name) for name in names}
        if None not in values.values():
            return _(template.id, **values)
    return None


def shown_by(kind: Kind, evidence: Figures) -> str:
    """The figures that show a limit, in words; empty if the kind of limit has no such text."""
    return filled(kind.shown, lambda name: value_of(name, evidence)) or ""


def value_of(name: str, evidence: Figures) -> str | None:
    """A figure by its name in a template; ``None`` if it is not known."""
    if name in _OF_SEVERAL:
        return _OF_SEVERAL[name](evidence)
    if name in _COUNTED:
        of, words = _COUNTED[name]
        return counted(words.id, words.many, round(evidence[of])) if of in evidence else None
    if name not in evidence:
        return None
    form = next(form for ending, form in _FORMS.items() if name.endswith(ending))
    return form(evidence[name])


def percent(share: float, digits: int = 0) -> str:
    """A share in per cent, such as ``8 %``."""
    return f"{rounded(100 * share, digits)} %"


def _time(ns: float, digits: int = 2) -> str:
    """A time with so many significant digits."""
    return format_seconds(float(f"{ns / 1e9:.{digits}g}")).replace("us", "µs")


def _thousands(count: float) -> str:
    """A count with two significant digits, and with a comma for thousands."""
    return f"{float(f'{count:.2g}'):,.0f}"


_FORMS: Mapping[str, Callable[[float], str]] = {
    "link_rate_bit_per_s": format_rate,
    "interface_speed_bit_per_s": format_rate,
    "offered_bit_per_s": format_rate,
    "target_bit_per_s": format_rate,
    "step_rate_bit_per_s": format_rate,
    "rate_limit_bit_per_s": lambda rate: format_rate(float(f"{rate:.3g}")),
    "window_limit_bit_per_s": lambda rate: format_rate(float(f"{rate:.3g}")),
    "highest_ceiling_bit_per_s": throughput,
    "_bit_per_s": throughput,
    "found_frames_per_s": lambda rate: f"{rate:,.0f}",
    "_per_s": _thousands,
    "_drops": _thousands,
    "ceiling_share": lambda share: format_share(share, 3 if share >= 0.1 else 2),
    "lost_share": lambda share: percent(share, 1),
    "change_share": lambda share: ("+" if share > 0 else "") + format_share(share, 2),
    "cost_share": lambda share: percent(share, 1),
    "_share": percent,
    "message_bytes": lambda size: str(rounded(size, 0)),
    "mtu_bytes": lambda size: str(rounded(size, 0)),
    "_bytes": lambda size: format_bytes(round(size)),
    "trip_ns": lambda ns: _time(ns, 3),
    "clock_step_ns": lambda step: f"{step / 1e9:+.1f} s",
    "_ns": _time,
    "_us": lambda time_us: _time(1000 * time_us),
    "_s": format_seconds,
    "_ppm": lambda ppm: f"{ppm:+.0f} ppm",
    **dict.fromkeys(
        ("packets", "_messages", "_frames", "_segments", "reorderings"), lambda n: f"{n:,.0f}"
    ),
    "ratio": lambda ratio: plain_figures(ratio, 2),
    "": lambda number: str(rounded(number, 0)),
}
"""End of a figure's name → function that formats the figure; the first matching end is used."""


_SEGMENTS = counted("{number} segment", "{number} segments", 0)
_PACKETS = counted("{number} packet", "{number} packets", 0)
_FRAMES = counted("{number} frame", "{number} frames", 0)
_FEW_FRAMES = counted(
    "the {number} frame that they dropped may belong to another protocol",
    "the {number} frames that they dropped may belong to other protocols",
    0,
)
_CELLS = counted("{number} cell", "{number} cells", 0)
_TRIALS = counted("{number} trial", "{number} trials", 0)
_NEVER_SENT = counted("{number} message was never sent", "{number} messages were never sent", 0)
_LEFT_OUT = counted("{number} message that was due", "{number} messages that were due", 0)
_PAIRS = counted("{number} pair of cells", "{number} pairs of cells", 0)
_COUNTED: Mapping[str, tuple[str, Message]] = {
    "segments": ("sent_again", _SEGMENTS),
    "resent_segments": ("retransmissions", _SEGMENTS),
    "those_segments": ("sent_segments", _SEGMENTS),
    "those_packets": ("ecn_packets", _PACKETS),
    "those_frames": ("dropped_frames", _FRAMES),
    "those_few": ("dropped_frames", _FEW_FRAMES),
    "frames_here": ("dropped_here", _FRAMES),
    "few_here": ("dropped_here", _FEW_FRAMES),
    "never_sent": ("dropped_frames", _NEVER_SENT),
    "left_out": ("skipped_messages", _LEFT_OUT),
    "all_trials": ("of_trials", _TRIALS),
    "counted_trials": ("trials", _TRIALS),
    "all_cells": ("of_cells", _CELLS),
    "counted_cells": ("cells", _CELLS),
    "all_pairs": ("compared", _PAIRS),
}
"""Name in a template → (name of a count in the evidence, the templates of its words)."""


def _most(*names: str) -> Callable[[Figures], str | None]:
    def most(figures: Figures) -> str | None:
        shares = [figures[name] for name in names if name in figures]
        return percent(max(shares)) if shares else None

    return most


def _starving(name: str) -> Callable[[Figures], str | None]:
    return lambda figures: percent(figures[name]) if figures.get(name, 0) > STARVED else None


_OF_SEVERAL: Mapping[str, Callable[[Figures], str | None]] = {
    "of_ceiling": lambda figures: (
        percent(figures["ceiling_share"], 1) if "ceiling_share" in figures else None
    ),
    "uneven_p90": lambda figures: (
        _time(figures["send_call_p90_ns"])
        if figures["send_call_p90_ns"] > 2 * figures["send_call_median_ns"]
        else None
    ),
    "most_stolen": _most("sender_steal_share", "receiver_steal_share"),
    "busiest_core": _most("sender_busiest_core_share", "receiver_busiest_core_share"),
    "lost_in_socket": lambda figures: percent(
        min(1.0, figures["receive_queue_drops"] / figures["lost_messages"])
    ),
    "excess": lambda figures: percent(
        figures["throughput_bit_per_s"] / figures["highest_ceiling_bit_per_s"] - 1, 1
    ),
    "of_marked": lambda figures: percent(figures["marked_packets"] / figures["ecn_packets"], 1),
    "one_of": lambda figures: _thousands(1 / max(figures["p_value"], 1e-9)),
    "waited": _starving("run_queue_share"),
    "stolen": _starving("steal_share"),
}
"""Name in a template → its value, computed from several figures."""


_PARTS: Mapping[str, Message] = {
    "wire_trip_ns": _("at least {time} on the wire"),
    "stack_trip_ns": _("{time} in the server’s stack and program"),
    "hold_trip_ns": _("{time} held back by the server"),
    "client_cpu_trip_ns": _("{time} with the client’s thread on a CPU"),
    "server_cpu_trip_ns": _("{time} with the server’s thread on a CPU"),
    "wait_trip_ns": _("{time} of waiting for a CPU"),
}


def parts(finding: Finding) -> Message:
    """A text such as ``at least 12.1 µs on the wire, 25 µs with the client’s thread on a CPU``."""
    times = ((name, value_of(name, finding.evidence)) for name in _PARTS)
    return joined(", ", [_(_PARTS[name].id, time=time) for name, time in times if time is not None])


# ---- values that depend on other cells of the run ------------------------------------------------


def _in_cells(finding: Finding, index: RunIndex) -> Message | None:
    """Such as ``in 7 of 13 cells (socket buffers up to 44 KiB, except 32 KiB)``, with trials."""
    concerned = set(finding.cells)
    # All cells with a result in the group of the first one, by socket buffer size.
    every = index.by_group.get(_common(index.cells[finding.cells[0]]), ())
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


def _amount(name: str) -> Callable[[Finding], str | None]:
    """A function that returns a throughput or the time of a round trip, with the unit."""

    def amount(finding: Finding) -> str | None:
        names = ("throughput_bit_per_s", "rtt_mean_ns")
        in_evidence = next((name for name in names if name in finding.evidence), names[0])
        quantity = finding.words.get("quantity", in_evidence)
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
    return reduce(lambda text, further: _("{first} and {next}", first=text, next=further), texts)


_ENDS = {
    "sender": (_("the sender"), _("of the sender")),
    "receiver": (_("the receiver"), _("of the receiver")),
    "client": (_("the client"), _("of the client")),
    "server": (_("the server"), _("of the server")),
}


def _ends(form: int) -> Callable[[Finding], str]:
    return lambda finding: _listed(_ENDS[end][form] for end in finding.words["ends"].split(", "))


def _range(form: Callable[[float], str], least: str, most: str) -> Callable[[Finding], str]:
    """A function that returns the range of two figures, such as ``80.1 to 99.2``."""
    return lambda finding: spanned(*(form(finding.evidence[name]) for name in (least, most)))


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


def _of_bytes(finding: Finding) -> Message | None:
    """The message sizes of a finding, one or several; ``None`` if it names no size."""
    sizes = finding.words.get("message_bytes")
    if not sizes:
        return None
    return counted("{sizes} byte", "{sizes} bytes", 1 if sizes == "1" else 2, sizes=sizes)


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
    "nor_others": lambda finding: (
        counted("like one other trial", "like {number} other trials", number)
        if (number := round(finding.evidence["stray_trials"]) - 1) > 0
        else None
    ),
    "outliers": lambda finding: (
        counted("{number} outlier", "{number} outliers", number)
        if (number := int(finding.evidence["outliers"]))
        else None
    ),
    "of_bytes": _of_bytes,
    "asked": _range(_FORMS["_bytes"], "least_asked_bytes", "most_asked_bytes"),
    "ends": _ends(0),
    "of_ends": _ends(1),
    "its_cells": lambda finding: counted(_CELLS.id, _CELLS.many, len(finding.cells)),
    "facts": lambda finding: joined("; ", _named(finding)[:_MOST_FACTS]),
    "more_facts": lambda finding: (
        str(len(finding.words) - _MOST_FACTS) if len(finding.words) > _MOST_FACTS else None
    ),
    "savings": lambda finding: joined(", ", _named(finding)),
    "controls": lambda finding: joined("; ", (joined(": ", w) for w in finding.words.items())),
    "difference": _range(
        lambda rate: f"{rounded(rate / 1e6, 2):+f}",
        *("least_difference_bit_per_s", "most_difference_bit_per_s"),
    ),
    "attempts": _attempts,
    "when": _when,
    "why": why,
    "trip_parts": parts,
}
"""Name in a template → its value. Other names are keys of ``Finding.evidence`` or ``words``."""
