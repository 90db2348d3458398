"""The lab's Windows hosts: real Windows programs over SSH, files on drive C, and the switch."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from folders import ROOT, SUPPORT
from labs import inside, needs_a_lab, traces, wait_until, wire_mbit_per_s

from netlab import lab
from netlab.cli import cli
from netlab.config.inventory import load_inventory
from netlab.config.matrix_file import load_matrix
from netlab.errors import HostError, UsageError
from netlab.experiment.hosts import Inventory
from netlab.experiment.matrix import expand
from netlab.lab import doctor, life, network, programs, server, state, wine
from netlab.lab import windows as windows_room
from netlab.lab.options import LabOptions
from netlab.lab.plan import LabPlan, make_plan, plan_from_json
from netlab.remote.ssh import SshTransport

needs_wine = [*needs_a_lab, pytest.mark.needs("windows-hosts")]
NAME = f"w{os.getpid()}"
HOSTS = ("linux-a", "linux-b", "windows-a", "windows-b")
SOURCE = SUPPORT / "lab_program.c"
PORT = 5301
RATE_BIT_PER_S = 20e6
"""Slow enough for a busy machine to fill the cables."""


def a_plan(**wish: object) -> LabPlan:
    options = LabOptions(**{"name": NAME, **wish})  # type: ignore[arg-type]
    return make_plan(options, Path("/run/netlab/x"), taken=(), taken_slots=())


# ---- pure ----------------------------------------------------------------------------------------


def test_two_linux_hosts_keep_the_direct_cable_and_more_hosts_get_a_switch() -> None:
    direct = a_plan()
    assert direct.switch is None and len(direct.cables) == 1
    plan = a_plan(windows=2, rate=1e8)
    assert [(host.name, host.os) for host in plan.hosts] == list(zip(HOSTS, "LLWW", strict=True))
    assert plan.hosts[:2] == direct.hosts
    assert [cable.ends[1].namespace for cable in plan.cables] == [plan.switch] * 4
    assert [cable.ends[1].interface for cable in plan.cables] == list(HOSTS)
    assert {cable.rate for cable in plan.cables} == {1e8}
    assert plan_from_json(json.loads(json.dumps(plan.as_json()))) == plan


def test_a_plan_of_before_there_were_windows_hosts_can_still_be_taken_down() -> None:
    plain = json.loads(json.dumps(a_plan().as_json()))
    del plain["switch"], plain["options"]["windows"]
    assert plan_from_json(plain) == a_plan()


def test_a_lab_of_a_newer_netlab_is_left_alone_and_its_slot_not_taken(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(state, "ROOT", tmp_path)
    newer = json.loads(json.dumps(a_plan(windows=1).as_json()))
    newer["cables"][0]["colour"] = "green"
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / state.PLAN).write_text(json.dumps(newer))
    state.mark_complete(tmp_path / "newer")
    assert state.slot_of(tmp_path / "newer") == newer["slot"]
    monkeypatch.setattr(network, "slots_in_use", set)
    monkeypatch.setattr(network, "routed_networks", lambda: ())
    monkeypatch.setattr(network, "refuse_taken_names", lambda _plan: None)
    made = life._plan(LabOptions(name="mine"), tmp_path / "mine")
    assert made.slot != newer["slot"]
    assert wine._has_windows_hosts(tmp_path / "newer"), "its template may be in use"
    with pytest.raises(HostError, match="no plan of this netlab version"):
        state.read_plan(tmp_path / "newer")


def test_four_windows_hosts_are_the_most_and_their_accounts_stay_the_labs_own() -> None:
    plan = a_plan(windows=4)
    assert len({host.uid for host in plan.hosts}) == 6
    other = make_plan(LabOptions("other", windows=4), Path("/x"), taken=(), taken_slots=(0,))
    assert not {host.uid for host in plan.hosts} & {host.uid for host in other.hosts}
    for wrong in (-1, 5):
        with pytest.raises(UsageError, match=f"--windows {wrong}: 1 to 4 Windows hosts"):
            LabOptions(windows=wrong).check()


def test_up_without_wine_makes_nothing_and_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(life, "_require_root", lambda: None)
    monkeypatch.setattr(life, "missing_packages", lambda: programs.Missing((), ()))
    missing = programs.missing_for_windows("/nowhere")
    monkeypatch.setattr(life, "missing_for_windows", lambda: missing)
    with pytest.raises(
        HostError, match=r"needs wine64, .*sudo apt-get install wine64 gcc-mingw-w64-x86-64"
    ):
        lab.up(LabOptions(name=NAME, windows=1))
    assert not state.folder_of(NAME).exists()


def test_the_doctor_names_what_is_missing_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    missing = programs.Missing(("wine64",), ("wine64",))
    monkeypatch.setattr(doctor, "missing_packages", lambda: programs.Missing((), ()))
    monkeypatch.setattr(doctor, "missing_for_windows", lambda: missing)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    done = CliRunner().invoke(cli, ["lab", "doctor"])
    assert done.exit_code == HostError.exit_code
    assert done.output.splitlines() == [
        "missing  the lab: root: try again with sudo",
        "ok       the lab: programs",
        "missing  Windows hosts: wine64: sudo apt-get install wine64",
    ]


def test_the_check_of_a_windows_machine_is_six_cells_for_the_inventory_of_its_page(
    tmp_path: Path,
) -> None:
    matrix = load_matrix(ROOT / "matrices" / "windows-check.yaml")
    cells = expand(matrix)
    assert sorted(cell.pairing for cell in cells) == ["LW"] * 3 + ["WL"] * 3
    page = (ROOT / "docs" / "lab.md").read_text()
    block = re.findall(r"```yaml\n(.*?)```", page, re.S)[-1]
    file = tmp_path / "windows.yaml"
    file.write_text(textwrap.dedent(block))
    hosts = load_inventory(file)
    assert {hosts.pair(pairing)[0].name for pairing in matrix.pairings} == {"here", "there"}
    assert hosts.host("there").port_range == (5001, 5100)


# ---- the template --------------------------------------------------------------------------------


@pytest.fixture
def a_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(wine, "CACHE", tmp_path / "cache")
    monkeypatch.setattr(wine, "template_folder", lambda: wine.CACHE / "wine-template-wine-9-new")
    monkeypatch.setattr(state, "ROOT", tmp_path / "labs")
    return wine.CACHE


def test_a_template_is_made_once_and_what_a_killed_one_left_goes(
    a_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (a_cache / "half-made-x" / "drive_c").mkdir(parents=True)
    (a_cache / "wine-template-wine-8-old").mkdir()
    made: list[Path] = []
    said: list[str] = []
    monkeypatch.setattr(wine, "_make", made.append)
    first = wine.template(said.append)
    assert wine.template(said.append) == first
    assert (len(made), len(said)) == (1, 1)
    assert [entry.name for entry in a_cache.iterdir()] == ["wine-template-wine-9-new"]


def test_an_older_template_stays_while_a_lab_is_up_that_may_stand_on_it(
    a_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = a_cache / "wine-template-wine-8-old"
    old.mkdir(parents=True)
    other = state.ROOT / "other"
    other.mkdir(parents=True)
    state.write_plan(other, a_plan(windows=1))
    state.mark_complete(other)
    monkeypatch.setattr(wine, "_make", lambda prefix: None)
    wine.template(lambda _: None)
    assert old.exists()
    state.write_plan(other, a_plan())
    wine.template(lambda _: None)
    assert not old.exists()


def test_a_template_that_fails_leaves_no_half_of_itself(
    a_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(prefix: Path) -> None:
        (prefix / "drive_c").mkdir()
        raise HostError("wine did not make the Windows template: no space left")

    monkeypatch.setattr(wine, "_make", fail)
    with pytest.raises(HostError, match="no space left"):
        wine.template(lambda _: None)
    assert list(a_cache.iterdir()) == []


# ---- with root and wine --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def four_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.LabState]:
    """A shaped lab whose Windows hosts have the test's Windows program in their home."""
    made = lab.up(LabOptions(name=NAME, rate=RATE_BIT_PER_S, windows=2))
    try:
        program = tmp_path_factory.mktemp("windows") / "lab.exe"
        compiler = "x86_64-w64-mingw32-gcc"
        words = ["-std=c11", "-O2", "-s", "-Wall", "-Wextra", "-Werror", str(SOURCE), "-lws2_32"]
        subprocess.run([compiler, "-o", str(program), *words], check=True)
        for name in ("windows-a", "windows-b"):
            with files(made, name) as sftp:
                sftp.put(str(program), "lab.exe")
        yield made
    finally:
        lab.down(NAME)


