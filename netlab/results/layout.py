"""Arranges records (trials) in tables: which settings form rows, columns and tables."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from netlab.experiment.cells import DEFAULTS
from netlab.experiment.hosts import of_mesh
from netlab.messages import _, joined
from netlab.results.labels import setting
from netlab.trial.record import FLOWS, FlowValues, Record, Value, grouped

if TYPE_CHECKING:
    from netlab.experiment.cells import Cell
    from netlab.store.plan import PlannedCell

ROWS = "socket_buffer_bytes"
"""The setting that forms the rows, unless only other settings vary."""

_OF_COLUMNS = frozenset({"protocol", "message_bytes"})
_NOT_ROWS = frozenset({"direction", "test"})
"""Settings that cannot form rows: they change a table's columns or the meaning of its figures."""

LevelValue = Value | None
Levels = tuple[LevelValue, ...]


@dataclass(frozen=True, slots=True, order=True)
class TableColumn:
    """One column: protocol, message size and direction of the data."""

    protocol: str
    message_bytes: int
    flow: str = ""
    """A name of ``FLOWS``."""
    way: str = field(default="", compare=False)
    """Name of the direction in the report's language; empty: as in ``FLOWS``."""

    @property
    def label(self) -> str:
        """The message size, with the direction if the test sends both ways."""
        words = (str(self.message_bytes), self.way or FLOWS[self.flow])
        return joined(" ", [word for word in words if word])

    @property
    def words(self) -> str:
        """Protocol and label, such as ``TCP 64``."""
        return joined(" ", [self.protocol, self.label])


@dataclass(frozen=True, slots=True)
class Bin:
    """One place of a table: the trials of one cell in one direction."""

    records: tuple[Record, ...]
    flow: str

    @property
    def cell(self) -> str:
        """Key of the cell of all trials; empty if they belong to several cells."""
        cells = {record.cell for record in self.records}
        return cells.pop() if len(cells) == 1 else ""

    @property
    def flows(self) -> tuple[FlowValues, ...]:
        """The flows of the trials with a result."""
        flows = (record.flow(self.flow) for record in self.records)
        return tuple(flow for flow in flows if flow.throughput_bit_per_s is not None)

    @property
    def throughputs_bit_per_s(self) -> tuple[float, ...]:
        """One throughput per trial with a result."""
        figures = (record.flow(self.flow).throughput_bit_per_s for record in self.records)
        return tuple(figure for figure in figures if figure is not None)

    @property
    def blanks(self) -> tuple[Record, ...]:
        """The trials without a result."""
        return tuple(r for r in self.records if r.flow(self.flow).throughput_bit_per_s is None)


def lost_share(flows: Iterable[FlowValues]) -> float | None:
    """The share of the messages sent that was lost, in per cent; ``None`` if none were counted."""
    counts = [
        (flow.lost_messages, flow.sent_messages)
        for flow in flows
        if flow.lost_messages is not None and flow.sent_messages
    ]
    return (
        100 * sum(lost for lost, _ in counts) / sum(sent for _, sent in counts) if counts else None
    )


@dataclass(frozen=True, slots=True)
class BinGrid:
    """The bins of one pairing and one combination of the settings that split the tables."""

    pairing: str
    conditions: str
    """The settings that split the tables, such as ``streams 4, congestion control bbr``. May be
    empty."""
    row_setting: str
    rows: Levels
    columns: tuple[TableColumn, ...]
    bins: dict[tuple[LevelValue, TableColumn], Bin]

    @property
    def records(self) -> tuple[Record, ...]:
        """Every trial of the grid, each once."""
        records = (record for table_bin in self.bins.values() for record in table_bin.records)
        return tuple({id(record): record for record in records}.values())

    @property
    def same_host(self) -> bool:
        """Whether server and client were one host in any trial: its traffic crossed no cable."""
        return any(record.same_host for record in self.records)

    @property
    def title(self) -> str:
        """Pairing and conditions."""
        return joined(", ", [word for word in (self.pairing, self.conditions) if word])

    def column(self, column: TableColumn) -> tuple[Bin, ...]:
        """The planned bins of a column, from top to bottom."""
        places = (self.bins.get((row, column)) for row in self.rows)
        return tuple(table_bin for table_bin in places if table_bin is not None)


def of_pairing(words: str, *, same_host: bool) -> str:
    """The heading of a pairing, marked if it is within one host."""
    return _("{pairing} (same host)", pairing=words) if same_host else words


_CONDITIONS_SHOWN = 3
"""If there are more conditions, those with default values are left out of the title."""


def meshed(records: Sequence[Record]) -> list[Record]:
    """The records of pairings that a report shows as clients by servers, see ``of_mesh``."""
    meshes = _meshes(records)
    return [record for record in records if record.pairing in meshes[record.test]]


