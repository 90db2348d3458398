"""The engines that netlab has: its own probe, and other tools."""

from __future__ import annotations

from collections.abc import Mapping

from netlab.experiment.cells import Cell
from netlab.experiment.kinds import RoundTrip, Stream
from netlab.measurement.engine import Engine
from netlab.measurement.netprobe import NETPROBE
from netlab.measurement.tools.table import TOOLS
from netlab.measurement.tools.tool import refusal
from netlab.measurement.tools.tool_engine import ToolEngine

ENGINES: Mapping[str, Engine] = {
    NETPROBE.name: NETPROBE,
    **{name: ToolEngine(tool) for name, tool in TOOLS.items()},
}
"""The engines by the names that a matrix gives them."""


def cannot(cell: Cell) -> str | None:
    """Why the engine that a cell names cannot measure it, whatever the hosts are; ``None``: it
    can.
    """
    tool = TOOLS.get(str(cell.settings.get("engine")))
    setup = cell.setup
    if tool is None or not isinstance(setup, Stream | RoundTrip):
        return None
    refused = refusal(tool, setup)
    return None if refused is None else f"`{refused.setting}`: {refused.sentence}"


def engine_of(cell: Cell) -> Engine:
    """The engine that measures a cell."""
    return ENGINES[str(cell.settings.get("engine", NETPROBE.name))]
