"""The sections of a matrix laid over each other: which values each setting of a test takes.

Values and axes stand under their names in the file until they become a ``cells.Grid``.
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

FRAMING_BYTES = 18
"""Of a frame beside its packet: 14 of header, 4 of FCS (IEEE 802.3)."""
MAX_CELLS = 100_000
"""Most cells of a matrix; at 1 s each more than a day."""
MAX_TRIALS = 1_000_000
MAX_RULE_VALUES = 1000
"""Most values that steps in a rule's ``when`` may stand for."""

STANDING_IN: Mapping[str, Level] = {
    "message_bytes": 1,
    "frame_bytes": 1518,
    "protocol": "TCP",
}
"""Values in place of missing required settings, so that the rest can be checked."""

Layer = dict[str, Any]
"""Values or axes by the setting's name, in the order written."""


def layers_of(document: Document, model: MatrixFile, overrides: Mapping[str, Any]) -> list[Layer]:
    """For each test what holds in it, in the order written, its own settings first.

    What a kind of test does not take passes it by.
    """
    defaults = _given(document, model.defaults, ("defaults",))
    return [
        _layered(
            _taken(test.test, defaults),
            _given(document, test, ("tests", index)),
            _taken(test.test, overrides),
        )
        for index, test in enumerate(model.tests)
    ]


def _taken(test: str, layer: Mapping[str, Any]) -> Layer:
    """Of a layer the settings that a kind of test takes."""
    return {name: value for name, value in layer.items() if FIELD_OF[name] in FIELDS[test]}


