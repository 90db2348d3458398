"""A setting of a test: all that is known of it, in one row that is also its field. Pure.

The rows are in ``kinds/``: which class a row is in says which kinds of test take it. Everything
else follows: its key in a matrix and how it is read, its column of the frame, its label in reports,
what the probes are asked, and what they must be able to do.
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
"""What the absence of a setting means, where it means no more."""


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
    """Read as a word of the host's."""

    pattern: str
    most_characters: int


@dataclass(frozen=True, slots=True)
class CpuList:
    """Read as numbers of CPUs in their order, each once: a list, or a text such as ``0-3,8``.

    The level is a text, ``0,1,2,3,8``. As a list of numbers is one level, an axis is a list of
    lists.
    """

    largest: int = 4095
    most: int = 64
    """CPUs of one list."""


@dataclass(frozen=True, slots=True)
class Or:
    """Read as ``None`` where it is ``word``, else as ``reads`` or one of the field's own words."""

    word: str
    reads: NumberWithUnit | None = None
    example: str = ""


Reader = Whole | NumberWithUnit | HostWord | CpuList | Or | None
"""``None``: as the type of the field is read, a choice of words or yes and no."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A key of the control protocol, and which end is asked it."""

    key: str
    of: str = "send receive ask mirror"
    """Its verbs; or ``server``, ``client``, or ``connect``: the end that connects."""
    unless: Level = None
    """The level that is not asked for, as it is what the probe does anyway."""
    when: Level = None
    """A flag: the only level at which it is asked, as 1."""


@dataclass(frozen=True, slots=True)
class Need:
    """What a probe must be able to do for a setting."""

    capability: str
    """A word of ``capabilities`` in `hello`, docs/protocol.md; empty: the level itself."""
    of: Literal["both", "server", "client", "sender", "receiver"] = "both"
    at: Level = None
    """The only level that needs it; ``None``: every one."""
    vital: bool = True
    """False: where it is missing it is not asked for, and the cell is measured all the same."""
    what: str = ""
    """What asks for it, where that is not the setting as a matrix has it."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """All that is known of a setting."""

    key: str
    """In a matrix."""
    reads: Reader = None
    default: Any = ...
    """Its level where nobody says anything; ``...``: somebody must."""
    _: KW_ONLY
    about: str
    """For whoever writes a matrix."""
    column: str | None = ""
    """What its column of the frame holds; empty: what it is about; ``None``: what was measured is
    in the same column."""
    label: str = ""
    """In a report; empty: its field in words."""
    absent: str = NOT_SET
    """What its absence means, in a report."""
    asks: tuple[Ask, ...] = ()
    need: Need | None = None
    only_of: Literal["TCP", "UDP"] | None = None
    """The protocol for which alone it means anything."""
    excludes: str | None = None
    """The field that no cell has besides: naming one takes the other back."""
    steps: bool = True
    """Whether an axis of numbers may be given as evenly spaced steps."""
    field: str = ""
    type: Any = None
    """Of its values, but for ``None``."""


def _as_field(row: Callable[RowArguments, SettingRow]) -> Callable[RowArguments, Any]:
    def made(*args: RowArguments.args, **kwargs: RowArguments.kwargs) -> Any:
        known = row(*args, **kwargs)
        default = MISSING if known.default is ... else known.default
        return field(default=default, metadata={"row": known})

    return made


setting = _as_field(SettingRow)
"""A row as the field that it is about."""


@dataclass(frozen=True)
class Settings:
    """What all classes of settings can do."""

    in_files = ""
    """Its fields in the order in which files of runs have them; newer ones follow."""

    @classmethod
    @cache
    def defaults(cls) -> Mapping[str, Level | Any]:
        """Field → what it is where nobody says anything; ``MISSING``: somebody must."""
        defaults = {each.name: each.default for each in fields(cls)}
        return {name: defaults[name] for name in (*cls.in_files.split(), *defaults)}

    @classmethod
    def names(cls) -> Collection[str]:
        """Its fields."""
        return cls.defaults().keys()

    def settings(self) -> dict[str, Scalar]:
        """All that is set, as flat keys with their units; ``None`` is left out."""
        pairs = ((name, getattr(self, name)) for name in self.names())
        return {name: value for name, value in pairs if value is not None}

    def passed_on(self, kind: type[Settings], *, but: Collection[str] = ()) -> dict[str, Any]:
        """What a search hands to a test of its own: all that both take, ``but`` some."""
        shared = [name for name in kind.names() if name in self.names() and name not in but]
        return {name: getattr(self, name) for name in shared}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(setting,))
def of_settings(kind: type[SettingsClass]) -> type[SettingsClass]:
    """A class whose fields are settings."""
    return dataclass(frozen=True, kw_only=True)(kind)


def rows_of(kinds: Iterable[Any]) -> dict[str, SettingRow]:
    """Field → its row; of a row that several kinds have they may differ in the default alone."""
    rows: dict[str, SettingRow] = {}
    for kind in kinds:
        types = get_type_hints(kind)
        for each in fields(kind):
            if each.name not in rows and "row" in each.metadata:
                type_ = _without_none(types[each.name])
                row: SettingRow = each.metadata["row"]
                label = row.label or _(each.name.replace("_", " "))
                column = row.about if row.column == "" else row.column
                rows[each.name] = replace(
                    row, field=each.name, type=type_, label=label, column=column
                )
    return rows


def _without_none(type_: Any) -> Any:
    chosen = [each for each in get_args(type_) if each is not NoneType]
    return chosen[0] if NoneType in get_args(type_) else type_
