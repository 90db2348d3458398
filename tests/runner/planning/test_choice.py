"""`--only` and `--redo`: names, lists, wildcards and lower case, for pairings and tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from folders import MATRICES

from netlab.config.matrix_file import load_matrix
from netlab.errors import UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.matrix import expand
from netlab.runner.options import chosen_of, redo_of
from netlab.trial.record import Record, Status, utc_now

TEXT = """
title: t
pairings: [LL, WL, nas+laptop]
tests:
  - {test: stream, protocol: [TCP, UDP], message_size: 64, duration: 1s}
  - {test: round_trip, protocol: TCP, message_size: 64, count: 5}
"""


@pytest.fixture(scope="module")
def cells(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cell, ...]:
    file = tmp_path_factory.mktemp("matrix") / "m.yaml"
    file.write_text(TEXT)
    return expand(load_matrix(file))


@pytest.mark.parametrize(
    ("words", "pairings", "tests"),
    [
        (("LL",), {"LL"}, {"stream", "round_trip"}),
        (("ll",), {"LL"}, {"stream", "round_trip"}),
        (("L*",), {"LL"}, {"stream", "round_trip"}),
        (("?L",), {"LL", "WL"}, {"stream", "round_trip"}),
        (("LL,WL",), {"LL", "WL"}, {"stream", "round_trip"}),
        (("LL", " wl "), {"LL", "WL"}, {"stream", "round_trip"}),
        (("Nas+*",), {"nas+laptop"}, {"stream", "round_trip"}),
        (("round_*",), {"LL", "WL", "nas+laptop"}, {"round_trip"}),
        (("ll,stream",), {"LL"}, {"stream"}),
        ((), {"LL", "WL", "nas+laptop"}, {"stream", "round_trip"}),
    ],
)
def test_the_option_only_selects_cells_by_names_lists_and_wildcards_of_pairings_and_tests(
    cells: tuple[Cell, ...], words: tuple[str, ...], pairings: set[str], tests: set[str]
) -> None:
    selection = chosen_of(cells, words)
    assert {(cell.pairing, cell.test) for cell in selection} == {
        (pairing, test) for pairing in pairings for test in tests
    }


@pytest.mark.parametrize("word", ["XX", "w*w", "rond_trip"])
def test_an_unknown_word_of_the_option_only_is_refused_with_the_possible_words(
    cells: tuple[Cell, ...], word: str
) -> None:
    with pytest.raises(
        UsageError, match=r"no such pairing or test.*pairings: LL, WL, nas"
    ) as error:
        chosen_of(cells, [word])
    assert ("did you mean `round_trip`" in str(error.value)) == (word == "rond_trip")


def test_the_option_redo_accepts_cell_keys_pairings_tests_and_the_word_failed(
    cells: tuple[Cell, ...],
) -> None:
    first, second = cells[0], cells[1]

    def record(cell: Cell, status: Status) -> Record:
        return Record(
            cell=cell.key,
            trial=1,
            attempt=1,
            status=status,
            pairing=cell.pairing,
            server="a",
            client="b",
            test=cell.test,
            started_at=utc_now(),
            settings=dict(cell.settings),
            values={},
            reason="deadline" if status is Status.FAILED else None,
        )

    latest = {
        (first.key, 1): record(first, Status.OK),
        (second.key, 1): record(second, Status.FAILED),
    }
    assert redo_of([first.key], cells, latest) == {first.key}
    assert redo_of(["failed"], cells, latest) == {second.key}
    assert redo_of(["ll,failed"], cells, latest) == {
        *(cell.key for cell in cells if cell.pairing == "LL"),
        second.key,
    }
    assert redo_of(["Round*"], cells, latest) == {c.key for c in cells if c.test == "round_trip"}
    assert redo_of((), cells, latest) == frozenset()
    with pytest.raises(UsageError, match="--redo nonsense: no such cell, pairing or test"):
        redo_of(["nonsense"], cells, latest)


def test_the_option_only_selects_cells_of_a_shipped_matrix_by_a_wildcard(tmp_path: Path) -> None:
    matrix_cells = expand(load_matrix(MATRICES / "lab-report.yaml"))
    assert len(chosen_of(matrix_cells, ["l*"])) == len(matrix_cells) / 2
