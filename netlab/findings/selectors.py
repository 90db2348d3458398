"""Which cells a finding is about, as the settings that only they have; and what it so claims.

A cause that acts on some packets only (of one protocol, IP version, length or class) shows in the
cells that send such packets, and in no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from netlab.findings.claims import CLAIMED, COUNTS, HOST, PLACE, SELECTS, SHARES, Claim, Terms
from netlab.findings.derived import StreamSample
from netlab.findings.finding import Finding, Kind, conditions_of
from netlab.findings.round_trips import WHAT
from netlab.results.run import Run
from netlab.store.plan import PlannedCell
from netlab.trial.record import Status

LEAST_CELLS = 2
"""Minimum number of cells that have something in common, and of cells that do not have it."""


def common_terms(cells: Sequence[PlannedCell], affected: frozenset[str]) -> Terms:
    """The fewest terms that the affected ones of these cells meet, and no other cell meets.

    Empty if there are none, or if fewer than ``LEAST_CELLS`` cells are affected or not affected; or
    if the terms have more than one value for two affected cells, so that chance may be enough.
    """
    inside = [cell for cell in cells if cell.key in affected]
    if len(inside) < LEAST_CELLS or len(cells) - len(inside) < LEAST_CELLS:
        return ()
    names = [*dict.fromkeys(name for cell in cells for name in cell.settings)]
    settings = {cell.key: dict(conditions_of(cell.settings, names)) for cell in cells}
    values = {
        name: tuple(dict.fromkeys(settings[cell.key][name] for cell in inside)) for name in names
    }
    # Settings that decide about packets come first: they say more than others that vary with them.
    terms = [
        (name, values[name])
        for name in sorted(names, key=lambda name: name not in SELECTS)
        if any(of_cell[name] not in values[name] for of_cell in settings.values())
    ]

    def is_exact(terms: Terms) -> bool:
        return all(
            (key in affected) == all(of_cell[name] in of for name, of in terms)
            for key, of_cell in settings.items()
        )

    if not is_exact(tuple(terms)):
        return ()
    for term in reversed(terms[:]):
        fewer = tuple(other for other in terms if other is not term)
        if fewer and is_exact(fewer):
            terms.remove(term)
    number = sum(len(values) for _name, values in terms)
    return tuple(terms) if LEAST_CELLS * number <= len(inside) else ()


class ClaimMaker:
    """Makes the claims of the findings of one run."""

    def __init__(self, run: Run, samples: Iterable[StreamSample]) -> None:
        measured = {cell for (cell, _), it in run.latest.items() if it.status is Status.OK}
        self._cells = {cell.key: cell for cell in run.plan.cells if cell.key in measured}
        self._ways: dict[tuple[str, str], set[tuple[str, str]]] = {}
        for sample in samples:
            way = (sample.sender.host, sample.receiver.host)
            for flow in {"", sample.flow}:
                self._ways.setdefault((sample.cell, flow), set()).add(way)
        for (cell, _), record in run.latest.items():
            if record.test in WHAT and record.server and record.client:
                self._ways.setdefault((cell, ""), set()).add((record.client, record.server))

    def with_claims(self, findings: Sequence[Finding]) -> Iterator[Finding]:
        """The findings, each with the cause that it claims, if it claims one.

        What cells have in common is looked for among the measured cells of the same pairing and
        test, over all findings of one kind about one direction.
        """
        # Findings of one kind about one host and one direction are alike.
        abouts = [(it.kind, it.group.host, self._way(it)) for it in findings]
        alike: dict[tuple[Kind, str, tuple[str, str]], set[str]] = {}
        for about, finding in zip(abouts, findings, strict=True):
            alike.setdefault(about, set()).update(finding.cells)
        terms = {about: self._terms(cells) for about, cells in alike.items() if about[0] in CLAIMED}
        for about, finding in zip(abouts, findings, strict=True):
            if about in terms:
                yield replace(finding, claim=self._claim(finding, about[-1], terms[about]))
            else:
                yield finding

    def _way(self, finding: Finding) -> tuple[str, str]:
        """The hosts of sender and receiver, if they are the same in all cells: its own, or all."""
        ways = [self._ways.get((cell, finding.group.flow), set()) for cell in finding.cells]
        # Of a host, or of cells without a result: those of the other cells.
        every = set().union(*(ways if any(ways) else self._ways.values()))
        return every.pop() if len(every) == 1 else ("", "")

    def _terms(self, affected: Collection[str]) -> Terms:
        tests = {(c.pairing, c.test) for key in affected if (c := self._cells.get(key))}
        near = [cell for cell in self._cells.values() if (cell.pairing, cell.test) in tests]
        return common_terms(near, frozenset(affected)) if len(tests) == 1 else ()

    def _claim(self, finding: Finding, way: tuple[str, str], terms: Terms) -> Claim:
        (where, what, when, which), (sender, receiver) = CLAIMED[finding.kind], way
        if where == HOST:
            named = finding.group.host or finding.words.get("at_host") or HOST
            where = {sender: "sender", receiver: "receiver"}.get(named, "")
        where = where or finding.words.get(PLACE, "")
        packets = [SELECTS[name] for name, _values in terms if name in SELECTS]
        figures = finding.evidence
        shares = [figures.get(name) for name in SHARES]
        shares += (
            figures[part] / figures[whole]
            for part, whole in COUNTS.items()
            if part in figures and figures.get(whole)
        )
        return Claim(
            where=where,
            what=what,
            which=which or (packets[0] if len(packets) == 1 else ""),
            when=when,
            share=next((abs(share) for share in shares if share is not None), None),
            sender=sender,
            receiver=receiver,
            only=terms,
        )
