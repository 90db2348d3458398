"""Arranges records (trials) in tables: which settings form rows, columns and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from netlab.experiment.cells import DEFAULTS
from netlab.messages import _, joined
from netlab.results.labels import setting
from netlab.trial.record import FLOWS, FlowValues, Record, Value

ROWS = "socket_buffer_bytes"
"""The setting that forms the rows, unless only other settings vary."""

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


@dataclass(frozen=True, slots=True)
class BinGrid:
    """The bins of one pairing and one combination of the settings that split the tables."""

    pairing: str
    conditions: str
    """The settings that split the tables, such as ``streams 4, congestion control bbr``. May be
    empty."""
    brief_conditions: str
    """The same without the names of settings whose values are words: ``streams 4, bbr``."""
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

    @property
    def brief_title(self) -> str:
        """Pairing and conditions, as short as possible."""
        return joined(", ", [word for word in (self.pairing, self.brief_conditions) if word])

    def column(self, column: TableColumn) -> tuple[Bin, ...]:
        """The planned bins of a column, from top to bottom."""
        places = (self.bins.get((row, column)) for row in self.rows)
        return tuple(table_bin for table_bin in places if table_bin is not None)


@dataclass(frozen=True, slots=True)
class Layout:
    """The arrangement of a run's records in tables."""

    row_setting: str
    split: tuple[str, ...]
    """Settings whose combinations have separate tables."""
    grids: tuple[BinGrid, ...]
    """Ordered by combination, then by pairing, both in the plan's order."""


def of_pairing(words: str, *, same_host: bool) -> str:
    """The heading of a pairing, marked if it is within one host."""
    return _("{pairing} (same host)", pairing=words) if same_host else words


_CONDITIONS_SHOWN = 3
"""If there are more conditions, those with default values are left out of the title."""


def lay_out(records: Sequence[Record]) -> Layout:
    """One table per pairing and combination of settings; every record has a place."""
    varying = _varying(records)
    candidates = [name for name in varying if name not in _NOT_ROWS]
    row_setting = ROWS
    if candidates and ROWS not in candidates:
        row_setting = max(candidates, key=lambda name: varying[name])
    split = tuple(name for name in varying if name != row_setting)
    combinations: dict[Levels, dict[str, list[Record]]] = {}
    for record in records:
        pairings = combinations.setdefault(tuple(level(record, name) for name in split), {})
        pairings.setdefault(record.pairing, []).append(record)
    grids = []
    for levels, pairings in combinations.items():
        conditions = [*zip(split, levels, strict=True)]
        if len(conditions) > _CONDITIONS_SHOWN:
            own = [(name, value) for name, value in conditions if value != DEFAULTS.get(name)]
            conditions = own or conditions
        full, brief = (
            joined(", ", [setting(name, value, brief=brief) for name, value in conditions])
            for brief in (False, True)
        )
        for pairing, group in pairings.items():
            bins = _bins(group, row_setting)
            columns = tuple(sorted({column for _, column in bins}))
            rows = levels_of(group, row_setting)
            grids.append(BinGrid(pairing, full, brief, row_setting, rows, columns, bins))
    return Layout(row_setting, split, tuple(grids))


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
    """The levels (values) of a setting: numbers by size, words in plan order, ``None`` last."""
    levels = dict.fromkeys(level(record, name) for record in records)
    present = [value for value in levels if value is not None]
    numbers = [value for value in present if isinstance(value, int | float)]
    of_size = sorted(numbers) if len(numbers) == len(present) else present
    return (*of_size, *([None] if None in levels else []))


def _varying(records: Sequence[Record]) -> dict[str, int]:
    """Setting → its number of levels, for settings that vary within one protocol.

    A setting that differs only between protocols (a congestion control, which UDP does not have)
    belongs to the columns of its protocol and splits no tables.
    """
    names = ["test", *dict.fromkeys(name for record in records for name in record.settings)]
    level_counts: dict[str, int] = {}
    for name in names:
        levels = {(record.protocol, level(record, name)) for record in records}
        most = max(Counter(protocol for protocol, _level in levels).values(), default=0)
        if most > 1 and name not in ("protocol", "message_bytes"):
            level_counts[name] = most
    return level_counts
