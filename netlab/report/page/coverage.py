"""Facts about a run for the page (trials by status, settings, hosts), and Jinja's environment."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from netlab.messages import Message, _, counted, joined, sentence_case
from netlab.report.language import Wording
from netlab.report.tables.elements import TableLine
from netlab.results.labels import as_words, setting_name, setting_value
from netlab.results.layout import level, levels_of
from netlab.terminal import printable
from netlab.trial.record import STATUSES, Record, Status, grouped
from netlab.units import plain_figures

if TYPE_CHECKING:
    from jinja2 import Environment

    from netlab.results.run import Run
    from netlab.store.plan import Plan

_SHOWN_DETAILS = 3
_SHOWN_ELSEWHERE = ("hosts",)
_NOTHING: tuple[object, ...] = (None, "", {}, [], ())
_COUNTERS = ("_sent_bytes", "_received_bytes", "_sent_packets", "_received_packets")


@dataclass(frozen=True, slots=True)
class Blank:
    """One reason why trials have no result."""

    sentence: str
    trials: int
    pairings: str
    details: tuple[str, ...]
    """The first few different details that the hosts reported."""
    more: int


@dataclass(frozen=True, slots=True)
class HostFact:
    """One fact of a host, before the first session and after the last one; empty if unknown."""

    name: str
    before: str
    after: str

    @property
    def changed(self) -> bool:
        """Whether both values are known and differ; false for counters, which always increase."""
        has_both = bool(self.before and self.after)
        return has_both and self.before != self.after and not self.name.endswith(_COUNTERS)


@dataclass(frozen=True, slots=True)
class HostFacts:
    """All recorded facts of a host."""

    name: str
    found: tuple[tuple[str, str], ...]
    """Facts that the last session found, except those that equal the value before the run."""
    facts: tuple[HostFact, ...]

    def words_of(self, name: str) -> str:
        """The value of a fact before the run, otherwise a later value; empty if there is none."""
        noted = {fact.name: fact.before or fact.after for fact in self.facts}
        return noted.get(name) or dict(self.found).get(name, "")

    @property
    def noted_twice(self) -> bool:
        """Whether any fact is known both before and after."""
        return any(fact.before and fact.after for fact in self.facts)


def counts(records: Sequence[Record]) -> tuple[tuple[str, tuple[int, ...], int], ...]:
    """(pairing, numbers of trials in the order of ``records.Status``, their total), in the plan's
    order; with several pairings, a last line for all.
    """
    pairings: dict[str, Counter[Status]] = {}
    for record in records:
        pairings.setdefault(record.pairing, Counter())[record.status] += 1
    lines = list(pairings.items())
    if len(lines) > 1:
        lines.append((_("all"), Counter(record.status for record in records)))
    return tuple(
        (name, tuple(numbers[status] for status in Status), numbers.total())
        for name, numbers in lines
    )


def summary(records: Sequence[Record]) -> str:
    """The coverage in words: ``416 cells: 346 ok, 70 pending``."""
    numbers = Counter(record.status for record in records)
    cells = len({record.cell for record in records})
    totals = [counted("{number} cell", "{number} cells", cells)]
    if len(records) > cells:
        totals.append(counted("{number} trial", "{number} trials", len(records)))
    return joined(": ", [joined(", ", parts) for parts in (totals, by_status(numbers)) if parts])


def by_status(numbers: Mapping[Status, int]) -> list[Message]:
    """Such as ``346 ok`` and ``70 pending``, in the order of the statuses."""
    return [joined(" ", [f"{numbers[s]:,}", STATUSES[s]]) for s in Status if numbers.get(s)]


def blanks(records: Iterable[Record]) -> tuple[Blank, ...]:
    """The reasons why trials have no result, the most frequent reason first."""
    without = (record for record in records if record.status != Status.OK)
    groups = grouped(without, lambda record: record.why_blank)
    reasons = []
    for sentence, group in sorted(groups.items(), key=lambda item: -len(item[1])):
        details = tuple(dict.fromkeys(record.detail for record in group if record.detail))
        pairings = joined(", ", dict.fromkeys(record.pairing for record in group))
        shown, more = details[:_SHOWN_DETAILS], max(0, len(details) - _SHOWN_DETAILS)
        reasons.append(Blank(sentence, len(group), pairings, shown, more))
    return tuple(reasons)


def settings(records: Sequence[Record]) -> tuple[tuple[str, str], ...]:
    """(setting, its value or values) for every setting of the plan."""
    rows = []
    for name in dict.fromkeys(name for record in records for name in record.settings):
        # The values in all cells of the protocols for which any cell has the setting.
        protocols = {record.protocol for record in records if level(record, name) is not None}
        levels = levels_of((record for record in records if record.protocol in protocols), name)
        words = joined(", ", (setting_value(name, value) for value in levels))
        rows.append((setting_name(name), words))
    return tuple(rows)


def trials(plan: Plan) -> str:
    """The trials per cell: ``10``; ``10, 15`` if cells differ; or the rule that ends the trials."""
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
    """The facts of each host, in the order in which they were first recorded."""
    described: dict[str, Mapping[str, Any]] = {}
    for session in run.sessions:
        described |= _mapping(session.get("hosts"))
    facts_before: dict[str, Mapping[str, Any]] = {}
    facts_after: dict[str, Mapping[str, Any]] = {}
    for note in run.facts:
        name, facts = str(note.get("host", "")), _mapping(note.get("facts"))
        if note.get("when") == "after":
            facts_after[name] = facts
        else:
            facts_before.setdefault(name, facts)
    hosts = []
    for name in dict.fromkeys([*described, *facts_before, *facts_after]):
        before, after = facts_before.get(name, {}), facts_after.get(name, {})
        found = tuple(
            (str(key), as_words(value))
            for key, value in _mapping(described.get(name)).items()
            if value not in _NOTHING and value != before.get(key)
        )
        noted = []
        for fact in dict.fromkeys([*before, *after]):
            words = (as_words(facts[fact]) if fact in facts else "" for facts in (before, after))
            noted.append(HostFact(str(fact), *words))
        hosts.append(HostFacts(name, found, tuple(noted)))
    return tuple(hosts)


def changes(facts: Iterable[HostFacts]) -> tuple[tuple[str, HostFact], ...]:
    """(host, fact) of all facts that differ before the first session and after the last session."""
    return tuple((host.name, fact) for host in facts for fact in host.facts if fact.changed)


def shared_machines(facts: Sequence[HostFacts]) -> tuple[str, ...]:
    """A sentence for each machine that several hosts run on, according to their machine id."""
    machines: dict[str, list[str]] = {}
    for host in facts:
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
    """The facts recorded at the beginning of each session, without the facts of hosts."""
    return tuple(
        tuple(
            (str(key), as_words(value))
            for key, value in session.items()
            if key not in _SHOWN_ELSEWHERE and value not in _NOTHING
        )
        for session in run.sessions
    )


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


# The environment of the templates


def environment(folder: Path, wording: Wording) -> Environment:
    """The environment for the templates in a folder: messages are translated, and escaped."""
    import jinja2
    from markupsafe import escape

    def said(value: object) -> object:
        """A message in the page's language; text from hosts and files without terminal escapes and
        without characters that change the direction of text."""
        if isinstance(value, Message):
            value = wording.text(value)
        return printable(str(value), keep="\n\t") if type(value) in (str, Message) else value

    def digest(text: str) -> str:
        """The hash of a script or style in the form of a Content-Security-Policy."""
        return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"

    templates = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folder),
        autoescape=True,
        finalize=said,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        extensions=["jinja2.ext.i18n"],
    )
    templates.install_gettext_callables(  # type: ignore[attr-defined]
        gettext=lambda words: escape(wording.gettext(words)),
        ngettext=lambda singular, plural, number: escape(
            wording.ngettext(singular, plural, number)
        ),
        newstyle=True,
    )
    templates.filters |= {
        "as_words": as_words,
        "digest": digest,
        "has_bars": lambda charts: any(chart.has_bars for _number, chart in charts),
        "has_shares": lambda table: any(p.share for line in table.lines for p in line.places),
        "parts": _row_groups,
        "said": said,
        "sentence_case": sentence_case,
    }
    return templates


def _row_groups(rows: Sequence[TableLine]) -> list[tuple[str, list[TableLine]]]:
    """The rows of a table's body and, if some rows summarise other rows, the rows of its foot."""
    body = [row for row in rows if row.kind == "value"]
    rest = [row for row in rows if row.kind != "value"]
    return [("tbody", body), *([("tfoot", rest)] if rest else [])] if body else [("tbody", rest)]
