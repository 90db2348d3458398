"""The corpus of each fuzz target, and at night mutations for a second (long: `make fuzz`)."""

from __future__ import annotations

import subprocess
import sys
from itertools import islice
from pathlib import Path

import fuzzing
import pytest

SECONDS = 1.0


@pytest.mark.parametrize("name", fuzzing.names())
def test_a_fuzz_target_finds_nothing_in_its_corpus(name: str) -> None:
    one_input, corpus = fuzzing.target(name), fuzzing.seeds(name)
    for data in corpus:
        one_input(data)
    assert corpus


@pytest.mark.night
@pytest.mark.parametrize("name", fuzzing.names())
def test_a_fuzz_target_finds_nothing_in_a_second_of_mutations(name: str) -> None:
    assert fuzzing.run_by_mutation(name, seconds=SECONDS, runs=100_000) >= len(fuzzing.seeds(name))


def test_each_fuzz_corpus_is_small_and_has_several_files() -> None:
    for name in fuzzing.names():
        sizes = [len(seed) for seed in fuzzing.seeds(name)]
        assert len(sizes) > 1, name
        assert max(sizes) < fuzzing.LENGTH_MOST, name


def test_the_same_seed_draws_the_same_fuzz_inputs() -> None:
    first, second = (islice(fuzzing.inputs("matrix", 7), 100) for _ in range(2))
    assert list(first) == list(second)
    assert len(set(islice(fuzzing.inputs("matrix", 8), 100))) > 90


def test_a_finding_is_stored_and_ends_the_fuzz_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def planted(_name: str) -> fuzzing.OneInput:
        def one_input(data: bytes) -> None:
            if b"TCP" in data:
                raise ZeroDivisionError

        return one_input

    monkeypatch.setattr(fuzzing, "target", planted)
    monkeypatch.setattr(fuzzing, "FOUND", tmp_path)
    with pytest.raises(ZeroDivisionError):
        fuzzing.run_by_mutation("import_table", seconds=1, runs=100)
    (file,) = tmp_path.iterdir()
    assert b"TCP" in file.read_bytes()
    assert str(file) in capsys.readouterr().out


@pytest.mark.lab
def test_the_fuzz_program_reports_the_number_of_inputs_and_the_memory() -> None:
    process = subprocess.run(
        [sys.executable, fuzzing.__file__, "import_table", "--seconds", "30", "--runs", "20"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "20 inputs, no finding" in process.stdout or "number_of_executed_units" in process.stderr
