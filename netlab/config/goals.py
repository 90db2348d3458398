"""What a matrix asks of its cells beyond being measured: what is compared, and what is expected."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from netlab.config.document import Document, Section, did_you_mean
from netlab.config.matrix_model import ExpectSection, MatrixFile
from netlab.config.merge import grids_of, layers_of, meant_by
from netlab.config.settings import FIELD_OF
from netlab.errors import Fault
from netlab.experiment.cells import expansion
from netlab.experiment.comparisons import Comparison
from netlab.experiment.expectations import SEVERITIES, Expectation, When
from netlab.experiment.settings import Level

_HAVING = {
    "throughput": "a throughput: `stream` tests do",
    "loss": "a loss: `stream` and `round_trip` tests over UDP do",
    "round_trip": "a round trip: `round_trip` and `connect` tests do",
    "payload": "a payload: `payload_search` tests do",
    "frames": "a rate without loss: `throughput_search` tests do",
    "baseline": "a figure",
    "no": "findings",
}


def comparisons_of(model: MatrixFile) -> tuple[Comparison, ...]:
    """What its ``compare`` lays beside each other."""
    return tuple(
        Comparison(each.name, _side(each.baseline), _side(each.contender))
        for each in model.compare or []
    )


def expectations_of(expect: Sequence[ExpectSection] | None) -> tuple[Expectation, ...]:
    """What ``expect`` of a file bounds, one a quantity."""
    return tuple(each for _, expectation in _expectations(expect) for each in expectation)


def idle(document: Document, model: MatrixFile) -> Iterator[Fault]:
    """Comparisons that compare nothing, expectations of no cell, a target without TCP."""
    if not model.compare and not model.expect and model.target is None:
        return
    layers = layers_of(document, model, {})
    cells = expansion(model.each_pairing, tuple(grids_of(model, layers, set()))).cells
    plain = [{**cell.settings, "pairing": cell.pairing, "test": cell.test} for cell in cells]
    tcp = any(cell["test"] == "stream" and cell.get("protocol") == "TCP" for cell in plain)
    if model.target is not None and not tcp:
        yield document.fault(("target",), "is about streams over TCP, and no cell is one")
    for index, comparison in enumerate(comparisons_of(model)):
        message = comparison.fault(plain)
        if message is not None:
            yield document.fault(("compare", index), message)
    for index, expectations in _expectations(model.expect):
        for each in expectations:
            if not any(each.is_about(cell) for cell in plain):
                message = f"no cell of the matrix is meant that has {_HAVING[each.what]}"
                yield document.fault(("expect", index, each.what), message)


def unknown_kinds(
    document: Document, expect: Sequence[ExpectSection] | None, kinds: Collection[str]
) -> Iterator[Fault]:
    """Kinds of findings that nobody has; ``kinds`` are those that there are."""
    known = (*SEVERITIES, *kinds)
    for index, section in enumerate(expect or []):
        listed = isinstance(document.at(("expect", index)).get("no"), list)
        for place, word in enumerate(section.no or ()):
            if word not in known:
                near = did_you_mean(word, known) or "; docs/findings.md has them all"
                path = ("expect", index, "no", *((place,) if listed else ()))
                yield document.fault(path, f"`{word}` is no kind of finding{near}")


def _side(section: Any) -> dict[str, Level]:
    return {FIELD_OF.get(name, name): getattr(section, name) for name in section.model_fields_set}


def _expectations(
    expect: Sequence[ExpectSection] | None,
) -> Iterator[tuple[int, tuple[Expectation, ...]]]:
    """Index of each section of ``expect``, and what it expects."""
    for index, section in enumerate(expect or []):
        yield index, section.expectations(_meant(section.when), _meant(section.unless))


def _meant(section: Section | None) -> When:
    return {} if section is None else meant_by(section)
