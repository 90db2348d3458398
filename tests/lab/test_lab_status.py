"""The status of a lab: its hosts outlive a new /etc/passwd, and what is broken is named."""

from __future__ import annotations

import json
import os
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from labs import needs_a_lab_at_rest, ssh, wait_until

from netlab import lab
from netlab.cli import cli
from netlab.lab import programs, state
from netlab.lab.plan import LabOptions

pytestmark = needs_a_lab_at_rest
NAME = f"e{os.getpid()}"
PASSWD = Path("/etc/passwd")


@pytest.fixture
def pair() -> Iterator[lab.LabState]:
    try:
        yield lab.up(LabOptions(name=NAME, linux=2))
    finally:
        lab.down(NAME)


@dataclass(frozen=True)
class Answer:
    """What the command printed, and how it ended."""

    code: int
    output: str
    errors: str


def status(*words: str) -> Answer:
    outcome = CliRunner().invoke(cli, ["lab", "status", "--name", NAME, *words])
    return Answer(outcome.exit_code, outcome.stdout, outcome.stderr)


def test_lab_hosts_keep_their_accounts_when_etc_passwd_is_replaced(pair: lab.LabState) -> None:
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
    assert status().code == 0


def test_lab_status_names_a_host_that_refuses_logins_and_states_how_to_repair_it(
    pair: lab.LabState,
) -> None:
    sshd_process = state.read_started(pair.folder / "linux-b.process")
    assert sshd_process is not None
    keys = "/run/netlab-host/authorized_keys"
    (child,) = (
        Path(f"/proc/{sshd_process.pid}/task/{sshd_process.pid}/children").read_text().split()
    )
    programs.run("nsenter", "--target", child, "--mount", "rm", keys)
    answer = status()
    assert answer.code == 3
    assert "linux-b: refuses logins: " in answer.errors
    assert "Permission denied" in answer.errors
    assert f"netlab lab down --name {NAME}, then netlab lab up" in answer.errors
    assert "linux-a: " not in answer.errors
    assert json.loads(status("--json").output)["broken"].keys() == {"linux-b"}


def broken(returned: int = 3) -> dict[str, str]:
    """What status names, the same on standard error and in its JSON."""
    people, plain = status(), status("--json")
    assert people.code == plain.code == returned
    faults: dict[str, str] = json.loads(plain.output)["broken"]
    lines = [f"{piece}: {why}" for piece, why in faults.items()]
    lines += [f"to repair it: netlab lab down --name {NAME}, then netlab lab up"] if faults else []
    assert people.errors.splitlines() == lines
    assert ("incomplete: `netlab lab down --name" in people.output) == bool(returned)
    return faults


def wait_for_lost_cables(*namespaces: str) -> None:
    """The kernel removes a cable some time after the namespace of its other end."""
    for namespace in namespaces:
        show = ("ip", "-n", namespace, "link", "show", "dev", "test")
        wait_until(lambda: not programs.succeeds(*show))  # noqa: B023  (called at once)


def test_lab_status_of_a_whole_lab_reports_no_fault(pair: lab.LabState) -> None:
    assert broken(returned=0) == {}


def test_lab_status_names_a_host_with_a_dead_sshd_and_its_last_log_line(pair: lab.LabState) -> None:
    sshd_process = state.read_started(pair.folder / "linux-b.process")
    assert sshd_process is not None
    os.kill(sshd_process.pid, signal.SIGKILL)
    wait_until(lambda: not sshd_process.lives())
    last = (pair.folder / "linux-b.log").read_text().splitlines()[-1]
    assert broken() == {"linux-b": f"its sshd has ended: {last}"}


def test_lab_status_names_a_host_without_its_namespace(
    pair: lab.LabState,
) -> None:
    namespace = pair.hosts[0].namespace
    programs.run("ip", "netns", "delete", namespace)
    assert broken()["linux-a"] == f"its network namespace {namespace} is gone"


def test_lab_status_names_hosts_without_a_cable_and_a_missing_bridge(
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


def test_lab_status_names_a_missing_switch() -> None:
    lab_state = lab.up(LabOptions(name=NAME, linux=3))
    try:
        assert lab_state.plan is not None and lab_state.plan.switch is not None
        programs.run("ip", "netns", "delete", lab_state.plan.switch)
        wait_for_lost_cables(*(host.namespace for host in lab_state.hosts))
        assert broken()["switch"] == f"its network namespace {lab_state.plan.switch} is gone"
    finally:
        lab.down(NAME)


def test_lab_status_exits_with_3_if_the_lab_is_not_up() -> None:
    answer = status()
    assert (answer.code, answer.output, answer.errors) == (3, f"lab {NAME}: not up\n", "")
