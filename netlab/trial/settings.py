"""Describes a setting of a test in one row, from which a field of a dataclass is made.

A row has the setting's key in a matrix, how it is read, its column, its label, the keys that are
sent to the probes, and the capabilities that these need. The class of a row, in ``kinds/``,
determines which kinds of test have the setting.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields, replace
from functools import cache
from types import NoneType
from typing import Any, Literal, ParamSpec, TypeVar, dataclass_transform, get_args, get_type_hints

from netlab.messages import _

SettingsClass = TypeVar("SettingsClass")
RowArguments = ParamSpec("RowArguments")

_HASH = "_hash"
"""Attribute in which an object of settings keeps its hash."""

Scalar = str | int | float | bool
Level = Scalar | None
"""One value of a setting; ``None`` leaves the choice to the host (``socket_buffer: auto``)."""

NOT_SET = _("not set")
"""Text for the absence of a setting, unless its row has a text of its own."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Read as a whole number."""

    least: int
    most: int
    names: tuple[tuple[str, int], ...] = ()
    """Words for some of the numbers, with these."""


@dataclass(frozen=True, slots=True)
class NumberWithUnit:
    """Read as a number with its unit."""

    unit: Literal["bytes", "seconds", "bits_per_second", "per_second", "share"]
    least: float
    most: float
    example: str


@dataclass(frozen=True, slots=True)
class HostWord:
    """Read as a word whose meaning depends on the host, such as the name of an interface."""

    pattern: str
    most_characters: int


@dataclass(frozen=True, slots=True)
class CpuList:
    """Read as numbers of CPUs in order, each once: a list, or a text such as ``0-3,8``.

    The value of a cell is a text, ``0,1,2,3,8``. A list of numbers is one value, so an axis is a
    list of lists.
    """

    largest: int = 4095
    most: int = 64
    """Maximum number of CPUs in one list."""


@dataclass(frozen=True, slots=True)
class Or:
    """Read as ``None`` if the value is ``word``, otherwise as ``reads`` says; without ``reads``, as
    one of the words of the field's type.
    """

    word: str
    reads: NumberWithUnit | HostWord | None = None
    example: str = ""


Reader = Whole | NumberWithUnit | HostWord | CpuList | Or | None
"""How a setting is read; ``None``: as its field's type says, a choice of words or a truth value."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A key of the control protocol, and the requests that have the key."""

    key: str
    of: str = "send receive ask mirror"
    """Either the verbs of the requests that have the key, or the end whose requests have the key:
    ``server``, ``client``, or ``connect`` for the end that connects."""
    unless: Level = None
    """The level that is not sent because it is the probe's default."""
    when: Level = None
    """If the key is a flag: the key is sent, with the value 1, only at this level."""


@dataclass(frozen=True, slots=True)
class Need:
    """A capability that a probe must have for a setting."""

    capability: str
    """A word of ``capabilities`` in `hello`, docs/protocol.md; empty: the setting's level is this
    word."""
    of: Literal["both", "server", "client", "sender", "receiver"] = "both"
    at: Level = None
    """The only level that needs the capability; ``None``: every level."""
    vital: bool = True
    """False: without the capability, the setting is not sent, and the cell is measured anyway."""
    what: str = ""
    """Text for what requires the capability; empty: the setting as it is written in a matrix."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """The description of a setting."""

    key: str
    """In a matrix."""
    reads: Reader = None
    default: Any = ...
    """Its default level; ``...``: it must be given."""
    _: KW_ONLY
    about: str
    """Help for authors of a matrix."""
    column: str | None = ""
    """Description of its column in the frame; empty: the same as ``about``; ``None``: the setting
    has no column of its own, because a measured value has the column of this name."""
    label: str = ""
    """Its label in a report; empty: the name of its field in words."""
    absent: str = NOT_SET
    """Text for its absence in a report."""
    asks: tuple[Ask, ...] = ()
    need: Need | None = None
    only_of: Literal["TCP", "UDP"] | None = None
    """The only protocol to which it applies; ``None``: both."""
    excludes: str | None = None
    """The field with which it cannot be combined: if one is set, the other is removed."""
    steps: bool = True
    """Whether an axis of numbers may be given as evenly spaced steps."""
    field: str = ""
    type: Any = None
    """Type of its values, without ``None``."""


def _as_field(row: Callable[RowArguments, SettingRow]) -> Callable[RowArguments, Any]:
    def field_of(*args: RowArguments.args, **kwargs: RowArguments.kwargs) -> Any:
        description = row(*args, **kwargs)
        default = MISSING if description.default is ... else description.default
        return field(default=default, metadata={"row": description})

    return field_of


setting = _as_field(SettingRow)
"""Makes a dataclass field from the arguments of its row."""


@dataclass(frozen=True)
class Settings:
    """Base of all classes of settings."""

    in_files = ""
    """The order of its fields in the files of runs; fields that are not named here follow."""

    def __getstate__(self) -> dict[str, Any]:
        # Another process hashes text differently, so the hash does not go with a copy.
        return {name: value for name, value in self.__dict__.items() if name != _HASH}

    @classmethod
    @cache
    def defaults(cls) -> Mapping[str, Level | Any]:
        """Field → its default; ``MISSING`` if the field must be given."""
        defaults = {own.name: own.default for own in fields(cls)}
        return {name: defaults[name] for name in (*cls.in_files.split(), *defaults)}

    @classmethod
    def names(cls) -> Collection[str]:
        """The names of its fields."""
        return cls.defaults().keys()

    def settings(self) -> dict[str, Scalar]:
        """All settings as flat keys with their units; ``None`` is left out."""
        given = self.__dict__
        return {name: given[name] for name in self.names() if given[name] is not None}

    def passed_on(self, kind: type[Settings], *, but: Collection[str] = ()) -> dict[str, Any]:
        """The settings to pass on to a test of ``kind``: all that both have, except ``but``."""
        shared = [name for name in kind.names() if name in self.names() and name not in but]
        return {name: getattr(self, name) for name in shared}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(setting,))
def of_settings(kind: type[SettingsClass]) -> type[SettingsClass]:
    """Decorator of a class whose fields are settings. Its objects compute their hash once: every
    cell has settings, a matrix may have tens of thousands of cells, and most steps look cells up.
    """
    made = dataclass(frozen=True, kw_only=True)(kind)
    hash_of = made.__hash__

    def kept_hash(self: Settings) -> int:
        try:
            known: int = self.__dict__[_HASH]
        except KeyError:
            known = self.__dict__[_HASH] = hash_of(self)
        return known

    made.__hash__ = kept_hash  # type: ignore[method-assign, assignment]
    return made


_types_of = cache(get_type_hints)


def rows_of(kinds: Iterable[Any]) -> dict[str, SettingRow]:
    """Field → its row. Rows of one field in several kinds may differ in the default only."""
    rows: dict[str, SettingRow] = {}
    for kind in kinds:
        types = _types_of(kind)
        for own in fields(kind):
            if own.name not in rows and "row" in own.metadata:
                row: SettingRow = own.metadata["row"]
                type_ = types[own.name]
                if NoneType in get_args(type_):
                    type_ = next(member for member in get_args(type_) if member is not NoneType)
                rows[own.name] = replace(
                    row,
                    field=own.name,
                    type=type_,
                    label=row.label or _(own.name.replace("_", " ")),
                    column=row.about if row.column == "" else row.column,
                )
    return rows