def idle_defaults(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Defaults that no test of the matrix takes."""
    taken = {field for test in model.tests for field in FIELDS[test.test]}
    for name in _given(document, model.defaults, ("defaults",)):
        if FIELD_OF[name] not in taken:
            message = f"no test here takes it: it is a setting of {kinds_with(name)}"
            yield document.fault(("defaults", name), message, at_key=True)


def _given(document: Document, section: Any, path: KeyPath) -> Layer:
    """The settings of one section, in the order written."""
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
    """Values or axes by name, the later layer wins; the order is that of the later layer."""
    layered: Layer = {}
    for layer in layers:
        kept = {n: v for n, v in layered.items() if n not in layer and n not in _partners(layer)}
        layered = {**layer, **kept}
    return layered


def _partners(names: Iterable[str]) -> set[str]:
    """The settings that those named take back."""
    fields = {FIELD_OF[name] for name in names}
    return {NAME_OF[other] for pair in EXCLUSIVE for other in pair if fields & ({*pair} - {other})}


def contradictions(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Settings that exclude each other, side by side in one section."""
    if {"repeats", "until"} <= model.model_fields_set:
        later = max("repeats", "until", key=list(document.data).index)
        message = "`repeats` and `until` exclude each other: give one of them"
        yield document.fault((later,), message, at_key=True)
    for path, section in sections(model):
        given: set[str] = getattr(section, "model_fields_set", set())
        for pair in EXCLUSIVE:
            both = [NAME_OF[field] for field in pair if NAME_OF[field] in given]
            if len(both) == 2:
                written = list(document.at(path))
                message = "`{}` and `{}` exclude each other: give one of them".format(*both)
                yield document.fault((*path, max(both, key=written.index)), message, at_key=True)


def too_long_frames(
    document: Document, model: MatrixFile, layers: Iterable[Layer]
) -> Iterator[Fault]:
    """Searches of frames that the stated link cannot carry: header and FCS beside the MTU."""
    if model.link is None:
        return
    most = model.link.mtu + FRAMING_BYTES + (4 if model.link.vlan else 0)
    for index, layer in enumerate(layers):
        long = [
            each
            for each in levels_of(layer.get("frame_size"))
            if isinstance(each, int) and each > most
        ]
        if long and model.tests[index].test == "throughput_search":
            place = document.fault(("link", "mtu"), "")
            message = (
                f"frames of {long[0]} bytes do not fit the link's mtu of {model.link.mtu} "
                f"(line {place.line}): {most} at most"
            )
            yield document.fault(("tests", index, "frame_size"), message)


def lonely(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Searches that no other could take part in."""
    by_name = sum(map(is_by_name, model.each_pairing))
    for path, section in sections(model):
        if True not in levels_of(getattr(section, "together", None)):
            continue
        if not model.parallel:
            message = "without `parallel: true` in the matrix no two pairs search at the same time"
        elif by_name < 2:
            message = "takes two pairings by name, such as [a+b, c+d]; the matrix has none"
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
        for kind, then in (("replace", "with_"), ("override", "set")):
            for number, rule in enumerate(getattr(test, kind) or []):
                path = ("tests", index, kind, number, then.rstrip("_"))
                yield path, getattr(rule, then)


def missing(document: Document, model: MatrixFile, layers: list[Layer]) -> Iterator[Fault]:
    """Settings that a test has from nowhere."""
    for index, (test, layer) in enumerate(zip(model.tests, layers, strict=True)):
        for name in sorted(lacking(test.test, layer)):
            message = f"the test has no `{name}`: give one here or in `defaults`"
            yield document.fault(("tests", index), message)


def meaningless(document: Document, model: MatrixFile, layers: list[Layer]) -> Iterator[Fault]:
    """What a test says itself, and no cell of it can heed: a checksum of UDP where all is TCP."""
    for index, (test, layer) in enumerate(zip(model.tests, layers, strict=True)):
        written: Any = test
        protocols = {*levels_of(layer.get("protocol", DEFAULTS_OF[test.test].get("protocol")))}
        for rule in (*(written.replace or ()), *(written.override or ())):
            protocols.add((rule.with_ if hasattr(rule, "with_") else rule.set).protocol)
        for name in _given(document, test, ("tests", index)):
            for protocol, only in (("TCP", ONLY_OF_TCP), ("UDP", ONLY_OF_UDP)):
                if FIELD_OF[name] in only and protocol not in protocols:
                    message = f"means nothing here: it is of {protocol}, which this test has not"
                    within = () if name in test.model_fields_set else (LOAD,)
                    yield document.fault(("tests", index, *within, name), message, at_key=True)


def lacking(test: str, layer: Layer) -> set[str]:
    """Names of the settings that a kind of test must have, and a layer has not."""
    return {NAME_OF[field] for field in NEEDED[test]} - layer.keys()


def too_many(document: Document, model: MatrixFile, layers: list[Layer]) -> Iterator[Fault]:
    """Absurd products, found without making any of them."""
    cells = 0
    for index, layer in enumerate(layers):
        before, cells = cells, cells + _size(layer) * len(model.each_pairing)
        if before <= MAX_CELLS < cells:
            message = f"{cells:,} cells are too many; a matrix has {MAX_CELLS:,} at most"
            yield document.fault(("tests", index), message)
        for path, name, value in _conditions(model, index):
            if isinstance(value, Steps) and len(value) > MAX_RULE_VALUES:
                message = (
                    f"{len(value):,} values in a rule are too many; {MAX_RULE_VALUES:,} at most"
                )
                yield document.fault((*path, name), message)
    trials = sum(
        _size(layer) * len(model.each_pairing) * (test.repeats or most_repeats(model))
        for test, layer in zip(model.tests, layers, strict=True)
    )
    if trials > MAX_TRIALS and cells <= MAX_CELLS:
        message = f"{trials:,} trials are too many; {MAX_TRIALS:,} at most"
        yield document.fault(("until" if model.until else "repeats",), message)


def most_repeats(model: MatrixFile) -> int:
    """Trials of a cell, at most, where its test says nothing of its own."""
    return model.until.at_most if model.until else model.repeats


def _conditions(model: MatrixFile, index: int) -> Iterator[tuple[tuple[str | int, ...], str, Any]]:
    """Key path of the section, setting and values of every condition of a test's rules."""
    test: Any = model.tests[index]
    for kind in ("replace", "exclude", "override"):
        for number, rule in enumerate(getattr(test, kind) or []):
            when = rule if kind == "exclude" else rule.when
            below = () if kind == "exclude" else ("when",)
            for name in sorted(when.model_fields_set):
                yield ("tests", index, kind, number, *below), name, getattr(when, name)


def _size(layer: Mapping[str, Any]) -> int:
    """Combinations of its axes."""
    return math.prod(len(v) if isinstance(v, list | Steps) else 1 for v in layer.values())


def grids_of(model: MatrixFile, layers: list[Layer], overridden: set[str]) -> Iterator[Grid]:
    """The tests as grids.

    No rule gives what is ``overridden`` (names of settings), but for a replacement that translates
    its value: UDP gets 64512 in place of 65536, wherever the 65536 came from.
    """
    tests: list[Any] = list(model.tests)
    for test, layer in zip(tests, layers, strict=True):
        axes = {FIELD_OF[name]: levels_of(value) for name, value in layer.items()}
        settled = {FIELD_OF[name] for name in _partners(layer)}
        for field, level in DEFAULTS_OF[test.test].items():
            axes.setdefault(field, (None if field in settled else level,))
        kept = overridden | _partners(overridden)
        yield Grid(
            test=test.test,
            axes=axes,
            repeats=test.repeats,
            replace=tuple(
                Rule(meant_by(r.when), _then(test.test, r.with_, kept - r.when.model_fields_set))
                for r in test.replace or []
            ),
            exclude=tuple(Rule(meant_by(when), {}) for when in test.exclude or []),
            override=tuple(
                Rule(meant_by(r.when), _then(test.test, r.set, kept)) for r in test.override or []
            ),
        )


def scaled(grid: Grid, scale: float) -> Grid:
    """The grid with every ``count`` times ``scale``, in its axes and its rules; at least 1."""

    def times(field: str, levels: Iterable[Level]) -> tuple[Level, ...]:
        if field != "count":
            return tuple(levels)
        counts = (each if each is None else max(1, round(float(each) * scale)) for each in levels)
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


def meant_by(when: Section) -> dict[str, frozenset[Level]]:
    """Field of each setting that a ``when`` names → its values."""
    return {
        FIELD_OF.get(name, name): frozenset(levels_of(getattr(when, name)))
        for name in when.model_fields_set
    }


def _then(test: str, values: Section, settled: set[str]) -> dict[str, Level]:
    """What a rule gives; not what ``--set`` has settled."""
    given = {n: getattr(values, n) for n in values.model_fields_set if n not in settled}
    partners = {FIELD_OF[name] for name in _partners(given)}
    taken_back: dict[str, Level] = dict.fromkeys(partners & FIELDS[test])
    return taken_back | {FIELD_OF[name]: value for name, value in given.items()}


def levels_of(value: Any) -> tuple[Level, ...]:
    """Every level of a value or an axis."""
    if isinstance(value, Steps):
        return tuple(value.values())
    return tuple(value) if isinstance(value, list) else (value,)
