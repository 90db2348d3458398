"""Quantities: the headline figure of each kind of test, with name and unit. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a record is the data
of one of its trials.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from operator import methodcaller

from netlab.messages import _, joined
from netlab.results.labels import setting
from netlab.results.layout import LevelValue, level
from netlab.trial.record import Record


@dataclass(frozen=True, slots=True)
class Quantity:
    """One kind of figure of a record."""

    name: str
    unit: str
    scale: float
    """Size of one ``unit`` in the unit of ``of`` (bit/s, ns, bytes or 1/s)."""
    more: str
    """The word for a greater value, such as ``longer``."""
    less: str
    of: Callable[[Record], float | None]
    """The figure of a record in bit/s, ns, bytes or 1/s; ``None`` if it has none."""

    @property
    def more_is_worse(self) -> bool:
        """Whether a greater value is worse: a longer time."""
        return self.more in ("longer", "larger")

    def in_unit(self, record: Record) -> float | None:
        """The figure in ``unit``."""
        value = self.of(record)
        return None if value is None else value / self.scale


def quantities_of(record: Record) -> tuple[Quantity, ...]:
    """The headline figures of a record's test; a stream in both directions has two, not a sum."""
    if record.test == "round_trip":
        return (ROUND_TRIP,)
    if record.test == "connect":
        return (TRANSACTION,)
    if record.test == "payload_search":
        return (PAYLOAD,)
    if record.test == "throughput_search":
        return (FRAMES,)
    throughputs = tuple(_THROUGHPUTS[flow] for flow in record.flows)
    if record.test == "latency_under_load":
        return (INCREASE, *throughputs)
    return throughputs


def _number(name: str) -> Callable[[Record], float | None]:
    return methodcaller("number", name)


ROUND_TRIP = Quantity(
    _("mean round trip"), "µs", 1e3, _("longer"), _("shorter"), _number("rtt_mean_ns")
)
TRANSACTION = Quantity(
    _("mean transaction"), "µs", 1e3, _("longer"), _("shorter"), _number("rtt_mean_ns")
)
STACK = Quantity(
    _("mean time in the mirror’s stack"),
    *("µs", 1e3, _("longer"), _("shorter")),
    _number("server_stack_mean_ns"),
)
PAYLOAD = Quantity(_("payload"), _("bytes"), 1, _("more"), _("less"), _number("payload_bytes"))

INCREASE = Quantity(
    _("increase of the round trip under load"),
    *("ms", 1e6, _("larger"), _("smaller")),
    _number("increase_ns"),
)

FRAMES = Quantity(_("frames"), "1/s", 1, _("more"), _("fewer"), _number("frames_per_s"))


_THROUGHPUTS = {
    flow: Quantity(
        name,
        *("Mbit/s", 1e6, _("more"), _("less")),
        _number(f"{flow}throughput_bit_per_s"),
    )
    for flow, name in {
        "": _("throughput"),
        "to_server_": _("throughput to server"),
        "to_client_": _("throughput to client"),
    }.items()
}

_COLUMNS = {
    "round_trip": {"rtt_mean_ns": ROUND_TRIP},
    "connect": {"rtt_mean_ns": TRANSACTION},
    "payload_search": {"payload_bytes": PAYLOAD},
    "throughput_search": {"frames_per_s": FRAMES},
    "latency_under_load": {"increase_ns": INCREASE},
}
_FLOWS = {f"{flow}throughput_bit_per_s": quantity for flow, quantity in _THROUGHPUTS.items()}


def figure_columns(test: str) -> dict[str, Quantity]:
    """The columns of the run's table with the headline figures of a kind of test."""
    has_flows = test in ("stream", "latency_under_load")
    return _COLUMNS.get(test, {}) | (_FLOWS if has_flows else {})


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
