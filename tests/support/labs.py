"""Labs for tests: bringing a lab up for a while, measuring in it, access to its hosts, remains of a
lab, and a lab with Windows hosts.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import paramiko
import pytest
from folders import SUPPORT

from netlab import lab
from netlab.config.inventory import load_inventory
from netlab.experiment.hosts import Inventory
from netlab.findings.analysis import Analysis, load
from netlab.lab import network, programs, state
from netlab.lab.plan import LabOptions, LabPlan
from netlab.remote.agent import connect
from netlab.remote.ssh import SshTransport

needs_a_lab = [pytest.mark.needs("lab")]
needs_a_lab_at_rest = [*needs_a_lab, pytest.mark.beside]
"""Nothing is measured in it."""


@contextmanager
def standing(name: str, **wish: Any) -> Iterator[lab.LabState]:
    """A lab of this process, up for a while: ``name`` tells it from its other labs."""
    options = LabOptions(name=f"{name}{os.getpid()}", **wish)
    try:
        yield lab.up(options)
    finally:
        lab.down(options.name, forget=True)


def ssh(of: lab.LabState, host: str, *words: str) -> str:
    argv = ["ssh", "-F", str(of.ssh_config), "-o", "BatchMode=yes", host, *words]
    process = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)
    return process.stdout.strip()


def typed(home: Path, *words: str, timeout_s: float = 300) -> subprocess.CompletedProcess[str]:
    """``netlab words…`` as a person types it at ``home``, without a terminal."""
    return subprocess.run(
        [sys.executable, "-m", "netlab", *words],
        cwd=home,
        env={**os.environ, "HOME": str(home)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )


def run_matrix(
    of: lab.LabState,
    folder: Path,
    matrix: str,
    *options: str,
    timeout_s: float = 400,
    code: int = 0,
) -> Analysis:
    """The matrix measured in a lab by the command, which ends with ``code``, into ``folder/run``;
    read back.
    """
    (folder / "matrix.yaml").write_text(matrix)
    words = ["run", "matrix.yaml", "--hosts", str(of.hosts_file), "--into", "run", "--no-report"]
    process = subprocess.run(
        [sys.executable, "-m", "netlab", *words, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert process.returncode == code, process.stderr
    return load(folder / "run")


def inside(of: lab.LabState, host: int, *words: str) -> str:
    return programs.run("ip", "netns", "exec", of.hosts[host].namespace, *words).strip()


WATCH = """
import time
files = [open(f"/sys/class/net/test/statistics/rx_{what}") for what in ("packets", "bytes")]
def read():
    for file in files: file.seek(0)
    return [int(file.read()) for file in files]
