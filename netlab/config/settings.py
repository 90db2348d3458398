"""The settings of tests: one table of what each may be, as pydantic types.

A setting is one value, or an axis: a list, or evenly spaced steps ``{from: …, to: …, step: …}``.
Which kind of test takes which follows from the fields of its setup (``setups.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Generic, Literal, TypeVar, Union

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

from netlab.config.document import Section
from netlab.experiment import pairings
from netlab.experiment.kinds import FIELDS, Receive
from netlab.units import (
    format_bytes,
    format_rate,
    format_seconds,
    format_share,
    parse_bytes,
    parse_per_second,
    parse_rate,
    parse_seconds,
    parse_share,
)

T = TypeVar("T")


def _quantity(
    parse: Callable[[Any], Any], show: Callable[[Any], str], least: float, most: float
) -> Callable[[object], Any]:
    """A validator: a quantity with its unit, between ``least`` and ``most``."""

    def check(value: object) -> Any:
        if isinstance(value, list | dict):
            raise ValueError("should be one value")
        number = parse(value)
        if number < least:
            raise ValueError(f"{value} is too little; at least {show(least)}")
        if number > most:
            raise ValueError(f"{value} is too much; at most {show(most)}")
        return number

    return check


def _buffer(value: object) -> int | None:
    return None if value == "auto" else _buffer_bytes(value)


def _response(value: object) -> int | None:
    return None if value == "same" else _message_bytes(value)


def _method(value: str) -> str | None:
    return None if value == "plain" else value


def _or_nothing(value: bool) -> bool | None:
    return value or None


def _number_or(kind: str, example: str) -> WithJsonSchema:
    return WithJsonSchema({"anyOf": [{"type": kind, "minimum": 0}, _text(example)]})


def _text(example: str, pattern: str = r"^[0-9.]") -> dict[str, Any]:
    return {"type": "string", "pattern": pattern, "examples": [example]}


_per_second = _quantity(parse_per_second, lambda rate: f"{rate:g} a second", 1e-3, 1e9)
_message_bytes = _quantity(parse_bytes, format_bytes, 1, 1 << 24)
_buffer_bytes = _quantity(parse_bytes, format_bytes, 1, 1 << 30)
_window = _quantity(parse_seconds, format_seconds, 0.001, 86400)
_warm_up = _quantity(parse_seconds, format_seconds, 0, 3600)
_timeout = _quantity(parse_seconds, format_seconds, 0.001, 10)
_residual = _quantity(parse_seconds, format_seconds, 0.001, 60)
_hold = _quantity(parse_seconds, format_seconds, 0, 0.1)
_rate = _quantity(parse_rate, format_rate, 1, 1e13)
_loss = _quantity(parse_share, format_share, 0, 0.1)
_resolution = _quantity(parse_share, format_share, 0.0001, 0.1)
_within = _quantity(parse_share, format_share, 0.0001, 0.5)
_steal = _quantity(parse_share, format_share, 0, 0.5)
_confidence = _quantity(parse_share, format_share, 0.5, 0.999)

MessageBytes = Annotated[
    int, BeforeValidator(_message_bytes), _number_or("integer", "64KiB"), Field()
]
BufferBytes = Annotated[int, BeforeValidator(_buffer_bytes), _number_or("integer", "64KiB")]
BufferLevel = Annotated[
    int | None,
    BeforeValidator(_buffer),
    WithJsonSchema(
        {"anyOf": [{"type": "integer", "minimum": 1}, _text("64KiB", "^(auto$|[0-9.])")]}
    ),
]
ResponseLevel = Annotated[
    int | None,
    BeforeValidator(_response),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, _text("16", "^(same$|[0-9.])")]}),
]
WindowSetting = Annotated[float, BeforeValidator(_window), _number_or("number", "10s")]
WarmUp = Annotated[float, BeforeValidator(_warm_up), _number_or("number", "500ms")]
Timeout = Annotated[float, BeforeValidator(_timeout), _number_or("number", "500ms")]
Residual = Annotated[float, BeforeValidator(_residual), _number_or("number", "2s")]
Hold = Annotated[float, BeforeValidator(_hold), _number_or("number", "100us")]
Within = Annotated[float, BeforeValidator(_within), WithJsonSchema(_text("2.5 %"))]
Steal = Annotated[float, BeforeValidator(_steal), WithJsonSchema(_text("0.5 %"))]
Confidence = Annotated[float, BeforeValidator(_confidence), WithJsonSchema(_text("95 %"))]
Rate = Annotated[float, BeforeValidator(_rate), _number_or("number", "100Mbit")]
PerSecond = Annotated[float, BeforeValidator(_per_second), _number_or("number", "5000/s")]
Loss = Annotated[float, BeforeValidator(_loss), WithJsonSchema(_text("0.001 %"))]
Resolution = Annotated[float, BeforeValidator(_resolution), WithJsonSchema(_text("0.5 %"))]
YesLevel = Annotated[bool, AfterValidator(_or_nothing)]
SendMethodLevel = Annotated[Literal["plain", "batch", "packet"], AfterValidator(_method)]
Word = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.:@-]*$", max_length=64)]
Device = Annotated[str, Field(pattern=r"^[^\s/%=,\x00-\x1f]+$", max_length=15)]


def _pairing(value: str) -> str:
    if pairings.is_by_name(value):
        pairings.roles_of(value)
        return value
    if pairings.LETTERS.fullmatch(value):
        return value
    raise ValueError(
        f"`{value[:40]}` is no pairing: two capital letters, the server's system first, such as "
        "WL; or two hosts by name, such as nas+laptop"
    )


def _role(value: str) -> str:
    pairings.role_of(value)
    return value


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
    AfterValidator(_role),
    WithJsonSchema({"type": "string", "pattern": f"^{_ROLE_PATTERN}$"}),
]


def distinct(levels: list[T]) -> list[T]:
    """No value twice: it would make two cells equal."""
    seen: dict[object, int] = {}
    for index, level in enumerate(levels):
        if level in seen:
            first = seen[level] + 1
            message = "the same value as number {first} of this list"
            raise PydanticCustomError("place_in_list", message, {"index": index, "first": first})
        seen[level] = index
    return levels


class Steps(Section, Generic[T]):
    """Evenly spaced values, both ends included."""

    start: T = Field(alias="from")
    to: T
    step: T

    @model_validator(mode="after")
    def _hits_its_end(self) -> Steps[T]:
        start, to, step = (Decimal(repr(each)) for each in (self.start, self.to, self.step))
        if step <= 0:
            raise ValueError("the step must be more than nothing")
        if start > to:
            raise ValueError("`from` is above `to`: steps go upwards")
        if (to - start) % step:
            nearest = start + (to - start) // step * step
            raise ValueError(
                f"the steps do not hit their end: the last one below {_plain(to)} "
                f"is {_plain(nearest)}"
            )
        return self

    def __len__(self) -> int:
        """How many values, without making them."""
        start, to, step = (Decimal(repr(each)) for each in (self.start, self.to, self.step))
        return int((to - start) // step) + 1

    def values(self) -> list[Any]:
        """Every value, in its own type, without rounding on the way."""
        kind: Callable[[Decimal], Any] = type(self.start)
        start, step = Decimal(repr(self.start)), Decimal(repr(self.step))
        return [kind(start + index * step) for index in range(len(self))]


def _plain(number: Decimal) -> str:
    return f"{number:f}".rstrip("0").rstrip(".") if "." in f"{number:f}" else f"{number:f}"


def _shape(value: object) -> str:
    if isinstance(value, list):
        return "list"
    return "steps" if isinstance(value, dict | Steps) else "value"


def _shape_of_choice(value: object) -> str:
    return "list" if isinstance(value, list) else "value"


def _levels(value: Any) -> Any:
    listed: Any = list[value]
    return Annotated[listed, Field(min_length=1), AfterValidator(distinct), Tag("list")]


def one_or_list(value: Any) -> Any:
    """The type of one value or a list of them."""
    return Annotated[
        Union[Annotated[value, Tag("value")], _levels(value)],  # noqa: UP007  (made at run time)
        Discriminator(_shape_of_choice),
    ]


def _one_or_list_or_steps(value: Any, ends: Any) -> Any:
    """The same or steps, whose ends may be of another type: ``auto`` is no end."""
    steps: Any = Steps.__class_getitem__(ends)
    return Annotated[
        Union[Annotated[value, Tag("value")], _levels(value), Annotated[steps, Tag("steps")]],  # noqa: UP007
        Discriminator(_shape),
    ]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its name in the file, its field in the setups that have it, its types."""

    name: str
    field: str
    value: Any
    """Type of one value."""
    axis: Any
    """Type of a value or an axis."""
    about: str


