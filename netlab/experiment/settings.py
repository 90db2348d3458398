"""A setting of a test: its whole description in one row, which is also its field. Pure.

The rows are in ``kinds/``; the class of a row determines which kinds of test have the setting. The
row contains its key in a matrix and its reader, its column of the frame, its label in reports, the
keys that are sent to the probes, and the capabilities that these keys need.
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

Scalar = str | int | float | bool
Level = Scalar | None
"""One value of an axis; ``None`` leaves it to the host (``socket_buffer: auto``)."""

NOT_SET = _("not set")
"""Text for the absence of a setting, unless its row has a text of its own."""


@dataclass(frozen=True, slots=True)
class Whole:
    """Read as a whole number."""

    least: int
    most: int


@dataclass(frozen=True, slots=True)
class NumberWithUnit:
    """Read as a number with its unit."""

    unit: Literal["bytes", "seconds", "rate", "per second", "share"]
    least: float
    most: float
    example: str


@dataclass(frozen=True, slots=True)
class HostWord:
    """Read as a word that the host defines."""

    pattern: str
    most_characters: int


@dataclass(frozen=True, slots=True)
class CpuList:
    """Read as numbers of CPUs in order, each once: a list, or a text such as ``0-3,8``.

    The level is a text, ``0,1,2,3,8``. A list of numbers is one level, so an axis is a list of
    lists.
    """

    largest: int = 4095
    most: int = 64
    """Maximum number of CPUs in one list."""


@dataclass(frozen=True, slots=True)
class Or:
    """Read as ``None`` if it is ``word``, else by ``reads`` or as one of the field's own words."""

    word: str
    reads: NumberWithUnit | HostWord | None = None
    example: str = ""


Reader = Whole | NumberWithUnit | HostWord | CpuList | Or | None
"""How a setting is read; ``None``: by the type of its field, a choice of words or yes and no."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A key of the control protocol, and the end that it is sent to."""

    key: str
    of: str = "send receive ask mirror"
    """The verbs of the requests with the key; or the end whose requests have the key: ``server``,
    ``client``, or ``connect`` for the end that connects."""
    unless: Level = None
    """The level that is not sent because it is the probe's default."""
    when: Level = None
    """For a flag: the only level at which it is sent, as 1."""


@dataclass(frozen=True, slots=True)
class Need:
    """A capability that a probe must have for a setting."""

    capability: str
    """A word of ``capabilities`` in `hello`, docs/protocol.md; empty: the level itself."""
    of: Literal["both", "server", "client", "sender", "receiver"] = "both"
    at: Level = None
    """The only level that needs it; ``None``: every one."""
    vital: bool = True
    """False: without the capability, the setting is not sent, and the cell is measured anyway."""
    what: str = ""
    """What requires it; empty: the setting as a matrix has it."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """The description of a setting."""

    key: str
    """Its key in a matrix."""
    reads: Reader = None
    default: Any = ...
    """Its default level; ``...``: it must be given."""
    _: KW_ONLY
    about: str
    """Help for authors of a matrix."""
    column: str | None = ""
    """Description of its column of the frame; empty: as ``about``; ``None``: the measured value is
    in the same column."""
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
    """The order of its fields in the files of runs; newer fields follow."""

    @classmethod
    @cache
    def defaults(cls) -> Mapping[str, Level | Any]:
        """Field → its default; ``MISSING``: it must be given."""
        defaults = {own.name: own.default for own in fields(cls)}
        return {name: defaults[name] for name in (*cls.in_files.split(), *defaults)}

    @classmethod
    def names(cls) -> Collection[str]:
        """The names of its fields."""
        return cls.defaults().keys()

    def settings(self) -> dict[str, Scalar]:
        """All settings as flat keys with their units; ``None`` is left out."""
        pairs = ((name, getattr(self, name)) for name in self.names())
        return {name: value for name, value in pairs if value is not None}

    def passed_on(self, kind: type[Settings], *, but: Collection[str] = ()) -> dict[str, Any]:
        """The settings to pass on to a test of ``kind``: all common ones except ``but``."""
        shared = [name for name in kind.names() if name in self.names() and name not in but]
        return {name: getattr(self, name) for name in shared}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(setting,))
def of_settings(kind: type[SettingsClass]) -> type[SettingsClass]:
    """Decorator of a class whose fields are settings."""
    return dataclass(frozen=True, kw_only=True)(kind)


def rows_of(kinds: Iterable[Any]) -> dict[str, SettingRow]:
    """Field → its row. Rows of one field in several kinds may differ in the default only."""
    rows: dict[str, SettingRow] = {}
    for kind in kinds:
        types = get_type_hints(kind)
        for own in fields(kind):
            if own.name not in rows and "row" in own.metadata:
                type_ = _without_none(types[own.name])
                row: SettingRow = own.metadata["row"]
                label = row.label or _(own.name.replace("_", " "))
                column = row.about if row.column == "" else row.column
                rows[own.name] = replace(
                    row, field=own.name, type=type_, label=label, column=column
                )
    return rows


def _without_none(type_: Any) -> Any:
    members = [member for member in get_args(type_) if member is not NoneType]
    return members[0] if NoneType in get_args(type_) else type_
