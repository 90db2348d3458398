"""How tests are chosen, guarded and skipped: sessions of pytest over small tests of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import draws
import kinds
import pytest
from needs import NEEDS

HERE = Path(__file__).parent
TESTS = HERE.parent
LIGHT = ("-p", "no:hypothesispytest", "-p", "no:cacheprovider")
"""None of these tests draws anything, and the plugin takes a third of a session to load."""

pytestmark = pytest.mark.lab


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A folder with the files that choose and guard tests, and no tests yet."""
    for name in ("kinds.py", "needs.py", "guard.py"):
        shutil.copy(HERE / name, tmp_path / name)
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["kinds", "guard"]\n')
    (tmp_path / "pyproject.toml").write_text((TESTS.parent / "pyproject.toml").read_text())
    return tmp_path


def ended(
    folder: Path, text: str, *words: str, **environment: str
) -> tuple[int, dict[str, int], str]:
    """The exit status of a session over one file of tests, how many ended how, and its output."""
    (folder / "test_made.py").write_text(text)
    settings = {key: value for key, value in os.environ.items() if not key.startswith("NETLAB_")}
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "test_made.py", *LIGHT, *words],
        cwd=folder,
        env=settings | environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    output = process.stdout + process.stderr
    counts = re.findall(r"(\d+) ([a-z]+)", (process.stdout.strip() or "\n").splitlines()[-1])
    return process.returncode, {word: int(count) for count, word in counts}, output


CHOSEN = """
import pytest

def test_unit(): pass

@pytest.mark.agents
def test_agents(): pass

@pytest.mark.demo
def test_demo(): pass

@pytest.mark.needs("root")
def test_of_root(): pass

@pytest.mark.lab
def test_lab(): pass

@pytest.mark.needs("lab")
def test_measuring(): pass

@pytest.mark.beside
@pytest.mark.needs("lab")
def test_not_measuring(): pass

@pytest.fixture
def cable(): pass

def test_over_a_cable(cable): pass

@pytest.mark.night
@pytest.mark.needs("lab")
def test_night(): pass

@pytest.mark.week
def test_week(): pass
"""


def test_pytest_selects_tests_by_their_kind_and_by_whether_they_measure(session: Path) -> None:
    rows = {
        ("--kinds", "unit"): ["test_unit"],
        ("--kinds", "unit,agents"): ["test_unit", "test_agents"],
        ("--kinds", "demo"): ["test_demo"],
        ("--kinds", "lab", "--alone", "no"): ["test_of_root", "test_lab", "test_not_measuring"],
        ("--kinds", "lab", "--alone", "yes"): ["test_measuring", "test_over_a_cable"],
        ("--kinds", "night"): ["test_night"],
        ("--kinds", "week"): ["test_week"],
    }
    for words, names in rows.items():
        _, _, output = ended(session, CHOSEN, *words, "--collect-only")
        assert re.findall(r"^test_made\.py::(\w+)$", output, re.MULTILINE) == names


def test_pytest_refuses_an_unknown_kind_of_tests_and_prints_its_name(session: Path) -> None:
    status, _, output = ended(session, CHOSEN, "--kinds", "unit,units")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "--kinds: 'units' is none of unit, agents" in output


GUARDED = """
import os, socket, subprocess, sys, threading, time
import pytest

def test_sleeps(): time.sleep(0.001)
def test_starts_python(): subprocess.run([sys.executable, "-c", ""])
def test_binds():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
def test_sleeps_in_a_thread():
    thread = threading.Thread(target=time.sleep, args=(0.001,))
    thread.start()
    thread.join()
def test_waits(): threading.Event().wait(0.001)
@pytest.mark.agents
def test_agents_sleep(): time.sleep(0.001)

def test_yields(): time.sleep(0)
def test_compiles(): subprocess.run(["make", "--version"], check=True)
@pytest.mark.lab
def test_of_the_lab(): time.sleep(0.001)
"""


def test_a_unit_test_that_starts_a_program_opens_a_socket_or_sleeps_fails(session: Path) -> None:
    status, counts, output = ended(session, GUARDED)
    assert (status, counts["failed"], counts["passed"]) == (1, 6, 3), output
    assert "a test of the kind 'unit' must not: started python" in output
    assert "a test of the kind 'unit' must not: socket.bind" in output
    assert output.count("a test of the kind 'unit' must not: slept 0.001 s") >= 2
    assert "a test of the kind 'unit' must not: waited 0.001 s" in output
    assert "a test of the kind 'agents' must not: slept 0.001 s" in output


