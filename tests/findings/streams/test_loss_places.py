"""Between namespaces no loss is reported at a wrong place."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from draws import chance
from labs import first_itself
from loss_cases import CAUSES, Case, Judged, drawn, judged, routed, table

pytestmark = [pytest.mark.alone, pytest.mark.needs("namespaces")]


def test_no_loss_between_namespaces_is_reported_at_a_wrong_place(tmp_path: Path) -> None:
    cases: list[Judged] = []
    with first_itself(), routed() as ends:
        for cause in CAUSES:
            cases += judged(Case("client-sends", 1100, 2000.0, (cause,)), ends, tmp_path)
    assert len(cases) > len(CAUSES) / 2
    assert [case for case in cases if case.verdict == "wrong"] == [], table(cases)


@pytest.mark.night
def test_between_namespaces_at_most_a_quarter_of_random_losses_is_reported_without_a_place(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    draws, cases = chance("places of loss"), list[Judged]()
    with first_itself(), routed() as ends:
        for _ in range(30):
            cases += judged(drawn(draws), ends, tmp_path)
    record_property("n", len(cases))
    record_property("figure", table(cases))
    assert len(cases) >= 12
    assert [case for case in cases if case.verdict == "wrong"] == []
    assert sum(case.verdict == "missed" for case in cases) <= len(cases) // 4
