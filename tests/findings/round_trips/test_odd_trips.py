"""Requests and answers over UDP that are lost, or copied, on the way there or back."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from draws import chance, seeds
from made_trips import said, timed, trip_cell, trips_run

from netlab.trial.record import Value

CAUSES = ("", "lost-there", "lost-back", "copied-there", "copied-back")
NUMBER = 2_000


def simulated(cause: str, share: float, random: Random) -> dict[str, Value]:
    """What the ends count of requests that the cause loses or copies, each by chance."""

    def arriving(way: str) -> int:
        acts = random.random() < share
        return 1 - (acts and cause == f"lost-{way}") + (acts and cause == f"copied-{way}")

    received = answers = in_time = 0
    for _ in range(NUMBER):
        requests = arriving("there")
        came = sum(arriving("back") for _ in range(requests))
        received, answers, in_time = received + requests, answers + came, in_time + (came > 0)
    return {
        **timed([60_000] * in_time),
        "transactions": in_time,
        "lost_messages": NUMBER - in_time,
        "client_sent_messages": NUMBER,
        "client_duplicate_messages": answers - in_time,
        "client_late_messages": 0,
        "server_received_messages": received,
        "server_answered_messages": received,
    }


@pytest.mark.parametrize("seed", seeds(50, 1000))
def test_what_is_lost_or_copied_is_told_with_its_way_and_share(seed: int, tmp_path: Path) -> None:
    random = chance(seed)
    cause, share = random.choice(CAUSES), random.choice((0.02, 0.1, 0.4))
    trials = [simulated(cause, share, random) for _ in range(3)]
    run = trips_run(tmp_path / "r", (trip_cell(), trials))
    found = {
        finding.kind.value: finding for finding in run.findings if finding.kind.name == "trips"
    }
    assert {*found} == ({cause} if cause else set())
    if cause:
        claim = found[cause].claim
        assert claim is not None
        assert claim.where == ("path-back" if cause.endswith("back") else "path")
        assert claim.what == ("copies" if cause.startswith("copied") else "drops")
        assert claim.share == pytest.approx(share, abs=0.15 * share + 0.004)


def test_lost_answers_are_told_with_the_host_that_sent_them(tmp_path: Path) -> None:
    trials = [simulated("lost-back", 0.4, chance(number)) for number in range(3)]
    text = said(trips_run(tmp_path / "r", (trip_cell(), trials)), "trips/lost-back")
    assert "% of the answers that alpha sent did not arrive" in text
