"""When a run tries again a host that is away, and how long it waits for it."""

from __future__ import annotations

import pytest

from netlab.runner.trial_faults import MOST_PAUSE_S, Absence


def test_pauses_between_tries_of_an_absent_host_double_up_to_a_minute() -> None:
    absence = Absence.begin("host-away", "far: gone", 100.0, 1.0)
    pauses, now_s = [], 100.0
    for _ in range(9):
        assert not absence.is_due(absence.ask_at_s - 0.001)
        assert absence.is_due(absence.ask_at_s)
        pauses.append(absence.ask_at_s - now_s)
        now_s = absence.ask_at_s
        absence = absence.again("host-away", "far: still gone", now_s)
    assert pauses == [1, 2, 4, 8, 16, 32, MOST_PAUSE_S, MOST_PAUSE_S, MOST_PAUSE_S]
    assert (absence.sentence, absence.since_s) == ("far: still gone", 100.0)


@pytest.mark.parametrize(
    ("now_s", "patience_s", "next_s"),
    [
        (100.0, 600.0, 8.0),
        (107.0, 600.0, 1.0),
        (109.0, 600.0, 0.0),
        (100.0, 3.0, 3.0),
        (103.0, 3.0, None),
        (100.0, 0.0, None),
    ],
)
def test_an_absent_host_is_tried_only_while_the_patience_of_the_run_lasts(
    now_s: float, patience_s: float, next_s: float | None
) -> None:
    absence = Absence.begin("host-away", "far: gone", 100.0, 8.0)
    assert absence.next_ask_s(now_s, patience_s) == next_s


def test_a_host_that_refused_the_login_is_not_tried_again() -> None:
    refusal = Absence.begin("host-refused", "far: accepted no key", 100.0, None)
    later = Absence.begin("host-away", "far: gone", 100.0, 1.0).again(
        "host-refused", "far: another key", 101.0, final=True
    )
    for absence in (refusal, later):
        assert not absence.is_due(1e9)
        assert absence.next_ask_s(100.0, 600.0) is None
