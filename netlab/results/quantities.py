"""The headline figures of records, and the names of their cells."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from netlab.kinds import KINDS
from netlab.messages import _, joined
from netlab.results.labels import setting
from netlab.results.layout import LevelValue, level
from netlab.trial.quantity import THROUGHPUTS, Quantity, time_of
from netlab.trial.record import Record


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


_NAMED = ("protocol", "message_bytes")
_NEVER_NAMED = frozenset({*_NAMED, "pairing"})


def names_of(
    records: Iterable[Record], leaving_out: Collection[str] = (), *, brief: bool = False
) -> dict[str, str]:
    """Cell → its name, such as ``UDP 18, server’s receive call spinning``.

    The name contains protocol and message size, then the settings that distinguish the cell from
    others with the same test and protocol. A setting that depends on another (a count that belongs
    to a size) is left out, as are the pairing and the settings in ``leaving_out``. ``brief``:
    settings whose values are words appear without their name: ``UDP 18, spinning``.
    """
    words = words_of(records, leaving_out, brief=brief)
    return {
        cell: joined(", ", [head, *rest] if head else rest) for cell, (head, *rest) in words.items()
    }


def words_of(
    records: Iterable[Record], leaving_out: Collection[str] = (), *, brief: bool = False
) -> dict[str, tuple[str, ...]]:
    """Cell → the parts of its name: protocol and message size (or ""), then each setting.

    Cells with the same test and protocol have the same settings, in the same order.
    """
    cells: dict[str, Record] = {}
    for record in records:
        cells.setdefault(record.cell, record)
    words: dict[str, tuple[str, ...]] = {}
    kinds = dict.fromkeys((record.test, record.protocol) for record in cells.values())
    for kind in kinds:
        of_kind = [record for record in cells.values() if (record.test, record.protocol) == kind]
        telling = _telling(of_kind, leaving_out)
        words |= {
            record.cell: _words(record, telling, leaving_out, brief=brief) for record in of_kind
        }
    return words


def _telling(records: Sequence[Record], leaving_out: Collection[str]) -> list[str]:
    """The settings that are necessary so that all cells have different names."""
    settings = dict.fromkeys(name for record in records for name in record.settings)
    candidates = [name for name in settings if name not in _NEVER_NAMED and name not in leaving_out]
    selection: list[str] = []
    most = len(_labels(records, selection))
    for name in candidates:
        count = len(_labels(records, [*selection, name]))
        if count > most:
            selection.append(name)
            most = count
    return selection


def _labels(records: Sequence[Record], names: Sequence[str]) -> set[tuple[LevelValue, ...]]:
    all_names = ("pairing", *_NAMED, *names)
    return {tuple(_level(record, name) for name in all_names) for record in records}


def _level(record: Record, name: str) -> LevelValue:
    return record.pairing if name == "pairing" else level(record, name)


def _words(
    record: Record, telling: Sequence[str], leaving_out: Collection[str], *, brief: bool
) -> tuple[str, ...]:
    size = "" if record.message_bytes is None else str(record.message_bytes)
    head_words = {"protocol": record.protocol, "message_bytes": size}
    heads = [word for name, word in head_words.items() if word and name not in leaving_out]
    words = [setting(name, level(record, name), brief=brief) for name in telling]
    return (joined(" ", heads) if heads else "", *words)
