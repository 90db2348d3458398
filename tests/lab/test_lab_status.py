"""A lab's hosts outlive what happens to the machine's /etc, and status tells those that do not."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import needs_a_lab, ssh

from netlab import lab
from netlab.lab import programs, state
from netlab.lab.options import LabOptions

pytestmark = needs_a_lab
NAME = f"e{os.getpid()}"
PASSWD = Path("/etc/passwd")


@pytest.fixture
def pair() -> Iterator[lab.LabState]:
    try:
        yield lab.up(LabOptions(name=NAME, linux=2))
    finally:
        lab.down(NAME)


def status(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "netlab", "lab", "status", "--name", NAME, *words],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_accounts_of_the_hosts_outlive_a_new_file_of_the_machines(pair: lab.LabState) -> None:
    """As useradd does it: the same content, in a file that takes the old one's place."""
    user = pair.plan.logins[0].user if pair.plan is not None else ""
    before = PASSWD.stat()
    beside = PASSWD.with_name("passwd.netlab-test")
    shutil.copy2(PASSWD, beside)
    os.chown(beside, before.st_uid, before.st_gid)
    beside.replace(PASSWD)
    assert PASSWD.stat().st_ino != before.st_ino
    assert ssh(pair, "linux-a", "id", "-un") == user
    assert ssh(pair, "linux-a", "cat", "/etc/hostname") == Path("/etc/hostname").read_text().strip()
    assert status().returncode == 0


def test_a_host_that_lets_nobody_in_is_told(pair: lab.LabState) -> None:
    started = state.read_started(pair.folder / "linux-b.process")
    assert started is not None
    keys = "/run/netlab-host/authorized_keys"
    (child,) = Path(f"/proc/{started.pid}/task/{started.pid}/children").read_text().split()
    programs.run("nsenter", "--target", child, "--mount", "rm", keys)
    found = status()
    assert found.returncode == 3
    assert "linux-b lets nobody in: " in found.stderr
    assert "Permission denied" in found.stderr
    assert f"netlab lab down --name {NAME}, and up again" in found.stderr
    assert "linux-a lets" not in found.stderr
    assert json.loads(status("--json").stdout)["silent"].keys() == {"linux-b"}
