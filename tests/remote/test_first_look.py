"""One command finds a host's system and its installed probe, and becomes the agent."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import paramiko
import pytest
import sshd
from sshd import Site, Sshd, cached, host_at, site

from netlab.build.binaries import local_probe
from netlab.remote import deploy
from netlab.remote.agent import Agent
from netlab.remote.deploy import FirstLook
from netlab.remote.transport import FileSeen

__all__ = ["site"]

pytestmark = sshd.needs_sshd

SHELLS = {"bash": "bash --posix", "dash": "dash", "busybox": "busybox ash"}
"""Its program → the command that reads as `sh` does."""
BINARY = b"a probe"
DIGEST = hashlib.sha256(BINARY).hexdigest()
FOLDER = ".cache/netlab"
PATH = f"{FOLDER}/netprobe-{'0' * 16}"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The commands and subsystems that begin on channels, in their order; a busy machine is waited
    for."""
    monkeypatch.setattr(deploy, "LOOK_S", 60.0)
    requests: list[str] = []
    command, subsystem = paramiko.Channel.exec_command, paramiko.Channel.invoke_subsystem

    def executed(channel: paramiko.Channel, words: str) -> None:
        requests.append(words)
        command(channel, words)

    def invoked(channel: paramiko.Channel, name: str) -> None:
        requests.append(name)
        subsystem(channel, name)

    monkeypatch.setattr(paramiko.Channel, "exec_command", executed)
    monkeypatch.setattr(paramiko.Channel, "invoke_subsystem", invoked)
    return requests


def opened(server: Sshd) -> Agent:
    """An agent on the server's host, opened."""
    agent = Agent.open(host_at(server))
    assert agent.ask("clock")["type"] == "clock"
    agent.close()
    return agent


def test_a_host_that_has_the_probe_is_opened_with_one_command(site: Site, asked: list[str]) -> None:
    server = site.server()
    opened(server)
    assert len(asked) > 2
    asked.clear()
    agent = opened(server)
    assert asked == ["sh"]
    assert agent.skipped_lines == 0
    assert agent.probe_path == f"{FOLDER}/{cached(server).name}"


def test_a_host_with_a_noisy_login_is_opened_with_one_command(site: Site, asked: list[str]) -> None:
    server = site.server()
    opened(server)
    (server.home / ".noise").write_bytes(b"Welcome!\r\n\xff" + b"y" * 200_000 + b"\n$ ")
    asked.clear()
    opened(server)
    assert asked == ["sh"]


@pytest.mark.parametrize("shell", [shell for shell in SHELLS if shutil.which(shell)])
def test_every_posix_shell_opens_the_agent_with_one_command(
    site: Site, asked: list[str], shell: str, tmp_path: Path
) -> None:
    """Some shells read all input, some one byte at a time: none takes the agent's input."""
    server = site.server()
    opened(server)
    path = tmp_path / "sh"
    path.write_text(f'#!/bin/sh\nexec {SHELLS[shell]} "$@"\n')
    path.chmod(0o755)
    (server.folder / "login").write_text(
        f"#!/bin/sh\nHOME={server.home}; export HOME; cd {server.home}\n"
        f"PATH={tmp_path}:$PATH; export PATH\nexec $SSH_ORIGINAL_COMMAND\n"
    )
    asked.clear()
    for _ in range(3):
        opened(server)
    assert asked == ["sh"] * 3


@pytest.mark.parametrize(
    "login",
    ["exec cat", "echo no shell here; exit 1", "exec sleep 20", "exec head -c 1000 /dev/zero"],
    ids=["it repeats", "it refuses", "it waits", "it says something else"],
)
def test_a_host_that_does_not_answer_the_combined_first_command_is_asked_step_by_step(
    site: Site, asked: list[str], monkeypatch: pytest.MonkeyPatch, login: str
) -> None:
    monkeypatch.setattr(deploy, "LOOK_S", 0.5)
    server = site.server()
    server.says(at_first=f'case "$SSH_ORIGINAL_COMMAND" in sh) {login};; esac')
    opened(server)
    assert asked[:2] == ["sh", "uname -s -m"]
    assert cached(server).read_bytes() == local_probe().read_bytes()


def test_an_installed_probe_last_used_on_another_day_gets_a_new_file_date(
    site: Site, asked: list[str]
) -> None:
    server = site.server()
    opened(server)
    os.utime(cached(server), (1e9, 1e9))
    asked.clear()
    opened(server)
    assert "sftp" in asked
    assert abs(cached(server).stat().st_mtime - time.time()) < 60


def test_a_probe_in_a_folder_that_others_may_write_to_is_not_used(site: Site) -> None:
    server = site.server()
    opened(server)
    cached(server).parent.chmod(0o777)
    (site.folder / "fallback").mkdir()
    assert opened(server).probe_path.startswith(str(site.folder / "fallback"))


def test_the_combined_first_command_is_not_sent_to_a_windows_host(
    site: Site, asked: list[str]
) -> None:
    host = host_at(site.server())
    object.__setattr__(host, "os", "W")
    assert deploy.first_look(host, None, FOLDER, 1) is None  # type: ignore[arg-type]
    assert asked == []


def seen(
    folder: FileSeen | None = None,
    file: FileSeen | None = None,
    *,
    content: bytes = BINARY,
    old: bool = False,
) -> FirstLook:
    """The attributes of a probe whose owner has user id 7."""
    folder = folder or FileSeen(0o040700, 7, 4096)
    file = file or FileSeen(0o100700, 7, len(BINARY))
    return FirstLook(
        platform=deploy.Platform("L", "x86_64"),
        user_id=7,
        folder=FOLDER,
        files={FOLDER: folder, PATH: file},
        sums={PATH: hashlib.sha256(content).hexdigest()},
        old=frozenset({PATH} if old else ()),
        mark="",
        process=None,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("look", "holds"),
    [
        (seen, True),
        (lambda: seen(content=b"a robe."), False),
        (lambda: seen(old=True), False),
        (lambda: seen(FileSeen(0o040722, 7, 4096)), False),
        (lambda: seen(FileSeen(0o040700, 8, 4096)), False),
        (lambda: seen(FileSeen(0o120700, 7, 4096)), False),
        (lambda: seen(file=FileSeen(0o120700, 7, len(BINARY))), False),
        (lambda: seen(file=FileSeen(0o100600, 7, len(BINARY))), False),
        (lambda: seen(file=FileSeen(0o100700, 7, len(BINARY) + 1)), False),
    ],
    ids=[
        *("as it should be", "another content", "of other days", "others may write"),
        *("another's folder", "a link to a folder", "a link", "not to be started", "longer"),
    ],
)
def test_an_installed_probe_is_accepted_only_with_the_right_owner_mode_and_content(
    look: Callable[[], FirstLook], holds: bool
) -> None:
    assert look().holds(PATH, len(BINARY), DIGEST) is holds
    assert not look().holds(PATH.replace("0", "1"), len(BINARY), DIGEST)
    assert deploy.CACHE == FOLDER
