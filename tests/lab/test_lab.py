"""The virtual lab: what it refuses without root; hosts, cables and the end of them with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import inside, needs_a_lab, ssh, traces, wait_until, wire_mbit_per_s

from netlab import lab
from netlab.errors import HostError, UsageError
from netlab.lab import awake, congestion, life, network, programs, server, state
from netlab.lab.inventory import first_line
from netlab.lab.options import LabOptions
from netlab.lab.plan import LabPlan, make_plan

NAME = f"t{os.getpid()}"


def a_plan() -> LabPlan:
    return make_plan(LabOptions(NAME), Path("/run/netlab/x"), taken=[], taken_slots=())


def test_a_missing_program_is_named_with_the_command_that_installs_it(tmp_path: Path) -> None:
    for name in programs.PROGRAMS:
        if name not in {"sshd", "ethtool", "tc"}:
            (tmp_path / name).touch(mode=0o755)
    missing = lab.missing_packages(str(tmp_path))
    assert missing.programs == ("tc", "ethtool", "sshd")
    assert missing.command == "sudo apt-get install iproute2 ethtool openssh-server"
    for name in missing.programs:
        (tmp_path / name).touch(mode=0o755)
    assert not lab.missing_packages(str(tmp_path))


def test_up_without_a_program_makes_nothing_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(life, "_require_root", lambda: None)
    missing = programs.Missing(("ethtool",), ("ethtool",))
    monkeypatch.setattr(life, "missing_packages", lambda: missing)
    with pytest.raises(HostError, match="needs ethtool: install with `sudo apt-get install eth"):
        lab.up(LabOptions(name=NAME))
    assert not state.folder_of(NAME).exists()


def test_without_root_one_sentence_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(HostError, match="needs root for network namespaces: try again with sudo"):
        lab.up(LabOptions(name=NAME))
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(HostError, match="needs Linux"):
        lab.down(NAME)


def test_a_process_number_that_was_given_away_anew_is_not_taken_for_ours() -> None:
    mine = state.started(os.getpid())
    assert mine.lives()
    assert not state.Started(mine.pid, mine.start_ticks - 1, mine.boot_id).lives()
    assert not state.Started(mine.pid, mine.start_ticks, "another boot").lives()
    child = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert state.start_ticks(child.pid) is None, "a zombie does not live"
    child.wait()


# ---- with root -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def two_labs() -> Iterator[tuple[lab.LabState, lab.LabState]]:
    """A shaped lab with software checksums, and an unshaped one with large frames."""
    first, second = f"{NAME}-1", f"{NAME}-2"
    try:
        yield (
            lab.up(LabOptions(name=first, rate=20e6, queue_frames=500, checksums="software")),
            lab.up(LabOptions(name=second, mtu=9000)),
        )
    finally:
        lab.down(first)
        lab.down(second)


def awakened(of: lab.LabState) -> Iterator[bool]:
    """Whether each host's first process holds the file that bounds the CPUs' sleep."""
    for host in of.hosts:
        process = state.read_started(of.folder / f"{host.name}.process")
        assert process is not None
        yield awake.DEVICE in [e.readlink() for e in Path(f"/proc/{process.pid}/fd").iterdir()]


class TestALab:
    pytestmark = needs_a_lab

    def test_two_labs_stand_side_by_side(self, two_labs: tuple[lab.LabState, lab.LabState]) -> None:
        first, second = two_labs
        assert first.up and second.up
        assert lab.status(first.name).up and lab.status(second.name).up
        assert first.hosts[0].management_address != second.hosts[0].management_address

    def test_ssh_with_the_pinned_key_lands_in_a_home_of_ones_own_and_not_as_root(
        self, two_labs: tuple[lab.LabState, lab.LabState]
    ) -> None:
        first, second = two_labs
        assert ssh(first, "linux-a", "id -un; pwd; hostname; ls -A").split() == [
            "netlab",
            "/home/netlab",
            "linux-a",
        ]
        ssh(first, "linux-a", "echo here > mark")
        assert ssh(first, "linux-a", "cat mark") == "here"
        for other in (ssh(first, "linux-b", "ls -A"), ssh(second, "linux-a", "ls -A")):
            assert other == ""
        assert not Path("/home/netlab/mark").exists()
        assert "netlab:" not in Path("/etc/passwd").read_text()
        uids = {ssh(each, host, "id -u") for each in two_labs for host in ("linux-a", "linux-b")}
        assert len(uids) == 4 and "0" not in uids

    def test_a_host_key_that_is_not_the_pinned_one_is_refused(
        self, two_labs: tuple[lab.LabState, lab.LabState], tmp_path: Path
    ) -> None:
        first = two_labs[0]
        keys = (first.folder / "known_hosts").read_text().splitlines()
        a, b = (line.split() for line in keys)
        swapped = tmp_path / "known_hosts"
        swapped.write_text(f"{a[0]} {b[1]} {b[2]}\n")
        argv = ["ssh", "-F", str(first.ssh_config), "-o", f"UserKnownHostsFile={swapped}"]
        done = subprocess.run(
            [*argv, "-o", "BatchMode=yes", "linux-a", "true"],
            capture_output=True,
            text=True,
            timeout=20,
            check=False,
        )
        assert done.returncode == 255
        assert "REMOTE HOST IDENTIFICATION HAS CHANGED" in done.stderr

    def test_cpus_stay_awake_as_long_as_a_lab_with_a_rate_is_up(
        self, two_labs: tuple[lab.LabState, lab.LabState]
    ) -> None:
        assert awake.DEVICE.exists() == any(awakened(two_labs[0]))
        assert awake.DEVICE.exists() == all(awakened(two_labs[0]))
        assert not any(awakened(two_labs[1]))

    def test_a_host_sees_its_own_processes_only(
        self, two_labs: tuple[lab.LabState, lab.LabState]
    ) -> None:
        numbers = ssh(two_labs[0], "linux-a", "cd /proc && echo [0-9]*").split()
        assert "1" in numbers and len(numbers) < 10

    def test_namespaces_are_set_up_for_measuring(
        self, two_labs: tuple[lab.LabState, lab.LabState]
    ) -> None:
        for each in two_labs:
            for host in (0, 1):
                words = ("net.ipv4.tcp_no_metrics_save", "net.ipv4.ip_forward")
                disabled = "net.ipv6.conf.test.disable_ipv6"
                assert inside(each, host, "sysctl", "-n", *words, disabled).split() == [
                    "1",
                    "0",
                    "0",
                ]
                loopback = inside(each, host, "ip", "-j", "link", "show", "dev", "lo")
                assert "LOWER_UP" in json.loads(loopback)[0]["flags"]
                addresses = inside(each, host, "ip", "-j", "address", "show", "dev", "test")
                found = [entry["local"] for entry in json.loads(addresses)[0]["addr_info"]]
                assert set(each.hosts[host].addresses) <= set(found)
                assert "tentative" not in addresses

    def test_the_mtu_stands_on_both_ends_of_the_test_cable(
        self, two_labs: tuple[lab.LabState, lab.LabState]
    ) -> None:
        for each, mtu in zip(two_labs, (1500, 9000), strict=True):
            for host in (0, 1):
                link = inside(each, host, "ip", "-j", "link", "show", "dev", "test")
                assert json.loads(link)[0]["mtu"] == mtu

    def test_software_checksums_are_computed_on_both_ends_and_only_where_asked_for(
        self, two_labs: tuple[lab.LabState, lab.LabState]
    ) -> None:
        for each, wanted in zip(two_labs, ("off", "on"), strict=True):
            for host in (0, 1):
                features = inside(each, host, "ethtool", "-k", "test")
                assert f"tx-checksumming: {wanted}" in features
                assert f"rx-checksumming: {wanted}" in features

    def test_only_the_shaped_cable_has_a_queue(
        self, two_labs: tuple[lab.LabState, lab.LabState]
    ) -> None:
        shaped, free = two_labs
        for host in (0, 1):
            queue = inside(shaped, host, "tc", "-d", "qdisc", "show", "dev", "test")
            assert "tbf" in queue and "overhead 24 mpu 84 mtu 2047 tsize 2048" in queue
            assert "tbf" not in inside(free, host, "tc", "qdisc", "show", "dev", "test")

    def test_status_as_json_says_all_that_a_script_needs(
        self, two_labs: tuple[lab.LabState, lab.LabState]
    ) -> None:
        plain = json.loads(json.dumps(lab.status(two_labs[0].name).as_json()))
        assert plain["up"] is True
        assert (plain["name"], plain["rate"], plain["mtu"]) == (two_labs[0].name, 20e6, 1500)
        assert (plain["queue_frames"], plain["checksums"]) == (500, "software")
        assert [host["name"] for host in plain["hosts"]] == ["linux-a", "linux-b"]
        inventory = Path(plain["hosts_file"]).read_text()
        assert inventory.startswith(first_line(two_labs[0].name))
        assert "20 Mbit/s, MTU 1500" in two_labs[0].as_text()

    def test_the_clients_key_is_roots_alone(
        self, two_labs: tuple[lab.LabState, lab.LabState]
    ) -> None:
        folder = two_labs[0].folder
        assert (folder / "id").stat().st_mode & 0o777 == 0o600
        assert (folder.stat().st_mode & 0o777, folder.stat().st_uid) == (0o700, 0)

    def test_a_name_that_is_taken_is_refused_and_the_lab_stays_as_it_is(
        self, two_labs: tuple[lab.LabState, lab.LabState]
    ) -> None:
        name = two_labs[0].name
        with pytest.raises(UsageError, match=f"lab {name} is up: `netlab lab down --name {name}`"):
            lab.up(LabOptions(name=name))
        assert lab.status(name).up

    @pytest.mark.parametrize("traffic", ["udp-1472", "udp-400", "tcp"])
    def test_the_rate_counts_ethernet_framing(
        self, two_labs: tuple[lab.LabState, lab.LabState], traffic: str
    ) -> None:
        """20 Mbit/s of whole frames, gaps between them counted: short ones, and TCP's too.

        A sender that this machine starves fills the cable less, never more: the best counts.
        """
        measured: list[float] = []
        while len(measured) < 3 or (max(measured) < 19.8 and len(measured) < 10):
            measured.append(flood(two_labs[0], traffic))
        assert max(measured) == pytest.approx(20, rel=0.01), measured


RECEIVER = """
import socket
door = socket.create_server(("", 9))
link, _ = door.accept()
while link.recv(262144): pass
"""
SENDER = """
import socket, sys, time
to, traffic, end = sys.argv[1], sys.argv[2], time.monotonic() + float(sys.argv[3])
if traffic == "tcp":
    link = socket.create_connection((to, 9))
    message = bytes(65536)
