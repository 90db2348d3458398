"""How tests are chosen, skipped and run again: sessions of pytest over small tests of their own."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import suites
import tries
from needs import NEEDS

HERE = Path(__file__).parent
TESTS = HERE.parent
LIGHT = ("-p", "no:hypothesispytest")
"""None of these tests draws anything, and its plugin takes a third of a session to load."""
FAILS_FIRST = """
from pathlib import Path
import pytest

@pytest.mark.needs("emulation")
@pytest.mark.parametrize("number", range({tests}))
def test_that_needs_another_try(number):
    tried = Path(f"tried-{{number}}")
    tries = len(tried.read_text()) if tried.exists() else 0
    tried.write_text("x" * (tries + 1))
    assert tries >= {failures}
"""
NOTHING_STOLEN = "import tries\n\ntries.stolen_share = lambda *_: 0.0\n"
ALL_STOLEN = "import tries\n\ntries.stolen_share = lambda *_: 0.5\n"


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """A folder with the files that choose and judge tests, and no tests yet."""
    for name in ("suites.py", "needs.py", "tries.py"):
        shutil.copy(HERE / name, tmp_path / name)
    (tmp_path / "conftest.py").write_text('pytest_plugins = ["suites"]\n')
    (tmp_path / "pyproject.toml").write_text((TESTS.parent / "pyproject.toml").read_text())
    return tmp_path


def ended(
    folder: Path, text: str, *words: str, **environment: str
) -> tuple[int, dict[str, int], str]:
    """The exit status of a session over one file of tests, how many ended how, and what it said."""
    (folder / "test_made.py").write_text(text)
    settings = {key: value for key, value in os.environ.items() if not key.startswith("NETLAB_")}
    process = subprocess.run(
        [sys.executable, "-m", "pytest", "test_made.py", "-p", "no:cacheprovider", *LIGHT, *words],
        cwd=folder,
        env=settings | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    counts = re.findall(r"(\d+) ([a-z]+)", process.stdout.strip().splitlines()[-1])
    return (
        process.returncode,
        {word: int(count) for count, word in counts},
        process.stdout + process.stderr,
    )


CHOSEN = """
import pytest

def test_that_computes(): pass

@pytest.mark.alone
def test_that_measures(): pass

@pytest.mark.needs("root")
def test_of_root(): pass

@pytest.mark.needs("lab")
def test_in_a_lab(): pass

@pytest.fixture
def cable(): pass

def test_over_a_cable(cable): pass
"""


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("--suite", "plain", "--measuring", "no"), ["test_that_computes"]),
        (("--suite", "further", "--measuring", "yes"), ["test_in_a_lab", "test_over_a_cable"]),
    ],
)
def test_each_test_is_in_one_suite_and_measures_or_does_not(
    session: Path, words: tuple[str, ...], names: list[str]
) -> None:
    _, _, output = ended(session, CHOSEN, *words, "--collect-only")
    assert re.findall(r"^test_made\.py::(\w+)$", output, re.MULTILINE) == names


MISSING = """
import needs, pytest

needs.NEEDS["moon"] = needs.Need(lambda: False, "the moon", plain=True)
needs.NEEDS["kernel"] = needs.Need(lambda: False, "such call", plain=True, unpackaged=True)

@pytest.mark.needs("moon")
def test_on_the_moon(): pass

@pytest.mark.needs("kernel")
def test_of_a_kernel(): pass
"""


def test_what_a_machine_lacks_skips_a_test_and_in_ci_fails_it_where_it_could_be_installed(
    session: Path,
) -> None:
    status, counts, output = ended(session, MISSING)
    assert (status, counts) == (0, {"skipped": 2})
    assert "needs the moon" in output
    status, counts, output = ended(session, MISSING, NETLAB_CI="1")
    assert (status, counts) == (1, {"error": 1, "skipped": 1})
    assert "this machine must have the moon" in output


def test_any_other_skip_fails_in_ci(session: Path) -> None:
    text = "import pytest\n\ndef test_that_skips(): pytest.skip('today')\n"
    assert ended(session, text)[0] == 0
    assert ended(session, text, NETLAB_CI="1")[0] == 1


def test_an_unknown_need_ends_the_session_with_its_name(session: Path) -> None:
    text = "import pytest\n\n@pytest.mark.needs('luck')\ndef test_of_luck(): pass\n"
    status, _, output = ended(session, text)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "needs 'luck', which needs.py lacks" in output


def test_a_test_that_passes_when_run_again_is_listed_and_four_of_them_fail_in_ci(
    session: Path,
) -> None:
    for tests, status in ((3, 0), (4, 1)):
        for mark in session.glob("tried-*"):
            mark.unlink()
        text = NOTHING_STOLEN + FAILS_FIRST.format(tests=tests, failures=1)
        code, counts, output = ended(session, text, NETLAB_CI="1")
        assert (code, counts["passed"], counts["rerun"]) == (status, tests, tests), output
        assert f"passed only when run again: {tests}, at most 3 in CI" in output
        assert output.count("failed 1, excused by stolen CPU time 0") == tests


def test_a_test_that_fails_three_times_has_failed(session: Path) -> None:
    text = NOTHING_STOLEN + FAILS_FIRST.format(tests=1, failures=3)
    code, counts, output = ended(session, text)
    assert (code, counts["failed"], counts["rerun"]) == (1, 1, 2), output
    assert "passed only when run again" not in output


def test_tries_whose_cpu_was_stolen_are_listed_and_not_counted(session: Path) -> None:
    text = ALL_STOLEN + FAILS_FIRST.format(tests=4, failures=2)
    code, counts, output = ended(session, text, NETLAB_CI="1")
    assert (code, counts["passed"], counts["rerun"]) == (0, 4, 8), output
    assert "run again, excused by stolen CPU time: 4" in output
    assert output.count("failed 0, excused by stolen CPU time 2") == 4
    for mark in session.glob("tried-*"):
        mark.unlink()
    text = ALL_STOLEN + FAILS_FIRST.format(tests=1, failures=5)
    code, counts, output = ended(session, text)
    assert (code, counts["rerun"]) == (1, 4), output


@pytest.mark.parametrize(
    ("shares", "counts"), [((0.0, 0.02, 0.02), (3, 0)), ((0.03, 0.021, 0.5), (1, 2))]
)
def test_two_tries_of_a_test_are_excused_and_those_above_two_per_cent_alone(
    shares: tuple[float, ...], counts: tuple[int, int]
) -> None:
    account = tries.Tries()
    for share in shares:
        account.judge(share)
    assert (account.failed, account.excused) == counts


def test_the_share_that_was_stolen_is_of_all_cpus_between_the_two_readings() -> None:
    assert tries.stolen_share((10, 1000), (13, 1100)) == 0.03
    assert tries.stolen_share((10, 1000), (10, 1000)) == 0


SAMPLED = """
import pytest

