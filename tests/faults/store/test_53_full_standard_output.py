"""A standard output that is full, has no reader or is closed is one line and exit 1 at the end.

So is a file of ``--output`` on a full disk. A run measures all the same.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from commands import Commands, commands
from fault_runs import Bench, bench
from folders import FIXTURES
from outcomes import OutcomeOf, Seen, injects, outcome_of

__all__ = ["bench", "commands", "outcome_of"]

PRINTERS = (
    ("--help",),
    ("--version",),
    ("plan", "matrix.yaml"),
    ("status", "out"),
    ("status", "out", "--json"),
    ("report", "out"),
    ("export", "out"),
    ("compare", "out", "out", "--format", "csv"),
    ("lab", "doctor"),
)
SENTENCES = {
    "full": "netlab: standard output: cannot be written: No space left on device",
    "unread": "netlab: standard output: the program that reads it has exited",
    "closed": "netlab: standard output: cannot be written: Bad file descriptor",
}


@pytest.fixture
def out(bench: Bench) -> Path:
    shutil.copytree(FIXTURES / "run-v1", bench.folder / "out")
    bench.matrix()
    return bench.folder / "out"


def end(bench: Bench, words: tuple[str, ...], fault: str) -> tuple[int, str]:
    """Exit code and standard error of a command with such a standard output."""
    if fault == "full":
        with Path("/dev/full").open("wb") as full:
            child = bench.start(*words, stdout=full)
    elif fault == "unread":
        reader, writer = os.pipe()
        os.close(reader)
        child = bench.start(*words, stdout=writer)
        os.close(writer)
    else:
        child = bench.start(*words, stdout=None, preexec_fn=lambda: os.close(1))
    _, output = child.communicate(timeout=300)
    return child.returncode, output


@pytest.mark.lab
@pytest.mark.parametrize("words", PRINTERS, ids=" ".join)
def test_a_command_with_a_full_standard_output_ends_with_an_error_line_and_exit_code_1(
    bench: Bench, out: Path, words: tuple[str, ...]
) -> None:
    code, output = end(bench, words, "full")
    assert (code, output.splitlines()[-1]) == (1, SENTENCES["full"])
    assert "Traceback" not in output
    assert "Exception ignored" not in output


@pytest.mark.lab
@pytest.mark.parametrize("fault", ["unread", "closed"])
@pytest.mark.parametrize("words", [("status", "out"), ("export", "out")], ids=" ".join)
def test_a_command_with_an_unread_or_closed_standard_output_ends_with_one_line_and_exit_code_1(
    bench: Bench, out: Path, words: tuple[str, ...], fault: str
) -> None:
    assert end(bench, words, fault) == (1, SENTENCES[fault] + "\n")


def run_with_full_outputs(bench: Bench) -> Seen:
    words = ("run", str(bench.matrix()), "--into", "out", "--json", "--no-report", "--wait", "60")
    with Path("/dev/full").open("wb") as full:
        return {"code": bench.start(*words, stdout=full, stderr=full).wait(60)}


@injects()
def test_a_run_measures_to_its_end_where_nothing_can_be_printed(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(run_with_full_outputs)
    assert outcome["code"] == 1
    assert len(outcome.load().latest) == 2


def run_with_closed_outputs(bench: Bench) -> Seen:
    words = ("run", str(bench.matrix()), "--into", "out", "--no-report", "--wait", "60")
    child = bench.start(*words, stdout=None, preexec_fn=lambda: os.closerange(0, 2))
    child.communicate(timeout=300)
    return {"code": child.returncode, "damage": len(bench.load().damage)}


@injects()
def test_a_run_with_closed_standard_outputs_leaves_an_undamaged_journal(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(run_with_closed_outputs)
    assert (outcome["code"], outcome["damage"]) == (0, 0)
    assert len(outcome.load().latest) == 2


def test_an_export_to_a_full_output_file_prints_one_error_line(commands: Commands) -> None:
    shutil.copytree(FIXTURES / "run-v1", commands.folder / "out")
    process = commands.run("export", "out", "-o", "/dev/full")
    assert process.returncode == 1
    assert (
        process.stderr == "netlab: --output /dev/full: No space left on device; name another file\n"
    )


@pytest.mark.lab
def test_text_that_the_encoding_of_the_output_lacks_is_escaped(bench: Bench, out: Path) -> None:
    out.rename(out.with_name("走"))
    child = bench.start("status", "走", env={"PYTHONIOENCODING": "latin-1"})
    output, _ = child.communicate(timeout=300)
    assert child.returncode == 0
    assert output.startswith("\\u8d70: ")
