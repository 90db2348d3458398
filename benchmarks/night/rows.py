"""The rows of the night and of the week: what each runs, and which files decide whether it holds.

A row stays valid until one of its files changes. Every row of the night together takes at most an
hour; a row of the week takes as long as it must.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass

from benchmarks.stage import ROOT

PRODUCT = ("netlab", "probes")
PYTEST = "{python} -m pytest"


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    name: str
    command: str
    """``{python}`` stands for the interpreter, ``{seed}`` for a seed that is drawn anew."""
    files: tuple[str, ...]
    """Files and folders, from the top of the repository."""
    most_min: int
    """When it is ended, and has failed."""


def _tests(name: str, words: str, files: str, most_min: int) -> Row:
    """Tests of the night, with many draws."""
    command = f"env NETLAB_NIGHT={{seed}} {PYTEST} {words}"
    return Row(name, command, (*PRODUCT, *files.split()), most_min)


def _benchmark(name: str, module: str, most_min: int, words: str = "", files: str = "") -> Row:
    """A benchmark of the week: its own modules begin with its name."""
    own = f"benchmarks/{module.replace('.', '/')}*"
    command = f"{{python}} -m benchmarks.{module} {words}".strip()
    return Row(name, command, (*PRODUCT, "benchmarks/stage.py", own, *files.split()), most_min)


BESIDE = "-n auto --dist loadfile"
NIGHT = (
    _tests("units with many draws", f"--kinds unit,agents {BESIDE}", "tests", 15),
    _tests(
        "tests that may run beside each other",
        f"tests --ignore tests/faults --kinds night --alone no {BESIDE}",
        "tests",
        15,
    ),
    Row(
        "faults",
        "env NETLAB_NIGHT={seed} make --no-print-directory reliability",
        (*PRODUCT, "tests/faults", "tests/injection", "tests/support"),
        25,
    ),
    _tests(
        "virtual labs that measure",
        "tests/lab --kinds night --alone yes",
        "tests/lab tests/support",
        30,
    ),
    _tests(
        "probes and hosts that measure",
        "tests --ignore tests/lab --ignore tests/faults --ignore tests/machines --kinds night "
        "--alone yes",
        "tests",
        15,
    ),
    _tests(
        "machines with a kernel of their own",
        "tests/machines --kinds night",
        "tests/machines tests/support",
        15,
    ),
)

ENDS = "--times 100 --others 30"
HARM = (
    "benchmarks/faults/chaos_kills.py tests/injection/fault_runs.py "
    "tests/injection/stalling_ssh_server.py tests/support/ports.py tests/support/sshd.py"
)
"""What several benchmarks do to runs."""
MUTMUT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["mutmut"]
ALTERED = (
    *("netlab", *MUTMUT["pytest_add_cli_args_test_selection"]),
    *("tests/made", "tests/support/draws.py", "tests/support/folders.py"),
)
"""The code that mutants alter, and the tests that they are tried with."""
COST = "benchmarks/cost"
WEEK = (
    Row(
        "tests of the week", f"{PYTEST} --kinds week", (*PRODUCT, "tests/lab", "tests/support"), 90
    ),
    Row("mutants", "make mutants", ALTERED, 120),
    Row("planted defects", "make defects", (*PRODUCT, "tests", "benchmarks/defects"), 300),
    Row(
        "fuzzing, two minutes a target",
        "make fuzz FUZZ_SECONDS=120",
        ("netlab", "tests/fuzz", "tests/imports/samples"),
        60,
    ),
    Row(
        "speed beside other tools",
        "make benchmarks",
        (*PRODUCT, "benchmarks/one_day.py", "benchmarks/peers", "benchmarks/cost"),
        90,
    ),
    _benchmark(
        "planted causes",
        "truths.truths",
        180,
        "--seed {seed} --into build/truths --runs 1 --clean 20 --mixtures 10",
        "benchmarks/truths",
    ),
    _benchmark(
        "a space of causes",
        "space.space",
        330,
        "--seed {seed} --into build/space",
        "benchmarks/space benchmarks/truths",
    ),
    _benchmark("kills and faults at random", "faults.chaos", 60, "--kills 100 --runs 30", HARM),
    _benchmark("signals at random moments", "faults.interrupts", 40, ENDS, HARM),
    _benchmark("contended locks", "faults.locks", 30, "--acquisitions 300", HARM),
    _benchmark(
        "settings that are put back",
        "faults.put_back",
        40,
        "--ends 100",
        f"{HARM} tests/injection/variant_ends.py tests/injection/undo_logs.py",
    ),
    _benchmark("contended folders", "faults.folder_creation", 15),
    _benchmark(
        "kills of workers", "faults.cluster_kills", 60, files="tests/injection/cluster_site.py"
    ),
    _benchmark("histories", "truth.history", 60, "--histories 20", "benchmarks/truth/*histories*"),
    _benchmark("agreement with other tools", "peers.agreement", 60, "--cells 30"),
    _benchmark(
        "a year of records", "cost.records", 120, files=f"{COST}/made_year.py {COST}/speed.py"
    ),
    _benchmark("many hosts", "cost.many_hosts", 30),
    _benchmark(
        "a thousand simulated hosts",
        "cost.simulated_hosts",
        30,
        files=f"{COST}/simulated {COST}/many_hosts.py",
    ),
    _benchmark("sixty hosts", "cost.lab_of_sixty", 30),
    _benchmark("rates of emulated machines", "machines.machine_rates", 30, files="tests/machines"),
)
