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
from fault_runs import Bench, bench
from folders import FIXTURES

__all__ = ["bench"]

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
def test_a_hostile_matrix_is_a_line_at_little_cost(
    bench: Bench, name: str, record_property: Callable[[str, object], None]
) -> None:
    text, place, words = HOSTILE[name]
    hostile = bench.folder / "hostile.yaml"
    hostile.write_text(text)
    if not STARTS_S:
        STARTS_S.append(cost_of(bench, "plan", str(bench.matrix()))[2])
    code, output, cpu_s, memory_mb = cost_of(bench, "plan", "hostile.yaml")
    assert code == 2
    assert f"hostile.yaml{place}" in output
    assert words in output
    assert len(output) < 4096
    assert cpu_s - STARTS_S[0] < MOST_CPU_S
    assert memory_mb < MOST_MB
    record_property("figure", f"{name}: {max(cpu_s - STARTS_S[0], 0):.1f} s, {memory_mb:.0f} MB")


@pytest.mark.parametrize("command", ["plan", "hosts"])
def test_a_file_that_never_ends_is_not_read_to_its_end(bench: Bench, command: str) -> None:
    code, output, _, memory_mb = cost_of(bench, command, "/dev/zero")
    assert code == 2
    assert output.startswith("/dev/zero:1:1: ")
    assert memory_mb < MOST_MB


def test_a_hostile_inventory_is_a_line(bench: Bench) -> None:
    (bench.folder / "hosts.yaml").write_text(BOMB)
    code, output, _, memory_mb = cost_of(bench, "hosts", "hosts.yaml")
    assert code == 2
    assert "hosts.yaml:5:" in output
    assert memory_mb < MOST_MB


def test_the_matrix_of_a_run_folder_is_no_longer_than_a_run_writes_it(bench: Bench) -> None:
    folder = shutil.copytree(FIXTURES / "run-v1", bench.folder / "out")
    (folder / "matrix.yaml").write_text(HOSTILE["10 MB"][0])
    for command in ("status", "check", "report"):
        code, output, _, memory_mb = cost_of(bench, command, "out")
        assert code == 1
        assert "out/matrix.yaml: longer than 2 MiB; no run writes such a file" in output
        assert memory_mb < MOST_MB
    assert not (folder / "index.html").exists()


@pytest.mark.parametrize("name", ["alias bomb", "flow", "object"])
def test_the_matrix_of_a_run_folder_from_elsewhere_does_no_harm(bench: Bench, name: str) -> None:
    folder = shutil.copytree(FIXTURES / "run-v1", bench.folder / "out")
    (folder / "matrix.yaml").write_text(HOSTILE[name][0])
    for words, expected_code in (
        (("status", "out"), 0),
        (("check", "out"), 2),
        (("report", "out"), 0),
    ):
        code, output, _, memory_mb = cost_of(bench, *words)
        assert code == expected_code, output
        assert memory_mb < 2 * MOST_MB  # a report draws
    assert (folder / "index.html").stat().st_size < 5 << 20
