"""The settings of tests as pydantic types, derived from the table rows in ``kinds/``.

A setting is one value, or an axis: a list, or evenly spaced steps ``{from: …, to: …, step: …}``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from netlab import units
from netlab.config.document import Section
from netlab.experiment import hosts
from netlab.experiment.hosts import OS_NAMES
from netlab.kinds import FIELDS, ROWS
from netlab.trial.settings import CpuList, HostWord, NumberWithUnit, Or, Reader, SettingRow, Whole

T = TypeVar("T")


_TEXT = {"type": "string", "pattern": "^[0-9.]"}  # JSON Schema of a number with a unit as text


_UNITS: Mapping[str, tuple[type, str, Callable[[Any], Any], Callable[[Any], str]]] = {
    "bytes": (int, "integer", units.parse_bytes, units.format_bytes),
    "seconds": (float, "number", units.parse_seconds, units.format_seconds),
    "bits_per_second": (float, "number", units.parse_rate, units.format_rate),
    "per_second": (
        float,
        "number",
        units.parse_per_second,
        lambda rate: f"{units.plain_figures(rate, 12)} a second",
    ),
    "share": (float, "", units.parse_share, units.format_share),
}
"""Unit → its type, its JSON type, its parser and its formatter."""


def _validator(reads: NumberWithUnit) -> Callable[[object], Any]:
    _, _, parse, show = _UNITS[reads.unit]

    def check(value: object) -> Any:
        if isinstance(value, list | dict):
            raise ValueError("should be one value")
        number = parse(value)
        if number < reads.least:
            raise ValueError(f"{value} is too little; at least {show(reads.least)}")
        if number > reads.most:
            raise ValueError(f"{value} is too much; at most {show(reads.most)}")
        return number

    return check


UNITS_IN_SCHEMA: Mapping[str, dict[str, Any]] = {
    unit: {"anyOf": [{"type": kind, "minimum": 0}, _TEXT]} if kind else _TEXT
    for unit, (_, kind, _, _) in _UNITS.items()
}
"""Unit → the JSON Schema of a quantity in it."""


def _quantity(reads: NumberWithUnit) -> tuple[BeforeValidator, WithJsonSchema]:
    """The validator of a quantity, and its schema as ``netlab.config.schema`` reads it."""
    unit = {"unit": reads.unit, "examples": [reads.example]}
    return BeforeValidator(_validator(reads)), WithJsonSchema(unit)


_CPU_RANGE = re.compile(r"(\d{1,5})(?:-(\d{1,5}))?")


def _cpus_in(value: object) -> list[int]:
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    if isinstance(value, list):
        if all(isinstance(number, int) and not isinstance(number, bool) for number in value):
            return value
    elif isinstance(value, str):
        ranges = [_CPU_RANGE.fullmatch(part.strip()) for part in value.split(",")]
        if all(ranges):
            ends = [(int(match[1]), int(match[2] or match[1])) for match in ranges if match]
            return [cpu for first, last in ends for cpu in range(first, last + 1)]
    raise ValueError("should be CPU numbers, such as [0, 1] or 0-3")


def _cpu_list(reads: CpuList) -> Any:
    def check(value: object) -> str:
        cpus = _cpus_in(value)
        if not cpus:
            raise ValueError("should name at least one CPU")
        if min(cpus) < 0 or max(cpus) > reads.largest:
            raise ValueError(f"CPU numbers are 0 to {reads.largest}")
        if len(set(cpus)) < len(cpus):
            raise ValueError("should name each CPU once")
        if len(cpus) > reads.most:
            raise ValueError(f"has {len(cpus)} CPUs; at most {reads.most}")
        return ",".join(map(str, cpus))

    cpu = {"type": "integer", "minimum": 0, "maximum": reads.largest}
    array = {
        "type": "array", "items": cpu, "minItems": 1, "maxItems": reads.most, "uniqueItems": True
    }  # fmt: skip
    text = _TEXT | {"pattern": "^[0-9]", "examples": ["0-3,8"]}
    return Annotated[str, BeforeValidator(check), WithJsonSchema({"anyOf": [cpu, array, text]})]


def _host_word(reads: HostWord) -> Any:
    return Annotated[str, Field(pattern=reads.pattern, max_length=reads.most_characters)]


def _number_of(names: Mapping[str, int]) -> Callable[[Any], Any]:
    def number(value: Any) -> Any:
        word = value.upper() if isinstance(value, str) else ""
        if word[:1].isalpha() and word not in names:
            raise ValueError(f"{value} is not one of {', '.join(names)}")
        return names.get(word, value)

    return number


@cache
def _type_of(reads: Reader, field: Any) -> Any:
    """The pydantic type of one value of a setting; ``field`` is the type of its field."""
    match reads:
        case Whole(least, most, names):
            number = {"type": "integer", "minimum": least, "maximum": most}
            schema = WithJsonSchema({"anyOf": [number, {"enum": [name for name, _ in names]}]})
            named = (BeforeValidator(_number_of(dict(names))), schema) if names else ()
            return Annotated[int, Field(ge=least, le=most), *named]
        case HostWord():
            return _host_word(reads)
        case NumberWithUnit():
            return Annotated[_UNITS[reads.unit][0], *_quantity(reads)]
        case Or(word, HostWord() | None as host_word):
            words: Any = _host_word(host_word) if host_word else Literal[(word, *get_args(field))]
            return Annotated[words, AfterValidator(lambda value: None if value == word else value)]
        case Or(word, NumberWithUnit() as quantity, example):
            check = _validator(quantity)
            type_, json_type, _, _ = _UNITS[quantity.unit]
            text = _TEXT | {"pattern": f"^({word}$|[0-9.])", "examples": [example]}
            return Annotated[
                type_ | None,
                BeforeValidator(lambda value: None if value == word else check(value)),
                WithJsonSchema({"anyOf": [{"type": json_type, "minimum": 1}, text]}),
            ]
    yes_or_none = Annotated[bool, AfterValidator(lambda value: value or None)]
    return yes_or_none if get_args(field) == (True,) else field


Rate = Annotated[float, *_quantity(NumberWithUnit("bits_per_second", 1, 1e13, "100Mbit"))]
WarmUp = Annotated[float, *_quantity(NumberWithUnit("seconds", 0, 3600, "500ms"))]
RoundTripTime = Annotated[float, *_quantity(NumberWithUnit("seconds", 1e-6, 60, "50ms"))]
Within = Annotated[float, *_quantity(NumberWithUnit("share", 0.0001, 0.5, "2.5 %"))]
Steal = Annotated[float, *_quantity(NumberWithUnit("share", 0, 0.5, "0.5 %"))]
Confidence = Annotated[float, *_quantity(NumberWithUnit("share", 0.5, 0.999, "95 %"))]


_IN_DOCUMENTS = frozenset("ON")
"""Systems of imported tables (OpenBSD, NetBSD), which `expect:` may name."""


def _pairing(value: str) -> str:
    if hosts.is_by_name(value):
        hosts.roles_of(value)
        return value
    if hosts.LETTERS.fullmatch(value):
        unknown = sorted(set(value) - OS_NAMES.keys() - _IN_DOCUMENTS)
        if unknown:
            systems = ", ".join(f"{letter} {name}" for letter, name in OS_NAMES.items())
            raise ValueError(f"`{value}`: {unknown[0]} is not a system; there are {systems}")
        return value
    raise ValueError(
        f"`{value[:40]}` is not a pairing: write two capital letters, the server's system first, "
        "such as WL; or two hosts by name, such as nas+laptop"
    )


_ROLE_PATTERN = "[A-Za-z0-9][A-Za-z0-9_.@-]*"
Pairing = Annotated[
    str,
    AfterValidator(_pairing),
    WithJsonSchema(
        {"type": "string", "pattern": rf"^([A-Z]{{2}}|{_ROLE_PATTERN}\+{_ROLE_PATTERN})$"}
    ),
]
HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=64)]
RoleName = Annotated[
    str,
    AfterValidator(lambda value: str(hosts.role_of(value))),
    WithJsonSchema({"type": "string", "pattern": f"^{_ROLE_PATTERN}$"}),
]


def distinct(levels: list[T]) -> list[T]:
    """Refuse a value that is listed twice: it would make two cells equal."""
    first_places: dict[object, int] = {}
    for index, level in enumerate(levels):
        if level in first_places:
            first = first_places[level] + 1
            message = "the same value as number {first} of this list"
            raise PydanticCustomError("place_in_list", message, {"index": index, "first": first})
        first_places[level] = index
    return levels


class Steps(Section, Generic[T]):
    """Evenly spaced values, both ends included."""

    start: T = Field(alias="from")
    to: T
    step: T

    def _numbers(self) -> tuple[Decimal, Decimal, Decimal]:
        start, to, step = (Decimal(repr(number)) for number in (self.start, self.to, self.step))
        return start, to, step

    @model_validator(mode="after")
    def _hits_its_end(self) -> Steps[T]:
        start, to, step = self._numbers()
        if step <= 0:
            raise ValueError("`step` must be more than 0")
        if start > to:
            raise ValueError("`from` is above `to`: steps go upwards")
        if (to - start) % step:
            end, nearest = (
                f"{number:f}".rstrip("0").rstrip(".") if "." in f"{number:f}" else f"{number:f}"
                for number in (to, start + (to - start) // step * step)
            )
            raise ValueError(
                f"the steps do not end at `to`: the last value below {end} is {nearest}"
            )
        return self

    def __len__(self) -> int:
        # Without listing the values.
        start, to, step = self._numbers()
        return int((to - start) // step) + 1

    def values(self) -> list[Any]:
        """Every value, in the type of ``start``, without accumulated rounding."""
        kind: Callable[[Decimal], Any] = type(self.start)
        start, _, step = self._numbers()
        return [kind(start + index * step) for index in range(len(self))]


def _shape(value: object) -> str:
    if isinstance(value, list):
        return "list"
    return "steps" if isinstance(value, dict | Steps) else "value"


def _shape_of_choice(value: object) -> str:
    return "list" if isinstance(value, list) else "value"


def _shape_of_lists(value: object) -> str:
    """The shape of an axis of lists or texts, of which one value may be a list itself."""
    axis = isinstance(value, list) and any(isinstance(item, list | str) for item in value)
    return "list" if axis else "value"


def one_or_list(
    value: Any, shape: Callable[[object], str] = _shape_of_choice, *, ends: Any = None
) -> Any:
    """The type of one value, a list of values, or steps whose ends have the type ``ends``: ``auto``
    cannot be an end.
    """
    listed: Any = list[value]
    levels = Annotated[listed, Field(min_length=1), AfterValidator(distinct), Tag("list")]
    branches: Any = (Annotated[value, Tag("value")], levels)
    if ends is not None:
        steps: Any = Steps.__class_getitem__(ends)
        branches, shape = (*branches, Annotated[steps, Tag("steps")]), _shape
    return Annotated[Union[branches], Discriminator(shape)]  # noqa: UP007  (made at run time)


@dataclass(frozen=True)
class Setting:
    """One setting: its name in the file, its field in the classes of ``kinds/``, its types."""

    name: str
    field: str
    about: str
    row: SettingRow

    @cached_property
    def value(self) -> Any:
        """Type of one value."""
        reads = self.row.reads
        return _cpu_list(reads) if isinstance(reads, CpuList) else _type_of(reads, self.row.type)

    @cached_property
    def axis(self) -> Any:
        """Type of a value or an axis."""
        reads = self.row.reads
        if isinstance(reads, CpuList):
            return one_or_list(self.value, _shape_of_lists)
        numbers = reads.reads if isinstance(reads, Or) else reads
        has_steps = self.row.steps and isinstance(numbers, Whole | NumberWithUnit)
        ends = _type_of(numbers, self.row.type) if has_steps else None
        return one_or_list(self.value, ends=ends)


_IN_SCHEMA = (
    "protocol ip message_size response_size socket_buffer duration count warm_up direction streams "
    "outstanding congestion nodelay dont_fragment udp_checksum rate message_rate send_method "
    "timeout dscp source_port interface receive server_receive client_receive server_cpu "
    "client_cpu network stack_time mirror_hold keep_first close frame_size burst acceptable_loss "
    "resolution line_rate search_duration together frame_loss latency back_to_back residual settle "
    "sweep capture"
)
"""Order of the keys in the schema; newer keys follow."""

_BY_KEY = {row.key: Setting(row.key, row.field, row.about, row) for row in ROWS.values()}

SETTINGS = tuple(_BY_KEY[key] for key in dict.fromkeys([*_IN_SCHEMA.split(), *_BY_KEY]))
"""Every setting of every kind of test, each once. A matrix's ``defaults`` take all of them."""

FIELD_OF = {setting.name: setting.field for setting in SETTINGS}
NAME_OF = {setting.field: setting.name for setting in SETTINGS}

LOAD = "load"
"""Key of the section with the streams' settings in a ``latency_under_load`` test."""

_BESIDE_LOAD = frozenset({"duration", "network", "ip", "interface", "dscp", "variant"})
"""Settings of streams that also apply to the round trips, or that set the length of the load."""

_OF_STREAMS = FIELDS["latency_under_load"] & FIELDS["stream"]
LOAD_KEYS = frozenset(s.name for s in SETTINGS if s.field in _OF_STREAMS) - _BESIDE_LOAD

SETTINGS_OF: Mapping[str, tuple[Setting, ...]] = {
    test: tuple(setting for setting in SETTINGS if setting.field in fields)
    for test, fields in FIELDS.items()
}


def kinds_with(name: str) -> str:
    """The kinds of test that take a setting, such as ```round_trip` and `connect```."""
    kinds = [f"`{test}`" for test, fields in FIELDS.items() if FIELD_OF[name] in fields]
    return " and ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
