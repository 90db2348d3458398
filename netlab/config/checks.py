"""Finds every fault of a matrix file in one pass, each with its place and an explanation.

A test of a matrix gives each setting one value or several (an axis). A grid is a test with its axes
and rules, and a cell is one combination of values. A mirror is a program that answers round trips.
A variant is a state of the hosts' own settings.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from netlab.config.commands.variant_model import fault_of_variant, variants_of
from netlab.config.document import Document, KeyPath, PlacedFault, check, did_you_mean
from netlab.config.matrix_model import BetweenSection, MatrixFile, model_for
from netlab.config.merge import (
    STANDING_IN,
    Layer,
    contradictions,
    grids_of,
    idle_defaults,
    lacking,
    layers_of,
    levels_of,
    lonely,
    meaningless,
    missing,
    sections,
    too_long_frames,
    too_many,
)
from netlab.config.setting_models import KINDS
from netlab.config.settings import FIELD_OF, LOAD, LOAD_KEYS, NAME_OF, kinds_with
from netlab.config.unknown_hosts import unknown_hosts
from netlab.errors import Fault, MatrixError
from netlab.experiment.cells import Grid, Problem, expansion
from netlab.experiment.kinds import FIELDS
from netlab.experiment.pairings import LETTERS, is_by_name
from netlab.experiment.variants.variant import largest_mtu

if TYPE_CHECKING:
    from netlab.experiment.hosts import Inventory


def checked(
    document: Document, faults: list[Fault], inventory: Callable[[], Inventory]
) -> MatrixFile:
    """The model of a file that is valid by itself, without the overrides of ``--set``.

    In the model, ``pairings`` is a list. If the file says "every host with every other",
    ``inventory`` is called to get the hosts. ``faults`` are the faults found so far. Raises
    MatrixError with these faults and all further ones. Raises UsageError if the inventory is needed
    and cannot be read.
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
            *_faults_of_mirrors(document, model),
            *_faults_of_variants(document, model),
        ]
    if not sizes:
        faults += _faults_of_cells(document, model, layers, is_complete)
    if faults:
        raise MatrixError(faults)
    return model


def _with_pairings(
    model: MatrixFile, document: Document, inventory: Callable[[], Inventory]
) -> MatrixFile:
    """The model with its pairings as a list."""
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
    """Faults of the cells.

    If a part of the file is missing or was removed, a rule may match no cell for this reason alone.
    So in this case only faults of settings are returned.
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
    cells = expansion(pairings, grids)
    return [
        document.fault(_place_of(model, problem), problem.message)
        for problem in cells.problems
        if problem.kind == "setting" or (is_complete and problem.grid not in torn)
    ]


def unknown_mirrors(model: MatrixFile, grids: Iterable[Grid]) -> list[str]:
    """A sentence about each mirror that ``grids`` names and the section ``mirrors`` lacks."""
    known_names = {None, *(model.mirrors or {})}
    names = dict.fromkeys(name for grid in grids for name in grid.axes.get("mirror", ()))
    return [_unknown(str(name), model) for name in names if name not in known_names]


def _unknown(name: str, model: MatrixFile) -> str:
    near = did_you_mean(name, [*(model.mirrors or {})]) or ": define it under `mirrors`"
    return f"`{name}` is not a mirror of this matrix{near}"


def _faults_of_mirrors(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Faults: a name that ``mirrors`` lacks, and a mirror that no test names."""
    names = set(model.mirrors or {})
    used: set[str] = set()
    for path, section in sections(model):
        value: Any = getattr(section, "mirror", None)
        for index, name in enumerate(() if value is None else levels_of(value)):
            used |= {str(name)}
            if name is not None and name not in names:
                place = (*path, "mirror", *((index,) if isinstance(value, list) else ()))
                near = did_you_mean(str(name), names) or ": define it under `mirrors`"
                yield document.fault(place, f"`{name}` is not a mirror of this matrix{near}")
    for name in names - used:
        yield document.fault(
            ("mirrors", name), "no test uses this mirror: name it with `mirror` in a test"
        )


def unknown_variants(model: MatrixFile, grids: Iterable[Grid]) -> list[str]:
    """A sentence about each value of the axis ``variant`` in ``grids`` that is not valid."""
    levels = dict.fromkeys(level for grid in grids for level in grid.axes.get("variant", ()))
    faults = (fault_of_variant(str(level), model.variants or {}) for level in levels if level)
    return [fault for fault in faults if fault]


def _faults_of_variants(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Faults: values of ``variant`` that are not valid, and a link whose MTU is smaller than an MTU
    that a variant sets.

    The highest payload rate of all cells is calculated from the link's MTU, so this MTU must not be
    exceeded.
    """
    for path, section in sections(model):
        value: Any = getattr(section, "variant", None)
        for index, level in enumerate(() if value is None else levels_of(value)):
            message = level and fault_of_variant(str(level), model.variants or {})
            if message:
                place = (*path, "variant", *((index,) if isinstance(value, list) else ()))
                yield document.fault(place, message)
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
    """The model of the file, without its faulty parts. Appends their faults to ``faults``.

    Raises MatrixError if too little of the file is left.
    """
    data = copy.deepcopy(document.data)
    result: MatrixFile | list[PlacedFault] = check(document, model_for(data), data=data)
    while isinstance(result, list):
        reported = {fault.path for fault in faults if fault.path}
        new = [_in_our_words(document, complaint) for complaint in result]
        # A value that could not be read was reported already. Do not report it as missing, too.
        faults += [
            candidate
            for candidate in new
            if candidate not in faults
            and not (candidate.path in reported and _NO_VALUE in candidate.message)
        ]
        snapshot = copy.deepcopy(data)
        for complaint in result:
            _take_out(data, complaint.path)
        if data == snapshot:
            raise MatrixError(faults)
        result = check(document, model_for(data), data=data)
    return result


_NO_VALUE = "has no value"


def _in_our_words(document: Document, complaint: PlacedFault) -> Fault:
    """The fault in netlab's words. For a misplaced setting, the words say where it belongs."""
    match complaint.path:
        case ["pairings"] if _is_pairing(word := document.data.get("pairings")):
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


def _is_pairing(word: object) -> bool:
    return isinstance(word, str) and (is_by_name(word) or bool(LETTERS.fullmatch(word)))


def _take_out(data: dict[str, Any], path: KeyPath) -> None:
    """Remove the faulty key from a copy of the data, so that the rest can be checked."""
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


# Places of the cells' problems.


def _place_of(model: MatrixFile, problem: Problem) -> KeyPath:
    if problem.kind == "test":
        return ("tests", problem.grid)
    if problem.kind == "setting":
        return next(places_of(model, problem), ("tests", problem.grid))
    return ("tests", problem.grid, problem.kind, problem.rule)


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
