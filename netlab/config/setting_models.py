"""Models of the sections whose keys are settings: tests, defaults, comparisons, expectations.

A model is made for the keys that a file has: making the types of all settings takes longer than all
else that a small command does.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from netlab.config.document import Model, Section
from netlab.config.expect_model import ExpectBounds
from netlab.config.settings import (
    LOAD,
    LOAD_KEYS,
    SETTINGS,
    SETTINGS_OF,
    Pairing,
    Setting,
    one_or_list,
)

KINDS = {
    "stream": "Messages one way, or both ways at once.",
    "round_trip": "Requests from the client, answered by the server's mirror: latency.",
    "connect": "Transactions with a TCP connection each: the cost of connecting.",
    "payload_search": "The largest payload that travels in one frame, and the path's MTU.",
    "throughput_search": "The highest rate that passes without loss (RFC 2544).",
    "latency_under_load": "Round trips before, during and after streams that fill the path.",
}
"""The kinds of test. Every combination of the values of a test's settings is a cell."""

RULES = ("replace", "exclude", "override")
"""The keys of a test that have rules for some of its cells, in the order in which they apply."""

MAX_REPEATS = 1000

Repeats = Annotated[int, Field(ge=1, le=MAX_REPEATS)]

_ABOUT_PAIRING = "Server first, such as WL."
_ABOUT_WHEN = "Selects cells: each setting named here has one of the values given."

Names = frozenset[str]
"""Keys that a file has. A model for this file has validators only for them."""

ABSENT: Any = (Any, None)
"""A key that a file does not have, so that its values need no type."""


def _model_of(
    name: str, about: str, settings: tuple[Setting, ...], names: Names, *, axes: bool, **more: Any
) -> type[Section]:
    fields: dict[str, Any] = {
        s.name: (s.axis if axes else s.value, Field(default=None, description=s.about))
        if s.name in names
        else ABSENT
        for s in settings
    }
    model: type[Section] = create_model(name, __base__=Section, __doc__=about, **more, **fields)
    return model


def _rules(model: Any, about: str) -> Any:
    listed: Any = list[model]
    return (
        Annotated[listed, Field(min_length=1, max_length=100)],
        Field(default=None, description=about),
    )


def _rule(name: str, about: str, condition: type[Section], action: type[Section], word: str) -> Any:
    """The model of a rule such as ``{when: …, with: …}`` or ``{when: …, set: …}``."""
    key = "with_" if word == "with" else word
    fields: dict[str, Any] = {"when": (condition, ...), key: (action, Field(alias=word))}
    return create_model(name, __base__=Section, __doc__=about, **fields)


def model_of_test(test: str, names: Names) -> type[Section]:
    """The model of one kind of test: its settings, its rules, its repeats."""
    kind = "".join(word.capitalize() for word in test.split("_"))
    settings = SETTINGS_OF[test]
    condition = _model_of(
        f"{kind}When",
        _ABOUT_WHEN,
        settings,
        names,
        axes=True,
        pairing=(one_or_list(Pairing), Field(default=None, description=_ABOUT_PAIRING)),
    )
    values = _model_of(f"{kind}Values", "Settings, one value each.", settings, names, axes=False)
    replace = _rule(
        f"{kind}Replace",
        "Replaces values that the axes give: UDP carries no 65536 bytes.",
        condition,
        values,
        "with",
    )
    override = _rule(
        f"{kind}Override",
        "Changes settings of some cells: a longer duration for small messages.",
        condition,
        values,
        "set",
    )
    types = {
        "replace": _rules(replace, "Applied first: values that replace others."),
        "exclude": _rules(condition, "Applied second: combinations that are not measured."),
        "override": _rules(override, "Applied last: settings of some cells; later rules win."),
    }
    kinds: Any = Literal[test]
    more: dict[str, Any] = {}
    if test == "latency_under_load":
        load_settings = tuple(setting for setting in settings if setting.name in LOAD_KEYS)
        settings = tuple(setting for setting in settings if setting.name not in LOAD_KEYS)
        model = _model_of(
            "Load", "The streams that fill the path.", load_settings, names, axes=True
        )
        more[LOAD] = (model, Field(default=None, description="The streams that fill the path."))
    return _model_of(
        f"{kind}Test",
        KINDS[test],
        settings,
        names,
        axes=True,
        test=(kinds, Field(description="Kind of test.")),
        repeats=(
            Repeats,
            Field(default=None, description="Trials per cell of this test; default: the matrix's."),
        ),
        **{rule: types[rule] if rule in names else ABSENT for rule in RULES},
        **more,
    )


def defaults_section(names: Names) -> type[Section]:
    """The model of ``defaults:``, with types of the settings ``names``."""
    about = "Settings of every test that takes them and does not set them."
    return _model_of("Defaults", about, SETTINGS, names, axes=True)


class CompareSection(Section):
    """Compares cells with those that differ from them only in the settings named."""

    name: str = Field(min_length=1, max_length=100, description="Title of the comparison.")
    baseline: Any
    contender: Any


def compare_section(names: Names) -> type[CompareSection]:
    """The model of one part of ``compare:``, with types of the settings ``names``."""
    about = "The cells on one side of a comparison: one value of each setting named here."
    side = _cells_model("Side", about, names, axes=False)
    return _narrower(CompareSection, baseline=side, contender=side)


class ExpectSection(ExpectBounds):
    """Expectations of some cells, for `netlab check`."""

    when: Any = Field(
        default=None, description="Only these cells; default: all cells that have the quantity."
    )
    unless: Any = Field(default=None, description="Except these cells.")


def expect_section(names: Names) -> type[ExpectSection]:
    """The model of one part of ``expect:``, with types of the settings ``names``."""
    when = _cells_model("ExpectWhen", _ABOUT_WHEN, names, axes=True)
    return _narrower(ExpectSection, when=when, unless=when)


def _cells_model(name: str, about: str, names: Names, *, axes: bool) -> type[Section]:
    """The model of a section that selects cells of any kind of test: by their settings, their kind
    of test and their pairing. ``axes``: each may have several values.
    """
    kind: Any = Literal[tuple(KINDS)]
    test, pairing = (one_or_list(kind), one_or_list(Pairing)) if axes else (kind, Pairing)
    return _model_of(
        name,
        about,
        SETTINGS,
        names,
        axes=axes,
        test=(test, Field(default=None, description="Kind of test.")),
        pairing=(pairing, Field(default=None, description=_ABOUT_PAIRING)),
    )


def _narrower(model: type[Model], **types: Any) -> type[Model]:
    """The model with these types of its fields; the fields remain in their order."""
    fields: Any = {name: (type_, model.model_fields[name]) for name, type_ in types.items()}
    made: type[Model] = create_model(
        model.__name__, __base__=model, __doc__=model.__doc__, **fields
    )
    return made


def keys_of(data: object) -> Iterator[str]:
    """Every key in nested data."""
    parts = [data]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            yield from part
            parts += part.values()
        elif isinstance(part, list):
            parts += part
