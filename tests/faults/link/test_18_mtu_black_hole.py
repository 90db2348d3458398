"""Where longer packets vanish silently, cells that send them are refused with the length."""

from __future__ import annotations

import shutil
import time

import pytest
from fault_labs import CLIENT, lab_matrix, lab_of, lab_run, on
from fault_runs import Bench, bench, by_status, wrong_ok
from outcomes import OutcomeOf, Seen, injects, outcome_of

from netlab.findings.finding import Kind

__all__ = ["bench", "outcome_of"]

TESTS = """
  {test: stream, protocol: TCP, message_size: 8000},
  {test: stream, protocol: UDP, message_size: [1000, 8000], message_rate: 100/s},
  {test: stream, protocol: UDP, message_size: 8000, message_rate: 100/s, dont_fragment: true},
  {test: stream, protocol: UDP, message_size: 8000, message_rate: 100/s, direction: server-sends},
  {test: round_trip, protocol: UDP, message_size: 8000, count: 20},
  {test: payload_search, protocol: UDP}
"""


def let_longer_packets_vanish(bench: Bench) -> Seen:
    with lab_of(mtu=1279) as of:  # no IPv6: one pair of addresses to try
        lab_matrix(bench, TESTS, duration="500ms")
        lab_run(bench, of, "clean")
        on(of, CLIENT, "link set test mtu 9000")
        start_s = time.monotonic()
        _, output = lab_run(bench, of, "out")
        took_s = time.monotonic() - start_s
        shutil.copytree(bench.folder / "out", bench.folder / "later")
        on(of, CLIENT, "link set test mtu 1279")
        lab_run(bench, of, "later")
    return {"stderr": output, "took_s": took_s}


@injects("lab")
@pytest.mark.produces("mtu-mismatch/black-hole")
def test_cells_longer_than_the_path_mtu_are_refused_and_measured_once_the_path_is_repaired(
    outcome_of: OutcomeOf,
) -> None:
    outcome = outcome_of(let_longer_packets_vanish)
    faulty = outcome.load()
    refusals = [record for record in faulty.latest.values() if record.status == "impossible"]
    kinds = [(record.test, record.settings["dont_fragment"]) for record in refusals]
    assert sorted(kinds) == [("round_trip", False), ("stream", False), ("stream", True)]
    search = next(record for record in faulty.latest.values() if record.test == "payload_search")
    # A virtual cable lets a tag of four bytes pass over the MTU of its other end.
    mtu_bytes = search.values["path_mtu_bytes"]
    assert mtu_bytes in (1279, 1283)
    for record in refusals:
        assert (record.reason, record.attempt) == ("path-mtu", 1)
        assert record.settings["message_bytes"] == 8000
        assert record.values["path_mtu_bytes"] == mtu_bytes
        assert f"packets of up to {mtu_bytes} bytes pass" in str(record.detail)
    assert by_status(faulty) == {"ok": 4, "impossible": 3}
    assert "no router reports this limit" in outcome["stderr"]
    (hole,) = (each for each in faulty.findings if each.kind is Kind.MTU_MISMATCH_BLACK_HOLE)
    assert hole.evidence["path_mtu_bytes"] == mtu_bytes
    assert wrong_ok(outcome.load("clean"), faulty) == []
    outcome.figure(f"{mtu_bytes} of 9000 bytes found; the run took {outcome['took_s']:.1f} s")
    later = outcome.load("later")
    again = {record.cell for record in refusals}
    assert {cell for (cell, _), record in later.latest.items() if record.attempt > 1} == again
    # With DF a message of 8000 bytes is still too long: for its own interface now.
    assert by_status(later) == {"ok": 6, "impossible": 1}
