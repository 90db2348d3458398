"""A cell whose trials differ has a limit for each group of trials."""

from __future__ import annotations

from typing import Any

import pytest
from drawn_causes import framing, stream
from made_findings import KIB, measured, of_kind
from made_findings import stream as asked_stream
from made_samples import ACCOUNT, IDLE, NONE_DROPPED, changed, losses_of, tcp, udp

from netlab.findings.analysis import findings
from netlab.findings.finding import Kind
from netlab.findings.limits import limits
from netlab.findings.rates import Accounting, step_of
from netlab.findings.stream_limits import limit_of
from netlab.report.sections.findings import findings_and_limits
from netlab.report.text.findings import RunIndex, sentence, statement

CEILING = 94.148e6
WAITS = changed(IDLE, run_queue_delay_ns=370_000_000)
SHUT = changed(ACCOUNT, rwnd_limited_us=350_000)


def trials(*throughputs: float, **last: Any) -> list[Any]:
    """TCP at these shares of the wire; the last one with the given fields."""
    *rest, slow = throughputs
    n = len(throughputs)
    samples = [stream("TCP", 1448, at + 1, share * CEILING) for at, share in enumerate(rest)]
    return [*samples, stream("TCP", 1448, n, slow * CEILING, **last)]


def test_one_starved_trial_of_three_has_its_own_finding() -> None:
    limit_findings = limits(trials(0.995, 0.997, 0.68, receiver=WAITS, tcp=SHUT))
    assert [
        (finding.kind, [trial for _cell, trial in finding.trials]) for finding in limit_findings
    ] == [
        (Kind.WIRE_CEILING, [1, 2]),
        (Kind.CPU_WAIT_RECEIVER_PROGRAMS, [3]),
    ]
    wire, starved = limit_findings
    assert wire.words["in_trials"] == "in 2 of 3 trials"
    assert statement(starved) == (
        "in trial 3 of 3 limited by other programs on the receiver’s CPU at 68.0 % of the "
        "wire ceiling: its thread was ready to run but had no CPU 37 % of the time"
    )


def test_a_trial_only_slightly_below_the_wire_ceiling_has_no_warning() -> None:
    slow = changed(WAITS, run_queue_delay_ns=60_000_000)
    shut = changed(ACCOUNT, rwnd_limited_us=60_000)
    limit_findings = limits(trials(0.99, 0.99, 0.95, receiver=slow, tcp=shut))
    assert [finding.kind for finding in limit_findings] == [Kind.WIRE_CEILING]
    assert limit_findings[0].words["in_trials"] == "in 2 of 3 trials"


def test_a_trial_that_fills_a_slower_link_is_not_reported_as_starved() -> None:
    """As at the stated wire: whatever it waited for, it could not be faster."""
    late = changed(IDLE, thread_ns=770_000_000, run_queue_delay_ns=230_000_000)
    limit_findings = limits(trials(0.9, 0.9, 0.9, 0.885, sender=late))
    assert [(finding.kind, len(finding.trials)) for finding in limit_findings] == [
        (Kind.RATE_LIMIT_EITHER, 4)
    ]


@pytest.mark.parametrize("above", [1.02, 1.5])
def test_trials_above_the_wire_ceiling_have_no_limit_finding(above: float) -> None:
    assert limits(trials(above, above, above)) == ()


def test_a_limit_is_reported_in_every_cell_only_if_every_trial_shows_the_limit() -> None:
    sentences = []
    for last in (94.0, 51.0):
        run = measured({16 * KIB: [94.0, 94.0, last], 32 * KIB: [94.0, 94.0, 94.0]})
        (wire,) = of_kind(findings(run), Kind.WIRE_CEILING)
        sentences.append(sentence(wire, RunIndex(run)))
        sheet = next(part for part in findings_and_limits(run) if part.name == "limits").sheets[0]
        first = sheet.lines[0].places[1].text
        assert first == ("2 of 2" if last == 94.0 else "2 of 2, in 5 of 6 trials")
        assert len(sheet.lines) == (1 if last == 94.0 else 2)
    assert sentences[0].endswith("in every cell.")
    assert sentences[1].endswith("in 5 of 6 trials.")


@pytest.mark.parametrize(
    ("rate", "link_rate", "step"),
    [
        (1e7, 1e8, 1e7),
        (9.8e6, 1e8, 1e7),
        (9.79e6, 1e8, None),
        (1.006e7, 1e8, None),
        (1e8, 1e8, None),
        (2.49e9, 1e10, 2.5e9),
        (1e9, 2.5e9, 1e9),
        (2e7, 1e8, None),
    ],
)
def test_a_slower_link_is_recognized_only_at_a_standard_rate_below_the_stated_rate(
    rate: float, link_rate: float, step: float | None
) -> None:
    assert step_of(rate, link_rate) == step


def test_a_stream_at_the_rate_of_a_slower_standard_link_has_one_finding_with_this_rate() -> None:
    limit_findings = limits(trials(0.1, 0.1, 0.1))
    assert [finding.kind for finding in limit_findings] == [Kind.LINK_FAR_BELOW]
    assert "as much as a link of 10 Mbit/s carries" in statement(limit_findings[0])
    several = {size * KIB: [37.6] for size in (16, 32, 64)}
    run = measured(several, asked=asked_stream("TCP", 1448))
    assert of_kind(findings(run), Kind.LINK_FAR_BELOW) == []


