"""Jitter against a path that is longer at times, its way, its shortest time, and late answers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from draws import chance, drawn
from made_trips import timed, trip_cell, trips_run

from netlab.findings.analysis import Analysis
from netlab.findings.finding import Finding, Kind
from netlab.report.text.findings import statement
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value

MS = 1_000_000
KINDS = (Kind.LONGER_PATH_TIMES, Kind.PATH_JITTER)
NUMBER = 200


def trial(times_ms: Sequence[float], **more: Value) -> dict[str, Value]:
    return timed([round(ms * MS) for ms in times_ms], client_run_queue_delay_ns=0, **more)


def found(run: Analysis) -> list[Finding]:
    return [finding for finding in run.findings if finding.kind in KINDS]


def told(folder: Path, *trials: dict[str, Value], cell: PlannedCell | None = None) -> list[Finding]:
    return found(trips_run(folder, (cell or trip_cell(), trials)))


def parts(base_ms: float, *others: tuple[int, Sequence[float]], random: Random) -> list[float]:
    """Round trips of the path, and so many that are longer by one of these times."""
    longer = [base_ms + random.choice(added) for number, added in others for _ in range(number)]
    every = [base_ms + 0.02 * random.random() for _ in range(NUMBER - len(longer))] + longer
    random.shuffle(every)
    return every


def evenly(added_ms: float) -> list[float]:
    return [added_ms * at / 40 for at in range(41)]


# ---- jitter, or longer at times ------------------------------------------------------------------


def test_a_path_that_varies_in_bursts_is_told_from_one_that_is_longer_in_them(
    tmp_path: Path,
) -> None:
    random = chance("bursts")
    for number in range(drawn(12, 120)):
        base_ms, share = random.choice((10.0, 20.0)), random.choice((0.3, 0.5, 0.8))
        count, added_ms = round(share * NUMBER), base_ms * random.choice((0.5, 2.0))
        for kind, added in (
            (Kind.LONGER_PATH_TIMES, [added_ms]),
            (Kind.PATH_JITTER, evenly(added_ms)),
        ):
            values = parts(base_ms, (count, added), random=random)
            (finding,) = told(tmp_path / f"{number}-{kind.value}", trial(values))
            assert finding.kind is kind, (base_ms, share, added_ms)


@pytest.mark.parametrize(("varying", "kind"), [(27, KINDS[0]), (29, KINDS[1])])
def test_a_path_is_longer_at_times_if_less_than_35_percent_of_the_longer_ones_vary(
    varying: int, kind: Kind, tmp_path: Path
) -> None:
    random, middle = chance("share"), [3.0, 4.0, 5.0, 6.0]
    values = parts(10.0, (varying, middle), (80 - varying, [10.0]), random=random)
    (finding,) = told(tmp_path / "r", trial(values))
    assert finding.kind is kind


def test_answers_that_came_late_took_the_time_out_at_least(tmp_path: Path) -> None:
    """A twelfth of the requests: the others show nothing."""
    cell, steady = trip_cell(timeout_s=0.5), [10.0] * NUMBER
    assert told(tmp_path / "none", trial(steady), cell=cell) == []
    (finding,) = told(tmp_path / "late", trial(steady, client_late_messages=18), cell=cell)
    assert finding.kind is Kind.LONGER_PATH_TIMES
    mean_ms = (10 * NUMBER + 500 * 18) / NUMBER  # for each answer in time
    assert finding.evidence["longer_trip_ns"] == pytest.approx(mean_ms * MS, rel=0.01)
    assert finding.evidence["other_trip_ns"] == pytest.approx(10 * MS, rel=0.01)


# ---- TCP that waits for an acknowledgement -------------------------------------------------------


@pytest.mark.parametrize(
    ("longer_ms", "size", "nodelay", "is_path"),
    [
        (40.0, 1472, 0, False),
        (40.0, 1472, 1, True),
        (40.0, 1400, 0, True),
        (35.0, 1472, 0, True),
    ],
)
def test_round_trips_of_two_times_the_path_are_those_of_a_last_part_that_nagles_algorithm_held(
    longer_ms: float, size: int, nodelay: int, is_path: bool, tmp_path: Path
) -> None:
    values = parts(20.0, (30, [longer_ms - 20.0]), random=chance("nagle"))
    cell = trip_cell(protocol="TCP", message_bytes=size)
    own = trial(values, client_nodelay=nodelay, mss_bytes=1448)
    assert bool(told(tmp_path / "r", own, cell=cell)) is is_path


# ---- TCP that paces ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("congestion", "message_bytes", "added_ms", "is_jitter"),
    [
        ("bbr", 20_000, 1.6, False),  # 7 % of the mean round trip
        ("bbr", 20_000, 2.6, True),  # 12 %
        ("bbr", 1_000, 1.9, True),  # one segment
        ("cubic", 20_000, 1.9, True),
    ],
)
def test_segments_of_a_message_that_bbr_paces_vary_by_less_than_8_percent(
    congestion: str, message_bytes: int, added_ms: float, is_jitter: bool, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"congestion": congestion, "message_bytes": message_bytes}
    values = parts(10.0, (NUMBER, evenly(added_ms)), random=chance("paced"))
    cell = trip_cell(protocol="TCP", **settings)
    findings = told(tmp_path / "r", trial(values, mss_bytes=1448), cell=cell)
    assert [finding.kind for finding in findings] == [Kind.PATH_JITTER] * is_jitter


# ---- the shortest time ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("other", "base_ms"), [({"dscp": 46}, 10.0), ({"dscp": 46, "message_bytes": 512}, 12.0)]
)
def test_the_shortest_time_of_a_path_that_varies_is_that_of_all_cells_over_it(
    other: dict[str, Any], base_ms: float, tmp_path: Path
) -> None:
    """Messages of one size have one time on the wire."""
    random = chance("cells")
    varying = trial(parts(12.0, (NUMBER - 1, evenly(8.0)), random=random))
    at_times = trial(parts(12.0, (NUMBER // 2, [8.0]), random=random))
    steady = (trip_cell(**other), [trial([10.0] * NUMBER)])
    for own, kind in ((varying, Kind.PATH_JITTER), (at_times, Kind.LONGER_PATH_TIMES)):
        (finding,) = found(trips_run(tmp_path / kind.name, (trip_cell(dscp=0), [own]), steady))
        assert finding.kind is kind
        least_ms = base_ms if kind is Kind.PATH_JITTER else 12.0
        assert finding.evidence["other_trip_ns"] == pytest.approx(least_ms * MS, rel=0.01)


# ---- which way -----------------------------------------------------------------------------------

LATER = {
    "path": "requests arrive",
    "path-back": "answers arrive",
    "": "the time on the path varies",
}


def test_the_way_of_jitter_is_that_of_the_requests_or_of_their_answers(tmp_path: Path) -> None:
    """By how much later than the fastest one requests were, of all that round trips vary."""
    random = chance("ways")
    for number in range(drawn(12, 120)):
        values = parts(10.0, (NUMBER, evenly(random.choice((12.0, 30.0)))), random=random)
        more_ms = sum(values) / NUMBER - min(values)
        way = random.choice([*LATER])
        least, most = {"path": (0.78, 1.1), "path-back": (0.0, 0.22), "": (0.28, 0.68)}[way]
        later_ms = more_ms * random.uniform(least, most)
        if not way and random.random() < 0.3:
            recorded: dict[str, Value] = {}
        else:
            recorded = {"server_later_mean_ns": round(later_ms * MS)}
        (finding,) = told(tmp_path / f"{number}", trial(values, **recorded))
        assert (finding.kind, finding.words["cause_place"]) == (Kind.PATH_JITTER, way or "path")
        assert LATER[way] in statement(finding)
        assert finding.claim is not None
        assert (finding.claim.where, finding.claim.what) == (way or "path", "jitter")
        if way:
            name = {"path": "requests_later_ns", "path-back": "answers_later_ns"}[way]
            ms = later_ms if way == "path" else more_ms - later_ms
            assert finding.evidence[name] == pytest.approx(
                ms * MS, rel=0.1, abs=0.1 * MS
            )  # without the longest


def test_a_path_that_is_longer_at_times_has_no_way_of_its_own(tmp_path: Path) -> None:
    values = parts(10.0, (NUMBER // 2, [10.0]), random=chance("times"))
    (finding,) = told(tmp_path / "r", trial(values, server_later_mean_ns=0))
    assert finding.kind is Kind.LONGER_PATH_TIMES
    assert "cause_place" not in finding.words
