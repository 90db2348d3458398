"""The engines that netlab has: its own probe, and other tools.

A cell is one combination of a pairing (two hosts), a kind of test and its settings. The modules of
the other tools are imported only when a cell names such a tool, because most runs name none.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from netlab.experiment.cells import Cell
from netlab.experiment.kinds import RoundTrip, Stream

if TYPE_CHECKING:
    from netlab.measurement.engine import Engine


def cannot(cell: Cell) -> str | None:
    """Why the engine that a cell names cannot measure the cell on any host; ``None`` if it can."""
    setup = cell.setup
    if not isinstance(setup, Stream | RoundTrip) or setup.engine is None:
        return None
    from netlab.measurement.tools.table import TOOLS
    from netlab.measurement.tools.tool import refusal

    refused = refusal(TOOLS[setup.engine], setup)
    return None if refused is None else str(refused)


def engine_of(cell: Cell) -> Engine:
    """The engine that measures a cell."""
    setup = cell.setup
    if not isinstance(setup, Stream | RoundTrip) or setup.engine is None:
        # Imported late: a plan asks `cannot` only, and needs no code that talks to hosts.
        from netlab.measurement.netprobe import NETPROBE

        return NETPROBE
    return _tool_engine(setup.engine)


@cache
def _tool_engine(name: str) -> Engine:
    from netlab.measurement.tools.table import TOOLS
    from netlab.measurement.tools.tool_engine import ToolEngine

    return ToolEngine(TOOLS[name])
