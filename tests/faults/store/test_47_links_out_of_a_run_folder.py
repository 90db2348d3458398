"""A run folder whose names are links leads nowhere: nothing outside is read, shown or removed.

``charts`` a link to a folder with pictures; ``matrix.yaml``, ``journal.jsonl``, ``run.json`` a link
to a file, a pipe that nobody writes to, a device: each is one line and an exit code.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from commands import Commands, commands
from folders import FIXTURES

from netlab.report import CHARTS, COLUMN

__all__ = ["commands"]

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
def out(commands: Commands) -> Path:
    """A run folder from elsewhere, beside one that is whole."""
    for name in ("out", "good"):
        shutil.copytree(FIXTURES / "run-v1", commands.folder / name)
    return commands.folder / "out"


@pytest.mark.parametrize("name", ["matrix.yaml", "journal.jsonl", "run.json"])
def test_a_link_in_the_place_of_a_file_of_a_run_folder_is_refused_and_not_shown(
    commands: Commands, out: Path, name: str
) -> None:
    key = commands.home / "id_ed25519"
    key.write_text(SECRET)
    (out / name).unlink()
    (out / name).symlink_to(key)
    for words in READERS:
        process = commands.run(*words)
        assert process.returncode == 1
        assert process.stderr.count("\n") == 1
        assert f"{name}: it is a link" in process.stderr
        assert SECRET not in process.stdout + process.stderr
    assert not (out / "index.html").exists()


@pytest.mark.parametrize("name", ["matrix.yaml", "journal.jsonl", "run.json", "lock"])
def test_a_pipe_in_the_place_of_a_file_of_a_run_folder_is_refused(
    commands: Commands, out: Path, name: str
) -> None:
    (out / name).unlink(missing_ok=True)
    os.mkfifo(out / name)
    process = commands.run("status", "out")
    assert process.returncode == (0 if name == "lock" else 1)
    assert process.stderr.count("\n") == process.returncode


@pytest.mark.parametrize("name", [CHARTS, f"{CHARTS}/{COLUMN}"])
def test_a_report_refuses_a_chart_folder_that_is_a_link_and_removes_no_picture_there(
    commands: Commands, out: Path, name: str
) -> None:
    photos = commands.home / "photos"
    photos.mkdir()
    (photos / "holiday.png").write_bytes(b"png")
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).symlink_to(photos)
    process = commands.run("report", "out")
    assert process.returncode == 1
    assert f"{name}: it is a link" in process.stderr
    assert process.stderr.count("\n") == 1
    assert [entry.name for entry in photos.iterdir()] == ["holiday.png"]


def test_a_report_replaces_links_in_the_run_folder_and_leaves_their_targets_unchanged(
    commands: Commands, out: Path
) -> None:
    mine = commands.home / "thesis.html"
    mine.write_text("mine")
    for name in ("index.html", "tables.csv", "tables.tex"):
        (out / name).symlink_to(mine)
    process = commands.run("report", "out")
    assert process.returncode == 0
    assert mine.read_text() == "mine"
    assert not (out / "index.html").is_symlink()
    assert "<html" in (out / "index.html").read_text("utf-8")


def test_netlab_report_watch_does_not_change_the_target_of_a_page_that_is_a_link(
    commands: Commands, out: Path
) -> None:
    mine = commands.home / "page.html"
    wish = '<meta charset="utf-8">\n<meta http-equiv="refresh" content="5">'
    mine.write_text(wish)
    (out / "index.html").symlink_to(mine)
    (out / "journal.jsonl").unlink()
    (out / "journal.jsonl").symlink_to(mine)
    assert commands.run("report", "--watch", "out").returncode == 1
    assert mine.read_text() == wish


def test_a_run_folder_is_read_through_a_link_to_the_folder_itself(
    commands: Commands, out: Path
) -> None:
    (commands.folder / "latest").symlink_to(out)
    assert commands.run("status", "latest").returncode == 0
    assert commands.run("report", "latest").returncode == 0
    assert (out / "index.html").is_file()
