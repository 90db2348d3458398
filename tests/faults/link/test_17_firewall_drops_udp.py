"""Where a firewall drops UDP its cells fail for that reason, not as 100 % loss; TCP is measured."""

from __future__ import annotations

import shutil

import pytest
from fault_labs import CLIENT, SERVER, drop_into, lab_matrix, lab_of, lab_run, let_in
from fault_runs import Bench, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of

__all__ = ["bench", "outcome_of"]

TESTS = "{test: stream, protocol: [TCP, UDP], message_size: 1200}"


def drop_udp(bench: Bench, host: str) -> Seen:
    with lab_of(mtu=1279) as of:  # no IPv6: one pair of addresses to try
        lab_matrix(bench, TESTS)
        lab_run(bench, of, "clean")
        drop_into(of, host, "ipproto udp")
        _, output = lab_run(bench, of, "out", code=3)
        shutil.copytree(bench.folder / "out", bench.folder / "later")
        let_in(of, host)
        lab_run(bench, of, "later")
    return {"stderr": output}


@pytest.mark.parametrize(("host", "other"), [(SERVER, CLIENT), (CLIENT, SERVER)])
@injects("lab")
def test_blocked_udp_is_reported_with_its_direction_and_measured_once_the_firewall_allows_it(
    outcome_of: OutcomeOf, host: str, other: str
) -> None:
    outcome = outcome_of(drop_udp, host=host)
    blocked = f"UDP {other}→{host} is blocked"
    assert blocked in outcome["stderr"]
    assert ", TCP passes" in outcome["stderr"]
    faulty = outcome.load()
    assert by_status(faulty) == {"ok": 1, "failed": 1}
    failed = next(record for record in faulty.latest.values() if record.status == "failed")
    assert (failed.settings["protocol"], failed.reason) == ("UDP", "path-blocked")
    assert blocked in str(failed.detail)
    assert not [name for name in failed.values if "lost" in name or "throughput" in name]
    assert wrong_ok(outcome.load("clean"), faulty) == []
    assert by_status(outcome.load("later")) == {"ok": 2}