def tabled(records: Sequence[Record]) -> list[Record]:
    """The records of all other pairings, each of which has tables of its own."""
    meshes = _meshes(records)
    return [record for record in records if record.pairing not in meshes[record.test]]


def _meshes(records: Sequence[Record]) -> dict[str, frozenset[str]]:
    by_test = grouped(records, lambda record: record.test)
    return {test: of_mesh({record.pairing for record in own}) for test, own in by_test.items()}


def lay_out(records: Sequence[Record]) -> tuple[BinGrid, ...]:
    """One table per pairing and combination of settings; every record has a place. The order is by
    combination, then by pairing, both in the plan's order.
    """
    varying = _varying(records)
    candidates = [name for name in varying if name not in _NOT_ROWS]
    row_setting = ROWS
    if candidates and ROWS not in candidates:
        row_setting = max(candidates, key=lambda name: varying[name])
    split = tuple(name for name in varying if name != row_setting)
    combinations = grouped(records, lambda record: tuple(level(record, name) for name in split))
    grids = []
    for levels, alike in combinations.items():
        conditions = [*zip(split, levels, strict=True)]
        if len(conditions) > _CONDITIONS_SHOWN:
            own = [(name, value) for name, value in conditions if value != DEFAULTS.get(name)]
            conditions = own or conditions
        words = joined(", ", [setting(name, value) for name, value in conditions])
        for pairing, group in grouped(alike, lambda record: record.pairing).items():
            bins = _bins(group, row_setting)
            columns = tuple(sorted({column for _, column in bins}))
            rows = levels_of(group, row_setting)
            grids.append(BinGrid(pairing, words, row_setting, rows, columns, bins))
    return tuple(grids)


def _bins(group: Iterable[Record], row_setting: str) -> dict[tuple[LevelValue, TableColumn], Bin]:
    collected: dict[tuple[LevelValue, TableColumn], list[Record]] = {}
    for record in group:
        for flow in record.flows:
            column = TableColumn(record.protocol, record.message_bytes or 0, flow)
            collected.setdefault((level(record, row_setting), column), []).append(record)
    return {place: Bin(tuple(its), place[1].flow) for place, its in collected.items()}


def level(record: Record, name: str) -> LevelValue:
    """The requested value of one setting of a record; ``None`` if it was not set."""
    return record.test if name == "test" else record.settings.get(name)


def levels_of(records: Iterable[Record], name: str) -> Levels:
    """The levels (values) of a setting, in order."""
    return in_order(level(record, name) for record in records)


def in_order(values: Iterable[LevelValue]) -> Levels:
    """Levels, each once: numbers by size, words in plan order, ``None`` last."""
    levels = dict.fromkeys(values)
    present = [value for value in levels if value is not None]
    numbers = [value for value in present if isinstance(value, int | float)]
    of_size = sorted(numbers) if len(numbers) == len(present) else present
    return (*of_size, *([None] if None in levels else []))


def _levels(cells: Collection[PlannedCell | Cell]) -> dict[tuple[str, str], dict[str, set[str]]]:
    """(test, protocol) → setting → its values as texts; ``None``: some of the cells lack it."""
    kinds = grouped(cells, lambda cell: (cell.test, str(cell.settings.get("protocol", ""))))
    levels: dict[tuple[str, str], dict[str, set[str]]] = {}
    for kind, own in kinds.items():
        settings = [cell.settings for cell in own]
        names = dict.fromkeys(name for its in settings for name in its)
        levels[kind] = {name: {repr(its.get(name)) for its in settings} for name in names}
    return levels


def varying(cells: Collection[PlannedCell | Cell]) -> dict[tuple[str, str], tuple[str, ...]]:
    """(test, protocol) → the settings in which its cells differ; to lack a setting is to differ."""
    return {
        kind: tuple(name for name, values in of_kind.items() if len(values) > 1)
        for kind, of_kind in _levels(cells).items()
    }


def axis_names(cells: Collection[PlannedCell | Cell]) -> tuple[str, ...]:
    """All settings in ``varying``, and those with other values in other tests or protocols."""
    levels: dict[str, set[str]] = {}
    for of_kind in _levels(cells).values():
        for name, values in of_kind.items():
            levels.setdefault(name, set()).update(values)
    return tuple(name for name, values in levels.items() if len(values) > 1 and name != "protocol")


def _varying(records: Sequence[Record]) -> dict[str, int]:
    """Setting → its number of levels, for settings that vary within one protocol.

    A setting that differs only between protocols (a congestion control, which UDP does not have)
    belongs to the columns of its protocol and splits no tables.
    """
    names = ["test", *dict.fromkeys(name for record in records for name in record.settings)]
    groups = grouped(records, lambda record: record.protocol).values()
    counts = {n: max((len(levels_of(g, n)) for g in groups), default=0) for n in names}
    return {name: most for name, most in counts.items() if most > 1 and name not in _OF_COLUMNS}
