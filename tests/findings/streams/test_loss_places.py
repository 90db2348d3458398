"""Where messages were lost: random cases, measured; no place is named wrongly."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random, SystemRandom

import pytest
from labs import first_itself
from loss_cases import Judged, drawn, judged, routed, table

pytestmark = [pytest.mark.alone, pytest.mark.needs("namespaces")]

CASES = 12


def test_between_namespaces_no_loss_is_reported_at_a_wrong_place(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    seed = SystemRandom().randrange(1 << 32)
    draws = Random(seed)  # noqa: S311
    cases: list[Judged] = []
    with first_itself(), routed() as ends:
        # On a busy machine some cases have too few messages for a figure.
        for _ in range(2 * CASES):
            cases += judged(drawn(draws), ends, tmp_path) if len(cases) < CASES else ()
    record_property("seed", seed)
    record_property("n", len(cases))
    record_property("figure", table(cases))
    assert len(cases) >= CASES
    assert [case for case in cases if case.verdict == "wrong"] == [], seed
    assert sum(case.verdict == "missed" for case in cases) <= len(cases) // 4, seed
