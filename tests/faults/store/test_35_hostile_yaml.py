"""YAML that only an attacker writes is refused with file and line, in under 1 s and 200 MB.

Alias bombs, deep nesting, scalars of 10 MB, 10^9 cells by product, Python objects, a device that
never ends: as a matrix, as an inventory, as the matrix of a run folder from elsewhere.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import replace

import pytest
from commands import Commands, commands
from fault_runs import Bench, bench
from folders import FIXTURES

__all__ = ["bench", "commands"]

MOST_CPU_S, MOST_MB = 1.0, 200
"""CPU time beyond that of a small matrix, the program's start; memory of the whole process."""

STARTS_S: list[float] = []
"""CPU time of a small matrix, measured once."""

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 10)}]\n" for i in range(9)
)
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{i + 1}: &a{i + 1} [*a{i}]\n" for i in range(200))
HUNDRED = f"[{', '.join(map(str, range(1, 101)))}]"
PRODUCT = f"""pairings: [LL]
tests:
  - test: stream
    protocol: UDP
    message_size: {{from: 1, to: 1000, step: 1}}
    socket_buffer: {{from: 1, to: 1000, step: 1}}
    duration: {HUNDRED}
    warm_up: {HUNDRED}
"""
HOSTILE = {
    "alias bomb": (BOMB, ":5:", "more than 20,000 values"),
    "alias chain": (CHAIN, ":31:", "nested more than 32 levels deep"),
    "flow": ("a: " + "[" * 500_000, ":1:", "nested more than 32 levels deep"),
    "sequence": ("- " * 400_000, ":1:", "nested more than 32 levels deep"),
    "block": (
        "\n".join(" " * n + "a:" for n in range(500)),
        ":33:",
        "nested more than 32 levels deep",
    ),
    "10 MB": ("a: " + "x" * (10 << 20), ":1:", "larger than 1 MiB"),
    "values": ("a: [" + "1," * 200_000 + "]", ":1:", "more than 20,000 values"),
    "digits": ("a: " + "9" * 5000, ":1:", "a number of 5000 characters is too long"),
    "same key": ("title: a\ntitle: b\n", ":2:", "the key is given twice"),
    "object": ("title: !!python/object/apply:os.system [id]\n", ":1:", "is not allowed"),
    "product": (PRODUCT, ":3:", "cells are too many"),
}


# The kernel counts a child's memory from what its parent had at its start: a small one starts it.
COST = """
import os, resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    print(code, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, file=file)
"""


def cost_of(bench: Bench, *words: str) -> tuple[int, str, float, float]:
    """Exit code, what was said, CPU seconds and MB of a command."""
    output_file, cost = bench.folder / "said", bench.folder / "cost"
    metered_bench = replace(bench, program=("-c", COST, str(cost), sys.executable, *bench.program))
    with output_file.open("wb") as file:
        assert metered_bench.start(*words, stdout=file, stderr=file).wait(60) == 0
    code, cpu_s, memory_mb = cost.read_text().split()
    text = output_file.read_text("utf-8")
    assert "Traceback" not in text
    return int(code), text, float(cpu_s), float(memory_mb)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_matrix_is_refused_with_file_and_line(commands: Commands, name: str) -> None:
    text, place, words = HOSTILE[name]
    (commands.folder / "hostile.yaml").write_text(text)
    process = commands.run("plan", "hostile.yaml")
    assert process.returncode == 2
    assert f"hostile.yaml{place}" in process.stderr
    assert words in process.stderr
    assert len(process.stderr) < 4096


@pytest.mark.night
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_matrix_is_refused_at_little_cost(
    bench: Bench, name: str, record_property: Callable[[str, object], None]
) -> None:
    (bench.folder / "hostile.yaml").write_text(HOSTILE[name][0])
    if not STARTS_S:
        STARTS_S.append(cost_of(bench, "plan", str(bench.matrix()))[2])
    code, _, cpu_s, memory_mb = cost_of(bench, "plan", "hostile.yaml")
    assert code == 2
    assert cpu_s - STARTS_S[0] < MOST_CPU_S
    assert memory_mb < MOST_MB
    record_property("figure", f"{name}: {max(cpu_s - STARTS_S[0], 0):.1f} s, {memory_mb:.0f} MB")


@pytest.mark.parametrize("command", ["plan", "hosts"])
def test_a_file_without_an_end_is_refused(commands: Commands, command: str) -> None:
    process = commands.run(command, "/dev/zero")
    assert process.returncode == 2
    assert process.stderr.startswith("/dev/zero:1:1: ")


def test_a_hostile_inventory_is_refused_with_file_and_line(commands: Commands) -> None:
    (commands.folder / "hosts.yaml").write_text(BOMB)
    process = commands.run("hosts", "hosts.yaml")
    assert process.returncode == 2
    assert "hosts.yaml:5:" in process.stderr


@pytest.mark.night
@pytest.mark.parametrize("command", ["plan", "hosts"])
def test_a_hostile_inventory_and_a_file_without_an_end_take_little_memory(
    bench: Bench, command: str
) -> None:
    (bench.folder / "hosts.yaml").write_text(BOMB)
    for file in ("hosts.yaml", "/dev/zero"):
        code, _, _, memory_mb = cost_of(bench, command, file)
        assert code == 2
        assert memory_mb < MOST_MB


def test_a_matrix_over_2_mib_in_a_run_folder_is_refused_by_status_check_and_report(
    commands: Commands,
) -> None:
    folder = shutil.copytree(FIXTURES / "run-v1", commands.folder / "out")
    (folder / "matrix.yaml").write_text(HOSTILE["10 MB"][0])
    for command in ("status", "check", "report"):
        process = commands.run(command, "out")
        assert process.returncode == 1
        assert "out/matrix.yaml: longer than 2 MiB; no run writes such a file" in process.stderr
    assert not (folder / "index.html").exists()


CODES = {"status": 0, "check": 2, "report": 0}
"""Command → its exit code where the matrix of a run folder is hostile."""


@pytest.mark.parametrize("name", ["alias bomb", "flow", "object"])
def test_a_run_folder_with_a_hostile_matrix_can_be_read_and_reported(
    commands: Commands, name: str
) -> None:
    folder = shutil.copytree(FIXTURES / "run-v1", commands.folder / "out")
    (folder / "matrix.yaml").write_text(HOSTILE[name][0])
    assert {command: commands.run(command, "out").returncode for command in CODES} == CODES
    assert (folder / "index.html").stat().st_size < 5 << 20


@pytest.mark.night
@pytest.mark.parametrize("name", ["10 MB", "alias bomb", "flow", "object"])
def test_a_hostile_matrix_of_a_run_folder_takes_little_memory(bench: Bench, name: str) -> None:
    folder = shutil.copytree(FIXTURES / "run-v1", bench.folder / "out")
    (folder / "matrix.yaml").write_text(HOSTILE[name][0])
    for command in CODES:
        memory_mb = cost_of(bench, command, "out")[3]
        assert memory_mb < 2 * MOST_MB  # a report draws
