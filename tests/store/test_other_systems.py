"""Runs are read where POSIX is not: by a Linux Python that lacks what Windows lacks, and by Python
for Windows itself, under wine.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from folders import FIXTURES, MATRICES, REPORTS, ROOT
from needs import WINDOWS_PYTHON

RUN = REPORTS / "lab-report"
SCRIPT = Path(__file__).parent / "made_on_disk.py"
WAIT_S = 300.0
TABLES = ("tables.md", "tables.tex", "tables.csv", "figures.csv")

ILLEGAL = re.compile(r'[<>:"/\\|?*\x00-\x1f]|[. ]$|^(con|prn|aux|nul|com\d|lpt\d)(\.|$)', re.I)
"""Of a file's name on Windows."""


@dataclass(frozen=True)
class Python:
    """A Python of some system, and how it is started here."""

    words: tuple[str, ...]
    around: dict[str, str] = field(default_factory=dict)
    drive: str = ""
    """What it calls the root of this machine."""

    def name(self, path: Path) -> str:
        return f"{self.drive}{path}".replace("/", "\\") if self.drive else str(path)

    def run(self, *words: str, folder: Path, code: int = 0) -> str:
        """Standard output with plain line ends, and standard error of what is refused."""
        environment = {"PYTHONPATH": self.name(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **self.around}
        process = subprocess.run(
            [*self.words, *words],
            cwd=folder,
            env=os.environ | environment,
            input=b"",  # wine has no handle of /dev/null
            capture_output=True,
            timeout=WAIT_S,
            check=False,
        )
        output = process.stdout.decode().replace("\r\n", "\n")
        errors = process.stderr.decode(errors="replace")
        assert process.returncode == code, (
            f"{words}: {process.returncode}\n{output[-500:]}\n{errors[-3000:]}"
        )
        return output + (errors if code else "")


HERE = Python((sys.executable,))
LACKING = Python((sys.executable, str(SCRIPT.with_name("without_posix.py"))))


@pytest.fixture(
    params=["lacking", pytest.param("windows", marks=pytest.mark.needs("windows-python"))]
)
def elsewhere(request: pytest.FixtureRequest) -> Python:
    """A Linux Python without what Python for Windows lacks; Python for Windows under wine."""
    if request.param == "lacking":
        return LACKING
    start: tuple[str, ...] = request.getfixturevalue("wine")
    around = {"PYTHONUTF8": "1"}
    return Python((*start, str(WINDOWS_PYTHON)), around, drive="Z:")


@pytest.fixture
def copies(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders with the same recorded runs in them."""
    for name in ("here", "there"):
        shutil.copytree(RUN, tmp_path / name / "run")
        shutil.copytree(FIXTURES / "run-v1", tmp_path / name / "old")
        for file_name in (*TABLES, "index.html"):  # what a report makes
            (tmp_path / name / "run" / file_name).unlink(missing_ok=True)
    return tmp_path / "here", tmp_path / "there"


ASKED: Sequence[tuple[tuple[str, ...], int]] = (
    (("status", "run"), 0),
    (("status", "old", "--json"), 0),
    (("export", "run", "--format", "csv"), 0),
    (("export", "old", "--format", "json"), 0),
    (("report", "old", "--json"), 0),
    (("compare", "run", "run", "--format", "csv"), 0),
    (("check", "run"), 2),
    (("plan", str(MATRICES / "lab-report.yaml")), 0),
)


def plain(text: str, python: Python) -> str:
    """Without how a system writes paths."""
    return text.replace(python.drive, "").replace("\\", "/") if python.drive else text


def test_what_is_read_of_a_run_is_the_same_as_here(
    elsewhere: Python, copies: tuple[Path, Path]
) -> None:
    own_folder, far_folder = copies
    for words, code in ASKED:
        far_words = [elsewhere.name(Path(word)) if word.startswith("/") else word for word in words]
        ours = HERE.run("-m", "netlab", *words, folder=own_folder, code=code)
        theirs = elsewhere.run("-m", "netlab", *far_words, folder=far_folder, code=code)
        assert plain(theirs, elsewhere).rstrip() == plain(ours, elsewhere).rstrip(), words


def test_a_report_is_written_with_the_same_tables_and_names_that_windows_allows(
    elsewhere: Python, copies: tuple[Path, Path]
) -> None:
    own_folder, far_folder = copies
    (far_folder / "run" / "charts" / "stale.svg").write_bytes(b"")
    ours = HERE.run("-m", "netlab", "report", "run", folder=own_folder)
    theirs = elsewhere.run("-m", "netlab", "report", "run", folder=far_folder)
    assert plain(theirs, elsewhere) == ours
    for name in TABLES:
        assert (far_folder / "run" / name).read_bytes() == (own_folder / "run" / name).read_bytes()
    files = {path.relative_to(far_folder) for path in far_folder.rglob("*")}
    assert files == {path.relative_to(own_folder) for path in own_folder.rglob("*")}
    assert [path for path in files if ILLEGAL.search(path.name)] == []
    assert len((far_folder / "run" / "index.html").read_text("utf-8")) > 10**5


def test_a_run_is_loaded_in_python(elsewhere: Python, copies: tuple[Path, Path]) -> None:
    script = copies[1] / "script.py"
    script.write_text(
        "import netlab\nrun = netlab.load('run')\n"
        "print(len(run.frame), run.summary()['mean'].max(), len(run.findings))\n"
    )
    ours = HERE.run(str(script), folder=copies[0])
    assert elsewhere.run(elsewhere.name(script), folder=copies[1]) == ours
    assert ours.startswith("416 ")


def test_files_are_written_whole_and_locked_as_here(elsewhere: Python, tmp_path: Path) -> None:
    folders = tmp_path / "here", tmp_path / "there"
    for folder in folders:
        folder.mkdir()
    ours = HERE.run(str(SCRIPT), str(folders[0]), folder=tmp_path)
    theirs = elsewhere.run(elsewhere.name(SCRIPT), elsewhere.name(folders[1]), folder=tmp_path)
    assert theirs == ours
    assert ours.splitlines() == [
        "['one', 'two'] [2]",
        r"b'second\r\n\x1a\n' ['inner', 'journal.jsonl']",
        "netlab",
        "True",
        "None",
    ]
    journal = Path("a", "run", "journal.jsonl")
    assert (folders[1] / journal).read_bytes() == (folders[0] / journal).read_bytes()


def test_no_link_leads_out_of_a_folder_where_a_name_is_looked_at_first(tmp_path: Path) -> None:
    lines = LACKING.run(str(SCRIPT), str(tmp_path), "links", folder=tmp_path).splitlines()
    assert lines[-5:] == ["True"] * 4 + ["b'theirs'"]


@pytest.mark.needs("windows-python")
def test_on_windows_measuring_is_refused_with_what_can_be_done_there(
    wine: tuple[str, ...], tmp_path: Path
) -> None:
    windows = Python((*wine, str(WINDOWS_PYTHON)), {"PYTHONUTF8": "1"}, drive="Z:")
    output = windows.run("-m", "netlab", "measure", folder=tmp_path, code=2)
    assert "netlab measures from Linux" in output
    assert "Traceback" not in output


@pytest.mark.parametrize("name", ["a:b", "a\\b", "con.txt", "dot.", "a?b", "a\x01b", "LPT1"])
def test_what_windows_forbids_is_known_here(name: str) -> None:
    assert ILLEGAL.search(name)
