"""Merges the sections of a matrix into the values that each setting of a test has.

In this module, settings have the names of the file; in a ``cells.Grid``, they have the names of
fields. A grid is a test with its rules and the values of each setting (its axes, whose single
values are called levels). A cell is one combination of values. A trial is one measurement of a
cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from netlab.config.document import Document, KeyPath, Section
from netlab.config.matrix_model import MatrixFile
from netlab.config.settings import FIELD_OF, LOAD, NAME_OF, Steps, kinds_with
from netlab.errors import Fault
from netlab.experiment.cells import Grid, Rule
from netlab.experiment.kinds import DEFAULTS_OF, EXCLUSIVE, FIELDS, NEEDED, ONLY_OF_TCP, ONLY_OF_UDP
from netlab.experiment.pairings import is_by_name
from netlab.experiment.settings import Level
from netlab.experiment.variants.variant import every_level

FRAMING_BYTES = 18
"""Bytes of a frame besides its packet: header 14, FCS 4 (IEEE 802.3)."""
MAX_CELLS = 100_000
"""Maximum number of cells in a matrix; at 1 s each they take more than a day."""
MAX_TRIALS = 1_000_000
MAX_RULE_VALUES = 1000
"""Maximum number of values in the steps of a rule's ``when``."""

STANDING_IN: Mapping[str, Level] = {
    "message_bytes": 1,
    "frame_bytes": 1518,
    "protocol": "TCP",
}
"""Placeholders for missing required settings, so that the rest can be checked."""

Layer = dict[str, Any]
"""Values or axes by the setting's name, in the order of the file."""


def layers_of(document: Document, model: MatrixFile, overrides: Mapping[str, Any]) -> list[Layer]:
    """The merged settings of each test in the order of the file, the test's own settings first.

    Settings that a kind of test does not take are ignored.
    """
    defaults = _given(document, model.defaults, ("defaults",))
    every: Layer = {"variant": [*every_level(model.variants)]} if model.variants else {}
    return [
        _layered(
            every,
            _taken(test.test, defaults),
            _given(document, test, ("tests", index)),
            _taken(test.test, overrides),
        )
        for index, test in enumerate(model.tests)
    ]


def _taken(test: str, layer: Mapping[str, Any]) -> Layer:
    """The settings of a layer that a kind of test takes."""
    return {name: value for name, value in layer.items() if FIELD_OF[name] in FIELDS[test]}


