"""Findings report doubtful figures of streams, hosts and their facts."""

from __future__ import annotations

from typing import Any

import pytest
from made_samples import CEILING, IDLE, SECOND_NS, changed, tcp, udp

from netlab.findings.finding import Finding, Kind
from netlab.findings.stream_limits import is_above
from netlab.findings.validity import doubts
from netlab.report.text.findings import statement


def only(findings: tuple[Finding, ...]) -> Finding:
    (finding,) = findings
    assert statement(finding)
    return finding


def test_a_normal_stream_has_no_validity_finding() -> None:
    assert doubts([udp(), tcp(congestion="cubic"), udp(path_mtu_bytes=1500)], {"a": [{}]}) == ()


# ---- the ceiling ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "changes", "above"),
    [
        (1.0009, {}, False),
        (1.0011, {}, True),
        (1.0019, {"imported": True}, False),
        (1.0021, {"imported": True}, True),
        (1.1, {"resolution_share": 0.1}, False),
        (1.1, {"resolution_share": 0.01}, True),
        (1.1, {"same_host": True}, False),
        (1.1, {"highest_ceiling_bit_per_s": None}, False),
        (1.1, {"highest_ceiling_bit_per_s": 1.11 * CEILING}, False),
    ],
)
def test_throughput_above_the_wire_ceiling_is_reported_if_beyond_clock_and_rounding_errors(
    share: float, changes: dict[str, Any], above: bool
) -> None:
    sample = udp(throughput_bit_per_s=share * CEILING, **changes)
    assert is_above(sample) == above
    kinds = {finding.kind for finding in doubts([sample])}
    assert kinds == ({Kind.ABOVE_WIRE_RATE} if above else set())


def test_a_finding_above_the_wire_ceiling_states_the_excess_in_percent() -> None:
    finding = only(doubts([udp(throughput_bit_per_s=1.1 * CEILING)]))
    assert (finding.kind, finding.severity, finding.cells) == (
        Kind.ABOVE_WIRE_RATE,
        "warning",
        ("a",),
    )
    assert statement(finding).startswith("10.0 % above the wire ceiling of 95.71 Mbit/s")


def test_one_odd_trial_of_three_gives_no_validity_finding() -> None:
    odd = udp(throughput_bit_per_s=1.1 * CEILING, path_mtu_bytes=1400, link_mtu_bytes=1500)
    assert doubts([odd, udp(), udp()]) == ()
    assert {finding.kind for finding in doubts([odd, odd, udp()])} == {
        Kind.ABOVE_WIRE_RATE,
        Kind.MTU_MISMATCH_STREAM,
    }


# ---- congestion control --------------------------------------------------------------------------


def of_sender(host: str, congestion: str | None, **changes: Any) -> Any:
    sender = changed(IDLE, host=host)
    return tcp(cell=host, sender=sender, congestion=congestion, **changes)


def test_senders_with_different_congestion_controls_are_named() -> None:
    finding = only(doubts([of_sender("a", "bbr"), of_sender("b", "cubic"), of_sender("c", "bbr")]))
    assert finding.kind is Kind.CONGESTION_DIFFERS
    assert finding.words == {"a": "bbr", "b": "cubic", "c": "bbr"}
    assert "a: bbr; b: cubic" in statement(finding)


def test_different_congestion_controls_give_no_finding_if_one_is_requested_or_unknown() -> None:
    samples = [of_sender("a", "bbr"), of_sender("b", "cubic", congestion_asked=True)]
    assert doubts(samples) == ()
    assert doubts([of_sender("a", "bbr"), of_sender("b", None)]) == ()
    assert doubts([of_sender("a", "bbr"), of_sender("b", "cubic", same_host=True)]) == ()


# ---- hosts ---------------------------------------------------------------------------------------


def test_a_clock_set_during_one_trial_of_three_is_reported() -> None:
    steps = changed(IDLE, host="b", clock_step_ns=-3_600_000_000_000)
    finding = only(doubts([udp(), udp(), udp(receiver=steps)]))
    assert (finding.kind, finding.group.host) == (Kind.CLOCK_STEP, "b")
    assert "-3600.0 s" in statement(finding)


@pytest.mark.parametrize(("ppm", "off"), [(99.0, False), (-101.0, True), (None, False)])
def test_a_clock_that_runs_off_by_more_than_100_ppm_is_reported(
    ppm: float | None, off: bool
) -> None:
    findings = doubts([udp(sender=changed(IDLE, clock_ppm=ppm, host="b"))] * 2)
    assert [finding.kind for finding in findings] == ([Kind.CLOCK_RATE] if off else [])
    if off:
        assert "-101 ppm" in statement(findings[0])


def test_a_clock_that_is_off_in_only_half_of_the_trials_is_not_reported() -> None:
    late = udp(sender=changed(IDLE, clock_ppm=900.0, host="b"))
    right = udp(sender=changed(IDLE, clock_ppm=1.0, host="b"))
    assert doubts([late, right]) == ()


def test_other_load_that_is_not_the_limit_is_reported_as_a_note() -> None:
    waits = changed(IDLE, host="b", run_queue_delay_ns=80_000_000)
    as_offered = udp(offered_bit_per_s=4_000 * 1472 * 8.0, sender=waits)
    finding = only(doubts([as_offered]))
    assert (finding.kind, finding.severity, finding.group.host) == (Kind.OTHER_LOAD, "note", "b")
    assert finding.evidence["run_queue_share"] == pytest.approx(0.08)
    assert "at worst, the test waited for a CPU 8 % of the time" in statement(finding)
    throttled = changed(waits, quota_periods=10, throttled_periods=8)
    assert doubts([changed(as_offered, sender=throttled)]) == (), "its quota kept it waiting"
    limited = udp(sender=changed(waits, thread_ns=SECOND_NS - 80_000_000))
    assert doubts([limited]) == (), "said as its limit"


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"governor": "powersave"}, {"governor": "powersave"}),
        ({"governor": "performance,schedutil"}, {"governor": "schedutil"}),
        ({"power_plan": "Balanced"}, {"power_plan": "Balanced"}),
        ({"interface_eee": "active"}, {"interface_eee": "active"}),
        ({"governor": "performance", "power_plan": "High performance", "interface_eee": "off"}, {}),
        ({"power_plan": "Équilibré"}, {}),
        ({}, {}),
    ],
)
def test_a_host_with_a_power_saving_setting_has_a_note(
    facts: dict[str, str], words: dict[str, str]
) -> None:
    findings = doubts([], {"b": [facts]})
    assert [finding.words for finding in findings] == ([words] if words else [])
    for finding in findings:
        assert (finding.kind, finding.group.host) == (Kind.POWER_SAVING, "b")
        assert statement(finding)
