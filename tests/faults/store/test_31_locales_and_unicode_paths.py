"""In any locale, and under any path, a run folder, its report and its export are the same bytes.

Locales: C without UTF-8, Turkish (whose capital of i is no I), German (whose decimal sign is a
comma). Paths: spaces, umlauts, Chinese, emoji.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from folders import FIXTURES, MADE, ROOT, SUPPORT

pytestmark = pytest.mark.needs("locales")

PATH = "Läufe im März/走 🏁"
LOCALES = ("C", "tr_TR", "de_DE")
SCRIPT = """
import locale, shutil, sys
locale.setlocale(locale.LC_ALL, "")
sys.path[:0] = sys.argv[4:]
from pathlib import Path
from made_reports import undrawn
from made_runs import *
from netlab.cli import main
from netlab.store.run_folder import RunFolder
written, read, source = map(Path, sys.argv[1:4])
with RunFolder.open_for_writing(written, made_plan(), clock=ticking(), run_id="0") as folder:
    folder.append(made_record(detail="I\\u0131\\xdf"))
shutil.copytree(source, read)
commands = [["export", str(read), "--format", form, "-o", str(read / f"exported.{form}")]
            for form in ("csv", "json")]
for command in [*commands, ["report", str(read)]]:
    sys.argv = ["netlab", *command]
    try:
        with undrawn():
            main()
    except SystemExit as leaving:
        assert leaving.code == 0, command
"""
"""Writes a run folder, and makes the exports and the report of another."""


@pytest.fixture(scope="module")
def locales(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with these locales, made of the system's sources."""
    folder = tmp_path_factory.mktemp("locales")
    for name in LOCALES[1:]:
        words = ["localedef", "-i", name, "-f", "UTF-8", str(folder / f"{name}.UTF-8")]
        subprocess.run(words, check=True, capture_output=True)
    return folder


def environment(locales: Path, name: str) -> dict[str, str]:
    """Of a process in a locale; in that of C nothing takes the place of ASCII."""
    variables = {"LOCPATH": str(locales), "LC_ALL": name if name == "C" else f"{name}.UTF-8"}
    return variables | {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def files_in(folder: Path) -> Mapping[str, bytes]:
    paths = (path for path in folder.rglob("*") if path.is_file() and path.name != "lock")
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def files_of_script(folder: Path, env: Mapping[str, str]) -> Mapping[str, bytes]:
    """The run folder that the script writes, and the one that it reads with what it adds."""
    paths = [str(folder / name) for name in ("written", "read")]
    words = [*paths, str(FIXTURES / "run-v1"), str(MADE), str(SUPPORT)]
    command = [sys.executable, "-c", SCRIPT, *words]
    process = subprocess.run(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        check=False,
        timeout=400,
        capture_output=True,
    )
    assert process.returncode == 0, process.stderr
    return files_in(folder)


def test_run_folders_and_reports_are_the_same_bytes_in_any_locale_and_under_any_path(
    tmp_path: Path, locales: Path, record_property: Callable[[str, object], None]
) -> None:
    plain = files_of_script(tmp_path / "plain", {})
    assert len(plain) > 10
    for name in LOCALES:
        files = files_of_script(tmp_path / name / PATH, environment(locales, name))
        assert files == plain, name
    record_property("figure", f"{len(plain)} files, the same bytes")
    record_property("n", f"{len(LOCALES)} locales")
