"""The page on engines has the table of the code and a matrix that can be read."""

from __future__ import annotations

import re
from pathlib import Path

from folders import ROOT

from netlab.config.matrix_file import load_matrix
from netlab.experiment.matrix import expand
from netlab.kinds import ROWS
from netlab.measurement.tool import OTHERWISE
from netlab.measurement.tools import TOOLS
from netlab.runner.planning import cannot

PAGE = (ROOT / "docs/how-to/engines.md").read_text("utf-8")
ALWAYS = {"message_bytes", "duration_s"}


def table() -> str:
    """A row for each test of each tool, with the settings that it follows."""
    lines = ["| engine | test | settings |", "|---|---|---|"]
    for name, tool in TOOLS.items():
        for (test, protocol), fields in tool.follows.items():
            keys = [f"`{ROWS[field].key}`" for field in ROWS if field in fields - ALWAYS]
            lines.append(f"| `{name}` | `{test}`, {protocol} | {', '.join(keys)} |")
    return "\n".join(lines)


def test_the_documented_settings_of_each_tool_are_those_of_the_code() -> None:
    assert table() in PAGE


def test_the_page_on_engines_names_the_settings_that_tools_apply_differently() -> None:
    for field in OTHERWISE:
        assert f"`{ROWS[field].key}`" in PAGE


def test_the_matrix_on_the_page_of_engines_can_be_read_and_measured(tmp_path: Path) -> None:
    (matrix,) = re.findall(r"```yaml\n(title.*?)```", PAGE, re.DOTALL)
    (tmp_path / "m.yaml").write_text(matrix, encoding="utf-8")
    cells = expand(load_matrix(tmp_path / "m.yaml"))
    assert {cell.settings.get("engine") for cell in cells} == {
        *(None, "iperf3", "netperf", "sockperf")
    }
    assert [cannot(cell) for cell in cells] == [None] * len(cells)


def test_the_shipped_matrix_of_engines_can_be_measured() -> None:
    cells = expand(load_matrix(ROOT / "matrices/engines.yaml"))
    assert [cannot(cell) for cell in cells] == [None] * len(cells)
