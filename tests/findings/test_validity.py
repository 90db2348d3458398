"""Doubts about a stream's figure: synthetic streams, hosts and their facts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from made_samples import CEILING, IDLE, SECOND_NS, tcp, udp

from netlab.findings.finding import Finding, Kind
from netlab.findings.streams.limits import is_above
from netlab.findings.validity import doubts
from netlab.report.text.findings import statement


def only(found: tuple[Finding, ...]) -> Finding:
    (one,) = found
    assert statement(one)
    return one


def test_a_stream_without_anything_odd_is_not_doubted() -> None:
    assert doubts([udp(), tcp(congestion="cubic"), udp(path_mtu_bytes=1500)], [{"host": "a"}]) == ()


# ---- the ceiling ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("share", "other", "above"),
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
def test_above_the_ceiling_is_beyond_what_clocks_explain(
    share: float, other: dict[str, Any], above: bool
) -> None:
    made = udp(throughput_bit_per_s=share * CEILING, **other)
    assert is_above(made) == above
    kinds = {finding.kind for finding in doubts([made])}
    assert kinds == ({Kind.ABOVE_CEILING} if above else set())


def test_what_is_above_says_by_how_much() -> None:
    found = only(doubts([udp(throughput_bit_per_s=1.1 * CEILING)]))
    assert (found.kind, found.severity, found.cells) == (Kind.ABOVE_CEILING, "warning", ("a",))
    assert statement(found).startswith("10.0 % above the wire ceiling of 95.71 Mbit/s")


def test_one_odd_trial_of_three_does_not_make_a_cell_doubtful() -> None:
    odd = udp(throughput_bit_per_s=1.1 * CEILING, path_mtu_bytes=1400, link_mtu_bytes=1500)
    assert doubts([odd, udp(), udp()]) == ()
    assert {finding.kind for finding in doubts([odd, odd, udp()])} == {
        Kind.ABOVE_CEILING,
        Kind.PATH_MTU,
    }


# ---- the path's MTU ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "link", "smaller"),
    [(1400, 1500, True), (1500, 1500, False), (9000, 1500, False), (None, 1500, False)],
)
def test_a_path_of_a_smaller_mtu_than_the_links(path: int | None, link: int, smaller: bool) -> None:
    found = doubts([udp(path_mtu_bytes=path, link_mtu_bytes=link)])
    assert [finding.kind for finding in found] == ([Kind.PATH_MTU] if smaller else [])


# ---- congestion control --------------------------------------------------------------------------


def of_sender(host: str, congestion: str | None, **other: Any) -> Any:
    sender = replace(IDLE, host=host)
    return tcp(cell=host, sender=sender, congestion=congestion, **other)


def test_senders_that_use_different_congestion_controls_are_named() -> None:
    found = only(doubts([of_sender("a", "bbr"), of_sender("b", "cubic"), of_sender("c", "bbr")]))
    assert found.kind is Kind.CONGESTION_DIFFERS
    assert found.words == {"a": "bbr", "b": "cubic", "c": "bbr"}
    assert "a: bbr; b: cubic" in statement(found)


def test_what_the_matrix_asks_for_or_nobody_tells_is_no_difference() -> None:
    asked = [of_sender("a", "bbr"), of_sender("b", "cubic", congestion_asked=True)]
    assert doubts(asked) == ()
    assert doubts([of_sender("a", "bbr"), of_sender("b", None)]) == ()
    assert doubts([of_sender("a", "bbr"), of_sender("b", "cubic", same_host=True)]) == ()


# ---- hosts ---------------------------------------------------------------------------------------


def test_one_clock_that_was_set_is_enough() -> None:
    steps = replace(IDLE, host="b", clock_step_ns=-3_600_000_000_000)
    found = only(doubts([udp(), udp(), udp(receiver=steps)]))
    assert (found.kind, found.group.host) == (Kind.CLOCK_STEP, "b")
    assert "-3600.0 s" in statement(found)


@pytest.mark.parametrize(("ppm", "off"), [(99.0, False), (-101.0, True), (None, False)])
def test_a_clock_under_correction_is_doubted(ppm: float | None, off: bool) -> None:
    found = doubts([udp(sender=replace(IDLE, clock_ppm=ppm, host="b"))] * 2)
    assert [finding.kind for finding in found] == ([Kind.CLOCK_RATE] if off else [])
    if off:
        assert "-101 ppm" in statement(found[0])


def test_a_clock_that_was_read_late_once_is_not() -> None:
    late = udp(sender=replace(IDLE, clock_ppm=900.0, host="b"))
    right = udp(sender=replace(IDLE, clock_ppm=1.0, host="b"))
    assert doubts([late, right]) == ()


def test_other_load_is_a_note_where_it_is_not_the_limit() -> None:
    waits = replace(IDLE, host="b", run_queue_delay_ns=80_000_000)
    full = udp(throughput_bit_per_s=0.99 * CEILING, sender=waits)
    found = only(doubts([full]))
    assert (found.kind, found.severity, found.group.host) == (Kind.OTHER_LOAD, "note", "b")
    assert found.evidence["run_queue_share"] == pytest.approx(0.08)
    assert "at worst, the test waited for a CPU 8 % of the time" in statement(found)
    throttled = replace(waits, quota_periods=10, throttled_periods=8)
    assert doubts([replace(full, sender=throttled)]) == (), "its quota kept it waiting"
    limited = udp(sender=replace(waits, thread_ns=SECOND_NS - 80_000_000))
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
def test_a_host_that_saves_power_is_noted(facts: dict[str, str], words: dict[str, str]) -> None:
    found = doubts([], [{"host": "b", "when": "before", "facts": facts}])
    assert [finding.words for finding in found] == ([words] if words else [])
    for finding in found:
        assert (finding.kind, finding.group.host) == (Kind.POWER_SAVING, "b")
        assert statement(finding)
