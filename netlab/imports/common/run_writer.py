"""Code that all importers share: reads the source file and its facts, writes the run folder.

A pairing is the two hosts of a test. A cell is one combination of pairing, test and settings. A
trial is one repetition of a cell, and a record holds the result of one trial.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Unpack

from netlab.errors import UsageError
from netlab.experiment.matrix import Link
from netlab.experiment.records import Record, Status, Value, utc_now
from netlab.imports.common.csv_table import read_table, text_of
from netlab.imports.common.tool_result import NOT_RECORDED
from netlab.results.columns import columns_of
from netlab.store.plan import KEY, STATED, Plan, PlannedCell, StatedFacts
from netlab.store.run_folder import RunFolder

OF_AN_END = frozenset({"receiver_jitter_ns", "sender_congestion"})
"""Values that only the receiver or the sender can know, and that other tools print as well.
Findings and reports read them, although they are not columns of every test."""


class TableContext(TypedDict, total=False):
    """Facts about a table that are not in it. Every importer takes them."""

    title: str | None
    """Default: the table's name."""
    link: Link | None
    """The link between the hosts. Without it, there are no wire ceilings (the highest payload rate
    that the link can carry)."""
    facts: Path | None
    """File with facts that the document states outside the table (docs/run-folder.md)."""
    imported_at: str | None
    """ISO 8601. Used instead of the wall clock, so that a repeated import gives the same bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The content of a printed table, and the facts about it."""

    path: Path
    data: bytes
    title: str
    link: Link | None
    facts: Path | None
    stated: StatedFacts
    imported_at: str | None

    @property
    def name(self) -> str:
        """Name of the table in messages about faults."""
        return str(self.path)

    @property
    def text(self) -> str:
        """The table's text. Raises MatrixError with the place if it is not UTF-8."""
        return text_of(self.data, self.name)

    def beside(self, into: Path) -> frozenset[str]:
        """Names of the table and of the facts file, if they are in the folder ``into``: the run
        folder may be created in a folder that has these files.
        """
        files = (self.path, *([self.facts] if self.facts is not None else []))
        folder = into.resolve()
        return frozenset(file.name for file in files if file.parent.resolve() == folder)


def read_source(path: Path, **context: Unpack[TableContext]) -> Source:
    """Read a table and its facts. Raises UsageError (no table) or MatrixError (wrong facts)."""
    return source_of(path, read_table(path), **context)


def source_of(path: Path, data: bytes, **context: Unpack[TableContext]) -> Source:
    """The source of ``data``, with the facts about it. Raises MatrixError for wrong facts."""
    facts = context.get("facts")
    statements = StatedFacts()
    if facts is not None:
        from netlab.imports.common.facts_file import read_stated

        statements = read_stated(facts)
    return Source(
        path=path,
        data=data,
        title=context.get("title") or path.stem,
        link=context.get("link"),
        facts=facts,
        stated=statements,
        imported_at=context.get("imported_at"),
    )


def write_run(
    into: Path,
    source: Source,
    cells: Iterable[PlannedCell],
    records: Sequence[Record],
    *,
    content: Mapping[str, Any],
    repeats: int = 1,
) -> Path:
    """Make the run folder ``into``, or complete it; returns ``into``.

    ``content`` has the settings by which two imports of the same table differ, as plain JSON data.
    Importing the same table again into its folder changes nothing.

    Raises UsageError (the facts name a pairing that the table lacks; ``into`` has other contents),
    StoreError, LockedError; ValueError if a record has a name that is not a column.
    """
    for record in records:
        _check_names(record)
    plan = _plan(source, tuple(cells), content, repeats)
    pairings = list(dict.fromkeys(cell.pairing for cell in plan.cells))
    for stranger in source.stated.strangers(pairings):
        names = ", ".join(pairings)
        raise UsageError(
            f"{source.facts}: {source.path.name} has no pairing {stranger!r}; its pairings: {names}"
        )
    with RunFolder.open_for_writing(
        into,
        plan,
        neighbours=source.beside(into),
        clock=lambda: source.imported_at or utc_now(),
        run_id=plan.content_hash[:16],
    ) as run:
        noted = {note.data.get("host") for note in run.notes if note.kind == "facts"}
        for host in source.stated.hosts:
            if host.name not in noted:
                facts = {**host.facts, "source": host.source}
                run.note("facts", durable=False, host=host.name, when=STATED, facts=facts)
        existing = frozenset(run.latest)
        for record in records:
            if (record.cell, record.trial) not in existing:
                run.append(record, durable=False)
    return into


def cell_of(
    pairing: str,
    test: str,
    settings: Mapping[str, Value],
    words: Sequence[str],
    repeats: int | None = None,
) -> PlannedCell:
    """A cell: a pairing, a test and its settings. Its key has readable ``words`` and a digest."""
    text = json.dumps([pairing, test, settings], sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return PlannedCell("-".join([pairing, test, *words, digest]), pairing, test, settings, repeats)


def record_of(
    cell: PlannedCell,
    values: Mapping[str, Value],
    *,
    printed: str,
    trial: int = 1,
    server: str = "",
    client: str = "",
) -> Record:
    """The record of a printed figure; ``pending`` if ``printed`` is empty."""
    return Record(
        cell=cell.key,
        trial=trial,
        attempt=1,
        status=Status.OK if printed else Status.PENDING,
        reason=None if printed else NOT_RECORDED,
        pairing=cell.pairing,
        server=server,
        client=client,
        test=cell.test,
        started_at="",
        settings=cell.settings,
        values=values,
    )


def _without_flow(name: str) -> str:
    """The name of a value without the prefix of its direction."""
    return name.removeprefix("to_server_").removeprefix("to_client_")


def _check_names(record: Record) -> None:
    """Raise ValueError for a name that is no column: findings and reports would not read it."""
    columns = columns_of([record.test])
    known_columns = {*columns, *OF_AN_END}
    names = {*record.settings, *record.values}
    unknown = sorted(name for name in names if _without_flow(name) not in known_columns)
    if unknown:
        raise ValueError(f"{record.cell}: no column of netlab.results.columns: {unknown}")


def _plan(
    source: Source, cells: tuple[PlannedCell, ...], content: Mapping[str, Any], repeats: int
) -> Plan:
    table = {"sha256": hashlib.sha256(source.data).hexdigest()}
    document: dict[str, Any] = {"table": table, **content}
    if source.link is not None:
        document["link"] = {
            "rate_bit_per_s": source.link.rate_bit_per_s,
            "mtu_bytes": source.link.mtu_bytes,
            **({"hops": source.link.hops} if source.link.hops else {}),
        }
    if source.stated != StatedFacts():
        document[KEY] = source.stated.data()
    # Normalise to what reading the file gives: tuples become lists.
    document = json.loads(json.dumps(document, sort_keys=True))
    return Plan(
        title=source.title,
        content=document,
        content_hash=hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest(),
        matrix_text="",
        link=source.link,
        cells=cells,
        repeats=repeats,
        source=source.path.name,
    )
