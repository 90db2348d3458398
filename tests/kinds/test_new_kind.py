"""A folder and a row in the table of kinds are all that a new kind of test takes."""

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
    """What became of the kind ``bounce``: see ``made_kind.py``."""
    paths = os.pathsep.join([str(ROOT), str(MADE), str(PLAYED), str(SUPPORT)])
    command = [sys.executable, str(MADE / "made_kind.py")]
    process = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, check=False
    )
    assert process.returncode == 0, process.stderr.decode()
    return json.loads(process.stdout)


def test_a_new_kind_of_test_is_read_from_a_matrix_and_makes_cells(seen: Any) -> None:
    assert seen["keys"] == 2 * ["LL-bounce-tcp-ipv4-auto"]
    assert seen["in_schema"] == 1


def test_a_new_kind_of_test_is_asked_of_both_probes_which_must_know_it(seen: Any) -> None:
    of_both: list[list[object]] = [
        [*("server", "mirror", "bounce", "tcp"), None, None],
        [*("client", "ask", "bounce", "tcp"), 2, "1"],
        ["server", "stop", *(4 * [None])],
    ]
    higher = [[3 if word == 2 else word for word in request] for request in of_both]
    assert seen["requests"] == [*of_both, *higher]
    assert seen["lacking"] == ["test: bounce"]


def test_a_new_kind_of_test_has_its_columns_in_the_table_and_labels(seen: Any) -> None:
    assert seen["frame"] == [[2, 30.0, "ok"], [3, 20.0, "ok"]]
    assert seen["described"] == ["How high the ball is thrown.", "bounces of the ball"]
    assert seen["label"] == "height of the throw 2"


def test_the_report_has_a_table_and_a_first_line_of_a_new_kind_of_test(seen: Any) -> None:
    assert "The bounces of a ball" in seen["page"]
    assert seen["first_lines"] == [
        "Bounces: 20 1/s (height of the throw 3) to 30 1/s (height of the throw 2)"
    ]
    assert seen["tables"] == [
        ["The bounces of a ball", ["trials", "bounces, 1/s"], ["1/1", "30.00"], ["1/1", "20.00"]]
    ]
