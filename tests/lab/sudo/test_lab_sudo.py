"""A lab with ``--sudo``: what its account changes on its own host, and nowhere else."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import inside, needs_a_lab, ssh, traces, typed, wait_until

from netlab import lab
from netlab.errors import HostError
from netlab.lab import programs
from netlab.lab.plan import LabOptions, make_plan

pytestmark = [*needs_a_lab, pytest.mark.beside, pytest.mark.needs("setpriv")]

NAME = f"sudo-{os.getpid()}"
CAP_NET_ADMIN = 1 << 12
ECN = "net.ipv4.tcp_ecn"


@pytest.fixture(scope="module")
def allowed() -> Iterator[lab.LabState]:
    try:
        yield lab.up(LabOptions(name=NAME, sudo=True, second_rate=1e9, second_hosts=("linux-a",)))
    finally:
        lab.down(NAME)


def tried(of: lab.LabState, command: str, host: str = "linux-a") -> tuple[int, str, str]:
    """The exit code and both outputs of a command on a host."""
    argv = ["ssh", "-F", str(of.ssh_config), "-o", "BatchMode=yes", host, command]
    process = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
    return process.returncode, process.stdout, process.stderr


def own(key: str) -> str:
    """A sysctl of this machine's own network namespace."""
    return Path("/proc/sys", key.replace(".", "/")).read_text().strip()


def helpers(of: lab.LabState) -> dict[str, Path]:
    """Each host's helper, by the host's name, seen from outside."""
    processes = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes()
            uid = process.stat().st_uid
        except OSError:
            continue
        for host in of.hosts:
            if b"/run/netlab-host/sudo/helper.py" in words and uid == host.uid - 1000:
                processes[host.name] = process
    return processes


def test_sudo_in_a_lab_switches_an_offload_off_and_on(allowed: lab.LabState) -> None:
    states = []
    for value in ("off", "on"):
        ssh(allowed, "linux-a", f"sudo -n ethtool -K test gso {value}")
        lines = ssh(allowed, "linux-a", "ethtool -k test").splitlines()
        states += [line for line in lines if line.startswith("generic-segmentation-offload")]
        assert "generic-segmentation-offload: on" in inside(allowed, 1, "ethtool", "-k", "test")
    assert states == ["generic-segmentation-offload: off", "generic-segmentation-offload: on"]


def test_sudo_in_a_lab_changes_a_sysctl_of_one_host_only(allowed: lab.LabState) -> None:
    key = ECN.replace(".", "/")
    machine, other = own(ECN), inside(allowed, 1, "sysctl", "-n", ECN)
    value_before = ssh(allowed, "linux-a", f"sysctl -n {ECN}")
    wanted = "0" if value_before == "1" else "1"
    assert wanted not in (machine, other)
    ssh(allowed, "linux-a", f"sudo -n sysctl -w {key}={wanted}")
    try:
        assert ssh(allowed, "linux-a", f"sysctl -n {ECN}") == wanted
        assert (own(ECN), inside(allowed, 1, "sysctl", "-n", ECN)) == (machine, other)
    finally:
        ssh(allowed, "linux-a", f"sudo -n sysctl {key}={value_before}")
    assert ssh(allowed, "linux-a", f"sysctl -n {ECN}") == value_before


def test_sudo_in_a_lab_changes_the_mtu_and_keeps_the_addresses(allowed: lab.LabState) -> None:
    for interface, mtu in (("test", 1280), ("second", 1400), ("test", 1500)):
        before = ssh(allowed, "linux-a", f"ip -o address show dev {interface}")
        ssh(allowed, "linux-a", f"sudo -n ip link set dev {interface} mtu {mtu}")
        assert ssh(allowed, "linux-a", f"cat /sys/class/net/{interface}/mtu") == str(mtu)
        assert ssh(allowed, "linux-a", f"ip -o address show dev {interface}") == before


def test_sudo_in_a_lab_passes_on_the_failure_and_the_message_of_a_program(
    allowed: lab.LabState,
) -> None:
    code, _, errors = tried(allowed, "sudo -n ethtool -K test no-such-feature on")
    assert code != 0
    assert "netlink error: " in errors
    code, _, errors = tried(allowed, "sudo -n sysctl -w net.ipv4.no_such_key=1")
    assert code != 0
    assert "no_such_key" in errors
    assert "sudo: " not in errors


OTHER_COMMANDS = [
    "sudo -n id",
    "sudo -n",
    "sudo -n sysctl -w net/ipv4/../../kernel/hostname=stolen",
    "sudo -n sysctl -p /tmp/file",
    "sudo -n sysctl -w 'net.ipv4.tcp_ecn=1;id'",
    "sudo -n ip link set dev management mtu 1400",
    "sudo -n ethtool -K test " + "x" * 20_000 + " off",
    "sudo -n ethtool -K test" + 40 * " gso off",
    "sudo -n ethtool -K test \"$(printf 'gso\\377')\" off",
]
"""A few of each kind: the rule itself has its own tests."""


def test_sudo_in_a_lab_refuses_other_commands_with_one_sentence(allowed: lab.LabState) -> None:
    for command in OTHER_COMMANDS:
        code, output, errors = tried(allowed, command)
        assert (code, output) == (1, ""), command
        assert errors.startswith("sudo: ")
        assert errors.count("\n") == 1
    assert tried(allowed, "cat /proc/sys/kernel/hostname")[1] == "linux-a\n"


