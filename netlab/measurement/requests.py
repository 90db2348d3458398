"""Makes the keys of the request to one end of a test from the test's settings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from netlab.experiment.kinds import ROWS, TestSettings
from netlab.experiment.settings import Ask, Level, SettingRow, Settings
from netlab.remote.agent import Agent
from netlab.remote.protocol import decimal


def can(agent: Agent, capability: str) -> bool:
    """Whether a host's probe reports a capability."""
    return capability in str(agent.hello.get("capabilities", "")).split(",")


def request_keys(setup: TestSettings, agent: Agent, *roles: str) -> dict[str, Any]:
    """The keys for an end with these roles. A role is the verb of the request, ``server`` or
    ``client``, or ``connect`` for the end that connects.

    The rows of the table ``ROWS`` say which setting becomes which key for which role. An optional
    setting that the system of this end does not support is left out.
    """
    keys: dict[str, Any] = {}
    kind: Any = type(setup)
    for name, row, asks in _asked(kind, roles):
        level = getattr(setup, name)
        if level is not None and heeds(row, setup.protocol, agent):
            for ask in asks:
                keys |= _key(ask, row, level)
    return keys


@cache
def _asked(
    kind: type[Settings], roles: tuple[str, ...]
) -> tuple[tuple[str, SettingRow, tuple[Ask, ...]], ...]:
    """The settings of a kind of test that become keys for an end with these roles: name, row, and
    the keys.
    """
    rows = ((name, ROWS[name]) for name in kind.names())
    asked = (
        (name, row, tuple(ask for ask in row.asks if not {*ask.of.split()}.isdisjoint(roles)))
        for name, row in rows
    )
    return tuple(entry for entry in asked if entry[2])


def heeds(row: SettingRow, protocol: str, agent: Agent) -> bool:
    """Whether an end applies a setting: the protocol has the setting, and the system of this end
    supports it.

    Windows, for example, lets no program choose its congestion control; the record shows that.
    """
    need = row.need
    knows = need is None or need.vital or can(agent, need.capability)
    return knows and row.only_of in (None, protocol)


def _key(ask: Ask, row: SettingRow, level: Level) -> Mapping[str, Any]:
    if ask.when is not None:
        return {ask.key: 1} if level == ask.when else {}
    if level == ask.unless:
        return {}
    return {ask.key: decimal(level) if row.type is float else level}  # type: ignore[arg-type]


def in_order(keys: Mapping[str, Any], order: str) -> dict[str, Any]:
    """Keys of a request in the given order of names; other keys come last."""
    place = {key: index for index, key in enumerate(order.split())}
    return {key: keys[key] for key in sorted(keys, key=lambda key: place.get(key, len(place)))}
