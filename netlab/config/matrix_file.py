"""Reads and validates a matrix file, its overrides and goals; every fault has its place.

The settings of a cell come from four layers; a later layer wins:

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
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, create_model

from netlab.config import checks, models
from netlab.config.document import (
    Document,
    Section,
    absent,
    did_you_mean,
    load_document,
    read_document,
    validate,
)
from netlab.config.inventory import load_inventory, unknown_hosts
from netlab.config.models import MatrixFile
from netlab.config.sections import variants_of
from netlab.config.settings import FIELD_OF, NAME_OF, kinds_with
from netlab.errors import Fault, MatrixError, UsageError
from netlab.ethernet import Link
from netlab.experiment.cells import SEVERITIES, Cell, Comparison, Expectation, Grid, expansion
from netlab.experiment.hosts import Inventory
from netlab.experiment.matrix import LongPath, Matrix, NamedMirror, StealRule, StopRule, sorted_json
from netlab.experiment.sample import Sample, drawn
from netlab.experiment.variants import content_of
from netlab.kinds import EXCLUSIVE, FIELDS
from netlab.trial.settings import Level

_SCALES: Any = {
    "scale": (float, Field(default=1.0, gt=0, le=1000, description="Factor for every count.")),
    "sample.cells": (int, absent("Number of cells to measure.", ge=1, le=100_000)),
}
Scaling = create_model("Scaling", __base__=Section, **_SCALES)
"""Only for ``--set``: in a file, ``scale`` would change the meaning of its counts."""


class Listing(Section):
    """Only a list may replace the pairings; "every host with every other" needs the inventory."""

    pairings: models.ListedPairings = Field(description="Server first, such as [LL, WL].")


@dataclass(frozen=True, slots=True)
class Overrides:
    """Overrides by name, with values as the file would have them."""

    settings: Mapping[str, Any]
    running: Mapping[str, Any]  # how the matrix is run, and its pairings
    scale: float  # factor for every ``count``

    def over(self, model: MatrixFile) -> MatrixFile:
        """The model with these overrides. If one of ``repeats`` and ``until`` is set, the other one
        is reset, and so are the ``repeats`` of single tests. UsageError.
        """
        update = dict(self.running)
        if (cells := update.pop("sample.cells", None)) is not None:
            sample = update.get("sample", model.sample)
            if sample is None:
                raise UsageError("--set sample.cells: this matrix has no `sample`")
            update["sample"] = sample.model_copy(update={"cells": cells})
        if {"repeats", "until"} & update.keys():
            tests = [test.model_copy(update={"repeats": None}) for test in model.tests]
            update = {"repeats": 1, "until": None, "tests": tests} | update
        return model.model_copy(update=update)


def overrides_of(texts: Mapping[str, str], model: MatrixFile) -> Overrides:
    """Parse ``--set`` texts by name. UsageError with every fault, one per line."""
    defaults = models.defaults_section(frozenset(texts))
    values: dict[type[Section], dict[str, Any]] = {
        defaults: {}, models.Running: {}, Listing: {}, Scaling: {}
    }  # fmt: skip
    wrong: list[str] = []
    for name, text in texts.items():
        section = next((kind for kind in values if name in kind.model_fields), None)
        if section is None:
            names = [field for kind in values for field in kind.model_fields]
            wrong.append(f"--set {name}: no such setting{did_you_mean(name, names)}")
            continue
        try:
            document = load_document(f"{name}: {text}", f"--set {name}={text}")
            if len(document.data) > 1:
                wrong.append(f"--set {name}: takes one value on one line")
            values[section][name] = getattr(validate(document, section), name)
        except MatrixError as error:
            wrong += [f"{fault.file}: {fault.message}" for fault in error.faults]
    settings, run_settings = values[defaults], values[models.Running]
    fields = {field for test in model.tests for field in FIELDS[test.test]}
    wrong += [
        f"--set {name}: no test of this matrix has this setting; it belongs to {kinds_with(name)}"
        for name in settings
        if FIELD_OF[name] not in fields
    ]
    pairs = [*((NAME_OF[a], NAME_OF[b], settings) for a, b in EXCLUSIVE)]
    for first, second, group in [*pairs, ("repeats", "until", run_settings)]:
        if first in group and second in group:
            wrong.append(f"--set {first} and --set {second} exclude each other: give one of them")
    if wrong:
        raise UsageError("\n".join(wrong))
    scale = values[Scaling].pop("scale", 1.0)
    return Overrides(settings, run_settings | values[Listing] | values[Scaling], scale)


_HAVING = {
    "throughput": "a throughput (`stream` tests have one)",
    "loss": "a loss (`stream` and `round_trip` tests over UDP have one)",
    "round_trip": "a round trip (`round_trip` and `connect` tests have one)",
    "payload": "a payload (`payload_search` tests have one)",
    "frames": "a rate without loss (`throughput_search` tests have one)",
    "baseline": "a figure",
    "no": "findings",
}


def comparisons_of(model: MatrixFile) -> tuple[Comparison, ...]:
    """The comparisons in a matrix's ``compare``."""
    return tuple(
        Comparison(section.name, _side(section.baseline), _side(section.contender))
        for section in model.compare or []
    )


