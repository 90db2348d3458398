"""`netlab run --cluster local:2`: real dask workers on this machine."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from netlab.findings.analysis import load
from netlab.trial.record import Status

pytestmark = [pytest.mark.needs("distributed", "cc", "linux")]

MATRIX = """
title: workers here
pairings: [LL]
tests:
  - test: round_trip
    protocol: [TCP, UDP]
    message_size: [64, 512]
    count: 20
hosts:
  server: {local: true}
  client: {local: true}
"""


def start(
    folder: Path, *words: str, program: Sequence[str] = ("-m", "netlab")
) -> subprocess.Popen[str]:
    (folder / "matrix.yaml").write_text(MATRIX)
    netlab = [sys.executable, *program, "run", "matrix.yaml"]
    return subprocess.Popen(
        [*netlab, "--into", "run", "--no-report", *words],
        cwd=folder,
        env={**os.environ, "HOME": str(folder)},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def listeners_of(pid: int) -> set[str]:
    """Addresses at which the processes of a session listen on TCP."""
    lines = subprocess.run(
        ["ss", "-Hltnp"], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    pids = subprocess.run(["pgrep", "-s", str(pid)], capture_output=True, text=True, check=False)
    own = [f"pid={word}," for word in pids.stdout.split()]
    return {line.split()[3] for line in lines if any(word in line for word in own)}


def test_two_local_workers_measure_every_cell_and_listen_on_loopback_only(tmp_path: Path) -> None:
    process = start(tmp_path, "--cluster", "local:2")
    addresses: set[str] = set()
    while process.poll() is None:
        addresses |= listeners_of(process.pid)
        time.sleep(0.2)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 0, errors
    records = load(tmp_path / "run").latest.values()
    assert [record.status for record in records] == [Status.OK] * 4
    assert "distributed" not in errors and "tornado" not in errors, errors
    assert {address.rpartition(":")[0] for address in addresses} <= {"127.0.0.1"}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--cluster", "tcp://192.0.2.1:8786"], "without TLS, whoever reaches the scheduler"),
        (["--cluster", "nowhere"], "--cluster nowhere: neither tls://HOST:PORT"),
        (["--cluster", "dask"], "dask's configuration names no scheduler"),
        (["--cluster", "tls://127.0.0.1:1"], "dask's configuration names no certificates"),
    ],
)
def test_an_unusable_cluster_option_ends_the_command_with_one_line(
    tmp_path: Path, words: list[str], sentence: str
) -> None:
    process = start(tmp_path, *words)
    _, errors = process.communicate(timeout=300)
    lines = errors.strip().splitlines()
    assert process.returncode == 2 and "Traceback" not in errors, errors
    assert lines[-1].startswith("--cluster ") and sentence in lines[-1]
    assert not (tmp_path / "run").exists()


IMPATIENT = """
from netlab import cli
from netlab.runner.cluster import open

open.CONNECT_S = 1.0
cli.main()
"""
"""netlab, which waits a second for a scheduler."""


def test_a_scheduler_that_does_not_answer_is_named(tmp_path: Path) -> None:
    words = ("--cluster", "tcp://127.0.0.1:1")
    process = start(tmp_path, *words, program=("-c", IMPATIENT))
    _, errors = process.communicate(timeout=300)
    lines = errors.strip().splitlines()
    assert process.returncode == 4 and "Traceback" not in errors, errors
    assert lines[-1].startswith("netlab: the scheduler tcp://127.0.0.1:1 does not answer")
    assert not (tmp_path / "run").exists()
