"""YAML → Matrix: what the user wrote, validated; every fault with file, line, column and key path.

The settings of a cell come from four layers, the nearer wins: what ``cells.Stream`` has where
nobody says anything, the matrix's ``defaults``, the test itself, and ``--set NAME=VALUE``, which
holds for every cell, whatever axis or rule gives that setting (a replacement that translates its
value, 65536 bytes to 64512 for UDP, still does). Of two settings that exclude each other
(``duration`` and ``count``, ``rate`` and ``message_rate``) the nearer layer's counts.
"""

from __future__ import annotations

import copy
import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from netlab.cells import Grid, Problem, expansion
from netlab.document import (
    Complaint,
    Document,
    KeyPath,
    check,
    did_you_mean,
    load_document,
    read_document,
    validate,
)
from netlab.errors import Fault, MatrixError, UsageError
from netlab.matrix_layers import (
    NEEDED,
    Layer,
    contradictions,
    grids_of,
    layers_of,
    levels_of,
    missing,
    sections,
    too_many,
)
from netlab.matrix_model import FIELD_OF, NAME_OF, Defaults, MatrixFile, Running
from netlab.setups import EXCLUSIVE, Level


@dataclass(frozen=True, slots=True)
class Link:
    """The link between the hosts, for the wire ceilings."""

    rate_bit_per_s: float
    mtu_bytes: int
    """Of an IP packet."""
    vlan: bool
    """Whether frames carry an 802.1Q tag."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A whole experiment, as its author wrote it, with ``--set`` applied."""

    title: str
    text: str
    """The file as it is, without a byte order mark."""
    file: str
    link: Link | None
    pairings: tuple[str, ...]
    """Server first, in the order written."""
    grids: tuple[Grid, ...]
    """The tests: axes and rules."""
    repeats: int
    order: Literal["as-written", "shuffled"]
    seed: int
    parallel: bool
    """Whether pairings that share no host may run at the same time."""
    content: dict[str, Any]
    """What makes two matrices the same, as plain JSON data: link, pairings, tests and repeats.

    Not the title, the hosts or the order; nor how an axis is written or its values are sorted.
    """
    content_hash: str
    """SHA-256 of ``content``, in hex."""
    has_inventory: bool
    """Whether the file has a ``hosts:`` section."""


def load_matrix(path: Path, overrides: Mapping[str, str] | None = None) -> Matrix:
    """Read a matrix, with ``overrides`` as ``--set NAME=VALUE`` gives them.

    An override is a setting of the tests, or ``repeats``, ``order``, ``seed``, ``parallel``; its
    value is written as in the file, axes included. Raises MatrixError with every fault of the
    file, UsageError for a file that cannot be read and for overrides that make no sense.
    """
    faults: list[Fault] = []
    document = read_document(path, faults)
    model = _model(document, faults)
    whole = not faults
    layers = layers_of(document, model, {})
    sizes = list(too_many(document, model, layers))
    faults += [*contradictions(document, model), *sizes]
    faults += missing(document, layers) if whole else ()
    if not sizes:
        faults += _faults_of_cells(document, model, layers, whole)
    if faults:
        raise MatrixError(faults)
    settings, running = _overrides(overrides or {})
    layers = layers_of(document, model, settings)
    merged = model.model_copy(update=running)
    _check_overrides([f.message for f in too_many(document, merged, layers)], overrides)
    grids = tuple(grids_of(model, layers, set(settings)))
    if overrides:
        problems = expansion(model.pairings, grids).problems
        _check_overrides([p.message for p in problems if p.kind == "setting"], overrides)
    return _matrix(document, merged, grids)


def _faults_of_cells(
    document: Document, model: MatrixFile, layers: list[Layer], whole: bool
) -> list[Fault]:
    """What the cells show. Where something was taken out before, rules may be idle for that."""
    torn = {index for index, layer in enumerate(layers) if not layer.keys() >= NEEDED.keys()}
    filled = [{**NEEDED, **layer} for layer in layers]
    grids = tuple(grids_of(model, filled, set()))
    return [
        _located(document, model, problem)
        for problem in expansion(model.pairings, grids).problems
        if problem.kind == "setting" or (whole and problem.grid not in torn)
    ]


def _matrix(document: Document, model: MatrixFile, grids: tuple[Grid, ...]) -> Matrix:
    given = model.link if "link" in model.model_fields_set else None
    link = None if given is None else Link(given.rate, given.mtu, given.vlan)
    content = {
        "link": link
        and {
            "rate_bit_per_s": link.rate_bit_per_s,
            "mtu_bytes": link.mtu_bytes,
            "vlan": link.vlan,
        },
        "pairings": sorted(model.pairings),
        "tests": sorted((_content(grid) for grid in grids), key=_canonical),
        "repeats": model.repeats,
    }
    return Matrix(
        title=model.title or Path(document.file).stem,
        text=document.text,
        file=document.file,
        link=link,
        pairings=tuple(model.pairings),
        grids=grids,
        repeats=model.repeats,
        order=model.order,
        seed=model.seed,
        parallel=model.parallel,
        content=content,
        content_hash=hashlib.sha256(_canonical(content).encode()).hexdigest(),
        has_inventory="hosts" in model.model_fields_set,
    )