def idle_defaults(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Faults: defaults that no test of the matrix takes."""
    fields = {field for test in model.tests for field in FIELDS[test.test]}
    for name in _given(document, model.defaults, ("defaults",)):
        if FIELD_OF[name] not in fields:
            kinds = kinds_with(name)
            message = f"no test of this matrix has this setting: it belongs to {kinds}"
            yield document.fault(("defaults", name), message, at_key=True)


def _given(document: Document, section: Any, path: KeyPath) -> Layer:
    """The settings of one section, in the order of the file."""
    if section is None:
        return {}
    layer: Layer = {}
    for name in document.at(path):
        if name == LOAD and getattr(section, LOAD, None) is not None:
            layer |= _given(document, section.load, (*path, LOAD))
        elif name in FIELD_OF and name in section.model_fields_set:
            layer[name] = getattr(section, name)
    return layer


def _layered(*layers: Mapping[str, Any]) -> Layer:
    """Values or axes by name. A later layer wins, and its settings come first."""
    layered: Layer = {}
    for layer in layers:
        rest = {n: v for n, v in layered.items() if n not in layer and n not in _partners(layer)}
        layered = {**layer, **rest}
    return layered


def _partners(names: Iterable[str]) -> set[str]:
    """The settings that cannot be combined with ``names``, and are therefore removed."""
    fields = {FIELD_OF[name] for name in names}
    return {
        NAME_OF[partner] for pair in EXCLUSIVE for partner in pair if fields & ({*pair} - {partner})
    }


def contradictions(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Faults: settings in one section that exclude each other."""
    if {"repeats", "until"} <= model.model_fields_set:
        later = max("repeats", "until", key=list(document.data).index)
        message = "`repeats` and `until` exclude each other: give one of them"
        yield document.fault((later,), message, at_key=True)
    for path, section in sections(model):
        names: set[str] = getattr(section, "model_fields_set", set())
        for pair in EXCLUSIVE:
            pair_names = [NAME_OF[field] for field in pair if NAME_OF[field] in names]
            if len(pair_names) == 2:
                keys = list(document.at(path))
                message = "`{}` and `{}` exclude each other: give one of them".format(*pair_names)
                yield document.fault((*path, max(pair_names, key=keys.index)), message, at_key=True)


def too_long_frames(
    document: Document, model: MatrixFile, layers: Iterable[Layer]
) -> Iterator[Fault]:
    """Faults: searches with frames longer than the link's MTU plus header and FCS."""
    if model.link is None:
        return
    most = model.link.mtu + FRAMING_BYTES + (4 if model.link.vlan else 0)
    for index, layer in enumerate(layers):
        too_long = [
            size
            for size in levels_of(layer.get("frame_size"))
            if isinstance(size, int) and size > most
        ]
        if too_long and model.tests[index].test == "throughput_search":
            place = document.fault(("link", "mtu"), "")
            message = (
                f"frames of {too_long[0]} bytes do not fit the link's mtu of {model.link.mtu} "
                f"(line {place.line}): at most {most}"
            )
            yield document.fault(("tests", index, "frame_size"), message)


def lonely(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Faults: the setting ``together`` for searches that no other search can join."""
    by_name = sum(map(is_by_name, model.pairing_names))
    for path, section in sections(model):
        if True not in levels_of(getattr(section, "together", None)):
            continue
        if not model.parallel:
            message = "needs `parallel: true` in the matrix, so that pairs search at the same time"
        elif by_name < 2:
            message = "needs two pairings by name, such as [a+b, c+d]"
        else:
            continue
        yield document.fault((*path, "together"), message)


def sections(model: MatrixFile) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every section that gives settings to cells, with its key path."""
    yield ("defaults",), model.defaults
    for index, test in enumerate(model.tests):
        yield ("tests", index), test
        if getattr(test, LOAD, None) is not None:
            yield ("tests", index, LOAD), test.load
        for kind, action in (("replace", "with_"), ("override", "set")):
            for number, rule in enumerate(getattr(test, kind) or []):
                path = ("tests", index, kind, number, action.rstrip("_"))
                yield path, getattr(rule, action)


def missing(document: Document, model: MatrixFile, layers: list[Layer]) -> Iterator[Fault]:
    """Faults: required settings that no section gives to a test."""
    for index, (test, layer) in enumerate(zip(model.tests, layers, strict=True)):
        for name in sorted(lacking(test.test, layer)):
            message = f"the test has no `{name}`: give one here or in `defaults`"
            yield document.fault(("tests", index), message)


def meaningless(document: Document, model: MatrixFile, layers: list[Layer]) -> Iterator[Fault]:
    """Faults: settings in a test that none of its cells uses, such as a UDP checksum with TCP."""
    for index, (test, layer) in enumerate(zip(model.tests, layers, strict=True)):
        untyped: Any = test
        protocols = {*levels_of(layer.get("protocol", DEFAULTS_OF[test.test].get("protocol")))}
        for rule in (*(untyped.replace or ()), *(untyped.override or ())):
            protocols.add((rule.with_ if hasattr(rule, "with_") else rule.set).protocol)
        for name in _given(document, test, ("tests", index)):
            for protocol, only in (("TCP", ONLY_OF_TCP), ("UDP", ONLY_OF_UDP)):
                if FIELD_OF[name] in only and protocol not in protocols:
                    message = f"has no effect: it is for {protocol}, which this test never uses"
                    within = () if name in test.model_fields_set else (LOAD,)
                    yield document.fault(("tests", index, *within, name), message, at_key=True)


def lacking(test: str, layer: Layer) -> set[str]:
    """Names of the settings that a kind of test requires and a layer lacks."""
    return {NAME_OF[field] for field in NEEDED[test]} - layer.keys()


def too_many(document: Document, model: MatrixFile, layers: list[Layer]) -> Iterator[Fault]:
    """Faults: too many cells, trials or rule values, found by counting without a list of cells."""
    cells = 0
    for index, layer in enumerate(layers):
        cells_before, cells = cells, cells + _size(layer) * len(model.pairing_names)
        if cells_before <= MAX_CELLS < cells:
            message = f"{cells:,} cells are too many; a matrix has at most {MAX_CELLS:,}"
            yield document.fault(("tests", index), message)
        for path, name, value in _conditions(model, index):
            if isinstance(value, Steps) and len(value) > MAX_RULE_VALUES:
                message = (
                    f"{len(value):,} values in a rule are too many; at most {MAX_RULE_VALUES:,}"
                )
                yield document.fault((*path, name), message)
    trials = sum(
        _size(layer) * len(model.pairing_names) * (test.repeats or most_repeats(model))
        for test, layer in zip(model.tests, layers, strict=True)
    )
    if trials > MAX_TRIALS and cells <= MAX_CELLS:
        message = f"{trials:,} trials are too many; at most {MAX_TRIALS:,}"
        yield document.fault(("until" if model.until else "repeats",), message)


def most_repeats(model: MatrixFile) -> int:
    """Maximum number of trials per cell, unless its test has its own ``repeats``."""
    return model.until.at_most if model.until else model.repeats


def _conditions(model: MatrixFile, index: int) -> Iterator[tuple[tuple[str | int, ...], str, Any]]:
    """For each condition in a test's rules: key path of its section, name of setting, values."""
    test: Any = model.tests[index]
    for kind in ("replace", "exclude", "override"):
        for number, rule in enumerate(getattr(test, kind) or []):
            condition = rule if kind == "exclude" else rule.when
            below = () if kind == "exclude" else ("when",)
            for name in sorted(condition.model_fields_set):
                yield ("tests", index, kind, number, *below), name, getattr(condition, name)


def _size(layer: Mapping[str, Any]) -> int:
    """Number of combinations of the axes in a layer."""
    return math.prod(len(v) if isinstance(v, list | Steps) else 1 for v in layer.values())


def grids_of(model: MatrixFile, layers: list[Layer], overridden: set[str]) -> Iterator[Grid]:
    """The tests as grids.

    Rules do not change settings named in ``overridden``, except a replacement that translates the
    value: UDP gets 64512 instead of 65536, even if the 65536 came from ``--set``.
    """
    tests: list[Any] = list(model.tests)
    for test, layer in zip(tests, layers, strict=True):
        axes = {FIELD_OF[name]: levels_of(value) for name, value in layer.items()}
        settled = {FIELD_OF[name] for name in _partners(layer)}
        for field, level in DEFAULTS_OF[test.test].items():
            axes.setdefault(field, (None if field in settled else level,))
        fixed = overridden | _partners(overridden)
        yield Grid(
            test=test.test,
            axes=axes,
            repeats=test.repeats,
            replace=tuple(
                Rule(meant_by(r.when), _then(test.test, r.with_, fixed - r.when.model_fields_set))
                for r in test.replace or []
            ),
            exclude=tuple(Rule(meant_by(condition), {}) for condition in test.exclude or []),
            override=tuple(
                Rule(meant_by(r.when), _then(test.test, r.set, fixed)) for r in test.override or []
            ),
        )


def scaled(grid: Grid, scale: float) -> Grid:
    """The grid with every ``count`` multiplied by ``scale`` (at least 1), also in its rules."""

    def times(field: str, levels: Iterable[Level]) -> tuple[Level, ...]:
        if field != "count":
            return tuple(levels)
        counts = (
            level if level is None else max(1, round(float(level) * scale)) for level in levels
        )
        return tuple(dict.fromkeys(counts))

    def scaled_rule(rule: Rule) -> Rule:
        return Rule(
            when={field: frozenset(times(field, levels)) for field, levels in rule.when.items()},
            then={field: times(field, (level,))[0] for field, level in rule.then.items()},
        )

    return replace(
        grid,
        axes={field: times(field, levels) for field, levels in grid.axes.items()},
        replace=tuple(map(scaled_rule, grid.replace)),
        exclude=tuple(map(scaled_rule, grid.exclude)),
        override=tuple(map(scaled_rule, grid.override)),
    )


def meant_by(condition: Section) -> dict[str, frozenset[Level]]:
    """Field of each setting that a ``when`` names → its values."""
    return {
        FIELD_OF.get(name, name): frozenset(levels_of(getattr(condition, name)))
        for name in condition.model_fields_set
    }


def _then(test: str, values: Section, settled: set[str]) -> dict[str, Level]:
    """The settings that a rule gives, without those that ``--set`` has fixed."""
    settings = {n: getattr(values, n) for n in values.model_fields_set if n not in settled}
    partners = {FIELD_OF[name] for name in _partners(settings)}
    taken_back: dict[str, Level] = dict.fromkeys(partners & FIELDS[test])
    return taken_back | {FIELD_OF[name]: value for name, value in settings.items()}


def levels_of(value: Any) -> tuple[Level, ...]:
    """Every level of a setting, which has one value, a list of values, or steps."""
    if isinstance(value, Steps):
        return tuple(value.values())
    return tuple(value) if isinstance(value, list) else (value,)