def _choice(name: str, field: str, value: Any, about: str) -> Setting:
    return Setting(name, field, value, one_or_list(value), about)


def _range(name: str, field: str, value: Any, about: str, ends: Any = None) -> Setting:
    return Setting(name, field, value, _one_or_list_or_steps(value, ends or value), about)


def _whole(least: int, most: int) -> Any:
    return Annotated[int, Field(ge=least, le=most)]


_WAITS = Literal["blocking", "spinning"]

SETTINGS = (
    _choice("protocol", "protocol", Literal["TCP", "UDP"], "Transport protocol."),
    _choice("ip", "ip_version", Literal[4, 6], "Version of the Internet Protocol."),
    _range(
        "message_size",
        "message_bytes",
        MessageBytes,
        "Bytes handed to one send call: a message, or a request.",
    ),
    _range(
        "response_size",
        "response_bytes",
        ResponseLevel,
        "Bytes of an answer; same: as many as the request has.",
        MessageBytes,
    ),
    _range(
        "socket_buffer",
        "socket_buffer_bytes",
        BufferLevel,
        "SO_SNDBUF and SO_RCVBUF of both ends; auto leaves them to the system's own tuning.",
        BufferBytes,
    ),
    _range("duration", "duration_s", WindowSetting, "Length of the window in which is measured."),
    _range(
        "count", "count", _whole(1, 10**12), "Messages or transactions, in place of a duration."
    ),
    _range("warm_up", "warm_up_s", WarmUp, "Time before the window, not counted."),
    _choice(
        "direction",
        "direction",
        Literal["client-sends", "server-sends", "both"],
        "Who sends; both at once in one common window.",
    ),
    _range("streams", "streams", _whole(1, 64), "Parallel streams."),
    _range("outstanding", "outstanding", _whole(1, 1024), "Requests under way at once."),
    _choice("congestion", "congestion", Word, "TCP congestion control, such as cubic or bbr."),
    _choice("nodelay", "nodelay", bool, "TCP_NODELAY: small messages are sent at once."),
    _choice("dont_fragment", "dont_fragment", bool, "UDP only: forbid fragments on the way."),
    _choice("udp_checksum", "udp_checksum", bool, "False: UDP over IPv4 without its checksum."),
    _range("rate", "rate_bit_per_s", Rate, "Offered payload rate; without it, all that goes."),
    _range(
        "message_rate", "message_rate_per_s", PerSecond, "Offered messages or requests a second."
    ),
    _choice(
        "send_method",
        "send_method",
        SendMethodLevel,
        "UDP only: one message a send call, many, or frames of our own.",
    ),
    _range("timeout", "timeout_s", Timeout, "UDP only: after which a request is lost."),
    _range("dscp", "dscp", _whole(0, 63), "Differentiated services code point."),
    _choice("source_port", "source_port", _whole(1, 65535), "Local port of the connecting side."),
    _choice("interface", "interface", Device, "Device that the connecting side is bound to."),
    _choice("receive", "receive", Receive, "How the receiver waits; polling: UDP only."),
    _choice("server_receive", "server_receive", _WAITS, "How the server waits for a request."),
    _choice("client_receive", "client_receive", _WAITS, "How the client waits for an answer."),
    _range("server_cpu", "server_cpu", _whole(0, 4095), "CPU that the server's probe runs on."),
    _range("client_cpu", "client_cpu", _whole(0, 4095), "CPU that the client's probe runs on."),
    _choice("network", "network", Word, "Name of the test addresses to use."),
    _choice("stack_time", "stack_time", bool, "UDP only: time the server's stack by time stamps."),
    _range("mirror_hold", "mirror_hold_s", Hold, "What the server waits before it answers."),
    _range("keep_first", "keep_first", _whole(0, 1000), "First round trips kept one by one."),
    _choice(
        "close",
        "close",
        Literal["reset", "orderly"],
        "How the client ends a connection: reset leaves no TIME_WAIT behind.",
    ),
    _range(
        "frame_size",
        "frame_bytes",
        _whole(64, 9018),
        "Bytes of an Ethernet frame, header and FCS counted.",
    ),
    _range("burst", "burst", _whole(1, 100_000), "Most frames back to back, when catching up."),
    _range("acceptable_loss", "acceptable_loss", Loss, "Share of the frames that may be lost."),
    _range("resolution", "resolution", Resolution, "Step of the rates tried, of the line rate."),
    _range(
        "line_rate",
        "line_rate_bit_per_s",
        Rate,
        "Line rate of the link; without it the matrix's link's, else the interface's.",
    ),
    _range(
        "search_duration",
        "search_duration_s",
        WindowSetting,
        "Of trials before the last, that confirms.",
    ),
    _choice(
        "together",
        "together",
        YesLevel,
        "Pairs that search at the same time share one rate, which passes where it does for all.",
    ),
    _choice("frame_loss", "frame_loss", bool, "Measure the loss at tenths of the line rate too."),
    _choice("latency", "latency", YesLevel, "Round trips at the rate found, and at parts of it."),
    _range(
        "back_to_back",
        "back_to_back",
        _whole(1, 100),
        "How often the longest burst without loss is searched for; the standard: 50.",
    ),
    _range("residual", "residual_s", Residual, "What late frames are waited for after a trial."),
    _range("settle", "settle_s", WarmUp, "Time between two trials of a search."),
    _choice("sweep", "sweep", bool, "Measure throughput over message sizes around the one found."),
    _choice("capture", "capture", bool, "Capture frames on the way, where the hosts allow it."),
)
"""Every setting of every kind of test, each once. The defaults of a matrix take all of them."""

FIELD_OF = {setting.name: setting.field for setting in SETTINGS}
NAME_OF = {setting.field: setting.name for setting in SETTINGS}

SETTINGS_OF: Mapping[str, tuple[Setting, ...]] = {
    test: tuple(setting for setting in SETTINGS if setting.field in taken)
    for test, taken in FIELDS.items()
}
"""The settings that each kind of test takes."""


def kinds_with(name: str) -> str:
    """The kinds of test that take a setting, in words: ```round_trip` and `connect```."""
    kinds = [f"`{test}`" for test, taken in FIELDS.items() if FIELD_OF[name] in taken]
    return " and ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)
