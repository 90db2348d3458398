"""Each finding about a measured run is present with its evidence and absent without."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from draws import drawn
from hypothesis import given, settings
from hypothesis import strategies as st
from made_findings import BUFFERS, KIB, LINK, clean, kinds_of, measured, of_kind, run_of, stream

from netlab.findings.analysis import Analysis, findings
from netlab.findings.finding import Kind
from netlab.findings.validity import hosts
from netlab.report.text.findings import RunIndex, sentence
from netlab.report.text.summary import leading
from netlab.store.journal import Note
from netlab.trial.record import Value


def test_a_clean_run_has_no_warning() -> None:
    run_findings = findings(clean())
    assert [finding for finding in run_findings if finding.severity == "warning"] == []
    assert kinds_of(run_findings) == {Kind.WIRE_CEILING, Kind.SOCKET_BUFFER_NO_EFFECT}


def test_an_outlying_trial_is_reported_with_the_mean_of_the_other_trials() -> None:
    series = {16 * KIB: [94.0, 94.1, 60.0, 94.0, 94.1]}
    (finding,) = of_kind(findings(measured(series)), Kind.DEVIATION_TRIAL)
    assert (finding.evidence["trial"], finding.evidence["trials"]) == (3, 5)
    assert finding.evidence["mean_without"] == pytest.approx(94.05e6)
    four = {16 * KIB: [94.0, 94.1, 60.0, 94.0]}
    assert of_kind(findings(measured(four)), Kind.DEVIATION_TRIAL) == []


def test_an_outlying_trial_does_not_make_its_cell_an_outlier() -> None:
    series = {size: [94.0, 94.1, 94.0, 94.1, 94.0] for size in BUFFERS}
    series[BUFFERS[3]] = [94.0, 5.0, 94.0, 94.1, 94.0]
    run_findings = findings(measured(series))
    assert of_kind(run_findings, Kind.DEVIATION_CELL) == []
    assert len(of_kind(run_findings, Kind.DEVIATION_TRIAL)) == 1


@settings(max_examples=drawn(20, 200))  # each is a whole run
@given(
    st.integers(0, 12),
    st.sampled_from([0.02, 0.5, 0.9, 1.1, 3.0]),
    st.randoms(use_true_random=False),
)
def test_an_outlying_cell_at_any_position_gives_exactly_one_finding(
    place: int, factor: float, random: Random
) -> None:
    sizes = [(16 + 4 * at) * KIB for at in range(13)]
    series = {size: [random.uniform(92.1, 92.4)] for size in sizes}
    assert (
        kinds_of(findings(measured(series)))
        & {Kind.DEVIATION_CELL, Kind.DEVIATION_STEP, Kind.UNEXPLAINED_FALL}
        == set()
    )
    series[sizes[place]][0] *= factor
    run_findings = findings(measured(series))
    (outlier,) = of_kind(run_findings, Kind.DEVIATION_CELL, Kind.DEVIATION_STEP)
    assert outlier.evidence["socket_buffer_bytes"] == sizes[place]
    assert outlier.evidence["mean_without"] == pytest.approx(92.25e6, rel=2e-3)


@given(st.integers(0, 11), st.sampled_from([0.5, 0.9, 1.1]))
def test_two_adjacent_cells_that_deviate_alike_are_a_step_and_no_outliers(
    place: int, factor: float
) -> None:
    sizes = [(16 + 4 * at) * KIB for at in range(13)]
    series = {
        size: [92.0 * (factor if place <= at <= place + 1 else 1)] for at, size in enumerate(sizes)
    }
    (step,) = of_kind(findings(measured(series)), Kind.DEVIATION_CELL, Kind.DEVIATION_STEP)
    assert (step.kind, len(step.cells)) == (Kind.DEVIATION_STEP, 2)


def test_socket_buffers_with_an_effect_or_too_few_sizes_are_not_reported_as_without_effect() -> (
    None
):
    growing = {size: [10.0 + size / KIB] for size in BUFFERS}
    assert of_kind(findings(measured(growing)), Kind.SOCKET_BUFFER_NO_EFFECT) == []
    three = {size: [94.0] for size in BUFFERS[:3]}
    assert of_kind(findings(measured(three)), Kind.SOCKET_BUFFER_NO_EFFECT) == []


def test_capped_doubled_and_equal_effective_socket_buffers_are_reported() -> None:
    ends = [
        f"{end}_{side}_buffer" for end in ("sender", "receiver") for side in ("send", "receive")
    ]

    def read_back(size: int) -> dict[str, Value]:
        values: dict[str, Value] = {}
        for name in ends:
            values[f"{name}_bytes"] = min(2 * size, 65536)
            values[f"{name}_doubled"] = 1
            if 2 * size > 65536:
                values[f"{name}_capped"] = 1
        return values

    flat = {size: [94.0] for size in BUFFERS}
    effective = {size: read_back(size) for size in BUFFERS}
    run_findings = findings(measured(flat, effective=effective))
    (capped,) = of_kind(run_findings, Kind.SOCKET_BUFFER_CAPPED)
    assert len(capped.cells) == 3
    assert capped.evidence["least_asked_bytes"] == 36 * KIB
    assert capped.evidence["most_effective_bytes"] == 65536
    (same,) = of_kind(run_findings, Kind.SOCKET_BUFFER_SAME)
    assert [int(cell.rpartition("-")[2]) // KIB for cell in same.cells] == [32, 36, 40, 44]
    assert len(of_kind(run_findings, Kind.SOCKET_BUFFER_DOUBLED)) == 1
    unknown = {
        size: {k: v for k, v in effective[size].items() if "send_" not in k} for size in BUFFERS
    }
    assert of_kind(findings(measured(flat, effective=unknown)), Kind.SOCKET_BUFFER_SAME) == []


@pytest.mark.parametrize(
    ("size", "more", "fragments", "largest"),
    [(1473, {}, 2, 1472), (64512, {}, 44, 1472), (1453, {"ip_version": 6}, 2, 1452)],
)
def test_udp_messages_longer_than_a_frame_are_reported_as_fragmented(
    size: int, more: dict[str, Value], fragments: int, largest: int
) -> None:
    run = measured({16 * KIB: [90.0]}, asked=stream("UDP", size, **more))
    (finding,) = of_kind(findings(run), Kind.FRAGMENTED)
    assert finding.evidence["fragments"] == fragments
    assert finding.evidence["largest_whole_message_bytes"] == largest


@pytest.mark.parametrize(
    ("stream_settings", "options"),
    [
        (stream("UDP", 1472), {}),
        (stream("TCP", 64512), {}),
        (stream("UDP", 1473), {"link": None}),
        (stream("UDP", 1473), {"values": {"same_host": True}}),
    ],
)
def test_no_fragmentation_is_reported_for_short_messages_tcp_loopback_or_missing_links(
    stream_settings: dict[str, Value], options: dict[str, Any]
) -> None:
    run = measured({16 * KIB: [90.0]}, asked=stream_settings, **options)
    assert of_kind(findings(run), Kind.FRAGMENTED) == []


def test_a_large_message_stream_at_a_tenth_of_the_link_rate_has_a_link_warning() -> None:
    slow = measured({16 * KIB: [9.41]})
    (finding,) = of_kind(findings(slow), Kind.LINK_FAR_BELOW)
    assert finding.evidence["ceiling_share"] == pytest.approx(0.1, rel=1e-2)
    for healthy_run in (
        measured({16 * KIB: [30.0]}),
        measured({16 * KIB: [9.41]}, asked=stream("UDP", 64)),
        measured({16 * KIB: [9.41]}, asked=stream(rate_bit_per_s=1e7)),
        measured({16 * KIB: [9.41]}, values={"same_host": True}),
        measured({16 * KIB: [9.41]}, link=None),
    ):
        assert of_kind(findings(healthy_run), Kind.LINK_FAR_BELOW) == []


def both_ways(
    first_mbit: float, second_mbit: float, pairings: tuple[str, str] = ("a+b", "b+a")
) -> Analysis:
    first_run = measured({16 * KIB: [first_mbit]}, pairing=pairings[0])
    second_run = measured({16 * KIB: [second_mbit]}, pairing=pairings[1])
    plan = replace(first_run.plan, cells=(*first_run.plan.cells, *second_run.plan.cells))
    return run_of(plan, (*first_run.records, *second_run.records))


def test_a_direction_far_slower_than_the_other_direction_is_reported() -> None:
    for pairings in (("a+b", "b+a"), ("WL", "LW")):
        run = both_ways(26.3, 85.9, pairings)
        (finding,) = of_kind(findings(run), Kind.ONE_WAY)
        assert (finding.group.pairing, finding.words["against"]) == pairings
        assert "3.3 times as much in the other direction" in sentence(finding, RunIndex(run))
    assert of_kind(findings(both_ways(60.0, 85.9)), Kind.ONE_WAY) == []
    assert of_kind(findings(both_ways(26.3, 85.9, ("a+b", "a+c"))), Kind.ONE_WAY) == []


def facts_note(host: str, moment: str, **facts: Value) -> Note:
    return Note("facts", "", {"host": host, "when": moment, "facts": facts}, 0)


GOOD: dict[str, Value] = {
    "governor": "performance",
    "virtual": "none",
    "route_interface": "eth0",
    "interface_speed_bit_per_s": 100_000_000,
    "interface_mtu_bytes": 1500,
    "interface_duplex": "full",
    "interface_sent_bytes": 1,
}


@pytest.mark.parametrize(
    ("later_facts", "kind"),
    [
        ({"default_qdisc": "fq"}, Kind.FACTS_CHANGED),
        ({"boot_id": "other"}, Kind.FACTS_CHANGED),
        ({"interface_speed_bit_per_s": 10_000_000}, Kind.INTERFACE_SPEED),
        ({"interface_duplex": "half"}, Kind.INTERFACE_DUPLEX),
        ({"interface_mtu_bytes": 1400}, Kind.INTERFACE_MTU),
        ({"virtual": "kvm"}, Kind.VIRTUAL_MACHINE),
    ],
)
def test_each_wrong_fact_of_a_host_is_reported(later_facts: dict[str, Value], kind: Kind) -> None:
    earlier_facts = (
        dict.fromkeys(later_facts, "as it was") if kind is Kind.FACTS_CHANGED else later_facts
    )
    notes = [
        facts_note("a", "before", **GOOD | earlier_facts),
        facts_note("a", "after", **GOOD | later_facts),
    ]
    host_findings = [finding for finding in findings(clean(notes=notes)) if not finding.cells]
    assert kinds_of(host_findings) == {kind}
    assert "eth0" in str(host_findings[0].words) or kind in (
        Kind.FACTS_CHANGED,
        Kind.VIRTUAL_MACHINE,
    )


def test_growing_counters_and_unreadable_facts_are_not_reported_as_changed() -> None:
    earlier_note = facts_note("a", "before", **GOOD)
    later_note = facts_note("a", "after", **{**GOOD, "interface_sent_bytes": 2, "governor": ""})
    assert [e for e in findings(clean(notes=[earlier_note, later_note])) if not e.cells] == []


def test_interfaces_that_carried_no_traffic_of_the_run_are_not_checked() -> None:
    facts = {"a": [{**GOOD, "interface_mtu_bytes": 65536}]}
    assert tuple(hosts(facts, LINK, frozenset())) == ()
    assert len(tuple(hosts(facts, LINK, frozenset({"a"})))) == 1
    loopback = {"a": [{**GOOD, "interface_mtu_bytes": 65536, "route_interface": "lo"}]}
    assert tuple(hosts(loopback, LINK, frozenset({"a"}))) == ()


@pytest.mark.parametrize(
    ("elapsed_s", "more", "off"),
    [
        (10.0004, {}, False),
        (10.5, {}, True),
        (9.7, {}, True),
        (10.5, {"receiver_longest_gap_ns": 500_000_000}, False),
    ],
)
def test_trials_longer_or_shorter_than_requested_are_reported(
    elapsed_s: float, more: dict[str, Value], off: bool
) -> None:
    run = clean(values={"elapsed_ns": int(elapsed_s * 1e9), **more})
    run_findings = of_kind(findings(run), Kind.OFF_TIME)
    assert len(run_findings) == off
    if off:
        assert (run_findings[0].evidence["trials"], run_findings[0].evidence["of_trials"]) == (
            40,
            40,
        )


def test_failed_trials_are_a_warning_with_the_reason() -> None:
    series: dict[int, Sequence[float | None]] = {size: [94.0, 94.0] for size in BUFFERS}
    series[BUFFERS[0]] = [None, 94.0]
    run_findings = findings(measured(series))
    (failed,) = of_kind(run_findings, Kind.NO_RESULT_TRIALS)
    assert (failed.severity, failed.evidence["trials"]) == ("warning", 1)
    assert "The other probe did not come before the deadline (no-peer)" in sentence(
        failed, RunIndex(measured(series))
    )
    assert of_kind(run_findings, Kind.NO_RESULT_CELLS, Kind.FEWER_CELLS) == []


def test_repeated_pairings_have_no_finding_about_single_trials() -> None:
    first_run, second_run = clean(), clean(pairing="WL")
    cells = (*first_run.plan.cells, *second_run.plan.cells)
    joint_run = run_of(
        replace(first_run.plan, cells=cells), (*first_run.records, *second_run.records)
    )
    assert of_kind(findings(joint_run), Kind.CANNOT_TELL) == []


@settings(max_examples=drawn(20, 200))  # each is a whole run
@given(
    st.lists(st.one_of(st.none(), st.floats(1e-3, 1e5, allow_nan=False)), min_size=1, max_size=8),
    st.sampled_from(["TCP", "UDP"]),
    st.sampled_from([1, 64, 1472, 1473, 65507]),
    st.sets(st.sampled_from(["same_host", "elapsed_ns", "tcp_timestamps"])),
)
def test_any_measured_run_has_findings_with_sentences_and_warnings_first(
    figures_mbit: list[float | None], protocol: str, size: int, without: set[str]
) -> None:
    series = {buffer: [mbit] for buffer, mbit in zip(BUFFERS, figures_mbit, strict=False)}
    run = measured(series, asked=stream(protocol, size))
    records = [
        replace(r, values={k: v for k, v in r.values.items() if k not in without})
        for r in run.records
    ]
    run = run_of(run.plan, records)
    run_findings = findings(run)
    severities = [finding.severity for finding in run_findings]
    assert severities == sorted(severities, reverse=True)
    for finding in run_findings:
        text = sentence(finding, RunIndex(run))
        assert text.endswith(".") and "nan" not in text and "None" not in text
    assert len(leading(run)) <= 5