def inventory(of: lab.LabState) -> Inventory:
    assert of.hosts_file is not None
    return load_inventory(of.hosts_file)


@contextlib.contextmanager
def files(of: lab.LabState, name: str):  # type: ignore[no-untyped-def]
    """The host's files, over the SSH that netlab itself uses."""
    transport = SshTransport.connect(inventory(of).host(name))
    try:
        with transport.sftp() as sftp:
            yield sftp
    finally:
        transport.close()


def argv(of: lab.LabState, name: str, command: str) -> list[str]:
    return ["ssh", "-F", str(of.ssh_config), "-o", "BatchMode=yes", name, command]


def windows(
    of: lab.LabState, command: str, said: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """A command on windows-a, to its end."""
    return subprocess.run(
        argv(of, "windows-a", command), input=said, capture_output=True, timeout=30, check=False
    )


@contextlib.contextmanager
def started(of: lab.LabState, name: str, deed: str) -> Iterator[subprocess.Popen[bytes]]:
    """The test's program on a Windows host, once it said that it is ready."""
    pipe = subprocess.PIPE
    with subprocess.Popen(argv(of, name, f"lab.exe {deed}"), stdin=pipe, stdout=pipe) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == b"ready"
            yield process
        finally:
            process.kill()


def programs_of(of: lab.LabState, name: str) -> list[str]:
    """Command lines of the test's program on a host, seen from outside."""
    uid = next(host.uid for host in of.hosts if host.name == name)
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes()
            if process.stat().st_uid == uid and b"lab.exe" in words:
                found.append(words.replace(b"\0", b" ").decode())
    return found


class TestAWindowsHost:
    pytestmark = needs_wine

    def test_commands_are_those_of_cmd_and_the_account_is_an_ordinary_one(
        self, four_hosts: lab.LabState
    ) -> None:
        assert b"Windows 10" in windows(four_hosts, "ver").stdout
        key = r"HKLM\Software\Microsoft\Windows NT\CurrentVersion"
        assert b"Windows 10" in windows(four_hosts, f'reg query "{key}" /v ProductName').stdout
        said = windows(four_hosts, "echo %OS% %USERNAME% %COMPUTERNAME%& cd").stdout
        assert said.split() == [b"Windows_NT", b"netlab", b"WINDOWS-A", rb"C:\Users\netlab"]
        assert all(host.uid >= 59000 for host in four_hosts.hosts)
        refused = windows(four_hosts, r"echo x > C:\windows\system32\x.txt")
        assert refused.stderr.strip() == b"Access denied."
        assert b"LOGNAME" not in windows(four_hosts, "set").stdout

    def test_a_command_reaches_cmd_raw(self, four_hosts: lab.LabState) -> None:
        assert windows(four_hosts, "echo \"a b\" ^& 'q' $HOME \\").stdout == (
            b"\"a b\" & 'q' $HOME \\\r\n"
        )
        assert windows(four_hosts, "type nothing || echo failed").stdout.strip() == b"failed"
        assert windows(four_hosts, 'echo one& echo two| find "w"').stdout.split() == [
            b"one",
            b"two",
        ]

    @pytest.mark.parametrize("status", [0, 1, 7, 255])
    def test_exit_codes_pass(self, four_hosts: lab.LabState, status: int) -> None:
        assert windows(four_hosts, f"lab.exe exit {status}").returncode == status

    def test_standard_input_and_output_carry_every_byte(self, four_hosts: lab.LabState) -> None:
        noise = bytes(range(256)) * 4096 + b"\r\n\x1a\n\n\r"
        assert windows(four_hosts, "lab.exe echo", noise).stdout == noise

    def test_the_first_command_leaves_nobody_who_holds_its_output_open(
        self, four_hosts: lab.LabState
    ) -> None:
        """A wine service that inherited it would keep SSH's channel open for ever."""
        begin = time.monotonic()
        assert windows(four_hosts, "lab.exe exit 0").returncode == 0
        assert time.monotonic() - begin < 5

    @pytest.mark.parametrize("folder", ["sub", "/C:/Users/netlab/sub2"])
    def test_files_by_relative_and_by_absolute_path(
        self, four_hosts: lab.LabState, folder: str
    ) -> None:
        with files(four_hosts, "windows-a") as sftp:
            assert sftp.normalize(".") == "/C:/Users/netlab"
            sftp.mkdir(folder)
            with sftp.open(f"{folder}/new", "wx") as file:
                file.write(b"\r\n\0" * 100000)
            assert sftp.stat(f"{folder}/new").st_size == 300000
            sftp.posix_rename(f"{folder}/new", f"{folder}/kept")
            assert sftp.listdir(folder) == ["kept"]
            name = folder.rpartition("/")[2]
            found = windows(four_hosts, rf"dir /b C:\users\NETLAB\{name}")
            assert found.stdout.strip() == b"kept"
            with pytest.raises(OSError, match="Permission denied"):
                sftp.mkdir("/C:/windows/x")

    def test_a_program_put_by_sftp_starts_by_its_relative_path(
        self, four_hosts: lab.LabState
    ) -> None:
        with files(four_hosts, "windows-a") as sftp, contextlib.suppress(OSError):
            sftp.mkdir(".cache")
            sftp.mkdir(".cache/netlab")
            sftp.rename("lab.exe", ".cache/netlab/lab.exe")
        try:
            assert windows(four_hosts, r".cache\netlab\lab.exe exit 5").returncode == 5
        finally:
            with files(four_hosts, "windows-a") as sftp:
                sftp.rename(".cache/netlab/lab.exe", "lab.exe")

    def test_each_host_has_files_and_a_registry_of_its_own_and_the_template_neither(
        self, four_hosts: lab.LabState
    ) -> None:
        key = r"HKCU\Software\netlab-test"
        assert windows(four_hosts, rf"reg add {key} /v x /d here /f").returncode == 0
        assert windows(four_hosts, "echo x> mark").returncode == 0
        assert b"here" in windows(four_hosts, rf"reg query {key} /v x").stdout
        ask_the_other = argv(four_hosts, "windows-b", rf"dir /b & reg query {key} /v x")
        other = subprocess.run(ask_the_other, capture_output=True, timeout=30, check=False)
        assert b"lab.exe" in other.stdout
        assert b"mark" not in other.stdout and b"here" not in other.stdout
        machine = r"reg query HKLM\SOFTWARE\Microsoft\Cryptography /v MachineGuid"
        numbers = {
            subprocess.check_output(argv(four_hosts, name, machine), timeout=30).split()[-1]
            for name in ("windows-a", "windows-b")
        }
        assert len(numbers) == 2
        home = wine.template_folder() / "drive_c/Users/netlab"
        assert home.is_dir() and not (home / "mark").exists()

    def test_a_program_that_reads_its_input_ends_with_the_connection(
        self, four_hosts: lab.LabState
    ) -> None:
        with started(four_hosts, "windows-a", "wait") as connection:
            assert programs_of(four_hosts, "windows-a")
            connection.kill()
            wait_until(lambda: not programs_of(four_hosts, "windows-a"))

    def test_a_program_that_reads_nothing_outlives_the_connection_as_on_windows(
        self, four_hosts: lab.LabState
    ) -> None:
        with started(four_hosts, "windows-a", "sleep") as connection:
            connection.kill()
            connection.wait(10)
            time.sleep(0.5)
            assert programs_of(four_hosts, "windows-a")
        assert windows(four_hosts, "taskkill /F /IM lab.exe").returncode == 0
        wait_until(lambda: not programs_of(four_hosts, "windows-a"))


RECEIVER = """
import socket
door = socket.create_server(("", {port}))
print("ready", flush=True)
link, _ = door.accept()
total = 0
while got := link.recv(262144): total += len(got)
print(total)
"""
SENDER = """
import socket, time
link = socket.create_connection(("{to}", {port}))
end, total = time.monotonic() + 0.9, 0
while time.monotonic() < end:
    link.sendall(bytes(65536)); total += 65536
print(total)
"""


@contextlib.contextmanager
def at_work(
    of: lab.LabState, name: str, deed: str, script: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Windows hosts do the deed, over SSH; Linux hosts run the script."""
    words = argv(of, name, f"lab.exe {deed}")
    if name.startswith("linux"):
        namespace = next(host.namespace for host in of.hosts if host.name == name)
        words = [programs.program("ip"), "netns", "exec", namespace, sys.executable, "-c", script]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield process
        finally:
            process.kill()


class TestTheNetworkOfFourHosts:
    pytestmark = needs_wine

    @pytest.mark.parametrize("pairing", ["LL", "WL", "LW", "WW"])
    def test_tcp_of_every_pairing_fills_its_cables_as_ethernet_does(
        self, four_hosts: lab.LabState, pairing: str
    ) -> None:
        to, by = inventory(four_hosts).pair(pairing)
        number = next(i for i, host in enumerate(four_hosts.hosts) if host.name == to.name)
        filled = pytest.approx(RATE_BIT_PER_S / 1e6, rel=0.02)
        measured: list[float] = []
        while len(measured) < 6 and filled not in measured:
            port = PORT + 10 * ["LL", "WL", "LW", "WW"].index(pairing) + len(measured)
            receiver_script = RECEIVER.format(port=port)
            sender_script = SENDER.format(to=to.address("test"), port=port)
            with at_work(four_hosts, to.name, f"take {port}", receiver_script) as receiver:
                assert receiver.stdout is not None
                assert receiver.stdout.readline().strip() == b"ready"
                deed = f"give {to.address('test')} {port} 900"
                with at_work(four_hosts, by.name, deed, sender_script) as sender:
                    time.sleep(0.45)
                    measured.append(wire_mbit_per_s(four_hosts, number))
                    sent, _ = sender.communicate(timeout=20)
                    assert sender.returncode == 0
                received, _ = receiver.communicate(timeout=20)
            assert int(received) == int(sent) > 0
        assert measured[-1] == filled, measured

    def test_every_cable_is_shaped_at_the_host_and_at_the_switch(
        self, four_hosts: lab.LabState
    ) -> None:
        assert four_hosts.plan is not None
        for end in (end for cable in four_hosts.plan.cables for end in cable.ends):
            queue = programs.run(
                "tc", "-d", "-n", end.namespace, "qdisc", "show", "dev", end.interface
            )
            assert "tbf" in queue and "rate 20Mbit" in queue
            assert "overhead 24 mpu 84 mtu 2047 tsize 2048" in queue

    def test_a_frame_crosses_the_cables_of_its_two_hosts_only(
        self, four_hosts: lab.LabState
    ) -> None:
        def frames() -> list[int]:
            count = "/sys/class/net/test/statistics/rx_packets"
            return [int(inside(four_hosts, number, "cat", count)) for number in range(4)]

        to = four_hosts.hosts[3].addresses[0]
        greet = f"import socket; socket.socket().connect_ex(('{to}', 9))"
        inside(four_hosts, 0, sys.executable, "-c", greet)
        before = frames()
        send = (
            "import socket, time; link = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
            f"for _ in range(200): link.sendto(bytes(100), ('{to}', 9)); time.sleep(0.0005)"
        )
        inside(four_hosts, 0, sys.executable, "-c", send)
        came = [after - earlier for earlier, after in zip(before, frames(), strict=True)]
        assert came[3] >= 200
        assert max(came[1:3]) < 20, came

    def test_the_mtu_holds_for_windows_programs(self, four_hosts: lab.LabState) -> None:
        to = four_hosts.hosts[0].addresses[0]
        assert windows(four_hosts, f"lab.exe dgram {to} 9 1472").returncode == 0
        too_long = windows(four_hosts, f"lab.exe dgram {to} 9 1473")
        assert too_long.returncode == 1
        assert too_long.stdout.split() == [b"sendto", b"10040"], "WSAEMSGSIZE"

    def test_a_windows_programs_socket_is_in_its_own_hosts_network(
        self, four_hosts: lab.LabState
    ) -> None:
        with started(four_hosts, "windows-a", f"take {PORT + 99}"):
            listening = f":{PORT + 99:04X} "
            assert listening in inside(four_hosts, 2, "cat", "/proc/net/tcp")
            assert listening not in Path("/proc/net/tcp").read_text()
            assert listening not in inside(four_hosts, 3, "cat", "/proc/net/tcp")

    def test_status_says_that_there_is_a_switch(self, four_hosts: lab.LabState) -> None:
        plain = lab.status(NAME).as_json()
        assert plain["up"] is True
        assert [host["os"] for host in plain["hosts"]] == ["L", "L", "W", "W"]
        assert plain["switch"] == f"netlab-{NAME}-switch"
        assert "20 Mbit/s, MTU 1500, 4 into a switch" in lab.status(NAME).as_text()


class TestTheEnd:
    pytestmark = needs_wine

    def test_up_is_a_matter_of_seconds_and_down_leaves_nothing(self) -> None:
        wine.template(lambda _: None)
        name = f"{NAME}-2"
        begin = time.monotonic()
        made = lab.up(LabOptions(name=name, windows=1, mtu=9000))
        elapsed_s = time.monotonic() - begin
        try:
            assert made.plan is not None
            link = inside(made, 2, "ip", "-j", "link", "show", "dev", "test")
            assert json.loads(link)[0]["mtu"] == 9000
            detached = argv(made, "windows-a", "start /b ping -n 600 127.0.0.1")
            asleep = subprocess.Popen(detached, stdin=subprocess.DEVNULL)
            wait_until(lambda: any("ping" in trace for trace in traces(made.plan)))  # type: ignore[arg-type]
        finally:
            lab.down(name)
        asleep.wait(10)
        assert traces(made.plan) == []
        assert not [line for line in Path("/proc/mounts").read_text().split("\n") if name in line]
        assert elapsed_s < 8.0

    @pytest.mark.parametrize("moment", ["switch", "windows-a.process", "wineserver", "complete"])
    def test_down_cleans_up_after_an_up_that_was_killed(self, moment: str) -> None:
        wine.template(lambda _: None)
        name = f"{NAME}-3"
        folder = state.folder_of(name)
        script = (
            f"from netlab import lab; lab.up(lab.LabOptions(name={name!r}, windows=1)); "
            "import time; time.sleep(60)"
        )
        with subprocess.Popen([sys.executable, "-c", script]) as upper:
            try:
                wait_until((folder / state.PLAN).exists)
                plan = state.read_plan(folder)
                assert plan is not None and plan.switch is not None
                seen: dict[str, Callable[[], bool]] = {
                    "switch": (network.NAMESPACES / plan.switch).exists,
                    "wineserver": lambda: any("wineserver" in trace for trace in traces(plan)),
                }
                wait_until(seen.get(moment, (folder / moment).exists))
            finally:
                upper.kill()
        assert lab.status(name).up == (moment == "complete")
        lab.down(name)
        wait_until(lambda: traces(plan) == [])

    def test_a_wineserver_that_does_not_start_is_said_and_nothing_stays(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        name = f"{NAME}-4"

        def broken(prefix: Path) -> dict[str, object]:
            return {**windows_room.wish_of(prefix), "programs": [[shutil.which("false")]]}

        monkeypatch.setattr(life, "wish_of", broken)
        monkeypatch.setattr(server, "READY_S", 10.0)
        with pytest.raises(HostError, match=r"sshd of windows-a does not answer: .*exit status 1"):
            lab.up(LabOptions(name=name, windows=1))
        assert not lab.status(name).folder.exists()
