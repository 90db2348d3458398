"""In any locale, and under any path, a run folder, its report and its export are the same bytes.

Locales: C without UTF-8, Turkish (whose capital of i is no I), German (whose decimal sign is a
comma). Paths: spaces, umlauts, Chinese, emoji.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from fault_runs import Bench, bench
from folders import FIXTURES, MADE, ROOT
from made_runs import made_plan, made_record, ticking

from netlab.store.run_folder import RunFolder

__all__ = ["bench"]

pytestmark = pytest.mark.needs("locales")

PATH = "Läufe im März/走 🏁"
LOCALES = ("C", "tr_TR", "de_DE")
WRITER = """
import locale, sys
locale.setlocale(locale.LC_ALL, "")
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from made_runs import *
from netlab.store.run_folder import RunFolder
path = Path(sys.argv[1])
with RunFolder.open_for_writing(path, made_plan(), clock=ticking(), run_id="0") as folder:
    folder.append(made_record(detail="I\\u0131\\xdf"))
"""


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


def of_command(bench: Bench, folder: str, env: Mapping[str, str]) -> Mapping[str, bytes]:
    """What the commands make of a recorded run under a path."""
    shutil.copytree(FIXTURES / "run-v1", bench.folder / folder)
    for form in ("csv", "json"):
        words = ("export", folder, "--format", form, "-o", f"{folder}/exported.{form}")
        assert bench.run(*words, env=env).returncode == 0
    process = bench.run("report", folder, env=env)
    assert process.returncode == 0
    return files_in(bench.folder / folder)


@pytest.mark.parametrize("name", LOCALES)
def test_a_run_folder_is_the_same_bytes(tmp_path: Path, locales: Path, name: str) -> None:
    command = [sys.executable, "-c", WRITER, str(tmp_path / PATH), str(MADE)]
    env = environment(locales, name) | {"PYTHONPATH": str(ROOT)}
    subprocess.run(command, env=env, check=True, timeout=60)
    plain_folder = tmp_path / "here"
    with RunFolder.open_for_writing(
        plain_folder, made_plan(), clock=ticking(), run_id="0"
    ) as folder:
        folder.append(made_record(detail="Iıß"))
    assert files_in(tmp_path / PATH) == files_in(plain_folder)


def test_a_report_and_an_export_are_the_same_bytes(
    bench: Bench, locales: Path, record_property: Callable[[str, object], None]
) -> None:
    plain = of_command(bench, "plain", {})
    assert len(plain) > 8
    for name in LOCALES:
        files = of_command(bench, f"{name}/{PATH}", environment(locales, name))
        assert files == plain, name
    record_property("figure", f"{len(plain)} files, the same bytes")
    record_property("n", f"{len(LOCALES)} locales")
