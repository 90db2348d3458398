"""Controllers on the same hosts at once take turns: never two on a host, and none is stuck.

`make benchmark-locks` does the same a thousand times.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from draws import chance
from fault_runs import Bench, bench
from outcomes import OutcomeOf, Seen, injects, outcome_of

from benchmarks.faults.locks import Contest, Hold, contend, holds_of, hosts_in, overlaps, settle

__all__ = ["bench", "outcome_of"]

SEED, CONTROLLERS = 27, 3


def contend_for_hosts(bench: Bench) -> Seen:
    contest = Contest()
    with hosts_in(bench.folder, 3) as lock_of:
        contenders = contend(bench, lock_of, CONTROLLERS, chance(SEED), batch=1)
        settle(bench, lock_of, contenders, contest)
    return {
        "lock_of": lock_of,
        "runs": [contender.run for contender in contenders],
        "stuck": contest.stuck,
        "bad": contest.bad,
        "acquired": contest.acquired,
    }


@injects("lab")
def test_controllers_with_pairs_in_random_order_never_share_a_host(outcome_of: OutcomeOf) -> None:
    outcome = outcome_of(contend_for_hosts)
    for name in outcome["runs"]:
        outcome.keep(name)
    folders = [outcome.folder / name for name in outcome["runs"]]
    holds = [hold for folder in folders for hold in holds_of(folder, outcome["lock_of"])]
    assert overlaps(holds) == []
    assert (outcome["stuck"], outcome["bad"]) == ([], [])
    assert len(holds) >= outcome["acquired"] > 0
    acquisitions = f"{outcome['acquired']} acquisitions by {len(folders)} controllers"
    outcome.figure("0 overlaps, 0 deadlocks", n=acquisitions, seed=SEED)


def run_beside_another(bench: Bench) -> Seen:
    tests = "{test: stream, protocol: UDP, message_size: 256, rate: 8Mbit, duration: 3s}"
    bench.matrix(tests)
    first = bench.start("run", "matrix.yaml", "--into", "first", "--no-report", "--wait", "60")
    bench.wait_for('"kind":"attempt"', "first")
    second = bench.run("run", "matrix.yaml", "--into", "second", "--no-report")
    first.communicate(timeout=60)
    return {"codes": [first.returncode, second.returncode], "stderr": second.stderr}


@injects()
def test_a_run_that_finds_its_host_busy_names_the_other_run_and_exits_with_code_6(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(run_beside_another)
    assert outcome["codes"] == [0, 6]
    assert "first" in outcome["stderr"].splitlines()[-1]
    assert "Traceback" not in outcome["stderr"]
    outcome.keep("first")
    lock_of = {"server": "this machine", "client": "this machine"}
    assert len(holds_of(outcome.folder / "first", lock_of)) == 1
    assert holds_of(outcome.folder / "second", lock_of) == []


def test_the_overlap_check_finds_runs_that_hold_a_host_at_the_same_time() -> None:
    noon = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def hold(host: str, run: str, began_s: float, ended_s: float) -> Hold:
        return Hold(host, run, noon + timedelta(seconds=began_s), noon + timedelta(seconds=ended_s))

    holds = [hold("a", "one", 0, 9), hold("b", "one", 0, 9)]
    assert overlaps([*holds, hold("a", "two", 9, 10), hold("c", "three", 1, 2)]) == []
    (overlap,) = overlaps([*holds, hold("a", "two", 1, 2), hold("a", "three", 9.5, 10)])
    assert "one" in overlap
    assert "two" in overlap
    assert len(overlaps([*holds, hold("a", "two", 1, 2), hold("a", "three", 8, 10)])) == 2
