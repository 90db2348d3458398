"""The sections of a matrix laid over each other: which values each setting of a test takes.

Values and axes stand under their names in the file until they become a ``cells.Grid``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from netlab.cells import Grid, Rule
from netlab.document import Document, KeyPath, Section
from netlab.errors import Fault
from netlab.matrix_model import FIELD_OF, NAME_OF, MatrixFile, Steps
from netlab.setups import DEFAULTS_OF, EXCLUSIVE, Level

MAX_CELLS = 100_000
"""Most cells of a matrix; at 1 s each more than a day."""
MAX_TRIALS = 1_000_000
MAX_RULE_VALUES = 1000
"""Most values that steps in a rule's ``when`` may stand for."""

NEEDED = {"message_size": 1, "protocol": "TCP"}
"""Settings that every test must have from somewhere; with what stands in to look at the rest."""

Layer = dict[str, Any]
"""Values or axes by the setting's name, in the order written."""


def layers_of(document: Document, model: MatrixFile, overrides: Mapping[str, Any]) -> list[Layer]:
    """For each test what holds in it, in the order written, its own settings first."""
    defaults = _given(document, model.defaults, ("defaults",))
    return [
        _layered(defaults, _given(document, test, ("tests", index)), overrides)
        for index, test in enumerate(model.tests)
    ]


def _given(document: Document, section: Any, path: KeyPath) -> Layer:
    """The settings of one section, in the order written."""
    if section is None:
        return {}
    names = [name for name in document.at(path) if name in FIELD_OF]
    return {name: getattr(section, name) for name in names if name in section.model_fields_set}


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
    for path, section in sections(model):
        given: set[str] = getattr(section, "model_fields_set", set())
        for pair in EXCLUSIVE:
            both = [NAME_OF[field] for field in pair if NAME_OF[field] in given]
            if len(both) == 2:
                written = list(document.at(path))
                message = "`{}` and `{}` exclude each other: give one of them".format(*both)
                yield document.fault((*path, max(both, key=written.index)), message, at_key=True)


def sections(model: MatrixFile) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Every section that gives settings to cells, with its key path."""
    yield ("defaults",), model.defaults
    for index, test in enumerate(model.tests):
        yield ("tests", index), test
        for kind, then in (("replace", "with_"), ("override", "set")):
            for number, rule in enumerate(getattr(test, kind) or []):
                path = ("tests", index, kind, number, then.rstrip("_"))
                yield path, getattr(rule, then)


def missing(document: Document, layers: list[Layer]) -> Iterator[Fault]:
    """Settings that a test has from nowhere."""
    for index, layer in enumerate(layers):
        for name in sorted(NEEDED.keys() - layer.keys()):
            message = f"the test has no `{name}`: give one here or in `defaults`"
            yield document.fault(("tests", index), message)


def too_many(document: Document, model: MatrixFile, layers: list[Layer]) -> Iterator[Fault]:
    """Absurd products, found without making any of them."""
    cells = 0
    for index, layer in enumerate(layers):
        before, cells = cells, cells + _size(layer) * len(model.pairings)
        if before <= MAX_CELLS < cells:
            message = f"{cells:,} cells are too many; a matrix has {MAX_CELLS:,} at most"
            yield document.fault(("tests", index), message)
        for path, name, value in _conditions(model, index):
            if isinstance(value, Steps) and len(value) > MAX_RULE_VALUES:
                message = (
                    f"{len(value):,} values in a rule are too many; {MAX_RULE_VALUES:,} at most"
                )
                yield document.fault((*path, name), message)
    if cells * model.repeats > MAX_TRIALS and cells <= MAX_CELLS:
        message = f"{cells * model.repeats:,} trials are too many; {MAX_TRIALS:,} at most"
        yield document.fault(("repeats",), message)


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
            replace=tuple(
                Rule(_when(r.when), _then(r.with_, kept - r.when.model_fields_set))
                for r in test.replace or []
            ),
            exclude=tuple(Rule(_when(when), {}) for when in test.exclude or []),
            override=tuple(Rule(_when(r.when), _then(r.set, kept)) for r in test.override or []),
        )


def _when(when: Section) -> dict[str, frozenset[Level]]:
    return {
        FIELD_OF.get(name, name): frozenset(levels_of(getattr(when, name)))
        for name in when.model_fields_set
    }


def _then(values: Section, settled: set[str]) -> dict[str, Level]:
    """What a rule gives; not what ``--set`` has settled."""
    given = {n: getattr(values, n) for n in values.model_fields_set if n not in settled}
    taken_back = {FIELD_OF[name]: None for name in _partners(given)}
    return taken_back | {FIELD_OF[name]: value for name, value in given.items()}


def levels_of(value: Any) -> tuple[Level, ...]:
    """Every level of a value or an axis."""
    if isinstance(value, Steps):
        return tuple(value.values())
    return tuple(value) if isinstance(value, list) else (value,)
