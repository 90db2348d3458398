"""The section ``sample`` of a matrix: its cells, its content, its errors and ``--set``."""

from __future__ import annotations

from typing import Any

import pytest
from made_matrices import faults, load

from netlab.errors import UsageError
from netlab.experiment.matrix import expand
from netlab.experiment.sample import sample_in

__all__ = ["faults", "load"]

TEXT = """\
pairings: [LL, WL]
sample: {cells: 40, pairs: [[message_size, streams]]}
tests:
  - test: stream
    protocol: [TCP, UDP]
    message_size: [64, 576, 1448, 16384]
    streams: [1, 2, 4]
    socket_buffer: [auto, 64KiB, 256KiB]
    exclude: [{protocol: UDP, streams: 4}]
"""
OF = 2 * (36 + 24)


def test_a_sample_is_drawn_from_the_cells_that_the_rules_leave(load: Any) -> None:
    matrix = load(TEXT)
    assert str(matrix.sample) == f"40 of {OF} cells (fractional, seed 1)"
    cells = expand(matrix)
    assert len(cells) == 40
    assert {*cells} < {*expand(load(TEXT.replace("cells: 40", f"cells: {OF}")))}
    assert {(cell.setup.protocol, cell.settings["streams"]) for cell in cells} == {
        *(("TCP", number) for number in (1, 2, 4)),
        *(("UDP", number) for number in (1, 2)),
    }


def test_a_sample_is_part_of_the_content_from_which_it_is_read_again(load: Any) -> None:
    matrix = load(TEXT)
    assert sample_in(matrix.content) == matrix.sample
    assert load(TEXT.replace("cells: 40", "cells: 41")).content_hash != matrix.content_hash
    assert sample_in(load(TEXT.replace("sample:", "repeats: 1 #")).content) is None


def test_a_sample_of_more_cells_than_there_are_has_all(load: Any) -> None:
    assert len(expand(load(TEXT.replace("cells: 40", "cells: 99999")))) == OF


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cells: 40", "cells: 5", "sample: `cells`: the effects of all axes and of the named"),
        ("streams]]", "nodelay]]", "sample: `pairs`: nodelay does not vary in this matrix"),
        ("streams]]", "strems]]", "sample: `pairs`: strems does not vary in this matrix"),
        ("streams]]", "message_size]]", "sample.pairs[0][1]: the same value as number 1"),
        ("cells: 40", "cells: 0", "sample.cells: "),
        ("cells: 40", "cells: 40, method: best", "sample.method: "),
    ],
)
def test_a_wrong_sample_is_an_error_at_its_place(
    old: str, new: str, message: str, faults: Any
) -> None:
    (fault,) = faults(TEXT.replace(old, new))
    assert fault.startswith("2:")
    assert message in fault


def test_the_error_of_a_sample_that_is_too_small_names_the_least_size(
    load: Any, faults: Any
) -> None:
    (fault,) = faults(TEXT.replace("cells: 40", "cells: 1"))
    least = fault.rpartition(" ")[2]
    assert len(expand(load(TEXT, **{"sample.cells": least}))) == int(least)
    with pytest.raises(UsageError, match=f"^--set sample.cells=9: .* at least {least}$"):
        load(TEXT, **{"sample.cells": "9"})


def test_set_changes_the_size_of_a_sample_alone_or_the_whole_sample(load: Any) -> None:
    matrix = load(TEXT, **{"sample.cells": "60"})
    assert (matrix.sample.cells, matrix.sample.pairs) == (60, (("message_bytes", "streams"),))
    assert {*expand(load(TEXT))} < {*expand(matrix)}
    other = load(TEXT, sample="{cells: 50, method: random, seed: 3}", **{"sample.cells": "60"})
    assert str(other.sample) == f"60 of {OF} cells (random, seed 3)"
    with pytest.raises(UsageError, match="this matrix has no `sample`"):
        load(TEXT.replace("sample:", "repeats: 1 #"), **{"sample.cells": "60"})
