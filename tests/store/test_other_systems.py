"""netlab reads runs with a Linux Python that lacks POSIX, and on Windows under wine."""

from __future__ import annotations

import json
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

pytestmark = pytest.mark.lab

RUN = REPORTS / "lab-report"
SCRIPT = Path(__file__).parent / "made_on_disk.py"
IN_TURN = Path(__file__).parent / "commands_in_turn.py"
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

READING: Sequence[tuple[tuple[str, ...], int]] = (
    (("status", "run"), 0),
    (("status", "old", "--json"), 0),
    (("export", "run", "--format", "csv"), 0),
    (("export", "old", "--format", "json"), 0),
    (("report", "old", "--json"), 0),
    (("compare", "run", "run", "--format", "csv"), 0),
    (("check", "run"), 2),
    (("plan", str(MATRICES / "lab-report.yaml")), 0),
)
"""Commands that read, with their exit codes."""
LOADING = (
    "import netlab\nrun = netlab.load('run')\n"
    "print(len(run.frame), run.summary()['mean'].max(), len(run.findings))\n"
)


@dataclass(frozen=True)
class Asked:
    """What a Python answered, and the folder in which it did so."""

    python: Python
    folder: Path
    answers: list[tuple[int, str, str]]
    """Exit code, output and errors of each command of ``READING``, of the report and of the code
    that loads a run."""


def asked(python: Python, folder: Path) -> Asked:
    """Read recorded runs, report one and load it, in a process of this Python."""
    shutil.copytree(RUN, folder / "run")
    shutil.copytree(FIXTURES / "run-v1", folder / "old")
    (folder / "old" / "charts").mkdir()
    (folder / "old" / "charts" / "stale.svg").write_bytes(b"")
    commands = [
        [python.name(Path(word)) if word.startswith("/") else word for word in words]
        for words, _ in READING
    ]
    tasks = json.dumps([*commands, ["report", "old"], LOADING])
    output = python.run(python.name(IN_TURN), tasks, folder=folder)
    return Asked(python, folder, json.loads(output))


def same(one: tuple[int, str, str], other: tuple[int, str, str]) -> bool:
    """Whether answers differ at most in how a system writes paths."""
    plain_one, plain_other = (
        (code, *(text.replace("Z:", "").replace("\\", "/").rstrip() for text in texts))
        for code, *texts in (one, other)
    )
    return plain_one == plain_other


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    return asked(HERE, tmp_path_factory.mktemp("here"))


@pytest.fixture(
    scope="module",
    params=["lacking", pytest.param("windows", marks=pytest.mark.needs("windows-python", "wine"))],
)
def elsewhere(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Asked:
    """A Linux Python without what Python for Windows lacks; Python for Windows under wine."""
    python = LACKING
    if request.param == "windows":
        python = windows(request.getfixturevalue("wine"))
    return asked(python, tmp_path_factory.mktemp("there"))


def windows(wine: tuple[str, ...]) -> Python:
    return Python((*wine, str(WINDOWS_PYTHON)), {"PYTHONUTF8": "1"}, drive="Z:")


def test_commands_that_read_a_run_print_equal_output_on_windows_and_linux(
    here: Asked, elsewhere: Asked
) -> None:
    for (words, code), ours, theirs in zip(READING, here.answers, elsewhere.answers, strict=False):
        assert ours[0] == code, ours
        assert same(theirs, ours), (words, theirs, ours)


def test_netlab_report_on_windows_writes_the_tables_of_linux_with_legal_file_names(
    here: Asked, elsewhere: Asked
) -> None:
    illegal_names = ["a:b", "a\\b", "con.txt", "dot.", "a?b", "a\x01b", "LPT1"]
    assert all(ILLEGAL.search(name) for name in illegal_names)
    number = len(READING)
    assert same(elsewhere.answers[number], here.answers[number])
    for name in TABLES:
        theirs = (elsewhere.folder / "old" / name).read_bytes()
        assert theirs == (here.folder / "old" / name).read_bytes()
    assert any(path.name == "charts" for path in here.folder.rglob("*"))
    files = {path.relative_to(elsewhere.folder) for path in elsewhere.folder.rglob("*")}
    assert files == {path.relative_to(here.folder) for path in here.folder.rglob("*")}
    assert Path("old", "charts", "stale.svg") not in files
    assert [path for path in files if ILLEGAL.search(path.name)] == []
    assert len((elsewhere.folder / "old" / "index.html").read_text("utf-8")) > 10**4


def test_netlab_load_reads_a_run_in_python_on_windows(here: Asked, elsewhere: Asked) -> None:
    assert elsewhere.answers[-1] == here.answers[-1]
    assert here.answers[-1][1].startswith("416 ")


def test_the_store_writes_files_and_locks_folders_on_windows_as_on_linux(
    elsewhere: Asked, tmp_path: Path
) -> None:
    folders = tmp_path / "here", tmp_path / "there"
    for folder in folders:
        folder.mkdir()
    python = elsewhere.python
    ours = HERE.run(str(SCRIPT), str(folders[0]), folder=tmp_path)
    theirs = python.run(python.name(SCRIPT), python.name(folders[1]), folder=tmp_path)
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


def test_the_store_follows_no_link_on_a_system_without_posix(tmp_path: Path) -> None:
    lines = LACKING.run(str(SCRIPT), str(tmp_path), "links", folder=tmp_path).splitlines()
    assert lines[-5:] == ["True"] * 4 + ["b'theirs'"]


@pytest.mark.needs("windows-python")
def test_netlab_measure_is_refused_on_windows_with_advice(
    wine: tuple[str, ...], tmp_path: Path
) -> None:
    output = windows(wine).run("-m", "netlab", "measure", folder=tmp_path, code=2)
    assert "netlab measures from Linux" in output
    assert "Traceback" not in output