def test_an_account_of_a_lab_changes_no_setting_without_sudo(allowed: lab.LabState) -> None:
    for command in (
        "ethtool -K test gso off",
        f"echo 1 > /proc/sys/{ECN.replace('.', '/')}",
        "ip link set dev test mtu 1400",
        'kill -9 "$(pgrep -f sudo/helper.py)"',
        "touch /run/netlab-host/sudo/bin/other",
    ):
        assert tried(allowed, command)[0] != 0, command
    assert ssh(allowed, "linux-a", "grep ^CapEff /proc/self/status").split()[1] == "0" * 16


def test_the_sudo_helper_has_one_capability_and_answers_only_its_account(
    allowed: lab.LabState,
) -> None:
    """Even a mistake in the rule would be refused by the kernel: it is not root."""
    processes = helpers(allowed)
    assert set(processes) == {host.name for host in allowed.hosts}
    for process in processes.values():
        lines = (process / "status").read_text().splitlines()
        status = {line.split(":")[0]: line.split()[1:] for line in lines}
        for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
            assert int(status[name][0], 16) == CAP_NET_ADMIN
        assert status["NoNewPrivs"] == ["1"]
        assert "0" not in status["Uid"] + status["Gid"]
    pid = processes["linux-a"].name
    enter = ["nsenter", "--target", pid, "--mount", "--net", "--pid"]
    command = ["/run/netlab-host/sudo/bin/sudo", "-n", "ethtool", "-K", "test", "gso", "off"]
    other = ["setpriv", f"--reuid={allowed.hosts[1].uid}", "--clear-groups"]
    for user in ([], other):
        words = [*enter, *user, *command]
        call = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)
        assert call.returncode == 1
        assert "does not answer" in call.stderr
    assert "generic-segmentation-offload: on" in ssh(allowed, "linux-a", "ethtool -k test")


def test_the_sudo_helper_outlives_malformed_requests(allowed: lab.LabState) -> None:
    script = (
        "import socket; s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); "
        "s.connect('/run/netlab-host/sudo/socket'); {}"
    )
    python = ssh(allowed, "linux-a", "sed -n 's/^exec //p' /run/netlab-host/sudo/bin/sudo").split()
    for deed in (
        "s.close()",
        "s.send(b'x' * 100000)",
        "s.send(b'')",
        "s.send(b'sudo\\0-n\\0\\xff')",
    ):
        tried(allowed, f'{python[0]} -c "{script.format(deed)}"')
        assert tried(allowed, "sudo -n ethtool -i test")[0] == 0


def test_a_lab_without_the_sudo_option_has_no_sudo() -> None:
    name = f"{NAME}-2"
    try:
        without = lab.up(LabOptions(name=name))
        code, _, errors = tried(without, "sudo -n ethtool -K test gso off")
        assert code != 0
        assert errors
        features = ssh(without, "linux-a", "/sbin/ethtool -k test")
        assert "generic-segmentation-offload: on" in features
        assert not helpers(without)
        assert "settings" not in without.as_text()
    finally:
        lab.down(name)


def test_a_dead_sudo_helper_is_named_and_lab_down_removes_all_helpers() -> None:
    name = f"{NAME}-2"
    try:
        within = lab.up(LabOptions(name=name, sudo=True))
        running = helpers(within)
        assert len(running) == 2
        assert "may change its settings with sudo" in within.as_text()
        assert all(host.get("sudo") for host in within.as_json()["hosts"])
        assert lab.broken_pieces(within) == {}
        os.kill(int(running["linux-b"].name), signal.SIGKILL)
        wait_until(lambda: not running["linux-b"].exists())
        assert lab.broken_pieces(within) == {
            "linux-b": "its sudo helper has ended, so no setting can be changed"
        }
    finally:
        lab.down(name)
    assert within.plan is not None
    assert traces(within.plan) == []
    assert not any(process.exists() for process in running.values())


def test_the_router_of_a_lab_has_no_sudo(tmp_path: Path) -> None:
    name = f"{NAME}-3"
    words = ("lab", "up", "--name", name, "--sudo", "--topology", "router")
    try:
        process = typed(tmp_path, *words)
        assert process.returncode == 0, process.stderr
        of = lab.status(name)
        assert set(helpers(of)) == {"linux-a", "linux-b"}
        code, _, _ = tried(of, "sudo -n ethtool -K linux-a gso off", "router")
        assert code != 0
        assert tried(of, "sudo -n ethtool -K test gso off", "linux-b")[0] == 0
    finally:
        lab.down(name)


def test_the_doctor_names_a_missing_program_of_the_sudo_option(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(programs, "SUDO_PROGRAMS", {"no-such-program": "util-linux"})
    (need,) = [need for need in lab.examine() if need.needed_for == "--sudo"]
    assert "no-such-program" in need.as_text()
    assert "install util-linux" in need.as_text()
    with pytest.raises(HostError, match="needs no-such-program: install with `"):
        lab.up(LabOptions(name=f"{NAME}-4", sudo=True))
    assert lab.status(f"{NAME}-4").plan is None


# ---- without root


def test_windows_hosts_of_a_lab_have_no_sudo(tmp_path: Path) -> None:
    options = LabOptions(name=NAME, windows=1, sudo=True)
    plan = make_plan(options, tmp_path, routes=[], taken_slots=[])
    hosts = lab.LabState(name=NAME, up=True, plan=plan, folder=tmp_path).as_json()["hosts"]
    assert {host["name"]: host.get("sudo") for host in hosts} == {
        "linux-a": True,
        "linux-b": True,
        "windows-a": None,
    }