def expectations_of(expect: Sequence[models.ExpectSection] | None) -> tuple[Expectation, ...]:
    """The expectations of a file's ``expect``, one per quantity."""
    return tuple(bound for _, expectation in _expectations(expect) for bound in expectation)


def idle(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Faults: comparisons and expectations that apply to no cell, and a ``target`` without TCP
    streams.
    """
    if not model.compare and not model.expect and model.target is None:
        return
    layers = checks.layers_of(document, model, {})
    cells = expansion(model.pairing_names, tuple(checks.grids_of(model, layers, set()))).cells
    plain = [{**cell.settings, "pairing": cell.pairing, "test": cell.test} for cell in cells]
    tcp = any(cell["test"] == "stream" and cell.get("protocol") == "TCP" for cell in plain)
    if model.target is not None and not tcp:
        where = "`stream` tests over TCP, and this matrix has none"
        yield document.fault(("target",), f"applies only to {where}")
    for index, comparison in enumerate(comparisons_of(model)):
        message = comparison.fault(plain)
        if message is not None:
            yield document.fault(("compare", index), message)
    for index, expectations in _expectations(model.expect):
        for expectation in expectations:
            if not any(expectation.is_about(cell) for cell in plain):
                message = f"applies to no cell with {_HAVING[expectation.what]}"
                yield document.fault(("expect", index, expectation.what), message)


def unknown_kinds(
    document: Document, expect: Sequence[models.ExpectSection] | None, kinds: Collection[str]
) -> Iterator[Fault]:
    """Faults: kinds of findings that do not exist; ``kinds`` are the known ones."""
    words = (*SEVERITIES, *kinds)
    for index, section in enumerate(expect or []):
        listed = isinstance(document.at(("expect", index)).get("no"), list)
        for place, word in enumerate(section.no or ()):
            if word not in words:
                near = did_you_mean(word, words) or "; docs/findings.md lists them all"
                path = ("expect", index, "no", *((place,) if listed else ()))
                yield document.fault(path, f"`{word}` is not a kind of finding{near}")


def _side(section: Any) -> dict[str, Level]:
    return {FIELD_OF.get(name, name): value for name, value in section.stated.items()}


def _expectations(
    expect: Sequence[models.ExpectSection] | None,
) -> Iterator[tuple[int, tuple[Expectation, ...]]]:
    """Index of each section of ``expect``, and the expectations in the section."""
    for index, section in enumerate(expect or []):
        when, unless = (
            {} if cells is None else checks.meant_by(cells)
            for cells in (section.when, section.unless)
        )
        yield index, section.expectations(when, unless)


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
    ``common_window``, ``sample``, ``sample.cells`` or ``scale``. ``scale`` multiplies every
    ``count`` (the result is at least 1). The value of an override is written as in the file, and
    may be an axis.

    Raises MatrixError with every fault of the file, UsageError for a file that cannot be read and
    for overrides that do not apply.
    """
    faults: list[Fault] = []
    document = read_document(path, faults)
    if "hosts" in document.data and not document.data.keys() & {"tests", "pairings", "title"}:
        raise UsageError(f"{path} is an inventory: name a matrix, and give this file with --hosts")
    model = checks.checked(document, faults, lambda: load_inventory(hosts_file or path))
    faults += idle(document, model)
    faults += () if kinds is None else unknown_kinds(document, model.expect, kinds)
    if faults:
        raise MatrixError(faults)
    override_set = overrides_of(overrides or {}, model)
    final_model = override_set.over(model)
    layers = checks.layers_of(document, final_model, override_set.settings)
    _check_overrides([f.message for f in checks.too_many(document, final_model, layers)], overrides)
    grids = tuple(checks.grids_of(final_model, layers, set(override_set.settings)))
    if override_set.scale != 1:
        if all(grid.axes.get("count", (None,)) == (None,) for grid in grids):
            _check_overrides(["no test of this matrix has a `count`"], overrides)
        grids = tuple(checks.scaled(grid, override_set.scale) for grid in grids)
    if overrides:
        problems = expansion(model.pairing_names, grids).problems
        _check_overrides(checks.unknown_names(model, grids), overrides)
        _check_overrides([p.message for p in problems if p.kind == "setting"], overrides)
    try:
        return _matrix(document, final_model, grids, override_set.scale)
    except ValueError as error:  # of the sample
        _check_overrides([str(error)] if overrides else (), overrides)
        raise MatrixError([document.fault(("sample",), str(error))]) from None


def _sample(model: MatrixFile, grids: tuple[Grid, ...]) -> Sample | None:
    """The sample of a matrix. Raises ValueError as ``drawn``."""
    if (section := model.sample) is None:
        return None
    cells = expansion(model.pairing_names, grids).cells
    fields = [tuple(FIELD_OF.get(name, name) for name in pair) for pair in section.pairs or ()]
    how = section.model_dump() | {"cells": min(section.cells, len(cells)), "pairs": tuple(fields)}
    drawn(cells, sample := Sample(**how, of=len(cells)))
    return sample


def comparisons_in(matrix_text: str, file: str) -> tuple[Comparison, ...]:
    """The comparisons in a matrix's text, not checked against its cells: a report reads them again,
    as they may be added after the run. Raises MatrixError if the text is not a matrix.
    """
    document = load_document(matrix_text, file)
    return comparisons_of(validate(document, models.model_for(document.data)))


def expectations_in(
    matrix_text: str, file: str, kinds: Collection[str] | None = None
) -> tuple[Expectation, ...]:
    """The expectations in a matrix's text, not checked against its cells. Raises MatrixError if it
    is not a matrix, or names an unknown kind (``kinds`` as in ``load_matrix``).
    """
    document = load_document(matrix_text, file)
    model = validate(document, models.model_for(document.data))
    return _known_expectations(document, model.expect, kinds)


def _known_expectations(
    document: Document, expect: Sequence[models.ExpectSection] | None, kinds: Collection[str] | None
) -> tuple[Expectation, ...]:
    if kinds is not None and (faults := [*unknown_kinds(document, expect, kinds)]):
        raise MatrixError(faults)
    return expectations_of(expect)


def _matrix(document: Document, model: MatrixFile, grids: tuple[Grid, ...], scale: float) -> Matrix:
    of, goal = model.link, model.target
    link = None if of is None else Link(of.rate, of.mtu, of.vlan, of.hops, of.overhead)
    target = None if goal is None else LongPath(goal.rtt, goal.rate)
    until = None if model.until is None else StopRule(**model.until.model_dump())
    content = _content(model, link, until, grids, scale)
    if (sample := _sample(model, grids)) is not None:
        content["sample"] = asdict(sample)
    own_repeats: dict[Cell, int] = {}
    if any(grid.repeats is not None for grid in grids):
        expanded = expansion(model.pairing_names, grids)
        for cell, index in zip(expanded.cells, expanded.grids, strict=True):
            if (repeats := grids[index].repeats) is not None:
                own_repeats[cell] = repeats
    return Matrix(
        title=model.title or Path(document.file).stem,
        text=document.text,
        file=document.file,
        link=link,
        pairings=tuple(model.pairing_names),
        grids=grids,
        repeats=checks.most_repeats(model),
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
        content_hash=hashlib.sha256(sorted_json(content).encode()).hexdigest(),
        has_inventory="hosts" in model.model_fields_set,
        own_repeats=own_repeats,
        sample=sample,
    )


def _mirrors(model: MatrixFile) -> Mapping[str, NamedMirror]:
    return {
        name: NamedMirror(name, section.start, section.address, section.port, section.interface)
        for name, section in (model.mirrors or {}).items()
    }


def _check_overrides(wrong: Iterable[str], overrides: Mapping[str, str] | None) -> None:
    """Raise UsageError if overrides make a valid matrix invalid. Unused rules are not faults here,
    and cells that have become equal count as one cell.
    """
    options = " ".join(f"--set {name}={text}" for name, text in (overrides or {}).items())
    lines = [f"{options}: {message}" for message in dict.fromkeys(wrong)]
    if lines:
        raise UsageError("\n".join(lines))


def _content(
    model: MatrixFile,
    link: Link | None,
    until: StopRule | None,
    grids: tuple[Grid, ...],
    scale: float,
) -> dict[str, Any]:
    """The data that identify a matrix. A section that the matrix lacks has no key here."""
    content: dict[str, Any] = {
        "link": link and link.content(),
        "pairings": sorted(model.pairing_names),
        "tests": sorted((_test_content(grid) for grid in grids), key=sorted_json),
        "repeats": checks.most_repeats(model),
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
        rules = []
        for rule in getattr(grid, kind):
            rules.append({"when": {name: _plain(levels) for name, levels in rule.when.items()}})
            if action:
                rules[-1][action] = {name: _plain([level]) for name, level in rule.then.items()}
        if rules:
            content[kind] = rules
    return content


def _plain(levels: Iterable[Level]) -> Any:
    """A single level unchanged (``None`` if the host decides), several levels as a sorted list."""
    ordered = sorted(levels, key=lambda level: (level is not None, str(type(level)), level or 0))
    return ordered[0] if len(ordered) == 1 else ["auto" if v is None else v for v in ordered]


class ExpectFile(Section):
    """A file with expectations of a run and nothing else."""

    expect: list[models.ExpectSection]


def load_expectations(path: Path, kinds: Collection[str] | None = None) -> tuple[Expectation, ...]:
    """The expectations of a file. Raises UsageError if it cannot be read or is a matrix without
    ``expect:``, and MatrixError with every fault (``kinds`` as in ``load_matrix``).
    """
    document = read_document(path)
    model: ExpectFile | MatrixFile
    if "tests" in document.data:
        model = validate(document, models.model_for(document.data))
        if not model.expect:
            raise UsageError(f"{path}: a matrix without `expect:`, so there is nothing to check")
    else:
        section: Any = models.expect_section(frozenset(models.keys_of(document.data)))
        listed = Annotated[list[section], Field(min_length=1, max_length=100)]
        file_model = create_model("ExpectFile", __base__=ExpectFile, expect=(listed, ...))
        model = validate(document, file_model)
    return _known_expectations(document, model.expect, kinds)


PACKAGE = Path(__file__).resolve().parent.parent
FOLDERS = (PACKAGE / "matrices", PACKAGE.parent / "matrices")
"""The folder in an installed netlab, and the folder in a checkout."""


def names() -> tuple[str, ...]:
    """The names of all shipped matrices, sorted."""
    return tuple(sorted(path.stem for path in _folder().glob("*.yaml")))


def matrix_file(path: Path) -> Path:
    """``path`` if it is a file or looks like a path; otherwise the shipped matrix of that name.
    Raises UsageError if there is neither.
    """
    if path.exists() or path.suffix or path.name != str(path):
        return path
    file = _folder() / f"{path}.yaml"
    if file.is_file():
        return file
    raise UsageError(
        f"there is no file {path}, and no shipped matrix of that name: "
        f"there are {', '.join(names())}"
    )


def _folder() -> Path:
    installed, checkout = FOLDERS
    return installed if installed.is_dir() else checkout


def inventory_for(matrix: Matrix, file: Path) -> Inventory:
    """The inventory in ``file``. Raises MatrixError for hosts that it lacks and for settings that
    an echo cannot have, UsageError if it cannot be read or an observed host has no agent.
    """
    inventory = load_inventory(file)
    if faults := [*unknown_hosts(load_document(matrix.text, matrix.file), inventory)]:
        raise MatrixError(faults)
    inventory = inventory.observing(matrix.observe)
    checks.refuse_what_echoes_lack(matrix, inventory)
    return inventory
