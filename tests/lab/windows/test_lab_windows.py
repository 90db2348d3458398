"""The lab's Windows hosts: real Windows programs over SSH, files on drive C, and their end."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from labs import WINDOWS_LAB as NAME
from labs import (
    argv,
    files,
    inside,
    needs_wine_at_rest,
    programs_of,
    started,
    traces,
    wait_until,
    windows,
)

from netlab import lab
from netlab.errors import HostError
from netlab.lab import life, network, server, state
from netlab.lab import state as windows_room
from netlab.lab.plan import LabOptions

ADDR_NO_RANDOMIZE = 0x40000
"""Of personality(2)."""


class TestAWindowsHost:
    pytestmark = needs_wine_at_rest

    def test_commands_on_a_windows_host_run_in_cmd_as_an_ordinary_account(
        self, four_hosts: lab.LabState
    ) -> None:
        assert b"Windows 10" in windows(four_hosts, "ver").stdout
        key = r"HKLM\Software\Microsoft\Windows NT\CurrentVersion"
        assert b"Windows 10" in windows(four_hosts, f'reg query "{key}" /v ProductName').stdout
        output = windows(four_hosts, "echo %OS% %USERNAME% %COMPUTERNAME%& cd").stdout
        assert output.split() == [b"Windows_NT", b"netlab", b"WINDOWS-A", rb"C:\Users\netlab"]
        assert all(host.uid >= 70_000 for host in four_hosts.hosts)
        process = windows(four_hosts, r"echo x > C:\windows\system32\x.txt")
        assert process.stderr.strip() == b"Access denied."
        assert b"LOGNAME" not in windows(four_hosts, "set").stdout

    def test_cmd_on_a_windows_host_receives_the_command_unchanged(
        self, four_hosts: lab.LabState
    ) -> None:
        assert windows(four_hosts, "echo \"a b\" ^& 'q' $HOME \\").stdout == (
            b"\"a b\" & 'q' $HOME \\\r\n"
        )
        assert windows(four_hosts, "type nothing || echo failed").stdout.strip() == b"failed"
        assert windows(four_hosts, 'echo one& echo two| find "w"').stdout.split() == [
            b"one",
            b"two",
        ]

    def test_exit_codes_of_windows_programs_arrive_modulo_256(
        self, four_hosts: lab.LabState
    ) -> None:
        for status in (0, 7, 255, 263):
            assert windows(four_hosts, f"lab.exe exit {status}").returncode == status % 256

    def test_input_and_output_of_windows_programs_keep_every_byte(
        self, four_hosts: lab.LabState
    ) -> None:
        noise = bytes(range(256)) * 4096 + b"\r\n\x1a\n\n\r"
        assert windows(four_hosts, "lab.exe echo", noise).stdout == noise

    def test_the_ssh_channel_of_a_windows_command_closes_at_its_end(
        self, four_hosts: lab.LabState
    ) -> None:
        """A wine service that inherited it would keep SSH's channel open for ever."""
        assert windows(four_hosts, "lab.exe exit 0").returncode == 0, "and it ended in time"

    @pytest.mark.parametrize("folder", ["sub", "/C:/Users/netlab/sub2"])
    def test_sftp_on_a_windows_host_takes_relative_and_drive_paths(
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
            process = windows(four_hosts, rf"dir /b C:\users\NETLAB\{name}")
            listed = (process.returncode, process.stdout, process.stderr)
            log = (four_hosts.folder / "windows-a.log").read_text(errors="replace")
            assert listed == (0, b"kept\r\n", b""), (sftp.listdir(folder), log[-2000:])
            with pytest.raises(OSError, match="Permission denied"):
                sftp.mkdir("/C:/windows/x")
            with pytest.raises(FileNotFoundError):
                sftp.stat(f"{folder}/KEPT")
            assert {"C:", "usr"} <= set(sftp.listdir("/"))

    def test_a_program_uploaded_to_a_windows_host_starts_by_its_relative_path(
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

    def test_linux_does_not_randomize_the_addresses_of_windows_programs_on_a_windows_host(
        self, four_hosts: lab.LabState
    ) -> None:
        """Where it did, a heap covered the page at 0x7ffe0000 now and then, and wine ended."""
        uid = next(host.uid for host in four_hosts.hosts if host.name == "windows-a")
        fixed = {}
        with started(four_hosts, "windows-a", "wait"):
            for process in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    name = (process / "cmdline").read_bytes().split(b"\0")[0].decode()
                    if process.stat().st_uid == uid and name.endswith(".exe"):
                        flags = int((process / "personality").read_text(), 16)
                        fixed[name.rpartition("\\")[2]] = bool(flags & ADDR_NO_RANDOMIZE)
        assert {"launch.exe", "cmd.exe", "lab.exe", "services.exe"} <= fixed.keys()
        assert all(fixed.values()), fixed

    def test_each_windows_host_has_its_own_files_and_registry(
        self, four_hosts: lab.LabState
    ) -> None:
        key = r"HKCU\Software\netlab-test"
        assert windows(four_hosts, rf"reg add {key} /v x /d here /f").returncode == 0
        assert windows(four_hosts, "echo x> mark").returncode == 0
        assert b"here" in windows(four_hosts, rf"reg query {key} /v x").stdout
        ask_the_other = argv(four_hosts, "windows-b", rf"dir /b & reg query {key} /v x")
        process = subprocess.run(ask_the_other, capture_output=True, timeout=120, check=False)
        assert b"lab.exe" in process.stdout
        assert b"mark" not in process.stdout and b"here" not in process.stdout
        machine = r"reg query HKLM\SOFTWARE\Microsoft\Cryptography /v MachineGuid"
        numbers = {
            subprocess.check_output(argv(four_hosts, name, machine), timeout=120).split()[-1]
            for name in ("windows-a", "windows-b")
        }
        assert len(numbers) == 2
        home = state.template_folder() / "drive_c/Users/netlab"
        assert home.is_dir() and not (home / "mark").exists()

    def test_a_windows_program_that_reads_its_input_ends_with_the_ssh_connection(
        self, four_hosts: lab.LabState
    ) -> None:
        with started(four_hosts, "windows-a", "wait") as connection:
            assert programs_of(four_hosts, "windows-a")
            connection.kill()
            wait_until(lambda: not programs_of(four_hosts, "windows-a"))

    def test_a_windows_program_that_reads_no_input_outlives_the_ssh_connection(
        self, four_hosts: lab.LabState
    ) -> None:
        with started(four_hosts, "windows-a", "sleep") as connection:
            connection.kill()
            connection.wait(60)
            time.sleep(0.5)
            assert programs_of(four_hosts, "windows-a")
        assert windows(four_hosts, "taskkill /F /IM lab.exe").returncode == 0
        wait_until(lambda: not programs_of(four_hosts, "windows-a"))


class TestTheEnd:
    pytestmark = needs_wine_at_rest

    def test_lab_down_removes_processes_and_mounts_of_windows_hosts(self) -> None:
        name = f"{NAME}-2"
        lab_state = lab.up(LabOptions(name=name, windows=1, mtu=9000))
        try:
            assert lab_state.plan is not None
            link = inside(lab_state, 2, "ip", "-j", "link", "show", "dev", "test")
            assert json.loads(link)[0]["mtu"] == 9000
            detached = argv(lab_state, "windows-a", "start /b ping -n 600 127.0.0.1")
            asleep = subprocess.Popen(detached, stdin=subprocess.DEVNULL)
            wait_until(lambda: any("ping" in trace for trace in traces(lab_state.plan)))  # type: ignore[arg-type]
        finally:
            lab.down(name)
        asleep.wait(60)
        assert traces(lab_state.plan) == []
        assert not [line for line in Path("/proc/mounts").read_text().split("\n") if name in line]

    @pytest.mark.parametrize(
        "moment",
        [
            "wineserver",
            *(
                pytest.param(moment, marks=pytest.mark.night)
                for moment in ("switch", "windows-a.process", "complete")
            ),
        ],
    )
    def test_lab_down_removes_all_traces_of_a_killed_lab_up_with_windows_hosts(
        self, moment: str
    ) -> None:
        state.wine_template(lambda _: None)
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
                conditions: dict[str, Callable[[], bool]] = {
                    "switch": (network.NAMESPACES / plan.switch).exists,
                    "wineserver": lambda: any("wineserver" in trace for trace in traces(plan)),
                }
                wait_until(conditions.get(moment, (folder / moment).exists))
            finally:
                upper.kill()
        assert lab.status(name).up == (folder / "complete").exists()
        lab.down(name)
        wait_until(lambda: traces(plan) == [])

    def test_lab_up_reports_a_wineserver_that_does_not_start_and_removes_the_lab(
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