MISSING = """
import needs, pytest

needs.NEEDS["moon"] = needs.Need(lambda: False, "the moon", of_units=True)
needs.NEEDS["kernel"] = needs.Need(lambda: False, "such call", of_units=True, unpackaged=True)

@pytest.mark.needs("moon")
def test_on_the_moon(): pass

@pytest.mark.needs("kernel")
def test_of_a_kernel(): pass
"""


def test_a_test_with_a_missing_requirement_is_skipped_but_fails_in_ci_if_it_can_be_installed(
    session: Path,
) -> None:
    status, counts, output = ended(session, MISSING)
    assert (status, counts) == (0, {"skipped": 2})
    assert "needs the moon" in output
    status, counts, output = ended(session, MISSING, NETLAB_CI="1")
    assert (status, counts) == (1, {"error": 1, "skipped": 1})
    assert "this machine must have the moon" in output


def test_any_other_skip_fails_the_session_in_ci(session: Path) -> None:
    text = "import pytest\n\ndef test_that_skips(): pytest.skip('today')\n"
    assert ended(session, text)[0] == 0
    assert ended(session, text, NETLAB_CI="1")[0] == 1


def test_pytest_refuses_a_test_with_an_unknown_requirement_and_prints_its_name(
    session: Path,
) -> None:
    text = "import pytest\n\n@pytest.mark.needs('luck')\ndef test_of_luck(): pass\n"
    status, _, output = ended(session, text)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "needs 'luck', which needs.py lacks" in output


WHO = """
import os, pathlib, pytest, time

@pytest.mark.lab
@pytest.mark.parametrize("number", range(2))
def test_who(number):
    time.sleep(0.05)
    with pathlib.Path("who").open("a") as file:
        file.write(f"{__name__} {os.getpid()}\\n")
"""


def test_all_test_files_that_lock_the_host_run_in_the_same_process(session: Path) -> None:
    names = ["test_run", "test_shipped_matrices", "test_mirrors", *(f"test_{n}" for n in "abc")]
    for name in names:
        (session / f"{name}.py").write_text(WHO)
    files = [f"{name}.py" for name in names]
    _, counts, output = ended(session, "", *files, "--numprocesses", "2", "--dist", "loadfile")
    assert counts == {"passed": 12}, output
    processes: dict[str, set[str]] = {}
    for line in (session / "who").read_text().splitlines():
        name, process = line.split()
        processes.setdefault(name, set()).add(process)
    assert all(len(process_ids) == 1 for process_ids in processes.values())
    assert len({*processes["test_run"], *processes["test_shipped_matrices"]}) == 1
    assert processes["test_mirrors"] == processes["test_run"]
    assert len(set.union(*processes.values())) == 2


def test_each_test_file_that_is_listed_for_scheduling_exists() -> None:
    assert [name for name in kinds.FIRST if not list(TESTS.rglob(f"{name}.py"))] == []


def test_each_installable_requirement_of_a_test_states_how_to_meet_it() -> None:
    ways = (
        "apt-get install",
        "pip install",
        "npm install",
        "root",
        "netlab lab doctor",
        "of other",
    )
    unsaid = [
        name
        for name, need in NEEDS.items()
        if not need.unpackaged and not any(way in need.what for way in ways)
    ]
    assert unsaid == []


def test_nightly_tests_draw_new_random_cases_and_an_equal_seed_draws_equal_cases(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(draws, "NIGHT", None)
    assert (draws.drawn(3, 50), draws.seeds(3, 50)) == (3, [0, 1, 2])
    by_day = draws.chance(7).random()
    nights = []
    for seed in ("a", "b", "a"):
        monkeypatch.setattr(draws, "NIGHT", seed)
        assert draws.drawn(3, 50) == len({*draws.seeds(3, 50)}) == 50
        nights.append((draws.seeds(3, 50), draws.chance(7).random()))
    assert nights[0] == nights[2] != nights[1]
    assert by_day not in [number for _, number in nights]