# The file as a model, and on with what is left of it where something is wrong.


def _model(document: Document, faults: list[Fault]) -> MatrixFile:
    """The model of the file. Appends faults; raises them where too little is left to go on."""
    found: MatrixFile | list[Complaint] = check(document, MatrixFile)
    data = copy.deepcopy(document.data)
    while isinstance(found, list):
        faults += [complaint.fault for complaint in found]
        before = copy.deepcopy(data)
        for complaint in found:
            _take_out(data, complaint.path)
        if data == before:
            raise MatrixError(faults)
        found = check(document, MatrixFile, data=data)
    return found


def _take_out(data: dict[str, Any], path: KeyPath) -> None:
    """Take the key at fault out of a copy of the data, so that the rest can be looked at."""
    needed: dict[str, Any] = {"title": "-", "pairings": ["LL"]}
    match path:
        case ["tests", int(index), str(key), *_] if isinstance(data["tests"][index], dict):
            data["tests"][index].pop(key, None)
            if key == "test":
                data["tests"][index]["test"] = "stream"
        case ["defaults", str(key), *_] if isinstance(data["defaults"], dict):
            data["defaults"].pop(key, None)
        case ["tests", *_]:
            pass
        case [str(key), *_] if key in needed:
            data[key] = needed[key]
        case [str(key), *_]:
            data.pop(key, None)


# Problems of the cells, at their places.


def _located(document: Document, model: MatrixFile, problem: Problem) -> Fault:
    path: KeyPath
    if problem.kind == "test":
        path = ("tests", problem.grid)
    elif problem.kind == "setting":
        path = _place(model, problem)
    else:
        path = ("tests", problem.grid, problem.kind, problem.rule)
    return document.fault(path, problem.message)


def _place(model: MatrixFile, problem: Problem) -> KeyPath:
    """Where the level at fault is written: in the test, in one of its rules, in the defaults."""
    name = NAME_OF[problem.field]
    for path, section in reversed(list(sections(model))):
        if path[:2] not in (("tests", problem.grid), ("defaults",)):
            continue
        value = getattr(section, name, None)
        if value is not None and problem.level in levels_of(value):
            index = (value.index(problem.level),) if isinstance(value, list) else ()
            return (*path, name, *index)
    return ("tests", problem.grid)


# --set


def _overrides(overrides: Mapping[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Settings of the tests, and how the matrix is run; by name, as the file would give them."""
    settings: dict[str, Any] = {}
    running: dict[str, Any] = {}
    wrong: list[str] = []
    for name, text in overrides.items():
        known = [*FIELD_OF, *Running.model_fields]
        section, into = (Defaults, settings) if name in FIELD_OF else (Running, running)
        if name not in known:
            wrong.append(f"--set {name}: no such setting{did_you_mean(name, known)}")
            continue
        try:
            document = load_document(f"{name}: {text}", f"--set {name}={text}")
            if len(document.data) > 1:
                wrong.append(f"--set {name}: one value on one line is what it takes")
            into[name] = getattr(validate(document, section), name)
        except MatrixError as error:
            wrong += [f"{fault.file}: {fault.message}" for fault in error.faults]
    for pair in EXCLUSIVE:
        first, second = (NAME_OF[field] for field in pair)
        if first in settings and second in settings:
            wrong.append(f"--set {first} and --set {second} exclude each other: give one of them")
    if wrong:
        raise UsageError("\n".join(wrong))
    return settings, running


def _check_overrides(wrong: Iterable[str], overrides: Mapping[str, str] | None) -> None:
    """UsageError where a matrix that is right by itself is not so any more.

    Idle rules are no fault then, and cells that have become equal are one cell.
    """
    said = " ".join(f"--set {name}={text}" for name, text in (overrides or {}).items())
    lines = [f"{said}: {message}" for message in dict.fromkeys(wrong)]
    if lines:
        raise UsageError("\n".join(lines))


# Content


def _content(grid: Grid) -> dict[str, Any]:
    """A grid as plain data that does not depend on how or in which order it was written."""
    axes = {name: _plain(levels) for name, levels in grid.axes.items()}
    content: dict[str, Any] = {"test": grid.test} | {k: v for k, v in axes.items() if v is not None}
    for kind, then in (("replace", "with"), ("exclude", ""), ("override", "set")):
        rules = [
            {"when": {name: _plain(levels) for name, levels in rule.when.items()}}
            | ({then: {name: _plain([level]) for name, level in rule.then.items()}} if then else {})
            for rule in getattr(grid, kind)
        ]
        if rules:
            content[kind] = rules
    return content


def _plain(levels: Iterable[Level]) -> Any:
    """One level as itself (``None`` where the host decides), more as a sorted list."""
    ordered = sorted(levels, key=lambda level: (level is not None, str(type(level)), level or 0))
    return ordered[0] if len(ordered) == 1 else ["auto" if v is None else v for v in ordered]


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
