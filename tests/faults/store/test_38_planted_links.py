"""Links planted where a run writes, and a cache of somebody else, are refused and left as they are.

What is planted on hosts: tests/remote/test_deploy.py.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from commands import Commands, commands
from made_runs import open_folder

from netlab.build import binaries
from netlab.errors import NetlabError
from netlab.store.files import write_private

__all__ = ["commands"]

MINE = "mine, and of value"
MATRIX = """\
title: t
hosts: {a: {local: true}, b: {local: true}}
pairs: {LL: [a, b]}
pairings: [LL]
tests: [{test: stream, protocol: UDP, message_size: 64}]
"""


@pytest.fixture
def victim(commands: Commands) -> Path:
    path = commands.home / "thesis.txt"
    (commands.folder / "matrix.yaml").write_text(MATRIX)
    path.write_text(MINE)
    return path


@pytest.mark.parametrize("name", ["lock", "journal.jsonl", "run.json"])
def test_a_run_into_a_folder_with_a_planted_link_ends_with_one_error_line(
    commands: Commands, victim: Path, name: str
) -> None:
    (commands.folder / "out").mkdir()
    (commands.folder / "out" / name).symlink_to(victim)
    process = commands.run("run", "matrix.yaml", "--into", "out", "--no-report")
    assert process.returncode == 1
    assert process.stderr.count("\n") == 1
    assert name in process.stderr
    assert "it is a link" in process.stderr
    assert victim.read_text() == MINE


def test_a_planted_link_in_the_place_of_the_matrix_is_replaced(
    commands: Commands, victim: Path
) -> None:
    (commands.folder / "out").mkdir()
    (commands.folder / "out" / "matrix.yaml").symlink_to(victim)
    open_folder(commands.folder / "out").close()
    assert victim.read_text() == MINE
    assert not (commands.folder / "out" / "matrix.yaml").is_symlink()


def test_a_capture_is_not_written_into_a_folder_that_is_a_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "captures").symlink_to(outside)
    with pytest.raises(NetlabError, match="captures: it is a link"):
        write_private(tmp_path, "captures", "a.pcap", b"pcap")
    assert list(outside.iterdir()) == []


@pytest.fixture
def unstartable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A probe that an installer laid down without the right to start it, and an empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    path = tmp_path / "netprobe"
    path.write_bytes(b"#!/bin/sh\n")
    path.chmod(0o600)
    return path


def test_a_probe_that_cannot_be_executed_in_its_place_is_copied_once_as_an_executable(
    unstartable: Path,
) -> None:
    copy = binaries._startable(unstartable)
    assert copy != unstartable
    assert os.access(copy, os.X_OK)
    assert binaries._startable(unstartable) == copy


@pytest.mark.needs("root")
@pytest.mark.parametrize("below", ["netlab", "netlab/probes"])
def test_a_cache_that_belongs_to_another_user_is_refused(
    unstartable: Path, tmp_path: Path, below: str
) -> None:
    folder = tmp_path / "cache" / below
    folder.mkdir(parents=True)
    os.chown(folder, 65534, 65534)
    with pytest.raises(NetlabError, match="other users may write to it"):
        binaries._startable(unstartable)


def test_a_cache_that_anybody_may_write_to_or_that_is_a_link_is_refused(
    unstartable: Path, tmp_path: Path
) -> None:
    cache = tmp_path / "cache"
    (cache / "netlab").mkdir(parents=True)
    (cache / "netlab").chmod(0o777)
    with pytest.raises(NetlabError, match="name another cache with XDG_CACHE_HOME"):
        binaries._startable(unstartable)
    (cache / "netlab").rename(cache / "elsewhere")
    (cache / "elsewhere").chmod(0o700)
    (cache / "netlab").symlink_to(cache / "elsewhere")
    with pytest.raises(NetlabError, match="other users may write to it"):
        binaries._startable(unstartable)
