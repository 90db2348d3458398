"""Settings of the hosts that a run changes are put back, whatever ends it and whenever it ends."""

from __future__ import annotations

import dataclasses

from draws import chance
from fault_labs import lab_of
from fault_runs import Bench, bench
from outcomes import OutcomeOf, Seen, injects, outcome_of
from variant_ends import ENDS, TRIALS, SettingsLab, end_at

__all__ = ["bench", "outcome_of"]

SEED = 64
RUN_S = 8.0
"""About as long as a run takes: ends come at a random moment of it."""


def end_runs(bench: Bench) -> Seen:
    moments = chance(SEED)
    with lab_of(sudo=True) as of:
        lab = SettingsLab(of, bench)
        settings_before = lab.settings()
        whole = lab.start("whole")
        _, output = whole.communicate(timeout=60)
        is_put_back = lab.settings() == settings_before
        ends = {
            name: end_at(lab, f"ended-{n}", end, moments.uniform(1.5, RUN_S), moments)
            for n, (name, end) in enumerate(ENDS.items())
        }
    return {
        "code": whole.returncode,
        "stderr": output,
        "is_put_back": is_put_back,
        "ends": {name: dataclasses.asdict(end) for name, end in ends.items()},
    }


@injects("lab")
def test_settings_that_a_run_changes_are_put_back_whatever_ends_the_run(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(end_runs)
    assert outcome["code"] == 0, outcome["stderr"]
    assert outcome["is_put_back"]
    records = outcome.load("whole").latest.values()
    assert [record.status for record in records] == ["ok"] * TRIALS
    states = {(record.values["client_state"], record.settings["variant"]) for record in records}
    wanted = {variant for text, variant in states if "tcp_ecn = 1" in str(text)}
    assert wanted == {"ecn=wanted offload=on", "ecn=wanted offload=off"}
    without = {v for text, v in states if "generic-segmentation-offload: off" in str(text)}
    assert without == {"ecn=found offload=off", "ecn=wanted offload=off"}
    ends = outcome["ends"]
    assert {name: end["complaint"] for name, end in ends.items() if end["complaint"]} == {}
    changed_count = sum(end["was_changed"] for end in ends.values())
    outcome.figure(
        f"{len(ends)} of {len(ends)} put back, {changed_count} changed", n=len(ends), seed=SEED
    )
