"""The mirrors that a matrix names, and the faults of their names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from netlab.config.document import Document, did_you_mean
from netlab.config.matrix_model import MatrixFile
from netlab.config.merge import levels_of, sections
from netlab.errors import Fault
from netlab.experiment.cells import Grid
from netlab.experiment.matrix import NamedMirror


def mirrors_of(model: MatrixFile) -> Mapping[str, NamedMirror]:
    """Name → mirror, for the section ``mirrors`` of a matrix."""
    return {
        name: NamedMirror(name, section.start, section.address, section.port, section.interface)
        for name, section in (model.mirrors or {}).items()
    }


def unknown_mirrors(model: MatrixFile, grids: Iterable[Grid]) -> list[str]:
    """A sentence for each name among the axes of ``grids`` that ``mirrors`` lacks."""
    known = {None, *(model.mirrors or {})}
    names = dict.fromkeys(name for grid in grids for name in grid.axes.get("mirror", ()))
    return [_unknown(str(name), model) for name in names if name not in known]


def _unknown(name: str, model: MatrixFile) -> str:
    near = did_you_mean(name, [*(model.mirrors or {})]) or ": define it under `mirrors`"
    return f"`{name}` is not a mirror of this matrix{near}"


def faults_of_mirrors(document: Document, model: MatrixFile) -> Iterator[Fault]:
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
        yield document.fault(("mirrors", name), "no test has this mirror: name it with `mirror`")
