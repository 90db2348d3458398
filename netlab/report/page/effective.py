"""Requested and effective values of a cell's settings, from its records. No I/O.

A cell is one combination of test, pairing (server and client) and settings. A record is the stored
result of one trial (measurement) of a cell. A flow is the data of a trial in one direction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from netlab.experiment.records import FLOWS, server_sends
from netlab.messages import Message, _, joined
from netlab.results.labels import setting_name, setting_value

_RecordValues = Mapping[str, Any]

_ENDS: Mapping[str, str] = {
    "sender": _("sender"),
    "receiver": _("receiver"),
    "client": _("client"),
    "server": _("server"),
}
MOST_SHOWN = 4
"""Maximum number of different values of one end that are listed. If there are more, the smallest
and the largest value are shown."""


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """One setting: the requested value, and the effective value that the hosts report."""

    name: str
    asked: str
    effective: str
    """The effective value; empty if no host reports it."""
    differs: bool
    """Whether the effective value differs from the requested one."""


@dataclass(frozen=True, slots=True)
class _EndValue:
    """One value that one end reports in one trial."""

    end: str
    label: str
    value: Any
    as_asked: bool


def effective_settings(
    settings: Mapping[str, Any], trials: Sequence[_RecordValues]
) -> tuple[EffectiveSetting, ...]:
    """Every setting of a cell, then effective values that the cell does not request.

    ``trials``: the values of each record whose status is ok. A value that was not requested
    cannot differ. A buffer that Linux doubles for its own bookkeeping (socket(7), SO_SNDBUF) does
    differ, and a finding explains that.
    """
    rows = []
    for name in dict.fromkeys((*settings, *_NOTED)):
        requested = settings.get(name)
        reports = [value for values in trials for value in _reports(name, settings, values)]
        if name not in settings and not reports:
            continue
        differs = requested is not None and any(not report.as_asked for report in reports)
        rows.append(
            EffectiveSetting(
                setting_name(name),
                setting_value(name, requested),
                _in_words(name, reports),
                differs,
            )
        )
    # Values for which there is no setting; they explain many results.
    for name, words in _UNASKED.items():
        reports = [value for values in trials for value in _of_flows(values, name)]
        if reports:
            rows.append(EffectiveSetting(words, "–", _in_words(name, reports), differs=False))
    return tuple(rows)


def _reports(name: str, settings: Mapping[str, Any], values: _RecordValues) -> Iterator[_EndValue]:
    """The values that the ends report for one setting."""
    request = settings.get(name)
    if name == "socket_buffer_bytes":
        yield from _buffers(request, values)
        return
    if name in ("server_cpu", "client_cpu", "server_cpus", "client_cpus"):
        yield from _pinned(name, settings, values)
        return
    if name == "receive":
        yield from _waits(request, values)
        return
    rule = _RULES.get(name)
    if rule is None:
        return
    ending, ends, form = rule
    for prefix in FLOWS:
        for end in ends:
            value = values.get(f"{prefix}{end}_{ending}")
            if value is not None:
                effective = form(value)
                yield _EndValue(prefix + end, _label(prefix, end), effective, effective == request)


def _buffers(request: Any, values: _RecordValues) -> Iterator[_EndValue]:
    """The buffers of both directions at both ends, each compared with the requested size."""
    for prefix in FLOWS:
        for end, words in _ENDS.items():
            for way, label in (("send", _("sends")), ("receive", _("receives"))):
                value = values.get(f"{prefix}{end}_{way}_buffer_bytes")
                if value is None:
                    continue
                name = _("{end} {way}", end=_label(prefix, end) if prefix else words, way=label)
                yield _EndValue(f"{prefix}{end}_{way}", name, value, value == request)


def _waits(request: Any, values: _RecordValues) -> Iterator[_EndValue]:
    """How the receivers waited for data. Older TCP records state only whether a receiver was
    spinning (whether it called receive again and again instead of blocking).
    """
    for prefix in FLOWS:
        way = values.get(f"{prefix}receiver_receive_method")
        spin = values.get(f"{prefix}receiver_spin")
        if way is None and spin is not None:
            way = _waiting(spin)
        if way is not None:
            label = _label(prefix, "receiver")
            yield _EndValue(f"{prefix}receiver", label, way, way == request)


def _pinned(name: str, settings: Mapping[str, Any], values: _RecordValues) -> Iterator[_EndValue]:
    """The CPUs of the server or the client, which may send in one flow and receive in another."""
    side, _underscore, suffix = name.partition("_")
    for prefix in FLOWS:
        sends = server_sends(settings, prefix) == (side == "server")
        for end in (side, "sender" if sends else "receiver"):
            cpu = values.get(f"{prefix}{end}_{suffix}")
            if isinstance(cpu, list):
                cpu = ",".join(map(str, cpu))
            if cpu is not None:
                yield _EndValue(prefix + end, _label(prefix, end), cpu, cpu == settings.get(name))


def _of_flows(values: _RecordValues, name: str) -> Iterator[_EndValue]:
    for prefix, words in FLOWS.items():
        if (value := values.get(prefix + name)) is not None:
            effective = _ENDS.get(value, value) if isinstance(value, str) else value
            yield _EndValue(prefix, words, effective, as_asked=True)


def _label(prefix: str, end: str) -> str:
    if not prefix:
        return _ENDS[end]
    return _("{end} {way}", end=_ENDS[end], way=FLOWS[prefix])


def _in_words(name: str, reports: Sequence[_EndValue]) -> str:
    """One value if all ends report the same value, otherwise the value of each end."""
    if not reports:
        return ""
    of_ends: dict[str, list[Any]] = {}
    for report in reports:
        distinct = of_ends.setdefault(report.label, [])
        if report.value not in distinct:
            distinct.append(report.value)
    texts = {label: _listed(name, values) for label, values in of_ends.items()}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return joined(", ", [joined(" ", [label, text]) for label, text in texts.items()])


def _listed(name: str, values: Sequence[Any]) -> str:
    if len(values) > MOST_SHOWN:
        low, high = (_one(name, value) for value in (min(values), max(values)))
        return _("{low} to {high}", low=low, high=high)
    return joined(" / ", [_one(name, value) for value in values])


def _one(name: str, value: Any) -> str:
    return value if isinstance(value, Message) else setting_value(name, value)


_GIVING = ("sender", "client")
_EVERY = tuple(_ENDS)


def _waiting(value: Any) -> str:
    return "spinning" if value else "blocking"


_RULES: Mapping[str, tuple[str, tuple[str, ...], Callable[[Any], Any]]] = {
    # No congestion control is requested of the receiver of a stream.
    "congestion": ("congestion", ("sender", "client", "server"), str),
    "nodelay": ("nodelay", ("sender", "client", "server"), bool),
    "dscp": ("dscp", _EVERY, int),
    "dont_fragment": ("dont_fragment", _GIVING, bool),
    "interface": ("interface", _EVERY, str),
    "server_receive": ("spin", ("server",), _waiting),
    "client_receive": ("spin", ("client",), _waiting),
}
"""Setting → (suffix of the value's name in a record, ends that report the value, function that
converts the value to the form of the setting)."""

_NOTED = ("socket_buffer_bytes", "interface", "dscp")
"""Settings that are shown also if nothing was requested."""

_UNASKED: Mapping[str, str] = {
    "mss_bytes": _("maximum segment size"),
    "path_mtu_bytes": _("path MTU"),
    "connected_by": _("connected by"),
    "tcp_timestamps": _("TCP timestamps"),
    "receiver_receive_chosen": _("receive call chosen in the warm-up"),
    "server_engine_version": _("version of the tool at the server"),
    "client_engine_version": _("version of the tool at the client"),
    "engine_remarks": _("what the tool did otherwise"),
}
