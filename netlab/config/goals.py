"""Reads the comparisons and expectations of a matrix, and finds their faults."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from netlab.config.document import Document, Section, did_you_mean
from netlab.config.matrix_model import MatrixFile
from netlab.config.merge import grids_of, layers_of, meant_by
from netlab.config.setting_models import ExpectSection
from netlab.config.settings import FIELD_OF
from netlab.errors import Fault
from netlab.experiment.cells import expansion
from netlab.experiment.comparisons import Comparison
from netlab.experiment.expectations import SEVERITIES, Expectation, When
from netlab.experiment.settings import Level

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


def expectations_of(expect: Sequence[ExpectSection] | None) -> tuple[Expectation, ...]:
    """The expectations of a file's ``expect``, one per quantity."""
    return tuple(bound for _, expectation in _expectations(expect) for bound in expectation)


def idle(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Faults: comparisons and expectations that apply to no cell (combination of settings) of the
    matrix, and a ``target`` in a matrix without streams over TCP.
    """
    if not model.compare and not model.expect and model.target is None:
        return
    layers = layers_of(document, model, {})
    cells = expansion(model.pairing_names, tuple(grids_of(model, layers, set()))).cells
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
    document: Document, expect: Sequence[ExpectSection] | None, kinds: Collection[str]
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
    return {FIELD_OF.get(name, name): getattr(section, name) for name in section.model_fields_set}


def _expectations(
    expect: Sequence[ExpectSection] | None,
) -> Iterator[tuple[int, tuple[Expectation, ...]]]:
    """Index of each section of ``expect``, and the expectations in the section."""
    for index, section in enumerate(expect or []):
        yield index, section.expectations(_meant(section.when), _meant(section.unless))


def _meant(section: Section | None) -> When:
    return {} if section is None else meant_by(section)
