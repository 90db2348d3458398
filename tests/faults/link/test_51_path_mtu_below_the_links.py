"""Where a path carries less than its links, what cannot pass it is refused and not waited for."""

from __future__ import annotations

import shutil
import time

import pytest
from fault_labs import SERVER, lab_matrix, lab_of, lab_run, on
from fault_runs import Bench, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of

from netlab.findings.finding import Kind

__all__ = ["bench", "outcome_of"]

TESTS = """
  {test: stream, protocol: TCP, message_size: 1448},
  {test: stream, protocol: UDP, message_size: [1000, 1240, 4000], message_rate: 100/s},
  {test: stream, protocol: UDP, message_size: 1240, message_rate: 100/s, dont_fragment: true},
  {test: round_trip, protocol: TCP, message_size: [64, 1448], count: 20, mirror_hold: 20ms},
  {test: payload_search, protocol: UDP}
"""
NARROW_BYTES = 1100


def narrow_the_path(bench: Bench) -> Seen:
    with lab_of(topology="router", mtu=1279) as of:  # no IPv6
        lab_matrix(bench, TESTS, duration="500ms")
        lab_run(bench, of, "clean")
        # The router's own end of the server's cable; nobody hears what the router has to say.
        on(of, "router", f"link set {SERVER} mtu {NARROW_BYTES}")
        on(of, "router", "rule add preference 10 iif lo ipproto icmp blackhole")
        start_s = time.monotonic()
        lab_run(bench, of, "out")
        took_s = time.monotonic() - start_s
        shutil.copytree(bench.folder / "out", bench.folder / "later")
        # The router may say so now: TCP and what may be cut up go on in shorter packets.
        on(of, "router", "rule delete preference 10")
        lab_run(bench, of, "later")
    return {"took_s": took_s}


@injects("lab")
@pytest.mark.produces("no-result/mtu")
def test_cells_above_an_unreported_path_mtu_are_refused_with_the_mtu_and_others_measured(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(narrow_the_path)
    silent = outcome.load()
    refusals = [record for record in silent.latest.values() if record.status == "impossible"]
    assert {(record.test, record.settings["protocol"]) for record in refusals} == {
        ("stream", "TCP"),
        ("stream", "UDP"),
        ("round_trip", "TCP"),
    }
    for record in refusals:
        assert (record.reason, record.attempt) == ("path-mtu", 1)
        assert record.values["path_mtu_bytes"] == NARROW_BYTES
        assert record.settings["message_bytes"] in (1448, 1240)
    assert by_status(silent) == {"ok": 4, "impossible": 4}
    told = [each for each in silent.findings if each.kind is Kind.NO_RESULT_MTU]
    assert {cell for each in told for cell in each.cells} == {record.cell for record in refusals}
    assert Kind.NO_RESULT_CELLS not in {each.kind for each in silent.findings}
    assert wrong_ok(outcome.load("clean"), silent) == []
    outcome.figure(f"4 of 8 cells refused; the run took {outcome['took_s']:.1f} s")
    later = outcome.load("later")
    last_refusals = [record for record in later.latest.values() if record.status == "impossible"]
    assert [(record.reason, record.settings["dont_fragment"]) for record in last_refusals] == [
        ("path-mtu", True)
    ]
    assert "the sender's system knows this limit" in str(last_refusals[0].detail)
    assert by_status(later) == {"ok": 7, "impossible": 1}
