"""Mirrors that a matrix names, in the virtual lab over SSH: measured, and never left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from labs import needs_a_lab, run_matrix, wait_until

from netlab import lab, load
from netlab.lab.plan import LabOptions

pytestmark = needs_a_lab

MARK = "netlab-test-mirror"
CODE = (
    "import socket, sys; s = socket.socket(2, 2); s.bind((sys.argv[1], int(sys.argv[2]))); "
    "all(s.sendto(*s.recvfrom(9999)) for _ in iter(int, 1))"
)
MATRIX = f"""\
pairings: [LL]
mirrors:
  python: {{start: [python3, -c, "{CODE}", "{{address}}", "{{port}}", {MARK}]}}
  missing: {{start: "no-such-mirror {{port}}"}}
tests:
  - test: round_trip
    protocol: UDP
    message_size: 64
    count: 300
    timeout: 5s
    stack_time: true
    mirror: [netprobe, python, missing]
"""


def running() -> list[int]:
    """Processes of the mirror."""
    pids = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if MARK.encode() in words:
            pids.append(int(entry.parent.name))
    return pids


@pytest.fixture(scope="module")
def lab_state() -> Iterator[lab.LabState]:
    name = f"o{os.getpid()}"
    try:
        yield lab.up(LabOptions(name=name))
    finally:
        lab.down(name)


def test_each_mirror_is_measured_or_has_a_reason(lab_state: lab.LabState, tmp_path: Path) -> None:
    run_matrix(lab_state, tmp_path, MATRIX)
    run = load(tmp_path / "run")
    frame = run.frame.set_index(run.frame["mirror"].fillna("netprobe"))
    assert frame["status"].to_dict() == {"netprobe": "ok", "python": "ok", "missing": "impossible"}
    assert frame.loc["missing", "reason"] == "program-missing"
    assert frame.loc["python", "transactions"] == 300
    assert MARK in str(frame.loc["python", "server_engine_command"])
    # The lab's accounts may not capture; the probe's own stamps need no right.
    assert frame["stack_timed"].fillna(value=False).tolist() == [True, False, False]
    assert "tcpdump" in str(frame.loc["python", "capture_reason"])
    assert running() == []


@pytest.mark.night
def test_a_mirror_program_ends_when_its_controller_is_killed(
    lab_state: lab.LabState, tmp_path: Path
) -> None:
    text = MATRIX.replace("count: 300", "duration: 30s").replace(", missing]", "]")
    text = text.replace("netprobe, ", "").replace(
        '  missing: {start: "no-such-mirror {port}"}\n', ""
    )
    (tmp_path / "m.yaml").write_text(text)
    argv = [sys.executable, "-m", "netlab", "run", "m.yaml", "--into", "out"]
    argv += ["--hosts", str(lab_state.hosts_file)]
    with subprocess.Popen(argv, cwd=tmp_path, stderr=subprocess.DEVNULL) as controller:
        try:
            wait_until(lambda: bool(running()))
            time.sleep(1.0)
            controller.send_signal(signal.SIGKILL)
            controller.wait(30)
        finally:
            controller.kill()
    wait_until(lambda: not running())
