"""Trials and cells have their limits with the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import pytest
from made_samples import ACCOUNT, CEILING, IDLE, changed, losses_of, tcp, udp

from netlab.findings.derived import StreamSample
from netlab.findings.finding import Group, Kind, finding
from netlab.findings.limits import limits
from netlab.findings.stream_limits import FIGURES, evidence, fills_the_wire, findings_of, limit_of

# ---- the wire and what was offered ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("throughput", "changes", "full"),
    [
        (98.0, {}, True),
        (97.9, {}, False),
        (96.0, {"flow": "to client"}, True),
        (95.9, {"flow": "to client"}, False),
        (98.0, {"same_host": True}, False),
        (98.0, {"ceiling_bit_per_s": None}, False),
    ],
)
def test_the_wire_is_full_at_98_percent_of_its_ceiling_and_at_96_percent_both_ways(
    throughput: float, changes: dict[str, Any], full: bool
) -> None:
    sample = udp(**({"throughput_bit_per_s": throughput, "ceiling_bit_per_s": 100.0} | changes))
    assert fills_the_wire(sample) is full
    assert (limit_of(sample) is Kind.WIRE_CEILING) is full


@pytest.mark.parametrize(
    ("throughput", "changes", "kind"),
    [
        (9_800_000.0, {}, Kind.PACING),
        (9_799_999.0, {}, Kind.NOT_DETERMINED),
        (9_800_000.0, {"imported": True}, None),
        (9_800_000.0, {"ceiling_bit_per_s": None}, None),
        (9_800_000.0, {"ceiling_bit_per_s": None, "same_host": True}, Kind.PACING),
        (9_800_000.0, {"offered_bit_per_s": None}, Kind.NOT_DETERMINED),
    ],
)
def test_pacing_is_the_limit_from_98_percent_of_the_offered_rate(
    throughput: float, changes: dict[str, Any], kind: Kind | None
) -> None:
    fields = {"throughput_bit_per_s": throughput, "offered_bit_per_s": 1e7, "calls": None}
    assert limit_of(udp(**(fields | changes))) is kind


# ---- all is known, and no rule holds ------------------------------------------------------------


def end(**changes: Any) -> Any:
    return changed(IDLE, **changes)


@pytest.mark.parametrize(
    "sample",
    [
        udp(sender=end(thread_ns=None)),
        udp(sender=end(run_queue_delay_ns=None)),
        udp(receiver=end(run_queue_delay_ns=None)),
        udp(queue_full_share=None),
        udp(losses=losses_of(sent=None, lost=0, receive_queue=0, local=0)),
        udp(losses=losses_of(sent=4_000, lost=None, receive_queue=0, local=0)),
        udp(losses=losses_of(sent=4_000, lost=0, receive_queue=None, local=0)),
        udp(losses=losses_of(sent=4_000, lost=0, receive_queue=0, local=None)),
        tcp(tcp=changed(ACCOUNT, busy_us=None)),
        tcp(tcp=changed(ACCOUNT, rwnd_limited_us=None)),
        tcp(tcp=changed(ACCOUNT, sndbuf_limited_us=None)),
        tcp(tcp=changed(ACCOUNT, retransmissions=None)),
        udp(sender=end(window_ns=199_999_999)),
        udp(receiver=end(window_ns=199_999_999)),
        udp(streams=2),
        udp(ceiling_bit_per_s=None),
        udp(same_host=True),
        udp(ceiling_bit_per_s=None, same_host=True),
    ],
)
def test_a_stream_with_one_unknown_value_has_no_limit_finding(
    sample: StreamSample,
) -> None:
    assert limit_of(sample) is None
    assert limits([sample]) == ()


def test_a_stream_with_all_values_known_and_no_limit_is_reported_as_not_determined() -> None:
    assert limit_of(udp()) is Kind.NOT_DETERMINED
    assert limit_of(tcp()) is Kind.NOT_DETERMINED
    idle_receiver = end(thread_ns=None, steal_share=None, busiest_core_share=None)
    assert limit_of(udp(receiver=idle_receiver)) is Kind.NOT_DETERMINED


# ---- cells and groups ----------------------------------------------------------------------------


def as_told(kinds: Mapping[str, Kind | None], *samples: StreamSample) -> list[Any]:
    """Findings if each stream shows the kinds that its conditions name."""
    return list(findings_of(samples, lambda sample: kinds[str(dict(sample.conditions)["shows"])]))


def trial(cell: str, shows: str, **changes: Any) -> StreamSample:
    return udp(cell=cell, conditions=(("shows", shows),), **changes)


TOLD: Mapping[str, Kind | None] = {"x": Kind.CPU_BOUND_SENDER, "y": Kind.LOSS_LIMIT_PATH, "": None}


@pytest.mark.parametrize(
    ("letters", "kinds"),
    [
        ("x", [Kind.CPU_BOUND_SENDER]),
        ("xx", [Kind.CPU_BOUND_SENDER]),
        ("xy", []),
        ("xxy", [Kind.CPU_BOUND_SENDER]),
        ("yxx", [Kind.CPU_BOUND_SENDER]),
        ("xxyy", []),
        ("xxxyy", [Kind.CPU_BOUND_SENDER]),
        ("xx" + " " * 2, []),
        ("x" + " " * 2, []),
        ("xx" + " ", [Kind.CPU_BOUND_SENDER]),
    ],
)
def test_a_cell_has_the_limit_that_more_than_half_of_its_trials_show(
    letters: str, kinds: list[Kind]
) -> None:
    findings = as_told(TOLD, *(trial("a", name.strip()) for name in letters))
    assert [entry.kind for entry in findings] == kinds


def test_the_evidence_of_a_limit_comes_from_the_trials_that_show_the_limit() -> None:
    trials = [
        trial("a", shows, sent=sent_count)
        for shows, sent_count in (("x", 1_000), ("y", 9), ("x", 3_000))
    ]
    (entry,) = as_told(TOLD, *trials)
    assert entry.evidence["throughput_bit_per_s"] == 2_000 * 1472 * 8


def test_a_limit_finding_names_its_cells_in_order_with_evidence_over_all_trials() -> None:
    trials = [
        trial(cell, "x", sent=sent_count)
        for cell, sent_count in (("b", 100), ("a", 500), ("b", 300))
    ]
    (entry,) = as_told(TOLD, *trials)
    assert entry.cells == ("b", "a")
    assert entry.evidence["throughput_bit_per_s"] == 300 * 1472 * 8
    assert entry.group == Group("LL", "UDP", 1472)


def test_cells_of_one_group_with_different_limits_have_separate_findings() -> None:
    findings = as_told(TOLD, trial("a", "x"), trial("b", "y"), trial("c", "x"), trial("d", ""))
    assert [(entry.kind, entry.cells) for entry in findings] == [
        (Kind.CPU_BOUND_SENDER, ("a", "c")),
        (Kind.LOSS_LIMIT_PATH, ("b",)),
    ]


def test_limit_findings_come_in_the_order_of_the_samples() -> None:
    findings = as_told(TOLD, trial("a", "y", pairing="WL"), trial("b", "x"))
    assert [(entry.group.pairing, entry.kind) for entry in findings] == [
        ("WL", Kind.LOSS_LIMIT_PATH),
        ("LL", Kind.CPU_BOUND_SENDER),
    ]


def at_rate(size: int, **changes: Any) -> StreamSample:
    defaults: dict[str, Any] = {
        "cell": str(size),
        "message_bytes": size,
        "throughput_bit_per_s": 4_000 * size * 8.0,
        "calls": 4_000,
    }
    return udp(**(defaults | changes))


def test_a_packet_rate_is_named_instead_of_path_loss_or_an_unknown_limit() -> None:
    path_losses = losses_of(sent=4_000, lost=400, receive_queue=0, local=0)
    unknown = losses_of(sent=None, lost=None, receive_queue=None, local=None)
    for losses in (path_losses, unknown):
        findings = limits([at_rate(size, losses=losses) for size in (64, 128, 256)])
        assert {entry.kind for entry in findings} == {Kind.PACKET_RATE}
    queue_losses = changed(path_losses, receive_queue=400)
    findings = limits([at_rate(size, losses=queue_losses) for size in (64, 128, 256)])
    assert {entry.kind for entry in findings} == {Kind.LOSS_LIMIT_SOCKET}


def test_a_packet_rate_in_one_direction_is_not_reported_for_the_other_direction() -> None:
    upload = [at_rate(size, flow="to server") for size in (64, 128, 256)]
    download = [changed(at_rate(64), flow="to client")]
    kinds = {(entry.group.flow, entry.kind) for entry in limits([*upload, *download])}
    assert kinds == {
        ("to server", Kind.PACKET_RATE),
        ("to client", Kind.NOT_DETERMINED),
    }


# ---- evidence ------------------------------------------------------------------------------------


def test_evidence_is_the_median_over_trials_and_absent_if_one_trial_lacks_the_value() -> None:
    three = [udp(sent=sent_count) for sent_count in (1_000, 4_000, 2_000)]
    figures = evidence(Kind.PACING, three)
    assert figures["throughput_bit_per_s"] == 2_000 * 1472 * 8
    assert figures["ceiling_share"] == pytest.approx(2_000 * 1472 * 8 / CEILING)
    assert figures["offered_bit_per_s"] is None
    assert figures.keys() == {
        *("throughput_bit_per_s", "ceiling_bit_per_s", "ceiling_share", "offered_bit_per_s")
    }
    lacking = evidence(Kind.WIRE_CEILING, [*three, udp(ceiling_bit_per_s=None)])
    assert lacking["ceiling_bit_per_s"] is None
    assert lacking["throughput_bit_per_s"] == 3_000 * 1472 * 8
    assert set(evidence(Kind.WIRE_CEILING, ()).values()) == {None}


def test_the_evidence_of_an_even_number_of_trials_is_the_mean_of_the_middle_two() -> None:
    figures = evidence(Kind.WIRE_CEILING, [udp(sent=sent_count) for sent_count in (1, 10, 20, 400)])
    assert figures["throughput_bit_per_s"] == 15 * 1472 * 8


def test_a_finding_leaves_out_unknown_evidence() -> None:
    (entry,) = limits([udp(sent=8_120, highest_ceiling_bit_per_s=None)])
    assert entry.evidence.keys() == {"throughput_bit_per_s", "ceiling_bit_per_s", "ceiling_share"}
    assert all(value is not None for value in entry.evidence.values())


def test_each_figure_of_evidence_is_computed_from_the_values_in_its_name() -> None:
    sender_end, receiver_end = end(steal_share=0.125, busiest_core_share=0.5), end(steal_share=0.25)
    sample = udp(
        sender=changed(
            sender_end, run_queue_delay_ns=30_000_000, quota_periods=8, throttled_periods=1
        ),
        receiver=changed(receiver_end, thread_ns=700_000_000, quota_periods=8, throttled_periods=2),
        losses=losses_of(sent=4_000, lost=1_000, receive_queue=600, local=7),
        path_mtu_bytes=1400,
        link_mtu_bytes=1500,
        tcp=changed(ACCOUNT, rwnd_limited_us=100_000, sndbuf_limited_us=200_000),
    )
    expected_figures = {
        "thread_share": 0.3,
        "receiver_thread_share": 0.7,
        "sender_run_queue_share": 0.03,
        "receiver_run_queue_share": 0.001,
        "sender_throttled_share": 0.125,
        "receiver_throttled_share": 0.25,
        "sender_steal_share": 0.125,
        "receiver_steal_share": 0.25,
        "sender_busiest_core_share": 0.5,
        "receiver_busiest_core_share": 0.4,
        "rwnd_limited_share": 0.1,
        "sndbuf_limited_share": 0.2,
        "cwnd_limited_share": 0.6,
        "window_limit_bit_per_s": 3_000_000 * 8 / 200e-6,
        "min_rtt_us": 200,
        "lost_share": 0.25,
        "lost_messages": 1_000,
        "receive_queue_drops": 600,
        "local_drops": 7,
        "frames_per_s": 4_000,
        "calls_per_s": 4_000,
        "path_mtu_bytes": 1400,
        "link_mtu_bytes": 1500,
    }
    figures = {name: attrgetter(FIGURES.get(name, name))(sample) for name in expected_figures}
    assert figures == pytest.approx(expected_figures)


# ---- a finding -----------------------------------------------------------------------------------


def test_a_finding_has_the_severity_and_advice_of_its_kind_and_only_known_evidence() -> None:
    for kind in Kind:
        entry = finding(kind, Group("LL"), ("a",), {"x": 0.0, "y": None}, {"w": "said"})
        assert (entry.kind, entry.severity, entry.advice) == (kind, kind.severity, kind.advice)
        assert (entry.group, entry.cells) == (Group("LL"), ("a",))
        assert (entry.evidence, entry.words) == ({"x": 0.0}, {"w": "said"})
    bare = finding(Kind.INTERFACE_DUPLEX, Group(host="a"))
    assert (bare.cells, bare.evidence, bare.words) == ((), {}, {})


def test_a_group_of_findings_is_named_by_pairing_protocol_size_direction_or_host() -> None:
    assert str(Group("LL", "UDP", 64, "to client")) == "LL UDP 64 to client"
    assert str(Group(host="nas")) == "nas"
    assert str(Group("LL", "TCP", 0)) == "LL TCP 0"
    assert str(Group()) == ""
