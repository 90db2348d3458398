"""The pydantic model of a matrix's ``variants``: named states of the hosts' own settings."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from netlab.config.commands.command import COMMAND_IN_JSON, CommandWords, words_of
from netlab.config.document import Section, did_you_mean
from netlab.config.settings import WarmUp
from netlab.experiment.variants.change import PLACEHOLDERS, Change, Words
from netlab.experiment.variants.known import CONGESTION_DEFAULT, KNOWN, recognized
from netlab.experiment.variants.variant import State, Variants, level_of, states_of

AS_FOUND = "as found"
COMBINATIONS_MOST = 1000
"""Maximum number of combinations of states; each combination is a value of ``variant``."""
NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]*$"


def _restore(value: object) -> Words:
    return () if value == AS_FOUND else words_of(value)


def _value(value: object) -> str:
    """A value of a setting as a text without control characters."""
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


_Value = Annotated[
    str,
    BeforeValidator(_value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
]
_SysctlName = Annotated[str, Field(pattern=r"^[a-z][A-Za-z0-9_.:/-]*$", max_length=200)]
_EthtoolName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=60)]


class ChangeSection(Section):
    """What is changed at one end: settings that netlab knows, or a command of your own."""

    sysctl: dict[_SysctlName, _Value] = Field(
        default=None,  # type: ignore[arg-type]  # absent, never null
        min_length=1,
        max_length=25,
        description="Values of sysctl by name.",
    )
    congestion: Annotated[str, Field(pattern=r"^[a-z0-9_]+$", max_length=15)] = Field(
        default=None,  # type: ignore[assignment]
        description="The host's default congestion control.",
    )
    offloads: dict[_EthtoolName, Literal["on", "off"]] = Field(
        default=None,  # type: ignore[arg-type]
        min_length=1,
        max_length=25,
        description="Offloads of the interface, with the names of `ethtool -K`.",
    )
    coalescing: dict[_EthtoolName, _Value] = Field(
        default=None,  # type: ignore[arg-type]
        min_length=1,
        max_length=25,
        description="Interrupt coalescing of the interface, with the names of `ethtool -C`.",
    )
    mtu: int = Field(
        default=None,  # type: ignore[assignment]
        ge=68,
        le=65535,
        description="MTU of the interface in bytes.",
    )
    governor: Annotated[str, Field(pattern=r"^[a-z_]+$", max_length=15)] = Field(
        default=None,  # type: ignore[assignment]
        description="Governor of all CPUs' frequencies, such as performance.",
    )
    interrupts: Annotated[
        str,
        BeforeValidator(_value),
        Field(pattern=r"^\d{1,4}(-\d{1,4})?(,\d{1,4}(-\d{1,4})?)*$", max_length=200),
        WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
    ] = Field(
        default=None,  # type: ignore[assignment]
        description="CPUs that handle the interface's interrupts, such as 0-3,8.",
    )
    sudo: bool = Field(
        default=False,
        description="Whether `sudo -n` stands before the commands that change these settings.",
    )
    enter: CommandWords = Field(default=None, description="A command that makes the change.")  # type: ignore[arg-type]
    check: CommandWords = Field(default=None, description="A command that prints the setting.")  # type: ignore[arg-type]
    expect: Annotated[str, Field(min_length=1, max_length=500), AfterValidator(_pattern)] = Field(
        default=None,  # type: ignore[assignment]
        description="A regular expression that the output of `check` must contain.",
    )
    restore: Annotated[
        Words,
        BeforeValidator(_restore),
        Field(strict=False),
        WithJsonSchema(COMMAND_IN_JSON),
    ] = Field(
        default=None,  # type: ignore[arg-type]
        description="A command that undoes the change; or `as found`, if netlab knows the setting.",
    )

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
            unknown = sorted(change.uses - PLACEHOLDERS)
            if unknown:
                placeholders = ", ".join(f"{{{name}}}" for name in sorted(PLACEHOLDERS))
                raise ValueError(
                    f"{{{unknown[0]}}} is not a placeholder; the placeholders are {placeholders}"
                )
        return self

    def _known(self) -> dict[str, Mapping[str, str]]:
        """Known setting → its names and values, in the order in which they are changed."""
        sysctl = {**(self.sysctl or {})}
        if self.congestion is not None:
            sysctl[CONGESTION_DEFAULT] = self.congestion
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
            setting, wanted = KNOWN[name], tuple(values.items())
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
    """The words before the program, the known setting that the program changes, and its values;
    ``None`` if it changes no known setting.
    """
    start = next((n for n, word in enumerate(words) if word in ("sysctl", "ethtool", "ip")), 0)
    if start and words[0] not in ("sudo", "doas"):
        return None
    command = recognized(words[start:])
    return None if command is None else (words[:start], *command)


class StateSection(Section):
    """One state: what is changed at the server, at the client, or at both; nothing: as found."""

    server: ChangeSection = Field(default=None, description="Changes at the server.")  # type: ignore[assignment]
    client: ChangeSection = Field(default=None, description="Changes at the client.")  # type: ignore[assignment]
    both: ChangeSection = Field(default=None, description="Changes at both ends.")  # type: ignore[assignment]
    settle: WarmUp = Field(
        default=0.0, description="Wait after the changes, such as for a link that comes up again."
    )


def _not_too_many(
    groups: dict[str, dict[str, StateSection]],
) -> dict[str, dict[str, StateSection]]:
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
    return {
        group: {name: _state(state) for name, state in states.items()}
        for group, states in (section or {}).items()
    }


def _state(section: StateSection) -> State:
    both = [*section.both.changes()] if section.both else []
    server = [*section.server.changes()] if section.server else []
    client = [*section.client.changes()] if section.client else []
    return State((*both, *server), (*both, *client), section.settle)


def fault_of_variant(level: str, groups: Mapping[str, Collection[str]]) -> str | None:
    """What is wrong with a value of the axis ``variant``, as a sentence without a full stop.

    Returns ``None`` if the value is valid. ``groups`` has the names of the states of each group.
    """
    try:
        states = states_of(level)
    except ValueError as error:
        return str(error)
    for group, state in states.items():
        if group not in groups:
            near = did_you_mean(group, groups) or ": define it under `variants`"
            return f"`{group}` is not a group of the variants of this matrix{near}"
        if state not in groups[group]:
            near = did_you_mean(state, groups[group])
            return f"`{state}` is not a state of `{group}`{near}"
    sorted_level = level_of(states)
    return None if level == sorted_level else f"sort the groups: `{sorted_level}`"
