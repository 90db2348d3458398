"""How settings, pairings and figures are written in texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from netlab.ethernet import Link
from netlab.experiment.hosts import OS_NAMES, is_by_name, labels_of
from netlab.kinds import KINDS, ROWS
from netlab.messages import _, counted, joined
from netlab.stats import rounded
from netlab.trial.record import Value
from netlab.trial.settings import NOT_SET
from netlab.units import format_bytes, format_rate, format_seconds, plain_figures

SYSTEMS: Mapping[str, str] = {**OS_NAMES, "O": "OpenBSD", "N": "NetBSD"}
"""Letter of a pairing → operating system; some systems occur only in imported tables."""

NAMING = frozenset({"interface", "network", "congestion", "engine", "mirror", "variant"})
"""Settings whose values are names, which are not translated."""

_WORDS: Mapping[str, str] = {
    text.id: text
    for text in (
        *(_("client-sends"), _("server-sends"), _("both")),
        *(_("blocking"), _("spinning"), _("polling"), _("adaptive")),
        *(_("reset"), _("orderly")),
        *(_("plain"), _("batch"), _("packet"), _("xdp"), _("frames")),
        *(kind.name for kind in KINDS.values()),
    )
}
"""Words that are values of settings or kinds of test → the translatable text."""


def setting_name(name: str) -> str:
    """A setting's key as a heading, such as "socket buffer" for ``socket_buffer_bytes``."""
    row = ROWS.get(name)
    return _(name.replace("_", " ")) if row is None else row.label


def setting_value(name: str, value: Value | None) -> str:
    """A setting's value with its unit; for ``None``, what a missing value means."""
    if value is None:
        return ROWS[name].absent if name in ROWS else NOT_SET
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, int | float) and name != "message_bytes":
        for ending, form in _FORMS.items():
            if name.endswith(ending):
                return form(value)
        return plain_figures(value, 12) if isinstance(value, float) else str(value)
    text = str(value)
    return text if name in NAMING else _WORDS.get(text, text)


def setting(name: str, value: Value | None, *, brief: bool = False) -> str:
    """A setting with its value, such as ``streams 4`` or ``congestion control cubic``.

    ``brief``: the name of the setting is left out if the value is a word, or names an
    engine (the tool that measures).
    """
    if brief and (isinstance(value, str) or name == "engine"):
        return setting_value(name, value)
    return _("{setting} {value}", setting=setting_name(name), value=setting_value(name, value))


def systems(pairing: str) -> str:
    """The ends of a pairing, such as ``server Linux, client Windows``; empty if unknown."""
    names = [*labels_of(pairing)]
    if not is_by_name(pairing):
        names = [SYSTEMS.get(letter, "") for letter in names]
    if not all(names):
        return ""
    return _("server {server}, client {client}", server=names[0], client=names[1])


def figure(value: float, decimals: int = 2) -> str:
    """A number with ``decimals`` decimals, or more if it is small and would lose its digits.

    ``decimals=0`` is for whole numbers.
    """
    if not value:
        return "0"
    while decimals and decimals < 12 and abs(value) < 10 ** (1 - decimals):
        decimals += 1
    return f"{rounded(value, decimals):f}"


_FORMS: Mapping[str, Callable[[float], str]] = {
    "_bytes": lambda value: format_bytes(int(value)),
    "_bit_per_s": format_rate,
    "_per_s": lambda value: f"{plain_figures(value, 12)}/s",
    "_s": format_seconds,
}


def as_words(value: object) -> str:
    """A value of a note in the journal, as text on one line; a dash if the value is empty."""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, Mapping):
        pairs = [joined(" ", [str(key), as_words(item)]) for key, item in value.items()]
        return joined(", ", pairs) or "–"
    if isinstance(value, list | tuple):
        return joined(", ", map(as_words, value)) or "–"
    return "–" if value is None or value == "" else str(value)


def link_words(link: Link | None) -> str:
    """The link in words: ``100 Mbit/s, MTU 1500 bytes``, or ``not stated``."""
    if link is None:
        return _("not stated")
    parts = [
        format_rate(link.rate_bit_per_s),
        _("MTU {size} bytes", size=link.mtu_bytes),
        *([_("with a VLAN tag")] if link.vlan else []),
        *([_("{n} bytes of a tunnel", n=link.overhead_bytes)] if link.overhead_bytes else []),
    ]
    if link.hops:
        parts.append(
            counted(
                "{number} router between the hosts", "{number} routers between the hosts", link.hops
            )
        )
    return joined(", ", parts)