def test_equal_link_limits_in_both_directions_are_one_finding() -> None:
    first_way = [
        stream("TCP", 1448, n, 0.5 * CEILING, sender=changed(IDLE, host="b")) for n in (1, 2, 3)
    ]
    second_way = [
        changed(sample, cell="back", sender=sample.receiver, receiver=sample.sender)
        for sample in first_way
    ]
    (finding,) = limits(first_way)
    assert finding.kind is Kind.RATE_LIMIT_EITHER
    assert statement(finding).startswith(
        "a limit of 50 Mbit/s on the wire (a link or a shaper) from b to a: "
    )
    (joint_finding,) = limits([*first_way, *second_way])
    assert statement(joint_finding).startswith(
        "a limit of 50 Mbit/s on the wire (a link or a shaper) both ways: "
    )
    slower = [changed(sample, throughput_bit_per_s=0.4 * CEILING) for sample in second_way]
    assert len(limits([*first_way, *slower])) == 2


@pytest.mark.parametrize(
    "changes",
    [
        {"flow": "to server"},
        {"offered_bit_per_s": 9e7},
        {"same_host": True},
        {"imported": True},
        {"framing": None},
    ],
)
def test_no_slower_link_is_reported_for_both_ways_paced_loopback_or_imported_streams(
    changes: dict[str, Any],
) -> None:
    limit_findings = limits([changed(sample, **changes) for sample in trials(0.5, 0.5, 0.5)])
    assert not {finding.kind for finding in limit_findings} & {
        Kind.RATE_LIMIT_EITHER,
        Kind.RATE_LIMIT_LINK,
    }


def test_streams_that_share_a_slower_link_have_findings_about_the_link_and_the_other_traffic() -> (
    None
):
    samples = [changed(sample, likely_others_share=0.2) for sample in trials(0.5, 0.5, 0.5)]
    assert [finding.kind for finding in limits(samples)] == [
        Kind.RATE_LIMIT_EITHER,
        Kind.OTHER_TRAFFIC,
    ]


def test_a_faster_cell_in_the_same_direction_refutes_a_slower_link() -> None:
    samples = trials(0.5, 0.5, 0.5)
    faster = changed(samples[0], cell="other", throughput_bit_per_s=0.52 * CEILING)
    assert Kind.RATE_LIMIT_EITHER in {finding.kind for finding in limits(samples)}
    assert Kind.RATE_LIMIT_EITHER not in {finding.kind for finding in limits([*samples, faster])}
    paced = changed(faster, offered_bit_per_s=0.52 * CEILING)
    assert Kind.RATE_LIMIT_EITHER not in {finding.kind for finding in limits([*samples, paced])}


def test_retransmissions_with_a_standing_queue_are_a_link_limit_and_not_congestion() -> None:
    for rtt_us, kind in ((8_000, Kind.RATE_LIMIT_EITHER), (400, Kind.CONGESTION)):
        again = changed(ACCOUNT, retransmissions=5, rtt_us=rtt_us)
        samples = [changed(sample, tcp=again) for sample in trials(0.5, 0.5, 0.5)]
        assert {finding.kind for finding in limits(samples)} == {kind}


def test_the_counted_bytes_of_a_message_depend_on_the_way_of_accounting() -> None:
    frames = framing("UDP", 128)
    sizes = [frames.counted_bytes(accounting) for accounting in Accounting]
    assert sizes == [156 + 38, 156 + 18, 156 + 14, 156]
    small = framing("UDP", 8)
    assert [small.counted_bytes(accounting) for accounting in Accounting] == [84, 64, 50, 36]


LOSSY = {
    "sent": 8_200,
    "lost": 4_200,
    "losses": losses_of(sent=8_200, lost=4_200, receive_queue=0, local=0),
}


def test_path_loss_is_the_limit_only_if_the_backlog_of_both_hosts_was_read() -> None:
    assert limit_of(udp(**LOSSY)) is Kind.LOSS_LIMIT_PATH
    unread = changed(NONE_DROPPED, sender_backlog=None)
    assert limit_of(udp(**LOSSY, drops=unread)) is Kind.LOSS_LIMIT_UNKNOWN


def test_host_drops_are_the_limit_only_if_the_loss_of_the_other_direction_is_known() -> None:
    drops = changed(NONE_DROPPED, receiver_interface=4_200)
    losses = losses_of(sent=8_200, lost=4_200, receive_queue=0, local=0)
    fields = {"sent": 8_200, "lost": 4_200, "drops": drops}
    for other_way, kind in ((0, Kind.LOSS_LIMIT_HOST), (None, Kind.LOSS_LIMIT_UNKNOWN)):
        sample = udp(**fields, losses=changed(losses, other_way=other_way))
        assert limit_of(sample) is kind


def test_a_tcp_stream_with_an_unknown_receive_queue_has_no_slower_link_finding() -> None:
    unknown = [changed(sample, queue_full_share=None) for sample in trials(0.5, 0.5, 0.5)]
    assert limits(unknown) == ()
    assert limit_of(tcp(queue_full_share=None)) is None
