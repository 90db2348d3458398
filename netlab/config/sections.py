"""The pydantic models of a matrix's sections ``expect``, ``mirrors`` and ``variants``.

Commands of a mirror or a variant are lists of words, which are run without a shell.
"""

from __future__ import annotations

import ipaddress
import math
import re
import shlex
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    WithJsonSchema,
    create_model,
    model_validator,
)

from netlab.config.document import Section, absent, did_you_mean
from netlab.config.settings import WarmUp
from netlab.experiment import variants
from netlab.experiment.cells import Expectation, Of, When
from netlab.experiment.variants import Change, State, Variants, Words
from netlab.kinds.groups import WORD
from netlab.units import parse_bytes, parse_per_second, parse_rate, parse_seconds, parse_share

BoundOf = tuple[float, Of]

_KIND = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*(/[a-z0-9]+(-[a-z0-9]+)*)?")
_SHARE_OF = re.compile(r"(?P<share>[^%]*%)\s*(?:of\s+(?:the\s+)?(?P<whole>.*))?", re.DOTALL)


def _share_of(
    reference: Of, parse: Callable[[Any], float], unit: Of
) -> Callable[[object], BoundOf]:
    """A validator of a share, such as ``90 % of the ceiling``, or of a figure with its unit."""

    def check(value: object) -> BoundOf:
        match = _SHARE_OF.fullmatch(value.strip()) if isinstance(value, str) else None
        if match is None:
            return _positive(parse(_scalar(value)), value), unit
        if (match["whole"] or "").strip() != reference:
            raise ValueError(
                f"{value}: should be a share of the {reference}, such as "
                f"`{match['share']} of the {reference}`"
            )
        share = _positive(parse_share(match["share"]), value)
        if share > 1:
            raise ValueError(f"{value} is more than 100 %")
        return share, reference

    return check


def _in(parse: Callable[[Any], float], unit: Of) -> Callable[[object], BoundOf]:
    return lambda value: (_positive(parse(_scalar(value)), value), unit)


def _below_all(value: object, of: Of) -> BoundOf:
    share = parse_share(_scalar(value))
    if share >= 1:
        raise ValueError(f"{value} is not below 100 %")
    return share, of


def _scalar(value: object) -> Any:
    if isinstance(value, list | dict):
        raise ValueError("should be one value")
    return value


def _positive(number: float, value: object) -> float:
    if not number > 0:
        raise ValueError(f"{value} is not above 0")
    return number


def _limit(
    name: str, about: str, key: str, unit: str, check: Callable[[object], BoundOf], *examples: str
) -> type[Section]:
    """The model of a limit: its ``key`` with a number or a text, described by ``unit``."""
    text = {"type": "string", "examples": list(examples)}
    schema = WithJsonSchema({"anyOf": [{"type": "number"}, text]})
    value: Any = Annotated[Any, BeforeValidator(check), schema]
    fields: Any = {key: (value, Field(description=unit))}
    return create_model(name, __base__=Section, __doc__=about, **fields)


# A table: each row takes as few lines as possible.
# fmt: off
LIMITS: Mapping[Any, type[Section]] = {
    "throughput": _limit(
        "AtLeastThroughput", "Minimum throughput of every trial.",
        "at_least", "A share of the wire ceiling, or bit/s.",
        _share_of("ceiling", parse_rate, "bit/s"), "90 % of the ceiling", "80Mbit"),
    "loss": _limit(
        "AtMostLoss", "Maximum share of lost messages in every trial.",
        "at_most", "Of the messages sent.", lambda value: _below_all(value, "share"), "0.1 %"),
    "round_trip": _limit(
        "AtMostRoundTrip", "Maximum mean round trip, or transaction, of every trial.",
        "at_most", "The mean of a trial.",
        _in(lambda value: 1e9 * parse_seconds(value), "ns"), "500us"),
    "payload": _limit(
        "AtLeastPayload", "Minimum payload that travels in one frame.",
        "at_least", "Bytes.", _in(parse_bytes, "bytes"), "1472"),
    "frames": _limit(
        "AtLeastFrames", "Minimum of the highest rate without loss.",
        "at_least", "A share of the line rate, or frames a second.",
        _share_of("line rate", parse_per_second, "1/s"), "90 % of the line rate", "5000/s"),
    "baseline": _limit(
        "NoWorse", "Limit compared with the run that `netlab check --baseline` names.",
        "no_worse_by", "Share of the baseline's geometric mean.",
        lambda value: (_positive(_below_all(value, "baseline")[0], value), "baseline"), "5 %"),
}
# fmt: on
"""Quantity (``What``) → the model of its limit."""


