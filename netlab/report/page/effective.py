"""Settings of a cell beside what took effect at its hosts, as its records have it. Pure."""

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
"""Values of one end that differ from trial to trial; of more it is said how many."""


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """One setting: what was asked for, and what the hosts say took effect."""

    name: str
    asked: str
    effective: str
    """Empty where no host says it."""
    differs: bool
    """Something else took effect than was asked for."""


@dataclass(frozen=True, slots=True)
class _EndValue:
    """One value that one end says, in one trial."""

    end: str
    label: str
    value: Any
    as_asked: bool


def effective_settings(
    settings: Mapping[str, Any], trials: Sequence[_RecordValues]
) -> tuple[EffectiveSetting, ...]:
    """Every setting of a cell, in the records' order, and then what is effective unasked.

    ``trials`` has the values of its records that are ok. What the system chooses where nothing was
    asked for is no difference; a buffer that Linux doubles for its own bookkeeping is one
    (socket(7), SO_SNDBUF), and a finding says so.
    """
    found = []
    for name in dict.fromkeys((*settings, *_NOTED)):
        value = settings.get(name)
        said = [each for values in trials for each in _said(name, settings, values)]
        if name not in settings and not said:
            continue
        differs = value is not None and any(not each.as_asked for each in said)
        found.append(
            EffectiveSetting(
                setting_name(name), setting_value(name, value), _in_words(name, said), differs
            )
        )
    # What the tables of the page have no asked value for, and explains many a figure.
    for name, words in _UNASKED.items():
        said = [each for values in trials for each in _of_flows(values, name)]
        if said:
            found.append(EffectiveSetting(words, "–", _in_words(name, said), differs=False))
    return tuple(found)


def _said(name: str, settings: Mapping[str, Any], values: _RecordValues) -> Iterator[_EndValue]:
    """What the ends say of one setting."""
    asked = settings.get(name)
    if name == "socket_buffer_bytes":
        yield from _buffers(asked, values)
        return
    if name in ("server_cpu", "client_cpu", "server_cpus", "client_cpus"):
        yield from _pinned(name, settings, values)
        return
    if name == "receive":
        yield from _waits(asked, values)
        return
    rule = _RULES.get(name)
    if rule is None:
        return
    ending, ends, form = rule
    for prefix in FLOWS:
        for end in ends:
            value = values.get(f"{prefix}{end}_{ending}")
            if value is not None:
                told = form(value)
                yield _EndValue(prefix + end, _label(prefix, end), told, told == asked)


def _buffers(asked: Any, values: _RecordValues) -> Iterator[_EndValue]:
    """The buffers of both directions at both ends, each against what was asked of it."""
    for prefix in FLOWS:
        for end, words in _ENDS.items():
            for way, label in (("send", _("sends")), ("receive", _("receives"))):
                value = values.get(f"{prefix}{end}_{way}_buffer_bytes")
                if value is None:
                    continue
                whose = _("{end} {way}", end=_label(prefix, end) if prefix else words, way=label)
                yield _EndValue(f"{prefix}{end}_{way}", whose, value, value == asked)


def _waits(asked: Any, values: _RecordValues) -> Iterator[_EndValue]:
    """How the receivers waited; an older record over TCP says only whether they spun."""
    for prefix in FLOWS:
        way = values.get(f"{prefix}receiver_receive_method")
        spin = values.get(f"{prefix}receiver_spin")
        if way is None and spin is not None:
            way = _waiting(spin)
        if way is not None:
            label = _label(prefix, "receiver")
            yield _EndValue(f"{prefix}receiver", label, way, way == asked)


def _pinned(name: str, settings: Mapping[str, Any], values: _RecordValues) -> Iterator[_EndValue]:
    """The CPUs of one side, which sends in one flow and receives in another."""
    side, _underscore, which = name.partition("_")
    for prefix in FLOWS:
        sends = server_sends(settings, prefix) == (side == "server")
        for end in (side, "sender" if sends else "receiver"):
            cpu = values.get(f"{prefix}{end}_{which}")
            if isinstance(cpu, list):
                cpu = ",".join(map(str, cpu))
            if cpu is not None:
                yield _EndValue(prefix + end, _label(prefix, end), cpu, cpu == settings.get(name))


def _of_flows(values: _RecordValues, name: str) -> Iterator[_EndValue]:
    for prefix, words in FLOWS.items():
        if (value := values.get(prefix + name)) is not None:
            said = _ENDS.get(value, value) if isinstance(value, str) else value
            yield _EndValue(prefix, words, said, as_asked=True)


def _label(prefix: str, end: str) -> str:
    if not prefix:
        return _ENDS[end]
    return _("{end} {way}", end=_ENDS[end], way=FLOWS[prefix])


def _in_words(name: str, said: Sequence[_EndValue]) -> str:
    """One value where all ends say the same, else each end's own."""
    if not said:
        return ""
    of_ends: dict[str, list[Any]] = {}
    for each in said:
        known = of_ends.setdefault(each.label, [])
        if each.value not in known:
            known.append(each.value)
    texts = {label: _listed(name, values) for label, values in of_ends.items()}
    if len(set(texts.values())) == 1:
        return next(iter(texts.values()))
    return joined(", ", [joined(" ", [label, text]) for label, text in texts.items()])


def _listed(name: str, values: Sequence[Any]) -> str:
    if len(values) > MOST_SHOWN:
        low, high = (_one(name, each) for each in (min(values), max(values)))
        return _("{low} to {high}", low=low, high=high)
    return joined(" / ", [_one(name, each) for each in values])


def _one(name: str, value: Any) -> str:
    return value if isinstance(value, Message) else setting_value(name, value)


_GIVING = ("sender", "client")
_EVERY = tuple(_ENDS)


def _waiting(value: Any) -> str:
    return "spinning" if value else "blocking"


_RULES: Mapping[str, tuple[str, tuple[str, ...], Callable[[Any], Any]]] = {
    # The receiver of a stream is not asked for one.
    "congestion": ("congestion", ("sender", "client", "server"), str),
    "nodelay": ("nodelay", ("sender", "client", "server"), bool),
    "dscp": ("dscp", _EVERY, int),
    "dont_fragment": ("dont_fragment", _GIVING, bool),
    "interface": ("interface", _EVERY, str),
    "server_receive": ("spin", ("server",), _waiting),
    "client_receive": ("spin", ("client",), _waiting),
}
"""Setting → the end of the value's name, who says it, and what it is in the setting's own terms."""

_NOTED = ("socket_buffer_bytes", "interface", "dscp")
"""Told also where nothing was asked for."""

_UNASKED: Mapping[str, str] = {
    "mss_bytes": _("maximum segment size"),
    "path_mtu_bytes": _("path MTU"),
    "connected_by": _("connected by"),
    "tcp_timestamps": _("TCP timestamps"),
    "receiver_receive_chosen": _("receive call chosen in the warm-up"),
}
