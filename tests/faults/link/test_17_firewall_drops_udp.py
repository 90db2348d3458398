"""Where a firewall drops UDP its cells fail for that reason, not as 100 % loss; TCP is measured."""

from __future__ import annotations

import pytest
from fault_labs import CLIENT, SERVER, drop_into, lab_matrix, lab_of, lab_run, let_in
from fault_runs import Bench, bench, by_status, wrong_ok

__all__ = ["bench"]
pytestmark = [pytest.mark.alone, pytest.mark.needs("lab")]

TESTS = "{test: stream, protocol: [TCP, UDP], message_size: 1200}"


@pytest.mark.parametrize(
    ("host", "blocked"),
    [(SERVER, f"UDP {CLIENT}→{SERVER} is blocked"), (CLIENT, f"UDP {SERVER}→{CLIENT} is blocked")],
)
def test_udp_is_named_as_blocked_with_its_direction_and_measured_when_let_in(
    bench: Bench, host: str, blocked: str
) -> None:
    with lab_of(mtu=1279) as of:  # no IPv6: one pair of addresses to try
        lab_matrix(bench, TESTS)
        clean, _ = lab_run(bench, of, "clean")
        drop_into(of, host, "ipproto udp")
        faulty, output = lab_run(bench, of, "out", code=3)
        assert blocked in output
        assert ", TCP passes" in output
        assert by_status(faulty) == {"ok": 1, "failed": 1}
        failed = next(record for record in faulty.latest.values() if record.status == "failed")
        assert (failed.settings["protocol"], failed.reason) == ("UDP", "path-blocked")
        assert blocked in str(failed.detail)
        assert not [name for name in failed.values if "lost" in name or "throughput" in name]
        assert wrong_ok(clean, faulty) == []
        let_in(of, host)
        second_run, _ = lab_run(bench, of, "out")
        assert by_status(second_run) == {"ok": 2}
