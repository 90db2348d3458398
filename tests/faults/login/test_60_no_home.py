"""A login whose home is missing, ``/`` or another's has its probe in a folder of its own."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sshd import Sshd, make_key, public

from netlab.errors import HostError
from netlab.experiment.hosts import Host, SshTarget
from netlab.remote import deploy
from netlab.remote.agent import Agent
from netlab.remote.transport import FileSeen

needs_accounts = pytest.mark.needs("sshd", "root")

USER, UID = "netlab-rat", 54321
# Account files that only this server sees. "*": no password fits, and the account is not locked.
ACCOUNTS = """\
set -e
for each in passwd group shadow; do mount --bind "$0/$each" "/etc/$each"; done
exec "$@"
"""


class AccountSshd(Sshd):
    """A server for one account of its own, which is not root, and without a command of its own."""

    without: tuple[str, ...] = ("SetEnv", "ForceCommand")

    def config(self) -> str:
        lines = super().config().splitlines()
        return "".join(f"{line}\n" for line in lines if not line.startswith(self.without))


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that every account may enter, in which all may write, and the only fallback."""
    folder = Path(tempfile.mkdtemp(prefix="netlab-home-"))
    folder.chmod(0o755)
    (folder / "fallback").mkdir()
    (folder / "fallback").chmod(0o1777)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)
    monkeypatch.setattr(deploy, "FALLBACKS", (str(folder / "fallback"),))
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def start(place: Path) -> Iterator[Callable[[str, bool], Host]]:
    """Starts a server for an account with this home; returns how it is reached."""
    servers: list[Sshd] = []

    def started(home: str, commands: bool) -> Host:
        etc = place / "etc"
        etc.mkdir()
        (etc / "passwd").write_text(
            f"root:x:0:0:root:/root:/bin/sh\nsshd:x:65533:65534::/run/sshd:/bin/false\n"
            f"{USER}:x:{UID}:{UID}::{home}:/bin/sh\n"
        )
        (etc / "group").write_text(f"root:x:0:\nnogroup:x:65534:\n{USER}:x:{UID}:\n")
        (etc / "shadow").write_text(f"root:*:19000::::::\n{USER}:*:19000::::::\n")
        key = make_key(place / "key")
        server = AccountSshd(place / "server", key)
        server.within = ["unshare", "--mount", "sh", "-c", ACCOUNTS, str(etc)]
        server.without += ("Subsystem",) if commands else ()
        servers.append(server.start())
        return Host(
            name="far",
            os="L",
            ssh=SshTarget("127.0.0.1", USER, server.port),
            addresses={"test": ("127.0.0.1",)},
            host_key=public(server.key()),
            identity=str(key),
        )

    yield started
    for server in servers:
        server.stop()


@needs_accounts
@pytest.mark.parametrize("home", ["/nowhere/home", "/", "of root"])
@pytest.mark.parametrize("commands", [False, True], ids=["sftp", "commands"])
def test_a_login_without_a_home_of_its_own_has_its_probe_in_its_own_fallback_folder(
    place: Path, start: Callable[[str, bool], Host], home: str, commands: bool
) -> None:
    if home == "of root":
        (place / "home").mkdir()
        home = str(place / "home")
    old_entries = set(Path(home).iterdir()) if Path(home).is_dir() else set()
    messages: list[str] = []
    agent = Agent.open(start(home, commands), messages.append)
    try:
        assert agent.ask("clock")["type"] == "clock"
        assert any("by commands" in message for message in messages) is commands
        (folder,) = (place / "fallback").iterdir()
        assert folder.name == f"netlab-{UID}"
        assert folder.stat().st_uid == UID
        assert agent.probe_path == str(next(folder.iterdir()))
    finally:
        agent.close()
    assert (set(Path(home).iterdir()) if Path(home).is_dir() else set()) == old_entries


@needs_accounts
def test_folders_that_do_not_belong_to_the_login_are_named_and_stay_empty(
    place: Path, start: Callable[[str, bool], Host]
) -> None:
    (place / "fallback").chmod(0o755)
    with pytest.raises(HostError, match=r"^far: no place to start the probe from: ") as raised:
        Agent.open(start("/nowhere/home", False))
    assert ".cache/netlab: " in str(raised.value)
    assert f"{place / 'fallback'}/netlab-{UID}: " in str(raised.value)
    assert not list((place / "fallback").iterdir())


class Squashed:
    """A share that gives whatever root makes to nobody: HostFiles as far as it is asked."""

    def __init__(self) -> None:
        self.folders: list[str] = []

    def make_folder(self, path: str) -> None:
        self.folders.append(path)

    def remove_folder(self, path: str) -> None:
        assert path == self.folders.pop()

    def seen(self, path: str) -> FileSeen:
        if path not in self.folders:
            raise OSError("No such file")
        return FileSeen(0o40700, 65534, 0)


def test_a_share_that_changes_the_owner_of_a_new_folder_is_refused_and_the_folder_removed() -> None:
    share = Squashed()
    with pytest.raises(OSError, match=r"\.cache/netlab belongs to another user"):
        deploy._put(share, ".cache/netlab", "netprobe", b"", os.geteuid())  # type: ignore[arg-type]
    assert share.folders == []
