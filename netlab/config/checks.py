"""Every fault of a matrix file in one pass, with its place, while its sections are merged.

Settings have the names of the file here; in a ``cells.Grid`` they have the names of fields.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from netlab import ethernet
from netlab.config.document import (
    Document,
    KeyPath,
    PlacedFault,
    Section,
    check,
    did_you_mean,
    load_document,
)
from netlab.config.inventory import unknown_hosts
from netlab.config.models import BetweenSection, MatrixFile, model_for
from netlab.config.sections import fault_of_variant, variants_of
from netlab.config.settings import FIELD_OF, LOAD, LOAD_KEYS, NAME_OF, Steps, kinds_with
from netlab.errors import Fault, MatrixError
from netlab.experiment.cells import Grid, Problem, Rule, expansion
from netlab.experiment.hosts import LETTERS, Inventory, is_by_name
from netlab.experiment.matrix import Matrix
from netlab.experiment.variants import every_level, largest_mtu
from netlab.kinds import DEFAULTS_OF, EXCLUSIVE, FIELDS, KINDS, NEEDED, ONLY_OF_TCP, ONLY_OF_UDP
from netlab.trial.settings import Level

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
    """The merged settings that each test takes, in the order of the file, the test's own first."""
    defaults = _given(document, model.defaults, ("defaults",))
    every: Layer = {"variant": [*every_level(model.variants)]} if model.variants else {}
    merged: list[Layer] = []
    for index, test in enumerate(model.tests):
        layered = every
        for given in (defaults, _given(document, test, ("tests", index)), overrides):
            layer = {n: v for n, v in given.items() if FIELD_OF[n] in FIELDS[test.test]}
            hidden = layer.keys() | _partners(layer)
            layered = layer | {name: v for name, v in layered.items() if name not in hidden}
        merged.append(layered)
    return merged


