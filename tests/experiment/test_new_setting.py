"""A new row in the table of settings is all that a new setting takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest
from folders import MADE, PLAYED, ROOT, SUPPORT

pytestmark = pytest.mark.lab


@pytest.fixture(scope="module")
def seen() -> Any:
    """What became of ``gap: 7``: see ``made_setting.py``."""
    paths = os.pathsep.join([str(ROOT), str(MADE), str(PLAYED), str(SUPPORT)])
    command = [sys.executable, str(MADE / "made_setting.py")]
    process = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, check=False
    )
    assert process.returncode == 0, process.stderr.decode()
    return json.loads(process.stdout)


def test_a_new_setting_is_read_from_a_matrix_and_makes_cells(seen: Any) -> None:
    assert seen["cells"] == [7, 8, 1, 3, None]
    assert seen["in_schema"] == 1


def test_a_new_setting_is_sent_to_the_probes_and_demands_its_capability(seen: Any) -> None:
    verbs = {"stream": ("receive", "send"), "ask": ("mirror", "ask")}
    requests = [("stream", 7), ("stream", 8), ("ask", 1), ("ask", 3), ("ask", None)]
    assert seen["requests"] == [[verb, gap] for kind, gap in requests for verb in verbs[kind]]
    assert seen["lacking"] == ["gap: 7"]


def test_a_new_setting_reaches_the_tests_within_searches(seen: Any) -> None:
    gaps = {"probed": [7], "swept": [7], "offered": [7, 7], "beside": [7, 7]}
    assert seen["searches"] == gaps


def test_a_new_setting_has_its_column_in_the_table_and_a_label_for_each_value(seen: Any) -> None:
    assert seen["column"] == ["Int64", [7, 8, 1, 3, -1]]
    assert seen["described"] == ["byte", "asked for, and made up"]
    assert seen["labels"] == ["made-up gap 7 B", "made-up gap none at all"]