def _forbidden(value: object) -> tuple[str, ...]:
    words = value if isinstance(value, list) else [value]
    for word in words:
        if not isinstance(word, str) or _KIND.fullmatch(word) is None:
            raise ValueError(
                f"{word}: should be `warning`, `note` or a kind of finding (docs/findings.md)"
            )
    if not words or len({*words}) < len(words):
        raise ValueError("forbids nothing" if not words else "names the same word twice")
    return tuple(words)


Forbidden = Annotated[
    Any,
    BeforeValidator(_forbidden),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "examples": ["warning"]},
                {"type": "array", "items": {"type": "string"}, "examples": [["warning", "step"]]},
            ]
        }
    ),
]


class ExpectBounds(Section):
    """Bounds on the cells' quantities; all bounds of one section apply to the same cells."""

    # ``LIMITS`` has the types of these.
    throughput: Any = absent()
    loss: Any = absent()
    round_trip: Any = absent()
    payload: Any = absent()
    frames: Any = absent()
    baseline: Any = absent()
    no: Forbidden = Field(
        default=None, description="Kinds of findings that must not occur; `warning`: any warning."
    )

    @model_validator(mode="after")
    def _something(self) -> ExpectBounds:
        if not self.model_fields_set & {*LIMITS, "no"}:
            raise ValueError(f"expects nothing: give one of {', '.join(LIMITS)} or `no`")
        return self

    def expectations(self, when: When, unless: When) -> tuple[Expectation, ...]:
        """One expectation per quantity, in the order of the fields, and one per kind of finding."""
        expects = partial(Expectation, when=when, unless=unless)
        made = []
        for what in LIMITS:
            if what in self.model_fields_set:
                ((key, (limit, of)),) = getattr(self, what)
                bound: Literal["at least", "at most"]
                bound = "at least" if key == "at_least" else "at most"
                made.append(expects(what=what, bound=bound, limit=limit, of=of))
        for word in self.no or ():
            made.append(expects(what="no", bound="at most", limit=0, of="findings", forbidden=word))
        return tuple(made)


WORDS_MOST, WORD_MOST_CHARACTERS = 64, 1000
"""Limits of a command: docs/protocol.md, ``run``."""


def words_of(value: object) -> tuple[str, ...]:
    """A command as its words; a text is split as a POSIX shell splits words, with its quotes."""
    try:
        words = shlex.split(value) if isinstance(value, str) else value
    except ValueError as error:
        raise ValueError(f"{error}: close the quotation, or give the words as a list") from None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ValueError("should be a command: a text, or the list of its words")
    if not words or not words[0]:
        raise ValueError("should name a program")
    if len(words) > WORDS_MOST or max(map(len, words)) > WORD_MOST_CHARACTERS:
        raise ValueError(
            f"should have at most {WORDS_MOST} words of at most {WORD_MOST_CHARACTERS} "
            "characters each"
        )
    if any(re.search(r"[\x00-\x1f\x7f]", word) for word in words):
        raise ValueError("no word may contain a control character, such as a line feed")
    return tuple(words)


COMMAND_IN_JSON = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}

CommandWords = Annotated[
    tuple[str, ...],
    BeforeValidator(words_of),
    Field(strict=False),
    WithJsonSchema(COMMAND_IN_JSON),
]


def _address(value: str) -> str:
    address = ipaddress.ip_address(value.partition("%")[0])
    if address.is_unspecified or address.is_multicast:
        raise ValueError(f"{value} is not the address of one host")
    return value


class MirrorSection(Section):
    """A program or an echo that answers round trips in place of netlab's probe on the server."""

    start: CommandWords = Field(
        default=(),
        description="The command that starts it on the server; without it, it runs already. "
        "{address} and {port} stand for where it must answer.",
    )
    address: Annotated[str, AfterValidator(_address)] = absent(
        "The IP address at which it answers; default: the server's test address."
    )
    port: int = absent(
        "The port at which it answers; default: a free port of the server.", ge=1, le=65535
    )
    interface: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.:@-]{1,15}$")] = absent(
        "The server's interface at which its stack is timed; default: that of the route to the "
        "client."
    )

    @model_validator(mode="after")
    def _has_a_port(self) -> MirrorSection:
        if self.port is None and not self.start:
            raise ValueError("give the mirror's `port`, or the command to `start` the mirror")
        if self.port is None and not any("{port}" in word for word in self.start):
            raise ValueError(
                "give the mirror's `port`, or write {port} in `start`: "
                "netlab then chooses a free port"
            )
        return self