def idle_defaults(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Faults: defaults that no test of the matrix takes."""
    fields = {field for test in model.tests for field in FIELDS[test.test]}
    for name in _given(document, model.defaults, ("defaults",)):
        if FIELD_OF[name] not in fields:
            message = f"no test of this matrix has this setting: it belongs to {kinds_with(name)}"
            yield document.fault(("defaults", name), message, at_key=True)


def _given(document: Document, section: Any, path: KeyPath) -> Layer:
    """The settings of one section, in the order of the file."""
    layer: Layer = {}
    for name in () if section is None else document.at(path):
        if name == LOAD and getattr(section, LOAD, None) is not None:
            layer |= _given(document, section.load, (*path, LOAD))
        elif name in FIELD_OF and name in section.model_fields_set:
            layer[name] = getattr(section, name)
    return layer


def _partners(names: Iterable[str]) -> set[str]:
    """The settings that cannot be combined with ``names``, and are therefore removed."""
    fields = {FIELD_OF[name] for name in names}
    pairs = [pair for one, other in EXCLUSIVE for pair in ((one, other), (other, one))]
    return {NAME_OF[partner] for partner, field in pairs if field in fields}


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
    tag = ethernet.TAG_BYTES if model.link.vlan else 0
    most = model.link.mtu + ethernet.HEADER_BYTES + tag + ethernet.FCS_BYTES
    for index, layer in enumerate(layers):
        sizes = [size for size in levels_of(layer.get("frame_size")) if isinstance(size, int)]
        too_long = [size for size in sizes if size > most]
        if too_long and model.tests[index].test == "throughput_search":
            place = document.fault(("link", "mtu"), "")
            message = (
                f"frames of {too_long[0]} bytes do not fit the link's mtu of {model.link.mtu} "
                f"(line {place.line}): at most {most}"
            )
            yield document.fault(("tests", index, "frame_size"), message)


def lonely(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Faults: the setting ``together`` for searches that no other search can join."""
    for path, section in sections(model):
        if True not in levels_of(getattr(section, "together", None)):
            continue
        message = ""
        if not model.parallel:
            message = "needs `parallel: true` in the matrix, so that pairs search at the same time"
        elif sum(map(is_by_name, model.pairing_names)) < 2:
            message = "needs two pairings by name, such as [a+b, c+d]"
        if message:
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
        test: Any = model.tests[index]
        for kind in ("replace", "exclude", "override"):
            for number, rule in enumerate(getattr(test, kind) or []):
                condition = rule if kind == "exclude" else rule.when
                below = () if kind == "exclude" else ("when",)
                for name, value in condition.stated.items():
                    if isinstance(value, Steps) and len(value) > MAX_RULE_VALUES:
                        most = f"at most {MAX_RULE_VALUES:,}"
                        message = f"{len(value):,} values in a rule are too many; {most}"
                        place = ("tests", index, kind, number, *below, name)
                        yield document.fault(place, message)
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


def _size(layer: Mapping[str, Any]) -> int:
    return math.prod(len(v) if isinstance(v, list | Steps) else 1 for v in layer.values())


def grids_of(model: MatrixFile, layers: list[Layer], overridden: set[str]) -> Iterator[Grid]:
    """The tests as grids. Rules do not change settings in ``overridden``, unless they translate the
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
        FIELD_OF.get(name, name): frozenset(levels_of(value))
        for name, value in condition.stated.items()
    }


def _then(test: str, values: Section, settled: set[str]) -> dict[str, Level]:
    """The settings that a rule gives, without those that ``--set`` has fixed."""
    settings = {name: value for name, value in values.stated.items() if name not in settled}
    partners = {FIELD_OF[name] for name in _partners(settings)}
    taken_back: dict[str, Level] = dict.fromkeys(partners & FIELDS[test])
    return taken_back | {FIELD_OF[name]: value for name, value in settings.items()}


def levels_of(value: Any) -> tuple[Level, ...]:
    """Every level of a setting: of one value, a list, or steps."""
    if isinstance(value, Steps):
        return tuple(value.values())
    return tuple(value) if isinstance(value, list) else (value,)


def checked(
    document: Document, faults: list[Fault], inventory: Callable[[], Inventory]
) -> MatrixFile:
    """The model of a file that is valid without overrides, with ``pairings`` as a list; the hosts
    come from ``inventory`` if the file says "every host with every other". Raises MatrixError with
    the ``faults`` found so far and all others, UsageError if the inventory cannot be read.
    """
    model = _with_pairings(_model(document, faults), document, inventory)
    is_complete = not faults
    layers = layers_of(document, model, {})
    sizes = list(too_many(document, model, layers))
    long = too_long_frames(document, model, layers)
    faults += [*contradictions(document, model), *lonely(document, model), *long, *sizes]
    if is_complete:
        faults += [
            *idle_defaults(document, model),
            *missing(document, model, layers),
            *meaningless(document, model, layers),
            *_unknown_levels(document, model),
            *_faults_of_definitions(document, model),
        ]
    if not sizes:
        faults += _faults_of_cells(document, model, layers, is_complete)
    if faults:
        raise MatrixError(faults)
    return model


def _with_pairings(
    model: MatrixFile, document: Document, inventory: Callable[[], Inventory]
) -> MatrixFile:
    entry = model.pairings
    if isinstance(entry, list):
        return model
    between = BetweenSection(between="all") if entry == "all" else entry
    roles = None if between.between == "all" else between.between
    all_hosts = inventory()
    strangers = [*unknown_hosts(document, all_hosts)]
    if strangers:
        raise MatrixError(strangers)
    hosts = all_hosts.observing(model.observe or ())
    pairings = list(hosts.every_pairing(roles, inside=between.inside))
    if not pairings:
        message = "no two hosts of the inventory can be measured with each other"
        raise MatrixError([document.fault(("pairings",), message)])
    return model.model_copy(update={"pairings": pairings})


def _faults_of_cells(
    document: Document, model: MatrixFile, layers: list[Layer], is_complete: bool
) -> list[Fault]:
    """Faults of cells. If a part of the file is missing, a rule may match no cell for this reason
    alone, so only faults of settings are returned.
    """
    torn = {index for index, test in enumerate(model.tests) if lacking(test.test, layers[index])}
    full_layers = [
        {**{name: STANDING_IN[FIELD_OF[name]] for name in lacking(test.test, layer)}, **layer}
        for test, layer in zip(model.tests, layers, strict=True)
    ]
    grids = tuple(grids_of(model, full_layers, set()))
    # If no rule names a pairing, every pairing has the cells of the first one.
    is_by_pairing = any(grid.depends_on_pairing for grid in grids)
    pairings = model.pairing_names if is_by_pairing else model.pairing_names[:1]
    faults: list[Fault] = []
    for problem in expansion(pairings, grids).problems:
        place: KeyPath = ("tests", problem.grid)
        if problem.kind == "setting":
            place = next(places_of(model, problem), place)
        elif not is_complete or problem.grid in torn:
            continue
        elif problem.kind != "test":
            place = (*place, problem.kind, problem.rule)
        faults.append(document.fault(place, problem.message))
    return faults


def _fault_of_mirror(name: str, names: Iterable[str]) -> str | None:
    known = [*names]
    if name in known:
        return None
    near = did_you_mean(name, known) or ": define it under `mirrors`"
    return f"`{name}` is not a mirror of this matrix{near}"


_DEFINED: Mapping[str, Callable[[str, Any], str | None]] = {
    "mirror": _fault_of_mirror,
    "variant": fault_of_variant,
}
"""Setting whose values name what a section of the matrix defines → the fault of a value."""


def unknown_names(model: MatrixFile, grids: Iterable[Grid]) -> list[str]:
    """A sentence about each mirror and variant in ``grids`` that the matrix does not define."""
    faults: list[str | None] = []
    for setting, fault_of in _DEFINED.items():
        levels = dict.fromkeys(level for grid in grids for level in grid.axes.get(setting, ()))
        names = getattr(model, f"{setting}s") or {}
        faults += [fault_of(str(level), names) for level in levels if level]
    return [fault for fault in faults if fault]


def _unknown_levels(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Faults: values of settings that name what the matrix does not define."""
    for setting, fault_of in _DEFINED.items():
        names = getattr(model, f"{setting}s") or {}
        for path, section in sections(model):
            value: Any = getattr(section, setting, None)
            for index, level in enumerate(() if value is None else levels_of(value)):
                if level and (message := fault_of(str(level), names)):
                    place = (*path, setting, *((index,) if isinstance(value, list) else ()))
                    yield document.fault(place, message)


def _faults_of_definitions(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Faults: a mirror that no test names, and a link whose MTU, from which all wire ceilings are
    calculated, is below one that a variant sets.
    """
    values: Any = (getattr(section, "mirror", None) for _path, section in sections(model))
    used = {name for value in values for name in levels_of(value)}
    for name in (model.mirrors or {}).keys() - used:
        message = "no test uses this mirror: name it with `mirror` in a test"
        yield document.fault(("mirrors", name), message)
    largest = largest_mtu(variants_of(model.variants))
    if model.link is not None and largest > model.link.mtu:
        place = ("link", "mtu") if "mtu" in model.link.model_fields_set else ("link",)
        message = (
            f"the link's MTU of {model.link.mtu} bytes is less than the MTU of a variant: "
            f"state `mtu: {largest}`"
        )
        yield document.fault(place, message)


# The file as a model. Faulty parts are removed, so that the rest can be checked.


def _model(document: Document, faults: list[Fault]) -> MatrixFile:
    """The model of the file, without its faulty parts. Appends their faults to ``faults``."""
    data = copy.deepcopy(document.data)
    while isinstance(result := check(document, model_for(data), data=data), list):
        known, reported = [*faults], {fault.path for fault in faults if fault.path}
        for complaint in result:
            fault = _in_our_words(document, complaint)
            # A value that could not be read was reported already: it is not missing, too.
            is_absent = fault.path in reported and "has no value" in fault.message
            if fault not in known and not is_absent:
                faults.append(fault)
        snapshot = copy.deepcopy(data)
        for complaint in result:
            _take_out(data, complaint.path)
        if data == snapshot:  # too little of the file is left
            raise MatrixError(faults)
    return result


def _in_our_words(document: Document, complaint: PlacedFault) -> Fault:
    """A fault that says where a misplaced setting belongs."""
    match complaint.path:
        case ["pairings"]:
            word = document.data.get("pairings")
            if isinstance(word, str) and (is_by_name(word) or LETTERS.fullmatch(word)):
                return replace(complaint.fault, message=f"should be a list: [{word}]")
        case ["tests", int(index), *_, str(key)] if key in FIELD_OF:
            settings = document.at(("tests", index))
            test = settings.get("test")
            kind = test if isinstance(test, str) and test in KINDS else _likeliest(test, settings)
            if complaint.fault.message.startswith("unknown key"):
                if FIELD_OF[key] in FIELDS[kind]:
                    place = f"under `{LOAD}`" if key in LOAD_KEYS else f"next to `{LOAD}`"
                    return replace(
                        complaint.fault, message=f"in a `{kind}` test this setting belongs {place}"
                    )
                message = f"not a setting of a `{kind}` test, but of {kinds_with(key)}"
                return replace(complaint.fault, message=message)
    return complaint.fault


def _take_out(data: dict[str, Any], path: KeyPath) -> None:
    needed: dict[str, Any] = {"title": "-", "pairings": ["LL"]}
    match path:
        case ["tests", int(index), str(key), *_] if isinstance(data["tests"][index], dict):
            wrong = data["tests"][index].pop(key, None)
            if key == "test":
                data["tests"][index]["test"] = _likeliest(wrong, data["tests"][index])
        case ["defaults", str(key), *_] if isinstance(data["defaults"], dict):
            data["defaults"].pop(key, None)
        case ["tests", *_]:
            pass
        case [str(key), *_] if key in needed:
            data[key] = needed[key]
        case [str(key), *_]:
            data.pop(key, None)


def _likeliest(word: object, settings: dict[str, Any]) -> str:
    """The kind of test that is probably meant, judged by a misspelt word or by the settings."""
    for kind in KINDS:
        if f"`{kind}`" in did_you_mean(str(word), KINDS):
            return kind
    names = settings.keys() & FIELD_OF.keys()
    return max(KINDS, key=lambda kind: len({FIELD_OF[name] for name in names} & FIELDS[kind]))


def places_of(model: MatrixFile, problem: Problem) -> Iterator[KeyPath]:
    """Where the faulty value is written: in the test, in one of its rules, or in the defaults."""
    name = NAME_OF[problem.field]
    for path, section in reversed(list(sections(model))):
        if path[:2] not in (("tests", problem.grid), ("defaults",)):
            continue
        value = getattr(section, name, None)
        if value is not None and problem.level in levels_of(value):
            index = (value.index(problem.level),) if isinstance(value, list) else ()
            yield (*path, name, *index)


def refuse_what_echoes_lack(matrix: Matrix, inventory: Inventory) -> None:
    """Raise MatrixError for settings that an echo cannot have, in cells whose first server is an
    echo. If another echo replaces the server later, the cells become ``impossible``.
    """
    has_mirrors = any(host.mirror is not None for host in inventory.hosts)
    mirrors = {
        pairing: server.name
        for pairing in (matrix.pairings if has_mirrors else ())
        if (pairs := inventory.candidates(pairing)) and (server := pairs[0][0]).mirror is not None
    }
    if not mirrors:
        return
    expanded = expansion(matrix.pairings, matrix.grids)
    problems: dict[tuple[object, ...], Problem] = {}
    for cell, grid in zip(expanded.cells, expanded.grids, strict=True):
        if cell.pairing not in mirrors or "engine" in cell.settings:
            continue
        for field, level in cell.setup.untold():
            name = NAME_OF[field]
            value = str(level).lower() if isinstance(level, bool) else level
            message = (
                f"{mirrors[cell.pairing]} is a mirror without a probe, which cannot apply {name}: "
                f"{value}; `exclude` this value for pairing {cell.pairing}, or remove it"
            )
            problem = Problem(grid, "setting", message, field=field, level=level)
            problems.setdefault((grid, field, level, cell.pairing), problem)
    if not problems:
        return
    document = load_document(matrix.text, matrix.file)
    model = check(document, model_for(document.data))
    faults: list[Fault] = []
    for problem in problems.values():
        # A level from `--set` is not in the file. Its fault is placed at the test.
        places = iter(()) if isinstance(model, list) else places_of(model, problem)
        faults.append(document.fault(next(places, ("tests", problem.grid)), problem.message))
    raise MatrixError(faults)
