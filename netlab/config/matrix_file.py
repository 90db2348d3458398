"""Reads and validates a matrix file; every fault has file, line, column and key path.

A cell is one combination of a pairing (server and client), a kind of test, and settings. An axis is
a setting with several values. The settings of a cell come from four layers; a later layer wins:

1. the built-in defaults in ``kinds/``,
2. the matrix's ``defaults``,
3. the test itself,
4. ``--set NAME=VALUE``, which holds for every cell, even if an axis or a rule gives that setting.
   (A replacement that translates the value, such as 65536 bytes to 64512 for UDP, still applies.)

Of two settings that exclude each other (``duration`` and ``count``, ``rate`` and ``message_rate``),
the one in the later layer counts.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from netlab.config.checks import checked, unknown_mirrors, unknown_variants
from netlab.config.commands.variant_model import variants_of
from netlab.config.document import Document, check, load_document, read_document
from netlab.config.goals import comparisons_of, expectations_of, idle, unknown_kinds
from netlab.config.inventory import load_inventory
from netlab.config.matrix_model import MatrixFile, model_for
from netlab.config.merge import grids_of, layers_of, most_repeats, scaled, too_many
from netlab.config.overrides import Overrides, overrides_of
from netlab.errors import Fault, MatrixError, UsageError
from netlab.experiment.cells import Cell, Grid, expansion
from netlab.experiment.comparisons import Comparison
from netlab.experiment.expectations import Expectation
from netlab.experiment.matrix import Link, LongPath, Matrix, NamedMirror
from netlab.experiment.settings import Level
from netlab.experiment.stopping import StealRule, StopRule
from netlab.experiment.variants.variant import content_of


def load_matrix(
    path: Path,
    overrides: Mapping[str, str] | None = None,
    hosts_file: Path | None = None,
    kinds: Collection[str] | None = None,
) -> Matrix:
    """Read a matrix, with ``overrides`` as ``--set NAME=VALUE`` gives them.

    ``hosts_file`` is the inventory if the matrix has no ``hosts:`` section; it is read only for
    pairings of "every host with every other". ``kinds`` are the known kinds of findings, which
    ``expect`` may forbid; if they are not given, ``expect`` may name any kind.

    The name of an override is a setting of the tests, or ``pairings`` (only as a list),
    ``repeats``, ``until``, ``quiet``, ``pause``, ``order``, ``seed``, ``parallel``,
    ``common_window`` or ``scale``. ``scale`` multiplies every ``count`` (the result is at least 1).
    The value of an override is written as in the file, and may be an axis.

    Raises MatrixError with every fault of the file, UsageError for a file that cannot be read and
    for overrides that do not apply.
    """
    faults: list[Fault] = []
    document = read_document(path, faults)
    if "hosts" in document.data and not document.data.keys() & {"tests", "pairings", "title"}:
        raise UsageError(f"{path} is an inventory: name a matrix, and give this file with --hosts")
    model = checked(document, faults, lambda: load_inventory(hosts_file or path))
    faults += idle(document, model)
    faults += () if kinds is None else unknown_kinds(document, model.expect, kinds)
    if faults:
        raise MatrixError(faults)
    override_set = overrides_of(overrides or {}, model)
    final_model = override_set.over(model)
    layers = layers_of(document, final_model, override_set.settings)
    _check_overrides([f.message for f in too_many(document, final_model, layers)], overrides)
    grids = _grids(final_model, layers, override_set, overrides)
    if overrides:
        problems = expansion(model.pairing_names, grids).problems
        _check_overrides(unknown_mirrors(model, grids), overrides)
        _check_overrides(unknown_variants(model, grids), overrides)
        _check_overrides([p.message for p in problems if p.kind == "setting"], overrides)
    return _matrix(document, final_model, grids, override_set.scale)


def comparisons_in(matrix_text: str, file: str) -> tuple[Comparison, ...]:
    """The comparisons in a matrix's text, not checked against its cells.

    A report reads them again, because comparisons may be added to the matrix after the run. Raises
    MatrixError if the text is not a matrix.
    """
    return comparisons_of(_model_of(matrix_text, file))


def expectations_in(
    matrix_text: str, file: str, kinds: Collection[str] | None = None
) -> tuple[Expectation, ...]:
    """The expectations in a matrix's text, not checked against its cells.

    ``kinds`` is the same as in ``load_matrix``. Raises MatrixError if the text is not a matrix, or
    if it names an unknown kind.
    """
    model = _model_of(matrix_text, file)
    if kinds is not None and any(section.no for section in model.expect or ()):
        faults = [*unknown_kinds(load_document(matrix_text, file), model.expect, kinds)]
        if faults:
            raise MatrixError(faults)
    return expectations_of(model.expect)


def _model_of(matrix_text: str, file: str) -> MatrixFile:
    document = load_document(matrix_text, file)
    model = check(document, model_for(document.data))
    if isinstance(model, list):
        raise MatrixError([complaint.fault for complaint in model])
    return model


def _grids(
    model: MatrixFile,
    layers: list[dict[str, Any]],
    overriding: Overrides,
    overrides: Mapping[str, str] | None,
) -> tuple[Grid, ...]:
    grids = tuple(grids_of(model, layers, set(overriding.settings)))
    if overriding.scale == 1:
        return grids
    if all(grid.axes.get("count", (None,)) == (None,) for grid in grids):
        _check_overrides(["no test of this matrix has a `count`"], overrides)
    return tuple(scaled(grid, overriding.scale) for grid in grids)


def _matrix(document: Document, model: MatrixFile, grids: tuple[Grid, ...], scale: float) -> Matrix:
    link = None
    if model.link is not None:
        link = Link(model.link.rate, model.link.mtu, model.link.vlan, model.link.hops)
    until = None
    if model.until is not None:
        rule = model.until
        until = StopRule(**rule.model_dump())
    target = None
    if model.target is not None:
        target = LongPath(model.target.rtt, model.target.rate)
    content = _content(model, link, until, grids, scale)
    return Matrix(
        title=model.title or Path(document.file).stem,
        text=document.text,
        file=document.file,
        link=link,
        pairings=tuple(model.pairing_names),
        grids=grids,
        repeats=most_repeats(model),
        until=until,
        quiet=None if model.quiet is None else StealRule(**model.quiet.model_dump()),
        pause_s=model.pause,
        order=model.order,
        seed=model.seed,
        parallel=model.parallel,
        common_window=model.common_window,
        mirrors=_mirrors(model),
        variants=variants_of(model.variants),
        switching=model.switching,
        observe=tuple(model.observe or ()),
        scale=scale,
        comparisons=comparisons_of(model),
        expectations=expectations_of(model.expect),
        target=target,
        content=content,
        content_hash=hashlib.sha256(_canonical(content).encode()).hexdigest(),
        has_inventory="hosts" in model.model_fields_set,
        own_repeats=_own_repeats(model, grids),
    )


def _own_repeats(model: MatrixFile, grids: tuple[Grid, ...]) -> dict[Cell, int]:
    if all(grid.repeats is None for grid in grids):
        return {}
    expanded = expansion(model.pairing_names, grids)
    own = (
        (cell, grids[index].repeats)
        for cell, index in zip(expanded.cells, expanded.grids, strict=True)
    )
    return {cell: repeats for cell, repeats in own if repeats is not None}


def _mirrors(model: MatrixFile) -> Mapping[str, NamedMirror]:
    """Name → mirror, for the section ``mirrors`` of a matrix."""
    return {
        name: NamedMirror(name, section.start, section.address, section.port, section.interface)
        for name, section in (model.mirrors or {}).items()
    }


# --set


def _check_overrides(wrong: Iterable[str], overrides: Mapping[str, str] | None) -> None:
    """Raise UsageError if overrides make a valid matrix invalid.

    Unused rules are not faults here, and cells that have become equal count as one cell.
    """
    options = " ".join(f"--set {name}={text}" for name, text in (overrides or {}).items())
    lines = [f"{options}: {message}" for message in dict.fromkeys(wrong)]
    if lines:
        raise UsageError("\n".join(lines))


# Content


def _content(
    model: MatrixFile,
    link: Link | None,
    until: StopRule | None,
    grids: tuple[Grid, ...],
    scale: float,
) -> dict[str, Any]:
    """The data that identify a matrix. A section that the matrix lacks has no key here."""
    content: dict[str, Any] = {
        "link": link
        and {
            "rate_bit_per_s": link.rate_bit_per_s,
            "mtu_bytes": link.mtu_bytes,
            "vlan": link.vlan,
            **({"hops": link.hops} if link.hops else {}),
        },
        "pairings": sorted(model.pairing_names),
        "tests": sorted((_test_content(grid) for grid in grids), key=_canonical),
        "repeats": most_repeats(model),
    }
    if until is not None:
        content["until"] = asdict(until)
    if scale != 1:
        content["scale"] = scale
    mirrors = _mirrors(model)
    if mirrors:
        content["mirrors"] = {
            name: {**asdict(mirror), "start": [*mirror.start]}
            for name, mirror in sorted(mirrors.items())
        }
    if model.variants:
        content["variants"] = content_of(variants_of(model.variants))
    return content


def _test_content(grid: Grid) -> dict[str, Any]:
    """A grid as plain data, independent of the form and order in which it was written."""
    axes = {name: _plain(levels) for name, levels in grid.axes.items()}
    content: dict[str, Any] = {"test": grid.test} | {k: v for k, v in axes.items() if v is not None}
    if grid.repeats is not None:
        content["repeats"] = grid.repeats
    for kind, action in (("replace", "with"), ("exclude", ""), ("override", "set")):
        rules = [
            {"when": {name: _plain(levels) for name, levels in rule.when.items()}}
            | (
                {action: {name: _plain([level]) for name, level in rule.then.items()}}
                if action
                else {}
            )
            for rule in getattr(grid, kind)
        ]
        if rules:
            content[kind] = rules
    return content


def _plain(levels: Iterable[Level]) -> Any:
    """A single level unchanged (``None`` if the host decides), several levels as a sorted list."""
    sorted_levels = sorted(
        levels, key=lambda level: (level is not None, str(type(level)), level or 0)
    )
    return (
        sorted_levels[0]
        if len(sorted_levels) == 1
        else ["auto" if v is None else v for v in sorted_levels]
    )


def _canonical(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
