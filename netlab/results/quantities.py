"""Quantities: the headline figure of each kind of test, with name and unit. No I/O.

A cell is one combination of test, pairing (server and client) and settings; a reading is the data
of one of its trials.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from netlab.messages import _, joined
from netlab.results.labels import setting
from netlab.results.layout import LevelValue, level
from netlab.results.readings import Reading


@dataclass(frozen=True, slots=True)
class Quantity:
    """One kind of figure of a reading."""

    name: str
    unit: str
    scale: float
    """Size of one ``unit`` in the unit of ``of`` (bit/s, ns, bytes or 1/s)."""
    more: str
    """The word for a greater value, such as ``longer``."""
    less: str
    of: Callable[[Reading], float | None]
    """The figure of a reading in bit/s, ns, bytes or 1/s; ``None`` if it has none."""

    @property
    def more_is_worse(self) -> bool:
        """Whether a greater value is worse: a longer time."""
        return self.more in ("longer", "larger")

    def in_unit(self, reading: Reading) -> float | None:
        """The figure in ``unit``."""
        value = self.of(reading)
        return None if value is None else value / self.scale


def quantities_of(reading: Reading) -> tuple[Quantity, ...]:
    """The headline figures of a reading's test; a stream in both directions has two, not a sum."""
    if reading.test == "round_trip":
        return (ROUND_TRIP,)
    if reading.test == "connect":
        return (TRANSACTION,)
    if reading.test == "payload_search":
        return (PAYLOAD,)
    if reading.test == "throughput_search":
        return (FRAMES,)
    throughputs = tuple(_THROUGHPUTS[flow] for flow in reading.flows)
    if reading.test == "latency_under_load":
        return (INCREASE, *throughputs)
    return throughputs


def number(name: str, reading: Reading) -> float | None:
    """A measured number of a reading with a result, by the name of its column."""
    return reading.number(name) if reading.status == "ok" else None


ROUND_TRIP = Quantity(
    _("mean round trip"), "µs", 1e3, _("longer"), _("shorter"), partial(number, "rtt_mean_ns")
)
TRANSACTION = Quantity(
    _("mean transaction"), "µs", 1e3, _("longer"), _("shorter"), partial(number, "rtt_mean_ns")
)
STACK = Quantity(
    _("mean time in the mirror’s stack"),
    *("µs", 1e3, _("longer"), _("shorter")),
    partial(number, "server_stack_mean_ns"),
)
PAYLOAD = Quantity(
    _("payload"), _("bytes"), 1, _("more"), _("less"), partial(number, "payload_bytes")
)

INCREASE = Quantity(
    _("increase of the round trip under load"),
    *("ms", 1e6, _("larger"), _("smaller")),
    partial(number, "increase_ns"),
)

FRAMES = Quantity(_("frames"), "1/s", 1, _("more"), _("fewer"), partial(number, "frames_per_s"))


def _throughput(flow: str, reading: Reading) -> float | None:
    reading_flow = reading.flows.get(flow)
    return None if reading_flow is None else reading_flow.throughput_bit_per_s


_THROUGHPUTS = {
    flow: Quantity(
        name,
        *("Mbit/s", 1e6, _("more"), _("less")),
        partial(_throughput, flow),
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
    readings: Iterable[Reading], leaving_out: Collection[str] = (), *, brief: bool = False
) -> dict[str, str]:
    """Cell → its name, such as ``UDP 18, server’s receive call spinning``.

    The name contains protocol and message size, then the settings that distinguish the cell from
    others with the same test and protocol. A setting that depends on another (a count that belongs
    to a size) is left out, as are the pairing and the settings in ``leaving_out``. ``brief``:
    settings whose values are words appear without their name: ``UDP 18, spinning``.
    """
    words = words_of(readings, leaving_out, brief=brief)
    return {
        cell: joined(", ", [head, *rest] if head else rest) for cell, (head, *rest) in words.items()
    }


def words_of(
    readings: Iterable[Reading], leaving_out: Collection[str] = (), *, brief: bool = False
) -> dict[str, tuple[str, ...]]:
    """Cell → the parts of its name: protocol and message size (or ""), then each setting.

    Cells with the same test and protocol have the same settings, in the same order.
    """
    cells: dict[str, Reading] = {}
    for reading in readings:
        cells.setdefault(reading.cell, reading)
    words: dict[str, tuple[str, ...]] = {}
    kinds = dict.fromkeys((reading.test, reading.protocol) for reading in cells.values())
    for kind in kinds:
        of_kind = [
            reading for reading in cells.values() if (reading.test, reading.protocol) == kind
        ]
        telling = _telling(of_kind, leaving_out)
        words |= {
            reading.cell: _words(reading, telling, leaving_out, brief=brief) for reading in of_kind
        }
    return words


def _telling(readings: Sequence[Reading], leaving_out: Collection[str]) -> list[str]:
    """The settings that are necessary so that all cells have different names."""
    settings = dict.fromkeys(name for reading in readings for name in reading.settings)
    candidates = [name for name in settings if name not in _NEVER_NAMED and name not in leaving_out]
    selection: list[str] = []
    most = len(_labels(readings, selection))
    for name in candidates:
        count = len(_labels(readings, [*selection, name]))
        if count > most:
            selection.append(name)
            most = count
    return selection


def _labels(readings: Sequence[Reading], names: Sequence[str]) -> set[tuple[LevelValue, ...]]:
    all_names = ("pairing", *_NAMED, *names)
    return {tuple(_level(reading, name) for name in all_names) for reading in readings}


def _level(reading: Reading, name: str) -> LevelValue:
    return reading.pairing if name == "pairing" else level(reading, name)


def _words(
    reading: Reading, telling: Sequence[str], leaving_out: Collection[str], *, brief: bool
) -> tuple[str, ...]:
    size = "" if reading.message_bytes is None else str(reading.message_bytes)
    head_words = {"protocol": reading.protocol, "message_bytes": size}
    heads = [word for name, word in head_words.items() if word and name not in leaving_out]
    words = [setting(name, level(reading, name), brief=brief) for name in telling]
    return (joined(" ", heads) if heads else "", *words)
