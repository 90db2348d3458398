"""Round trips over paths that are longer for some packets, in some trials or at times, or vary."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
from draws import chance, seeds
from made_trips import Trials, found, said, timed, trip_cell, trips_run

from netlab.findings.analysis import Analysis
from netlab.findings.finding import Finding

KINDS = ("longer-path/packets", "longer-path/trials", "longer-path/times", "path-jitter")
AXES = {"ip_version": (4, 6), "dscp": (0, 46, 8), "message_bytes": (18, 512, 1400)}
NUMBER = 200


@dataclass
class Case:
    """A path, the cells that are measured over it, and what makes it longer by a share."""

    planted: str
    path_ns: float
    axis: str
    values: tuple[int, ...]
    share: float
    slow: int
    """The value, or the number of the trials, with the longer path."""
    repeats: int = 3
    trials: list[tuple[int, Trials]] = field(default_factory=list)

    @property
    def added_ns(self) -> float:
        return self.path_ns * self.share / (1 - self.share)


def drawn(random: Random) -> Case:
    axis = random.choice([*AXES])
    values = AXES[axis][: random.choice((2, 3))]
    planted = random.choice(("", *KINDS))
    repeats = random.choice((3, 4))
    slow = random.choice(values) if planted == KINDS[0] else random.randrange(1, repeats)
    path_ns = random.choice((5e5, 2e6, 1e7, 4e7))
    case = Case(planted, path_ns, axis, values, random.choice((0.1, 0.4)), slow, repeats)
    for value in values:
        trials = [timed(times(case, random, value, number)) for number in range(1, repeats + 1)]
        case.trials.append((value, [{**trial, "client_run_queue_delay_ns": 0} for trial in trials]))
    return case


def times(case: Case, random: Random, value: int, number: int) -> list[int]:
    """Round trips of one trial: the path, hosts that take tens of microseconds, and the cause."""
    always = (case.planted, value) == (KINDS[0], case.slow)
    always |= case.planted == KINDS[1] and number <= case.slow
    trips = []
    for _ in range(NUMBER):
        host_ns = random.gauss(60_000, 8_000) + (random.random() < 0.01) * 2e6
        added_ns = case.added_ns * always
        if case.planted == KINDS[2]:
            added_ns = 2 * case.added_ns * (random.random() < 0.5)
        if case.planted == KINDS[3]:
            added_ns = 2 * case.added_ns * random.random()
        trips.append(round(case.path_ns + wire_ns(case, value) + host_ns + added_ns))
    return trips


def wire_ns(case: Case, value: int) -> float:
    """Both packets on a link of 100 Mbit/s."""
    return 160.0 * (value if case.axis == "message_bytes" else 18)


def run_of(case: Case, folder: Path) -> Analysis:
    cells = [(trip_cell(**{case.axis: value}), trials) for value, trials in case.trials]
    return trips_run(folder, *cells)


def those_found(run: Analysis) -> list[Finding]:
    return [finding for kind in KINDS for finding in found(run, kind)]


@pytest.mark.parametrize("seed", seeds(60, 1500))
def test_a_path_that_is_longer_or_varies_is_found_with_its_cells_trials_and_share(
    seed: int, tmp_path: Path
) -> None:
    case = drawn(chance(seed))
    run = run_of(case, tmp_path / "r")
    those = those_found(run)
    if case.planted and case.added_ns >= 5e5:
        assert {str(finding.kind) for finding in those} == {case.planted}, case
    if those:
        assert {str(finding.kind) for finding in those} == {case.planted}, case
        slow = [value for value, _ in case.trials if case.planted != KINDS[0] or value == case.slow]
        assert len(those) == len(slow) or (case.added_ns < 5e5 and len(those) < len(slow))
        few = case.planted == KINDS[1]
        numbers = range(1, 1 + (case.slow if few else case.repeats))
        for finding in those:
            shown = [number for _cell, number in finding.trials]
            assert shown == [*numbers] or (case.added_ns < 5e5 and {*shown} < {*numbers})
            value = next(v for v, _ in case.trials if f"-{v}" in finding.cells[0])
            usual_ns = case.path_ns + 60_000 + wire_ns(case, value)
            expected = case.added_ns / (usual_ns + case.added_ns)
            assert finding.evidence["change_share"] == pytest.approx(expected, rel=0.15), case
            claim = finding.claim
            assert claim is not None
            assert claim.what == ("jitter" if case.planted == KINDS[3] else "delay")
            assert (claim.where, claim.when) == ("path", "trials" if few else "")


@pytest.mark.parametrize(("varies_ns", "kind"), [(2e6, "longer-path/trials"), (8e6, "path-jitter")])
def test_a_trial_that_is_longer_as_a_whole_may_vary_a_little(
    varies_ns: float, kind: str, tmp_path: Path
) -> None:
    """The path is 10 ms longer in one of three trials, and varies evenly then."""
    even = [round(30e6 + varies_ns * 2 * at / NUMBER) for at in range(NUMBER)]
    trials = [timed([round(20e6)] * NUMBER), timed(even), timed([round(20e6)] * NUMBER)]
    told = [{**trial, "client_run_queue_delay_ns": 0} for trial in trials]
    run = trips_run(tmp_path / "r", (trip_cell(), told))
    assert [str(finding.kind) for finding in those_found(run)] == [kind]


def test_a_longer_path_of_one_ip_version_is_told_with_both_times(tmp_path: Path) -> None:
    random = chance(1)
    case = Case(KINDS[0], 1e7, "ip_version", (4, 6), 0.5, 6)
    for value in case.values:
        trials = [timed(times(case, random, value, number)) for number in (1, 2, 3)]
        case.trials.append((value, trials))
    text = said(run_of(case, tmp_path / "r"), KINDS[0])
    assert "round trips take at least 20" in text
    assert "with other packets: the path is longer for these" in text
