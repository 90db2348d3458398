"""Finds settings of a matrix that an echo (RFC 862) cannot have, each with its place.

An echo is a service that sends back what it receives; a host that only echoes cannot be configured.
If a matrix gives several values to a setting that such a host cannot have, cells (combinations of
values) would be labelled with values that were never set.
"""

from __future__ import annotations

from netlab.config.checks import places_of
from netlab.config.document import check, load_document
from netlab.config.matrix_model import model_for
from netlab.config.settings import NAME_OF
from netlab.errors import Fault, MatrixError
from netlab.experiment.cells import Problem, expansion
from netlab.experiment.feasibility import untold
from netlab.experiment.hosts import Inventory
from netlab.experiment.matrix import Matrix


def refuse_what_echoes_lack(matrix: Matrix, inventory: Inventory) -> None:
    """Raise MatrixError for settings that an echo cannot have, in cells whose server is an echo.

    If a pairing (server and client) has several candidates for the server, only the first candidate
    is checked. If another candidate that is an echo replaces it later, the cells get the status
    ``impossible``.
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
        for field, level in untold(cell.setup):
            name = NAME_OF[field]
            message = (
                f"{mirrors[cell.pairing]} is a mirror without a probe, which cannot apply {name}: "
                f"{_written(level)}; `exclude` this value for pairing {cell.pairing}, or remove it"
            )
            problem = Problem(grid, "setting", message, field=field, level=level)
            problems.setdefault((grid, field, level, cell.pairing), problem)
    if problems:
        raise MatrixError(_faults(matrix, [*problems.values()]))


def _faults(matrix: Matrix, problems: list[Problem]) -> list[Fault]:
    document = load_document(matrix.text, matrix.file)
    model = check(document, model_for(document.data))
    # A level from `--set` is not in the file. Its fault is placed at the test.
    return [
        document.fault(
            ("tests", problem.grid)
            if isinstance(model, list)
            else next(places_of(model, problem), ("tests", problem.grid)),
            problem.message,
        )
        for problem in problems
    ]


def _written(level: object) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)
