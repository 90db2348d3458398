"""A lab's hosts outlive what happens to the machine's /etc, and status tells those that do not."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import needs_a_lab, ssh, wait_until

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
    old_stat = PASSWD.stat()
    copy = PASSWD.with_name("passwd.netlab-test")
    shutil.copy2(PASSWD, copy)
    os.chown(copy, old_stat.st_uid, old_stat.st_gid)
    copy.replace(PASSWD)
    assert PASSWD.stat().st_ino != old_stat.st_ino
    assert ssh(pair, "linux-a", "id", "-un") == user
    assert ssh(pair, "linux-a", "cat", "/etc/hostname") == Path("/etc/hostname").read_text().strip()
    assert status().returncode == 0


def test_a_host_that_lets_nobody_in_is_told(pair: lab.LabState) -> None:
    sshd_process = state.read_started(pair.folder / "linux-b.process")
    assert sshd_process is not None
    keys = "/run/netlab-host/authorized_keys"
    (child,) = (
        Path(f"/proc/{sshd_process.pid}/task/{sshd_process.pid}/children").read_text().split()
    )
    programs.run("nsenter", "--target", child, "--mount", "rm", keys)
    process = status()
    assert process.returncode == 3
    assert "linux-b: refuses logins: " in process.stderr
    assert "Permission denied" in process.stderr
    assert f"netlab lab down --name {NAME}, then netlab lab up" in process.stderr
    assert "linux-a: " not in process.stderr
    assert json.loads(status("--json").stdout)["broken"].keys() == {"linux-b"}


def broken(returned: int = 3) -> dict[str, str]:
    """What status names, the same on standard error and in its JSON."""
    people, plain = status(), status("--json")
    assert people.returncode == plain.returncode == returned
    faults: dict[str, str] = json.loads(plain.stdout)["broken"]
    lines = [f"{piece}: {why}" for piece, why in faults.items()]
    lines += [f"to repair it: netlab lab down --name {NAME}, then netlab lab up"] if faults else []
    assert people.stderr.splitlines() == lines
    assert ("incomplete: `netlab lab down --name" in people.stdout) == bool(returned)
    return faults


def test_a_whole_lab_has_nothing_broken(pair: lab.LabState) -> None:
    assert broken(returned=0) == {}


def test_a_host_whose_sshd_died_is_named_with_its_last_words(pair: lab.LabState) -> None:
    sshd_process = state.read_started(pair.folder / "linux-b.process")
    assert sshd_process is not None
    os.kill(sshd_process.pid, signal.SIGKILL)
    wait_until(lambda: not sshd_process.lives())
    last = (pair.folder / "linux-b.log").read_text().splitlines()[-1]
    assert broken() == {"linux-b": f"its sshd has ended: {last}"}


def test_a_host_whose_namespace_vanished_is_named_and_so_is_who_lost_its_cable(
    pair: lab.LabState,
) -> None:
    namespace = pair.hosts[0].namespace
    programs.run("ip", "netns", "delete", namespace)
    assert broken()["linux-a"] == f"its network namespace {namespace} is gone"


def test_a_host_without_its_cable_and_a_lab_without_its_bridge_are_named(
    pair: lab.LabState,
) -> None:
    assert pair.plan is not None
    namespace, bridge = pair.hosts[1].namespace, pair.plan.bridge
    programs.run("ip", "-n", namespace, "link", "delete", "dev", "test")
    programs.run("ip", "link", "delete", "dev", bridge)
    assert broken() == {
        "lab": f"the bridge {bridge} of the management network is gone",
        "linux-a": "its interface test is gone",
        "linux-b": "its interface test is gone",
    }


def test_a_switch_that_vanished_is_named() -> None:
    lab_state = lab.up(LabOptions(name=NAME, linux=3))
    try:
        assert lab_state.plan is not None and lab_state.plan.switch is not None
        programs.run("ip", "netns", "delete", lab_state.plan.switch)
        assert broken()["switch"] == f"its network namespace {lab_state.plan.switch} is gone"
    finally:
        lab.down(NAME)


def test_no_lab_is_no_success_and_names_nothing() -> None:
    process = status()
    assert (process.returncode, process.stdout, process.stderr) == (3, f"lab {NAME}: not up\n", "")