else:
    link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    message = bytes(int(traffic.partition("-")[2]))
while time.monotonic() < end:
    for _ in range(4 if traffic == "tcp" else 16):
        link.sendto(message, (to, 9))
"""


def flood(of: lab.LabState, traffic: str) -> float:
    """Fill the cable from linux-a; Mbit/s that come out at linux-b, from the flood's middle."""
    python = [programs.program("ip"), "netns", "exec", "", sys.executable, "-c"]
    python[3] = of.hosts[1].namespace
    with subprocess.Popen([*python, RECEIVER]) as receiver:
        wait_until(lambda: ":0009 " in inside(of, 1, "cat", "/proc/net/tcp"))
        python[3] = of.hosts[0].namespace
        target = of.hosts[1].addresses[0]
        with subprocess.Popen([*python, SENDER, target, traffic, "0.9"]) as sender:
            time.sleep(0.25)
            measured = wire_mbit_per_s(of, 1)
            assert sender.wait(10) == 0
        receiver.kill()
    return measured


class TestTheEndOfALab:
    pytestmark = needs_a_lab

    def test_down_leaves_no_namespace_no_interface_no_process_and_no_file(
        self, tmp_path: Path
    ) -> None:
        hosts_file = tmp_path / "hosts.yaml"
        made = lab.up(LabOptions(name=NAME, hosts_file=hosts_file))
        assert made.plan is not None and hosts_file.exists()
        ssh(made, "linux-a", "cp /bin/sleep . && (setsid ./sleep 600 >/dev/null 2>&1 </dev/null &)")
        assert any("sleep" in trace for trace in traces(made.plan))
        lab.down(NAME)
        assert traces(made.plan) == []
        assert not lab.status(NAME).up
        lab.down(NAME)

    def test_down_leaves_what_others_put_into_its_namespaces_and_files(
        self, tmp_path: Path
    ) -> None:
        hosts_file = tmp_path / "hosts.yaml"
        made = lab.up(LabOptions(name=NAME, hosts_file=hosts_file))
        assert made.plan is not None
        guest = [programs.program("ip"), "netns", "exec", made.hosts[0].namespace, "sleep", "60"]
        with subprocess.Popen(guest) as sleeper:
            try:
                wait_until(lambda: Path(f"/proc/{sleeper.pid}/comm").read_text() == "sleep\n")
                hosts_file.write_text("hosts: {mine: {os: L, local: true}}\n")
                lab.down(NAME)
                assert sleeper.poll() is None
                assert hosts_file.read_text().startswith("hosts: {mine")
                assert not (network.NAMESPACES / made.hosts[0].namespace).exists()
                assert not (network.INTERFACES / made.plan.bridge).exists()
            finally:
                sleeper.kill()
        with pytest.raises(UsageError, match="the file is there and is not of the lab"):
            lab.up(LabOptions(name=NAME, hosts_file=hosts_file))

    def test_a_namespace_of_that_name_made_by_others_is_refused_and_stays(self) -> None:
        theirs = a_plan().hosts[1].namespace
        programs.run("ip", "netns", "add", theirs)
        try:
            with pytest.raises(UsageError, match=f"{theirs} exists and is not of a lab"):
                lab.up(LabOptions(name=NAME))
            assert (network.NAMESPACES / theirs).exists()
            assert not state.folder_of(NAME).exists()
        finally:
            programs.run("ip", "netns", "delete", theirs)

    def test_status_tells_a_whole_lab_from_one_in_pieces(self) -> None:
        made = lab.up(LabOptions(name=NAME))
        try:
            process = state.read_started(made.folder / "linux-b.process")
            assert process is not None
            os.kill(process.pid, signal.SIGKILL)
            wait_until(lambda: not process.lives())
            assert not lab.status(NAME).up
            assert "in pieces" in lab.status(NAME).as_text()
        finally:
            lab.down(NAME)
        assert made.plan is not None and traces(made.plan) == []

    def test_what_goes_wrong_in_mid_up_is_said_and_nothing_stays(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(server, "SSHD_CONFIG", server.SSHD_CONFIG + "NoSuchWord yes\n")
        plans: list[LabPlan] = []
        write_plan = state.write_plan

        def note_plan(folder: Path, plan: LabPlan) -> None:
            plans.append(plan)
            write_plan(folder, plan)

        monkeypatch.setattr(state, "write_plan", note_plan)
        with pytest.raises(HostError, match="sshd of linux-a does not answer"):
            lab.up(LabOptions(name=NAME))
        assert traces(plans[0]) == []

    @pytest.mark.parametrize(
        "moment",
        ["plan.json", "namespace", "test", "linux-a.process", "linux-b.process", "complete"],
    )
    def test_down_cleans_up_after_an_up_that_was_killed(self, moment: str) -> None:
        folder = state.folder_of(NAME)
        options = f"lab.LabOptions(name={NAME!r}, rate=1e8)"
        script = f"from netlab import lab; lab.up({options}); import time; time.sleep(60)"
        seen = {
            "namespace": (network.NAMESPACES / f"netlab-{NAME}-linux-a").exists,
            "test": lambda: programs.succeeds(
                "ip", "-n", f"netlab-{NAME}-linux-b", "link", "show", "dev", "test"
            ),
        }.get(moment, (folder / moment).exists)
        with subprocess.Popen([sys.executable, "-c", script]) as upper:
            try:
                wait_until(seen)
                plan = state.read_plan(folder)
            finally:
                upper.kill()
        assert plan is not None
        assert lab.status(NAME).up == (moment == "complete")
        what = "is up" if moment == "complete" else "was cut off"
        with pytest.raises(UsageError, match=what):
            lab.up(LabOptions(name=NAME))
        lab.down(NAME)
        wait_until(lambda: traces(plan) == [])

    def test_up_takes_less_than_three_seconds(self) -> None:
        begin = time.monotonic()
        lab.up(LabOptions(name=NAME, rate=1e9))
        elapsed_s = time.monotonic() - begin
        lab.down(NAME)
        assert elapsed_s < 3.0

    def test_one_up_at_a_time_so_that_two_labs_never_take_the_same_slot(self) -> None:
        names = [f"{NAME}-at-once-{number}" for number in range(3)]
        made: list[lab.LabState] = []
        threads = [
            threading.Thread(target=lambda name=name: made.append(lab.up(LabOptions(name=name))))
            for name in names
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len({each.hosts[0].management_address for each in made}) == 3
            assert all(lab.status(name).up for name in names)
        finally:
            for name in names:
                lab.down(name)


def test_a_machine_that_offers_no_bound_on_its_sleep_is_no_error(tmp_path: Path) -> None:
    device = tmp_path / "cpu_dma_latency"
    with awake.held(device) as inherited:
        assert inherited == ()
    device.touch()
    with awake.held(device) as (descriptor,):
        os.fstat(descriptor)
    assert device.read_bytes() == bytes(4)


def test_the_list_of_allowed_congestion_controls_is_widened_and_put_back(tmp_path: Path) -> None:
    kernel, root = tmp_path / "kernel", tmp_path / "root"
    kernel.mkdir()
    root.mkdir()
    (kernel / congestion.AVAILABLE).write_text("reno bbr cubic\n")
    (kernel / congestion.ALLOWED).write_text("reno bbr\n")
    congestion.widen(root, kernel)
    congestion.widen(root, kernel)
    assert (kernel / congestion.ALLOWED).read_text() == "reno bbr cubic"
    congestion.restore(root, kernel)
    congestion.restore(root, kernel)
    assert (kernel / congestion.ALLOWED).read_text() == "reno bbr"
    assert list(root.iterdir()) == []
