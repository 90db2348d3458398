"""``export -o`` to a folder that is not there is one line that names it, and no traceback."""

from __future__ import annotations

import shutil

from commands import Commands, commands
from folders import FIXTURES

__all__ = ["commands"]


def test_an_export_to_a_missing_folder_prints_one_error_line_that_names_the_folder(
    commands: Commands,
) -> None:
    shutil.copytree(FIXTURES / "run-v1", commands.folder / "out")
    process = commands.run("export", "out", "-o", "nowhere/out.csv")
    assert process.returncode == 1
    assert process.stderr.count("\n") == 1
    assert "nowhere" in process.stderr
