"""What a matrix asks of hosts that only echo, and that no echo (RFC 862) can be told: each at its
place. Such an axis would label cells with what nobody set.
"""

from __future__ import annotations

from netlab.config.checks import places_of
from netlab.config.document import check, load_document
from netlab.config.matrix_model import MatrixFile
from netlab.config.settings import NAME_OF
from netlab.errors import Fault, MatrixError
from netlab.experiment.cells import Problem, expansion
from netlab.experiment.feasibility import untold
from netlab.experiment.hosts import Inventory
from netlab.experiment.matrix import Matrix


def refuse_what_echoes_lack(matrix: Matrix, inventory: Inventory) -> None:
    """Raises MatrixError for settings of cells whose server is an echo and cannot have them.

    Where a pairing may have one of several servers the first of them is asked; another one that
    takes its place makes its cells ``impossible``.
    """
    mirrors = {
        pairing: server.name
        for pairing in matrix.pairings
        if (pairs := inventory.candidates(pairing)) and (server := pairs[0][0]).mirror is not None
    }
    if not mirrors:
        return
    found = expansion(matrix.pairings, matrix.grids)
    problems: dict[tuple[object, ...], Problem] = {}
    for cell, grid in zip(found.cells, found.grids, strict=True):
        if cell.pairing not in mirrors:
            continue
        for field, level in untold(cell.setup):
            name = NAME_OF[field]
            message = (
                f"{mirrors[cell.pairing]} echoes and runs no probe, and cannot be told {name}: "
                f"{_written(level)}; `exclude` it for pairing {cell.pairing}, or leave it out"
            )
            problem = Problem(grid, "setting", message, field=field, level=level)
            problems.setdefault((grid, field, level, cell.pairing), problem)
    if problems:
        raise MatrixError(_faults(matrix, [*problems.values()]))


def _faults(matrix: Matrix, problems: list[Problem]) -> list[Fault]:
    document = load_document(matrix.text, matrix.file)
    model = check(document, MatrixFile)
    # `--set` gives what is not written in the file: then it is the test that is at fault.
    return [
        document.fault(
            ("tests", each.grid)
            if isinstance(model, list)
            else next(places_of(model, each), ("tests", each.grid)),
            each.message,
        )
        for each in problems
    ]


def _written(level: object) -> str:
    return str(level).lower() if isinstance(level, bool) else str(level)