begin_ns = time.monotonic_ns(); first = read()
time.sleep(0.4)
last = read(); end_ns = time.monotonic_ns()
print(*(b - a for a, b in zip(first, last)), end_ns - begin_ns)
"""


def wire_mbit_per_s(of: lab.LabState, host: int) -> float:
    """What a host's test interface takes in, as it is on the wire, over 0.4 s from now.

    Counted by the interface, so that a slow receiver is no part of it: frames between two readings,
    by a clock that is read before the first and after the second: a machine that holds the reader
    up makes it less and never more. The interface counts the header of 14 bytes, the wire 24 more.
    """
    words = inside(of, host, sys.executable, "-c", WATCH).split()
    frames, frame_bytes, elapsed_ns = map(int, words)
    return (frame_bytes + 24 * frames) * 8 / elapsed_ns * 1000


def traces(plan: LabPlan) -> list[str]:
    """Everything of a lab that is still there."""
    namespaces = [host.namespace for host in plan.hosts]
    namespaces += [namespace for namespace in (plan.switch, plan.router) if namespace is not None]
    remains = [name for name in namespaces if (network.NAMESPACES / name).exists()]
    remains += [path.name for path in network.INTERFACES.glob(f"{plan.bridge}-*")]
    remains += [plan.bridge] if (network.INTERFACES / plan.bridge).exists() else []
    remains += [
        str(path) for path in (plan.hosts_file, state.folder_of(plan.name)) if path.exists()
    ]
    groups = programs.quota_controller()
    if groups is not None:
        folders = [groups.folder / host.namespace for host in plan.hosts]
        remains += [str(folder) for folder in folders if folder.exists()]
    for process in Path("/proc").glob("[0-9]*"):
        try:
            uid, words = process.stat().st_uid, (process / "cmdline").read_bytes()
        except OSError:
            continue
        if uid in {host.uid for host in plan.hosts} or plan.hosts[0].namespace.encode() in words:
            remains.append(words.decode())
    return remains


@contextmanager
def first_on_the_cpus(of: lab.LabState, *names: str) -> Iterator[None]:
    """Whatever else this machine computes waits for the processes of these hosts, of all without a
    name, and for what they start: a figure of the lab is then not one of the others.

    They do not interrupt each other: two that are measured together have a CPU each, or sleep.
    """
    hosts = [host for host in of.hosts if not names or host.name in names]
    networks = {(network.NAMESPACES / host.namespace).stat().st_ino for host in hosts}

    def schedule(policy: int, priority: int) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if (process / "ns/net").stat().st_ino not in networks:
                    continue
                threads = [int(thread.name) for thread in (process / "task").iterdir()]
            except OSError:
                continue  # it ended meanwhile, or is none of ours to look into
            for thread in threads:
                with suppress(ProcessLookupError):
                    os.sched_setscheduler(thread, policy, os.sched_param(priority))

    schedule(os.SCHED_RR, 1)
    try:
        yield
    finally:
        schedule(os.SCHED_OTHER, 0)


@contextmanager
def first_itself() -> Iterator[None]:
    """The same for the programs that this test starts meanwhile."""
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end, "waited 60 s in vain"
        time.sleep(0.002)


# ---- Windows hosts -------------------------------------------------------------------------------

needs_wine = [*needs_a_lab, pytest.mark.needs("windows-hosts")]
needs_wine_at_rest = [*needs_wine, pytest.mark.beside]
WINDOWS_LAB = f"w{os.getpid()}"
SOURCE = SUPPORT / "lab_program.c"
RATE_BIT_PER_S = 20e6
"""Slow enough for a busy machine to fill the cables."""


@pytest.fixture(scope="session")
def four_hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[lab.LabState]:
    """A shaped lab whose Windows hosts have the test's Windows program in their home."""
    lab_state = lab.up(LabOptions(name=WINDOWS_LAB, rate=RATE_BIT_PER_S, windows=2))
    try:
        program = tmp_path_factory.mktemp("windows") / "lab.exe"
        compiler = "x86_64-w64-mingw32-gcc"
        words = ["-std=c11", "-O2", "-s", "-Wall", "-Wextra", "-Werror", str(SOURCE), "-lws2_32"]
        subprocess.run([compiler, "-o", str(program), *words], check=True)
        for name in ("windows-a", "windows-b"):
            with files(lab_state, name) as sftp:
                sftp.put(str(program), "lab.exe")
        yield lab_state
    finally:
        lab.down(WINDOWS_LAB)


def inventory(of: lab.LabState) -> Inventory:
    assert of.hosts_file is not None
    return load_inventory(of.hosts_file)


@contextmanager
def files(of: lab.LabState, name: str):  # type: ignore[no-untyped-def]
    """The host's files, over the SSH that netlab itself uses, and with all that paramiko can."""
    transport = connect(inventory(of).host(name))
    assert isinstance(transport, SshTransport)
    sftp = paramiko.SFTPClient.from_transport(transport._chain.connections[-1])
    assert sftp is not None
    try:
        with sftp:
            yield sftp
    finally:
        transport.close()


def argv(of: lab.LabState, name: str, command: str) -> list[str]:
    return ["ssh", "-F", str(of.ssh_config), "-o", "BatchMode=yes", name, command]


def windows(
    of: lab.LabState, command: str, input_data: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """A command on windows-a, to its end."""
    return subprocess.run(
        argv(of, "windows-a", command),
        input=input_data,
        capture_output=True,
        timeout=120,
        check=False,
    )


@contextmanager
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
    command_lines = []
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (process / "cmdline").read_bytes()
            if process.stat().st_uid == uid and b"lab.exe" in words:
                command_lines.append(words.replace(b"\0", b" ").decode())
    return command_lines
