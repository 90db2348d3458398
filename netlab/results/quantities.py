"""The headline figures of records, and the names of their cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from netlab.kinds import KINDS
from netlab.messages import _, joined
from netlab.results.columns import CORE
from netlab.results.labels import setting
from netlab.results.layout import axis_names, level
from netlab.store.plan import PlannedCell
from netlab.trial.column import THROUGHPUTS, Quantity, time_of
from netlab.trial.record import Record, grouped


def quantities_of(record: Record) -> tuple[Quantity, ...]:
    """The headline figures of a record's test; a stream in both directions has two, not a sum."""
    kind = KINDS.get(record.test)
    own = () if kind is None else tuple(kind.quantities.values())
    has_flows = kind is None or kind.has_flows
    return own + (tuple(THROUGHPUTS[flow] for flow in record.flows) if has_flows else ())


STACK = time_of(_("mean time in the mirror’s stack"), "server_stack_mean_ns")


def figure_columns(test: str) -> dict[str, Quantity]:
    """The columns of the run's table with the headline figures of a kind of test."""
    return KINDS[test].figure_columns() if test in KINDS else {}


def summary_columns(test: str) -> tuple[str, ...]:
    """The columns whose means are in a summary of trials of ``test``, the headline figures first;
    those of all kinds if this netlab does not know the test.
    """
    kinds = [KINDS[test]] if test in KINDS else KINDS.values()
    names = (name for kind in kinds for name in (*kind.figure_columns(), *kind.summarised))
    return tuple(dict.fromkeys(names))


def core_names(cells: Collection[PlannedCell]) -> tuple[str, ...]:
    """``CORE``, with the axes of the cells before the trial, then the columns of summaries."""
    place = CORE.index("trial")
    tests = dict.fromkeys(cell.test for cell in cells)
    figures = (name for test in tests for name in summary_columns(test))
    return tuple(dict.fromkeys((*CORE[:place], *axis_names(cells), *CORE[place:], *figures)))


_NAMED = ("protocol", "message_bytes")


def names_of(records: Iterable[Record], leaving_out: Collection[str] = ()) -> dict[str, str]:
    """Cell → its name, such as ``UDP 18, server’s receive call spinning``.

    The name contains protocol and message size, then the settings that distinguish the cell from
    others with the same test and protocol. A setting that depends on another (a count that belongs
    to a size) is left out, as are the pairing and the settings in ``leaving_out``.
    """
    words = words_of(records, leaving_out)
    return {
        cell: joined(", ", [head, *rest] if head else rest) for cell, (head, *rest) in words.items()
    }


def words_of(
    records: Iterable[Record], leaving_out: Collection[str] = (), *, brief: bool = False
) -> dict[str, tuple[str, ...]]:
    """Cell → the parts of its name: protocol and message size (or ""), then each setting.

    Cells with the same test and protocol have the same settings, in the same order. ``brief``:
    settings whose values are words appear without their name: ``UDP 18, spinning``.
    """
    cells: dict[str, Record] = {}
    for record in records:
        cells.setdefault(record.cell, record)
    kinds = grouped(cells.values(), lambda record: (record.test, record.protocol))
    words: dict[str, tuple[str, ...]] = {}
    for of_kind in kinds.values():
        telling = _telling(of_kind, leaving_out)
        for record in of_kind:
            size = "" if record.message_bytes is None else str(record.message_bytes)
            named = zip(_NAMED, (record.protocol, size), strict=True)
            heads = [word for name, word in named if word and name not in leaving_out]
            settings = [setting(name, level(record, name), brief=brief) for name in telling]
            words[record.cell] = (joined(" ", heads) if heads else "", *settings)
    return words


def _telling(records: Sequence[Record], leaving_out: Collection[str]) -> list[str]:
    """The settings that are necessary so that all cells have different names."""

    def names_with(settings: Sequence[str]) -> int:
        of_all = (*_NAMED, *settings)
        return len({(r.pairing, *(level(r, name) for name in of_all)) for r in records})

    selection: list[str] = []
    most = names_with(selection)
    for name in dict.fromkeys(name for record in records for name in record.settings):
        if name in (*_NAMED, "pairing", *leaving_out):
            continue
        count = names_with([*selection, name])
        if count > most:
            selection.append(name)
            most = count
    return selection
