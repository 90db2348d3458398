"""Of a disk that is full, read-only or noexec the next folder is tried, or each is named."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from fault_runs import PACED, Bench, at, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of
from sshd import Site, Sshd, host_at, site

from netlab.errors import HostError
from netlab.remote import deploy
from netlab.remote.agent import Agent

__all__ = ["bench", "outcome_of", "site"]

needs_mounts = pytest.mark.needs("sshd", "root")

WORDS = {
    "full": ("size=64k", "Failure|No space left"),
    "read-only": ("ro,size=8m", "Read-only file system|Permission denied|Failure"),
    "noexec": ("noexec,size=8m", "status 126"),
}
"""What is mounted, and what the host says then."""


@pytest.fixture
def mounted() -> Iterator[Callable[[Path, str], None]]:
    """Mounts memory on a folder, which is made, until the test's end."""
    with ExitStack() as stack:

        def mount(folder: Path, options: str) -> None:
            folder.mkdir(parents=True)
            words = ["mount", "-t", "tmpfs", "-o", options, "netlab-test", str(folder)]
            subprocess.run(words, check=True)
            stack.callback(subprocess.run, ["umount", str(folder)], check=True)

        yield mount


def left(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if not path.is_dir()]


@needs_mounts
@pytest.mark.parametrize("commands", [False, True], ids=["sftp", "commands"])
@pytest.mark.parametrize("trouble", list(WORDS))
def test_a_probe_that_cannot_start_from_the_first_folder_is_copied_to_the_next_folder(
    site: Site, mounted: Callable[[Path, str], None], trouble: str, commands: bool
) -> None:
    server = site.server()
    if commands:
        server.says(to_sftp="exit 1")
    mounted(server.home / ".cache", WORDS[trouble][0])
    fallback = site.folder / "fallback"
    fallback.mkdir()
    agent = Agent.open(host_at(server))
    agent.close()
    assert agent.probe_path.startswith(f"{fallback}/netlab-{os.geteuid()}/netprobe-")
    assert len(left(fallback)) == 1
    if trouble != "noexec":
        assert not list((server.home / ".cache").iterdir())


@needs_mounts
@pytest.mark.parametrize("trouble", list(WORDS))
def test_if_the_probe_can_start_from_no_folder_the_error_names_each_folder_and_the_reason(
    site: Site,
    mounted: Callable[[Path, str], None],
    monkeypatch: pytest.MonkeyPatch,
    trouble: str,
) -> None:
    server = site.server()
    places = [server.home / ".cache", site.folder / "one", site.folder / "two"]
    for place in places:
        mounted(place, WORDS[trouble][0])
    monkeypatch.setattr(deploy, "FALLBACKS", tuple(map(str, places[1:])))
    with pytest.raises(HostError, match=r"^far: no place to start the probe from: ") as raised:
        Agent.open(host_at(server))
    message = str(raised.value)
    assert "\n" not in message
    for name in (".cache/netlab", *map(str, places[1:])):
        assert name in message
    for reason in message.split("; "):
        assert any(word in reason for word in WORDS[trouble][1].split("|")), message


def run(bench: Bench, server: Sshd, into: str) -> None:
    bench.matrix(PACED, client=at(server), repeats="2", defaults="{duration: 600ms}")
    process = bench.run("run", "matrix.yaml", "--into", into, "--no-report")
    assert process.returncode == 0, process.stderr


def fill_the_first_folder(bench: Bench, site: Site, mounted: Callable[[Path, str], None]) -> Seen:
    server = site.server()
    run(bench, server, "clean")
    (server.home / ".cache").rename(server.home / "before")
    mounted(server.home / ".cache", "size=64k")
    run(bench, server, "full")
    return {}


@injects("sshd", "root")
def test_a_run_whose_first_probe_folder_is_full_measures_the_figures_of_a_clean_run(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(fill_the_first_folder)
    full = outcome.load("full")
    assert by_status(full) == {"ok": 4}
    assert wrong_ok(outcome.load("clean"), full) == []
