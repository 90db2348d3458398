"""Each limit of a stream is named with its evidence and not without."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from made_samples import (
    ACCOUNT,
    CEILING,
    IDLE,
    NONE_DROPPED,
    SECOND_NS,
    account_of,
    changed,
    end_of,
    losses_of,
    shown,
    tcp,
    udp,
)

from netlab.findings.derived import StreamSample, TcpAccount
from netlab.findings.finding import Kind
from netlab.findings.limits import limits
from netlab.findings.link_limits import OF_LINKS
from netlab.findings.rates import Framing
from netlab.findings.stream_end import Losses, StreamEnd
from netlab.findings.stream_limits import evidence, limit_of
from netlab.findings.traffic import OtherTraffic
from netlab.report.text.findings import CALLED, shown_by, statement
from netlab.trial.record import FlowValues

WINDOW = changed(ACCOUNT, rwnd_limited_us=880_000, window_bytes=32_768, min_rtt_us=5_000)
LOST_IN_SOCKET = losses_of(sent=8_200, lost=4_200, receive_queue=4_200, local=0)
UNSCALED = FlowValues({"sender_tcp_end_options": "timestamps,sack"}, "")
FILLED = OtherTraffic(host="a", receiving=True, bit_per_s=3e7, filled_share=0.99)
PLANTED: Mapping[Kind, StreamSample] = {
    Kind.WIRE_CEILING: udp(sent=8_120),
    Kind.PACING: udp(offered_bit_per_s=4_000 * 1472 * 8.0),
    Kind.CPU_WAIT_RECEIVER_QUOTA: tcp(
        receiver=changed(IDLE, quota_periods=10, throttled_periods=8), queue_full_share=0.9
    ),
    Kind.CPU_WAIT_SENDER_QUOTA: udp(sender=changed(IDLE, quota_periods=10, throttled_periods=8)),
    Kind.CPU_WAIT_STEAL: udp(sent=7_500, sender=changed(IDLE, steal_share=0.06)),
    Kind.CPU_WAIT_RECEIVER_PROGRAMS: tcp(
        receiver=changed(IDLE, run_queue_delay_ns=500_000_000), queue_full_share=0.9
    ),
    Kind.UNSCALED_WINDOW: tcp(tcp=WINDOW, measured=UNSCALED),
    Kind.BUFFER_LIMIT_RECEIVER: tcp(tcp=WINDOW),
    Kind.CPU_WAIT_SENDER_PROGRAMS: udp(
        sender=changed(IDLE, thread_ns=500_000_000, run_queue_delay_ns=490_000_000)
    ),
    Kind.CPU_BOUND_SENDER: udp(sender=changed(IDLE, thread_ns=985_000_000)),
    Kind.CPU_BOUND_RECEIVER: tcp(queue_full_share=0.7, receive_calls=900, empty_receives=9),
    Kind.BUFFER_LIMIT_SENDER: tcp(tcp=changed(ACCOUNT, sndbuf_limited_us=600_000)),
    Kind.LOSS_LIMIT_SOCKET: udp(sent=8_200, lost=4_200, losses=LOST_IN_SOCKET),
    Kind.LOSS_LIMIT_SENDER_QUEUE: udp(
        losses=losses_of(sent=4_000, lost=0, receive_queue=0, local=400)
    ),
    Kind.SATURATED_CORE: udp(
        message_bytes=64,
        calls=20_000,
        throughput_bit_per_s=20_000 * 64 * 8.0,
        receiver=changed(IDLE, busiest_core_share=0.99),
    ),
    Kind.CONGESTION: tcp(tcp=changed(ACCOUNT, retransmissions=3)),
    Kind.LOSS_LIMIT_PATH: udp(
        sent=8_200, lost=4_200, losses=changed(LOST_IN_SOCKET, receive_queue=0)
    ),
    Kind.LOSS_LIMIT_HOST: udp(
        sent=8_200,
        lost=4_200,
        losses=changed(LOST_IN_SOCKET, receive_queue=0),
        drops=changed(NONE_DROPPED, receiver_interface=4_200),
    ),
    Kind.LOSS_LIMIT_DAMAGED: udp(
        sent=8_200,
        lost=4_200,
        losses=changed(LOST_IN_SOCKET, receive_queue=0),
        drops=changed(NONE_DROPPED, damaged=4_200),
    ),
    Kind.LOSS_LIMIT_UNKNOWN: udp(
        sent=8_200,
        lost=4_200,
        losses=changed(LOST_IN_SOCKET, receive_queue=0),
        drops=changed(NONE_DROPPED, sender_queue=None),
    ),
    Kind.OTHER_TRAFFIC: udp(sent=5_600, others=(FILLED,)),
    Kind.NOT_DETERMINED: udp(),
}


@pytest.mark.parametrize("kind", PLANTED)
def test_each_limit_of_a_stream_is_found_by_its_evidence(kind: Kind) -> None:
    assert limit_of(PLANTED[kind]) is kind
    (finding,) = limits([PLANTED[kind]])
    assert finding.kind is kind
    if kind is not Kind.CPU_WAIT_STEAL:
        assert {*kind.figures} <= finding.evidence.keys()
    assert CALLED[kind]
    words = statement(finding)
    assert "% of the wire ceiling" in words or kind is Kind.WIRE_CEILING
    assert kind in (Kind.WIRE_CEILING, Kind.NOT_DETERMINED) or shown_by(kind, finding.evidence)


def test_the_planted_limits_and_the_limits_tested_elsewhere_cover_every_kind() -> None:
    more_kinds = {Kind.CPU_BOUND_BOTH, Kind.SENDER_CALL_RATE, Kind.PACKET_RATE, *OF_LINKS}
    assert PLANTED.keys() | more_kinds == CALLED.keys()


def within_a_host(sender_ms: int, receiver_ms: int, **changes: Any) -> StreamSample:
    """TCP within one host; how long each thread was on a CPU, of a second."""
    sender, receiver = (changed(IDLE, thread_ns=ms * 1_000_000) for ms in (sender_ms, receiver_ms))
    return tcp(**({"same_host": True, "sender": sender, "receiver": receiver} | changes))


def test_threads_of_both_ends_that_use_one_host_all_the_time_are_its_limit() -> None:
    (finding,) = limits([within_a_host(500, 450)])
    assert (finding.kind, finding.severity) == (Kind.CPU_BOUND_BOTH, "warning")
    assert "the sender’s thread ran 50 % of the time, the receiver’s 45 %" in statement(finding)
    for other in (
        within_a_host(500, 449),
        within_a_host(500, 450, same_host=False),
        within_a_host(500, 450, streams=2),
        within_a_host(500, 450, offered_bit_per_s=1e9),
        changed(udp(), same_host=True, sender=within_a_host(500, 450).sender),
    ):
        assert limit_of(other) is not Kind.CPU_BOUND_BOTH


LACKING = [
    (
        Kind.CPU_WAIT_RECEIVER_QUOTA,
        {"receiver": changed(IDLE, quota_periods=None, throttled_periods=8)},
    ),
    (
        Kind.CPU_WAIT_SENDER_QUOTA,
        {"sender": changed(IDLE, quota_periods=10, throttled_periods=None)},
    ),
    (Kind.CPU_WAIT_STEAL, {"sender": changed(IDLE, steal_share=None)}),
    (Kind.CPU_WAIT_RECEIVER_PROGRAMS, {"receiver": changed(IDLE, run_queue_delay_ns=None)}),
    (Kind.UNSCALED_WINDOW, {"measured": FlowValues({}, "")}),
    (Kind.UNSCALED_WINDOW, {"tcp": changed(WINDOW, window_bytes=None)}),
    (Kind.UNSCALED_WINDOW, {"streams": 2}),
    (Kind.BUFFER_LIMIT_RECEIVER, {"tcp": changed(WINDOW, rwnd_limited_us=None)}),
    (Kind.BUFFER_LIMIT_RECEIVER, {"tcp": changed(WINDOW, window_bytes=None)}),
    (Kind.BUFFER_LIMIT_RECEIVER, {"tcp": changed(WINDOW, min_rtt_us=None)}),
    (Kind.BUFFER_LIMIT_RECEIVER, {"tcp": changed(WINDOW, min_rtt_us=1_000)}),
    (Kind.BUFFER_LIMIT_RECEIVER, {"queue_full_share": 0.9}),
    (Kind.BUFFER_LIMIT_RECEIVER, {"streams": 2}),
    (Kind.CPU_WAIT_SENDER_PROGRAMS, {"sender": changed(IDLE, run_queue_delay_ns=None)}),
    (Kind.CPU_BOUND_SENDER, {"sender": changed(IDLE, thread_ns=None)}),
    (Kind.CPU_BOUND_SENDER, {"offered_bit_per_s": 9e7}),
    (Kind.CPU_BOUND_RECEIVER, {"queue_full_share": None}),
    (Kind.CPU_BOUND_RECEIVER, {"queue_looks": 7}),
    (Kind.CPU_BOUND_RECEIVER, {"queue_full_share": 0.5}),
    (Kind.BUFFER_LIMIT_SENDER, {"tcp": changed(ACCOUNT, sndbuf_limited_us=None)}),
    (Kind.BUFFER_LIMIT_SENDER, {"tcp": changed(ACCOUNT, sndbuf_limited_us=499_000)}),
    (Kind.LOSS_LIMIT_SOCKET, {"losses": changed(LOST_IN_SOCKET, receive_queue=None)}),
    (Kind.LOSS_LIMIT_SOCKET, {"losses": changed(LOST_IN_SOCKET, lost=None)}),
    (Kind.LOSS_LIMIT_SENDER_QUEUE, {"losses": losses_of(sent=4_000, lost=0, receive_queue=0)}),
    (Kind.SATURATED_CORE, {"receiver": changed(IDLE, busiest_core_share=None)}),
    (Kind.SATURATED_CORE, {"receiver": changed(IDLE, busiest_core_share=0.96)}),
    (Kind.SATURATED_CORE, {"sender": changed(IDLE, spins=True)}),
    (Kind.SATURATED_CORE, {"message_bytes": 1472, "calls": 9_000}),
    (Kind.SATURATED_CORE, {"sender": changed(IDLE, run_queue_delay_ns=60_000_000)}),
    (Kind.SATURATED_CORE, {"sender": changed(IDLE, spins=True, cpu=0)}),
    (Kind.CONGESTION, {"tcp": changed(ACCOUNT, retransmissions=None)}),
    (Kind.CONGESTION, {"duplicate_packets": 3}),
    (Kind.CONGESTION, {"tcp": changed(ACCOUNT, retransmissions=3, rwnd_limited_us=None)}),
    (Kind.CONGESTION, {"tcp": changed(ACCOUNT, retransmissions=3, busy_us=400_000)}),
    (Kind.LOSS_LIMIT_PATH, {"losses": changed(LOST_IN_SOCKET, receive_queue=None)}),
    (Kind.LOSS_LIMIT_PATH, {"losses": changed(LOST_IN_SOCKET, sent=None)}),
    (Kind.LOSS_LIMIT_PATH, {"drops": changed(NONE_DROPPED, sender_interface=None)}),
    (Kind.LOSS_LIMIT_PATH, {"drops": changed(NONE_DROPPED, receiver_backlog=2_200)}),
    (Kind.LOSS_LIMIT_DAMAGED, {"drops": changed(NONE_DROPPED, damaged=2_099)}),
    (Kind.LOSS_LIMIT_HOST, {"drops": changed(NONE_DROPPED, receiver_interface=2_099)}),
    (Kind.LOSS_LIMIT_UNKNOWN, {"losses": changed(LOST_IN_SOCKET, sent=None)}),
    (Kind.NOT_DETERMINED, {"queue_full_share": None}),
    (Kind.NOT_DETERMINED, {"sender": changed(IDLE, thread_ns=None)}),
    (Kind.NOT_DETERMINED, {"ceiling_bit_per_s": None}),
    (Kind.NOT_DETERMINED, {"streams": 2}),
    (Kind.NOT_DETERMINED, {"imported": True}),
]


BELOW = [kind for kind in PLANTED if kind not in (Kind.WIRE_CEILING, Kind.PACING)]


@pytest.mark.parametrize(("kind", "changes"), LACKING)
def test_a_limit_without_its_evidence_is_not_named(kind: Kind, changes: dict[str, Any]) -> None:
    assert limit_of(changed(PLANTED[kind], **changes)) is not kind


@pytest.mark.parametrize("kind", BELOW)
def test_a_stream_at_the_wire_ceiling_has_no_other_limit(kind: Kind) -> None:
    full = changed(PLANTED[kind], throughput_bit_per_s=0.98 * CEILING)
    assert limit_of(full) is Kind.WIRE_CEILING


@pytest.mark.parametrize("kind", BELOW)
def test_a_window_of_100_ms_shows_only_limits_by_loss_drops_or_other_traffic(kind: Kind) -> None:
    of_path = (
        *(Kind.LOSS_LIMIT_PATH, Kind.LOSS_LIMIT_HOST, Kind.LOSS_LIMIT_UNKNOWN, Kind.OTHER_TRAFFIC),
        *(Kind.LOSS_LIMIT_SOCKET, Kind.LOSS_LIMIT_SENDER_QUEUE, Kind.LOSS_LIMIT_DAMAGED),
    )
    sample = PLANTED[kind]
    ends: dict[str, Any] = {
        name: changed(end, window_ns=100_000_000)
        for name, end in (("sender", sample.sender), ("receiver", sample.receiver))
    }
    assert limit_of(changed(sample, **ends)) is (kind if kind in of_path else None)


def test_a_starved_receiver_is_named_instead_of_its_closed_receive_window() -> None:
    starved = changed(IDLE, run_queue_delay_ns=400_000_000)
    closed_sample = tcp(tcp=changed(WINDOW, min_rtt_us=200), receiver=starved)
    assert limit_of(closed_sample) is Kind.CPU_WAIT_RECEIVER_PROGRAMS
    late_sample = tcp(tcp=WINDOW, receiver=starved, queue_full_share=0.9)
    assert limit_of(late_sample) is Kind.CPU_WAIT_RECEIVER_PROGRAMS
    assert limit_of(tcp(tcp=WINDOW, receiver=starved)) is Kind.BUFFER_LIMIT_RECEIVER, "it keeps up"


def test_a_receiver_that_waits_for_a_cpu_but_keeps_up_is_not_the_limit() -> None:
    waits = changed(IDLE, run_queue_delay_ns=80_000_000)
    hurries = changed(waits, thread_ns=900_000_000)
    assert limit_of(tcp(receiver=hurries, queue_full_share=0.4)) is Kind.CPU_WAIT_RECEIVER_PROGRAMS
    on_cpu = changed(IDLE, thread_ns=980_000_000)
    assert limit_of(udp(sender=on_cpu, receiver=waits)) is Kind.CPU_BOUND_SENDER


def test_a_starved_sender_is_named_despite_a_little_steal() -> None:
    halved = changed(IDLE, thread_ns=470_000_000, run_queue_delay_ns=500_000_000)
    for steal_share, kind in ((0.1, Kind.CPU_WAIT_SENDER_PROGRAMS), (0.2, Kind.CPU_WAIT_STEAL)):
        assert limit_of(udp(sender=changed(halved, steal_share=steal_share))) is kind


def test_a_cpu_wait_is_the_limit_only_if_its_cost_matches_the_missing_throughput() -> None:
    """Of 8 %: a sender over UDP sends the rest of the time, so that at most 10.7 % are missing."""
    waits = changed(IDLE, run_queue_delay_ns=80_000_000)
    assert limit_of(udp(sender=waits)) is Kind.NOT_DETERMINED
    assert limit_of(udp(sent=7_270, sender=waits)) is Kind.CPU_WAIT_SENDER_PROGRAMS
    assert limit_of(udp(sent=7_250, sender=waits)) is Kind.NOT_DETERMINED
    own = FlowValues({"sender_stalled_ns": 90_000_000}, "sender_")
    stalled = changed(waits, measured=own)
    assert limit_of(udp(sent=7_270, sender=stalled)) is Kind.NOT_DETERMINED, "its stops cost more"
    for sent, kind in ((6_900, Kind.CPU_WAIT_SENDER_PROGRAMS), (6_800, Kind.NOT_DETERMINED)):
        assert limit_of(tcp(sent=sent, sender=waits)) is kind
    stolen = changed(IDLE, steal_share=0.06)
    assert limit_of(udp(sender=stolen)) is Kind.NOT_DETERMINED


def test_a_cpu_wait_of_a_tcp_receiver_is_the_limit_only_if_its_window_was_closed() -> None:
    waits = changed(IDLE, run_queue_delay_ns=80_000_000)
    throttled = changed(IDLE, quota_periods=100, throttled_periods=10)
    shut = changed(ACCOUNT, rwnd_limited_us=80_000)
    for kind, end in (
        (Kind.CPU_WAIT_RECEIVER_PROGRAMS, waits),
        (Kind.CPU_WAIT_RECEIVER_QUOTA, throttled),
    ):
        assert limit_of(tcp(sent=7_000, receiver=end, tcp=shut)) is kind
        assert limit_of(tcp(sent=7_000, receiver=end)) is Kind.NOT_DETERMINED
        assert limit_of(udp(sent=7_000, receiver=end)) is Kind.NOT_DETERMINED
        assert limit_of(tcp(receiver=end, tcp=shut)) is Kind.NOT_DETERMINED
    unknown = changed(ACCOUNT, rwnd_limited_us=None)
    assert limit_of(tcp(sent=7_000, receiver=waits, tcp=unknown)) is Kind.CPU_WAIT_RECEIVER_PROGRAMS


def test_a_busy_receiver_whose_calls_nearly_always_find_data_is_limited_by_its_cpu() -> None:
    busy = changed(IDLE, thread_ns=900_000_000)
    polls = {"receive_calls": 1_000, "empty_receives": 50, "receiver": busy}
    assert limit_of(tcp(**polls)) is Kind.CPU_BOUND_RECEIVER
    assert limit_of(tcp(**{**polls, "empty_receives": 51})) is Kind.NOT_DETERMINED
    assert limit_of(tcp(**{**polls, "receiver": IDLE})) is Kind.NOT_DETERMINED
    assert limit_of(tcp(**{**polls, "receive_calls": 49, "empty_receives": 0})) is (
        Kind.NOT_DETERMINED
    )


def test_a_small_loss_is_the_limit_only_if_enough_was_sent() -> None:
    def lossy(sent_count: int) -> StreamSample:
        lost_count = sent_count // 40
        return udp(
            sent=sent_count,
            lost=lost_count,
            losses=losses_of(sent=sent_count, lost=lost_count, receive_queue=0, local=0),
        )

    assert limit_of(lossy(8_120)) is Kind.LOSS_LIMIT_PATH
    assert limit_of(lossy(6_000)) is Kind.NOT_DETERMINED
    paced = changed(lossy(6_000), offered_bit_per_s=6_000 * 1472 * 8.0)
    assert limit_of(paced) is Kind.LOSS_LIMIT_PATH


def test_probable_other_traffic_is_stated_in_bit_per_s_and_as_part_of_the_filled_link() -> None:
    link = Framing(payload_bytes=1472, packets=(1500,), vlan=False, link_rate_bit_per_s=1e8)
    half = udp(throughput_bit_per_s=CEILING / 2, likely_others_share=0.3, framing=link)
    names = ("other_bit_per_s", "link_filled_share")
    figures = evidence(Kind.OTHER_TRAFFIC, [half])
    assert [figures[name] for name in names] == pytest.approx([3e7, 0.8])
    unknown = evidence(Kind.OTHER_TRAFFIC, [changed(half, framing=None, ceiling_bit_per_s=None)])
    assert [unknown[name] for name in names] == [None, None]


# ---- packets a second ----------------------------------------------------------------------------


def at_rate(frames_per_s: float, sizes: tuple[int, ...], **changes: Any) -> list[StreamSample]:
    return [
        udp(
            cell=str(size),
            message_bytes=size,
            throughput_bit_per_s=frames_per_s * size * 8,
            calls=round(frames_per_s),
            losses=losses_of(sent=4_000, lost=0, receive_queue=0, local=0),
            **changes,
        )
        for size in sizes
    ]


def test_equal_frame_rates_at_three_message_sizes_are_a_packet_rate_limit() -> None:
    findings = limits(at_rate(4_000, (64, 128, 256)))
    assert [(finding.kind, finding.cells) for finding in findings] == [
        (Kind.PACKET_RATE, (size,)) for size in ("64", "128", "256")
    ]
    assert findings[0].evidence["frames_per_s"] == pytest.approx(4_000)


@pytest.mark.parametrize(
    "samples",
    [
        at_rate(4_000, (64, 128)),
        at_rate(4_000, (64, 128, 250)),
        at_rate(4_000, (64, 128)) + at_rate(3_700, (256,)),
        at_rate(4_000, (2_000, 8_000, 32_000), packets_a_message=2),
        at_rate(4_000, (64, 128, 256), packets_a_message=None),
        at_rate(4_000, (64, 128, 256), imported=True),
        at_rate(4_000, (64, 128, 256), ceiling_bit_per_s=None),
        at_rate(4_000, (64, 128, 256), ceiling_bit_per_s=4_000 * 8 * 64.0),
        at_rate(4_000, (64, 128, 256), offered_bit_per_s=1e9),
    ],
)
def test_a_packet_rate_limit_with_incomplete_evidence_is_not_named(
    samples: list[StreamSample],
) -> None:
    assert Kind.PACKET_RATE not in {finding.kind for finding in limits(samples)}


def test_a_sender_limited_by_its_cpu_is_named_instead_of_a_packet_rate() -> None:
    busy = changed(IDLE, thread_ns=985_000_000)
    assert {finding.kind for finding in limits(at_rate(4_000, (64, 128, 256), sender=busy))} == {
        Kind.CPU_BOUND_SENDER
    }


def test_cells_with_different_settings_give_no_common_packet_rate_limit() -> None:
    mixed = at_rate(4_000, (64, 128)) + at_rate(4_000, (256,), conditions="other")
    assert Kind.PACKET_RATE not in {finding.kind for finding in limits(mixed)}


shares = st.none() | st.floats(0, 1)
counts = st.none() | st.integers(0, 10_000)


@given(
    share=st.floats(0.0, 1.1),
    end=st.builds(
        end_of,
        window_ns=st.none() | st.integers(0, SECOND_NS),
        thread_ns=st.none() | st.integers(0, SECOND_NS),
        run_queue_delay_ns=st.none() | st.integers(0, SECOND_NS),
        quota_periods=counts,
        throttled_periods=counts,
        steal_share=shares,
        busiest_core=st.none() | st.integers(0, 3),
        busiest_core_share=shares,
    ),
    account=st.builds(
        account_of,
        **{name: st.none() | st.integers(0, 1_000_000) for name in shown(account_of())},
    ),
    losses=st.builds(losses_of, **dict.fromkeys(shown(losses_of()), counts)),
    full=shares,
    protocol=st.sampled_from(["TCP", "UDP"]),
)
def test_any_recorded_values_give_only_limits_with_evidence_and_a_sentence(
    share: float,
    end: StreamEnd,
    account: TcpAccount,
    losses: Losses,
    full: float | None,
    protocol: str,
) -> None:
    sample = udp(
        protocol=protocol,
        throughput_bit_per_s=share * CEILING,
        sender=end,
        receiver=end,
        tcp=account,
        losses=losses,
        queue_full_share=full,
    )
    for finding in limits([sample]):
        assert statement(finding)
        assert (finding.kind is Kind.WIRE_CEILING) == (share >= 0.98)
        assert all(name in finding.evidence for name in _NEEDED.get(finding.kind, ()))


_NEEDED = {
    Kind.CPU_WAIT_SENDER_QUOTA: ("sender_throttled_share",),
    Kind.CPU_WAIT_SENDER_PROGRAMS: ("sender_run_queue_share",),
    Kind.CPU_BOUND_RECEIVER: ("queue_full_share",),
    Kind.BUFFER_LIMIT_RECEIVER: ("rwnd_limited_share", "window_bytes", "min_rtt_us"),
    Kind.BUFFER_LIMIT_SENDER: ("sndbuf_limited_share",),
    Kind.CONGESTION: ("cwnd_limited_share", "retransmissions"),
    Kind.LOSS_LIMIT_PATH: ("lost_share", "receive_queue_drops"),
    Kind.NOT_DETERMINED: ("ceiling_share",),
}
