"""A run folder whose names are links leads nowhere: nothing outside is read, shown or removed.

``charts`` a link to a folder with pictures; ``matrix.yaml``, ``journal.jsonl``, ``run.json`` a link
to a file, a pipe that nobody writes to, a device: each is one line and an exit code.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from fault_runs import Bench, bench
from folders import FIXTURES

from netlab.report import CHARTS, COLUMN

__all__ = ["bench"]

SECRET = "-----BEGIN OPENSSH PRIVATE KEY-----"
READERS = (
    ("status", "out"),
    ("export", "out"),
    ("report", "out"),
    ("check", "out"),
    ("compare", "out", "good"),
    ("compare", "good", "out"),
)


@pytest.fixture
def out(bench: Bench) -> Path:
    """A run folder from elsewhere, beside one that is whole."""
    for name in ("out", "good"):
        shutil.copytree(FIXTURES / "run-v1", bench.folder / name)
    return bench.folder / "out"


@pytest.mark.parametrize("name", ["matrix.yaml", "journal.jsonl", "run.json"])
def test_a_link_in_the_place_of_a_file_is_refused_and_not_shown(
    bench: Bench, out: Path, name: str
) -> None:
    key = bench.home / "id_ed25519"
    key.write_text(SECRET)
    (out / name).unlink()
    (out / name).symlink_to(key)
    for words in READERS:
        process = bench.run(*words)
        assert process.returncode == 1
        assert process.stderr.count("\n") == 1
        assert f"{name}: it is a link" in process.stderr
        assert SECRET not in process.stdout + process.stderr
    assert not (out / "index.html").exists()


@pytest.mark.parametrize("name", ["matrix.yaml", "journal.jsonl", "run.json", "lock"])
def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(bench: Bench, out: Path, name: str) -> None:
    (out / name).unlink(missing_ok=True)
    os.mkfifo(out / name)
    process = bench.run("status", "out", timeout_s=20)
    assert process.returncode == (0 if name == "lock" else 1)
    assert process.stderr.count("\n") == process.returncode


@pytest.mark.parametrize("name", [CHARTS, f"{CHARTS}/{COLUMN}"])
def test_pictures_of_a_folder_that_charts_leads_to_stay(bench: Bench, out: Path, name: str) -> None:
    photos = bench.home / "photos"
    photos.mkdir()
    (photos / "holiday.png").write_bytes(b"png")
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).symlink_to(photos)
    process = bench.run("report", "out")
    assert process.returncode == 1
    assert f"{name}: it is a link" in process.stderr
    assert process.stderr.count("\n") == 1
    assert [entry.name for entry in photos.iterdir()] == ["holiday.png"]


def test_what_a_report_writes_takes_the_place_of_a_link(bench: Bench, out: Path) -> None:
    mine = bench.home / "thesis.html"
    mine.write_text("mine")
    for name in ("index.html", "tables.csv", "tables.tex"):
        (out / name).symlink_to(mine)
    process = bench.run("report", "out")
    assert process.returncode == 0
    assert mine.read_text() == "mine"
    assert not (out / "index.html").is_symlink()
    assert "<html" in (out / "index.html").read_text("utf-8")


def test_the_watching_report_leaves_a_page_that_is_a_link_alone(bench: Bench, out: Path) -> None:
    mine = bench.home / "page.html"
    wish = '<meta charset="utf-8">\n<meta http-equiv="refresh" content="5">'
    mine.write_text(wish)
    (out / "index.html").symlink_to(mine)
    (out / "journal.jsonl").unlink()
    (out / "journal.jsonl").symlink_to(mine)
    assert bench.run("report", "--watch", "out").returncode == 1
    assert mine.read_text() == wish


def test_a_link_to_the_run_folder_itself_is_the_users_own(bench: Bench, out: Path) -> None:
    (bench.folder / "latest").symlink_to(out)
    assert bench.run("status", "latest").returncode == 0
    assert bench.run("report", "latest").returncode == 0
    assert (out / "index.html").is_file()