def _no_probe(name: str) -> str:
    if name == "netprobe":
        raise ValueError("`netprobe` is netlab's own probe: give this mirror another name")
    return name


MirrorName = Annotated[
    str, AfterValidator(_no_probe), Field(pattern=WORD.pattern, max_length=WORD.most_characters)
]
"""A name that the setting ``mirror`` can have; ``netprobe`` is netlab's own probe."""


COMBINATIONS_MOST = 1000
"""Maximum number of combinations of states; each combination is a value of ``variant``."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"


def _value(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise ValueError("should be a text or a whole number")
    text = str(value)
    if not text or len(text) > 500 or re.search(r"[\x00-\x1f\x7f]", text):
        raise ValueError("should be a text of 1 to 500 characters on one line")
    return text


def _pattern(value: str) -> str:
    try:
        re.compile(value)
    except re.error as error:
        raise ValueError(f"is not a regular expression: {error}") from None
    return value


_TEXT_OR_NUMBER = WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}]})
_Value = Annotated[str, BeforeValidator(_value), _TEXT_OR_NUMBER]
_SysctlName = Annotated[str, Field(pattern=r"^[a-z][A-Za-z0-9_.:/-]*$", max_length=200)]
_EthtoolName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=60)]
_Cpus = r"^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$"
_UpTo25 = Field(min_length=1, max_length=25)


class ChangeSection(Section):
    """What is changed at one end: settings that netlab knows, or a command of your own."""

    sysctl: Annotated[dict[_SysctlName, _Value], _UpTo25] = absent("Values of sysctl by name.")
    congestion: Annotated[str, Field(pattern=r"^[a-z0-9_]+$", max_length=15)] = absent(
        "The host's default congestion control."
    )
    offloads: Annotated[dict[_EthtoolName, Literal["on", "off"]], _UpTo25] = absent(
        "Offloads of the interface, with the names of `ethtool -K`."
    )
    coalescing: Annotated[dict[_EthtoolName, _Value], _UpTo25] = absent(
        "Interrupt coalescing of the interface, with the names of `ethtool -C`."
    )
    mtu: int = absent("MTU of the interface in bytes.", ge=68, le=65535)
    governor: Annotated[str, Field(pattern=r"^[a-z_]+$", max_length=15)] = absent(
        "Governor of all CPUs' frequencies, such as performance."
    )
    interrupts: Annotated[
        str, BeforeValidator(_value), Field(pattern=_Cpus, max_length=200), _TEXT_OR_NUMBER
    ] = absent("CPUs that handle the interface's interrupts, such as 0-3,8.")
    sudo: bool = Field(
        default=False,
        description="Whether `sudo -n` stands before the commands that change these settings.",
    )
    enter: CommandWords = absent("A command that makes the change.")
    check: CommandWords = absent("A command that prints the setting.")
    expect: Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_pattern)] = absent(
        "A regular expression that the output of `check` must contain."
    )
    restore: Annotated[
        Words,
        BeforeValidator(lambda value: () if value == "as found" else words_of(value)),
        Field(strict=False),
        WithJsonSchema(COMMAND_IN_JSON),
    ] = absent("A command that undoes the change; or `as found`, if netlab knows the setting.")

    @model_validator(mode="after")
    def _is_complete(self) -> ChangeSection:
        own = ("enter", "check", "restore")
        if self.enter is None:
            extra = [name for name in (*own, "expect") if getattr(self, name) is not None]
            if extra:
                raise ValueError(
                    f"`{extra[0]}` is for a command of your own: give that command as `enter`"
                )
            if not self._known():
                raise ValueError("changes nothing: give a setting, or a command as `enter`")
            return self
        missing = [name for name in own if getattr(self, name) is None]
        if missing:
            raise ValueError(f"a command of your own needs `{missing[0]}` as well")
        if not self.restore and _known_command(self.enter) is None:
            raise ValueError(
                "`as found` is not possible for this command: give the command that undoes it as "
                "`restore` (netlab itself can undo sysctl -w, ethtool -K and -C with {interface}, "
                "and ip link set … mtu)"
            )
        if self.sudo and not self._known():
            raise ValueError(
                "`sudo` is only for the settings that netlab changes: write sudo into `enter`"
            )
        return self

    @model_validator(mode="after")
    def _has_known_placeholders(self) -> ChangeSection:
        for change in self.changes():
            unknown = sorted(change.uses - variants.PLACEHOLDERS)
            if unknown:
                placeholders = ", ".join(f"{{{name}}}" for name in sorted(variants.PLACEHOLDERS))
                raise ValueError(
                    f"{{{unknown[0]}}} is not a placeholder; the placeholders are {placeholders}"
                )
        return self

    def _known(self) -> dict[str, Mapping[str, str]]:
        """Known setting → its names and values, in the order in which they are changed."""
        sysctl = {**(self.sysctl or {})}
        if self.congestion is not None:
            sysctl[variants.CONGESTION_DEFAULT] = self.congestion
        single = {name: getattr(self, name) for name in ("mtu", "governor", "interrupts")}
        sections: dict[str, Mapping[str, str]] = {
            "sysctl": sysctl,
            "offloads": self.offloads or {},
            "coalescing": self.coalescing or {},
            **{name: {name: str(v)} for name, v in single.items() if v is not None},
        }
        return {name: values for name, values in sections.items() if values}

    def changes(self) -> Iterator[Change]:
        """The changes, in the order in which they are made."""
        prefix: Words = ("sudo", "-n") if self.sudo else ()
        for name, values in self._known().items():
            setting, wanted = variants.KNOWN[name], tuple(values.items())
            enter, check = (*prefix, *setting.enter(values)), setting.check(values)
            yield Change(enter, check, known=name, wanted=wanted, prefix=prefix)
        if self.enter is None:
            return
        if self.restore:
            yield Change(self.enter, self.check, (self.restore,), self.expect or "")
        elif (command := _known_command(self.enter)) is not None:
            prefix, name, values = command
            wanted = tuple(values.items())
            yield Change(self.enter, self.check, (), self.expect or "", name, wanted, prefix)


def _known_command(words: Words) -> tuple[Words, str, Mapping[str, str]] | None:
    """The words before the program, the known setting that it changes, and its values."""
    start = next((n for n, word in enumerate(words) if word in ("sysctl", "ethtool", "ip")), 0)
    if start and words[0] not in ("sudo", "doas"):
        return None
    command = variants.recognized(words[start:])
    return None if command is None else (words[:start], *command)


class StateSection(Section):
    """One state: what is changed at the server, at the client, or at both; nothing: as found."""

    server: ChangeSection = absent("Changes at the server.")
    client: ChangeSection = absent("Changes at the client.")
    both: ChangeSection = absent("Changes at both ends.")
    settle: WarmUp = Field(
        default=0.0, description="Wait after the changes, such as for a link that comes up again."
    )


Groups = dict[str, dict[str, StateSection]]


def _not_too_many(groups: Groups) -> Groups:
    count = math.prod(map(len, groups.values()))
    if count > COMBINATIONS_MOST:
        raise ValueError(
            f"{count:,} combinations of states are too many; at most {COMBINATIONS_MOST:,}"
        )
    return groups


_Name = Annotated[str, Field(pattern=NAME, max_length=40)]
VariantSection = Annotated[dict[_Name, StateSection], Field(min_length=1, max_length=20)]
VariantsSection = Annotated[
    dict[_Name, VariantSection], Field(min_length=1, max_length=10), AfterValidator(_not_too_many)
]


def variants_of(section: Mapping[str, Mapping[str, StateSection]] | None) -> Variants:
    """The variants that a matrix defines."""

    def state_of(state: StateSection) -> State:
        both, server, client = (
            [*part.changes()] if part else [] for part in (state.both, state.server, state.client)
        )
        return State((*both, *server), (*both, *client), state.settle)

    return {
        group: {name: state_of(state) for name, state in states.items()}
        for group, states in (section or {}).items()
    }


def fault_of_variant(level: str, groups: Mapping[str, Collection[str]]) -> str | None:
    """What is wrong with a value of the axis ``variant``; ``groups`` has the names of states by
    group.
    """
    try:
        states = variants.states_of(level)
    except ValueError as error:
        return str(error)
    for group, state in states.items():
        if group not in groups:
            near = did_you_mean(group, groups) or ": define it under `variants`"
            return f"`{group}` is not a group of the variants of this matrix{near}"
        if state not in groups[group]:
            near = did_you_mean(state, groups[group])
            return f"`{state}` is not a state of `{group}`{near}"
    sorted_level = variants.level_of(states)
    return None if level == sorted_level else f"sort the groups: `{sorted_level}`"