@pytest.mark.sampled(most=3)
@pytest.mark.parametrize("row", range(20))
def test_that_waits_long(row): pass

def test_that_does_not(): pass
"""


def test_a_sample_has_as_many_rows_as_asked_and_is_the_same_for_the_same_seed(
    session: Path,
) -> None:
    def rows(**environment: str) -> list[str]:
        output = ended(session, SAMPLED, "-vv", **environment)[2]
        return re.findall(r"test_that_waits_long\[(\d+)\] PASSED", output)

    first, second = rows(NETLAB_SAMPLE="1"), rows(NETLAB_SAMPLE="2")
    assert len(first) == len(second) == 3
    assert first != second
    assert rows(NETLAB_SAMPLE="1") == first
    assert len(rows()) == 20


MEASURING = """
import pytest

pytestmark = [pytest.mark.needs("root"), pytest.mark.alone]

def test_first(): pass
def test_second(): pass
"""


def test_a_sample_of_what_measures_is_whole_files_and_the_same_for_the_same_seed(
    session: Path,
) -> None:
    drawn, number = suites.FILES_DRAWN["measuring"], 2 * suites.FILES_DRAWN["measuring"]
    for file in range(number):
        (session / f"test_{file}.py").write_text(MEASURING)

    def files(**environment: str) -> set[str]:
        words = (".", "--collect-only", "-q", "--suite", "further")
        output = ended(session, MEASURING, *words, **environment)[2]
        counts = dict(re.findall(r"^(test_\w+\.py): (\d+)$", output, re.MULTILINE))
        assert set(counts.values()) == {"2"}, output
        return set(counts)

    first, second = files(NETLAB_SAMPLE="1"), files(NETLAB_SAMPLE="2")
    assert len(first) == len(second) == drawn
    assert first != second
    assert files(NETLAB_SAMPLE="1") == first
    assert len(files()) == number + 1


def test_a_sample_of_the_faults_is_whole_files_and_the_same_for_the_same_seed() -> None:
    def files(seed: str) -> set[str]:
        words = (sys.executable, "-m", "pytest", "tests/faults", "--collect-only", "-q")
        process = subprocess.run(
            words, cwd=TESTS.parent, env=os.environ | {"NETLAB_SAMPLE": seed},
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        return set(re.findall(r"^(tests/faults/\S+?\.py):", process.stdout, re.MULTILINE))

    first, second = files("1"), files("2")
    assert len(first) == len(second) == suites.FILES_DRAWN["faults"]
    assert first != second
    assert files("1") == first
    assert len([*(TESTS / "faults").rglob("test_*.py")]) > 60


WHO = """
import os, pathlib, pytest, time

@pytest.mark.parametrize("number", range(2))
def test_who_it_is(number):
    time.sleep(0.05)
    with pathlib.Path("who").open("a") as file:
        file.write(f"{__name__} {os.getpid()}\\n")
"""


def test_files_that_take_the_lock_are_run_by_one_process_beside_the_others(session: Path) -> None:
    names = ["test_run", "test_shipped_matrices", "test_mirrors", *(f"test_{n}" for n in "abc")]
    for name in names:
        (session / f"{name}.py").write_text(WHO)
    files = [f"{name}.py" for name in names]
    words = ("--numprocesses", "2", "--dist", "loadfile")
    _, counts, output = ended(session, "", *files, *words)
    assert counts == {"passed": 12}, output
    processes: dict[str, set[str]] = {}
    for line in (session / "who").read_text().splitlines():
        name, process = line.split()
        processes.setdefault(name, set()).add(process)
    assert all(len(process_ids) == 1 for process_ids in processes.values())
    assert len({*processes["test_run"], *processes["test_shipped_matrices"]}) == 1
    assert processes["test_mirrors"] == processes["test_run"]
    assert len(set.union(*processes.values())) == 2


def test_every_file_that_takes_the_lock_is_there() -> None:
    assert [name for name in suites.FIRST if not list(TESTS.rglob(f"{name}.py"))] == []


def test_every_need_that_can_be_installed_says_how() -> None:
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
