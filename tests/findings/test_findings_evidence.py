"""A stream sample has each value of its record and no invented value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from made_findings import LINK, plan_of, run_of
from made_histograms import of_values, to_pairs
from made_samples import account_of, changed, end_of, losses_of, sample_of, shown

from netlab.ethernet import Link
from netlab.findings.derived import StreamSample, samples
from netlab.findings.rates import Framing
from netlab.findings.traffic import OwnDrops
from netlab.imports.common.csv_table import record_of
from netlab.store.plan import PlannedCell
from netlab.trial.record import Record, Status, Value

CALLS = of_values([100, 200, 300])
SAID: Mapping[str, Value] = {
    "throughput_bit_per_s": 9e7,
    "setup_ns": 5 * 10**8,
    "elapsed_ns": 10**10,
    "drain_ns": 25 * 10**7,
    "sender_elapsed_ns": 10**10,
    "sender_thread_ns": 11,
    "sender_run_queue_delay_ns": 12,
    "sender_quota_periods": 13,
    "sender_quota_throttled_periods": 14,
    "sender_host_steal_share": 0.15,
    "sender_host_busiest_core": 16,
    "sender_host_busiest_core_share": 0.17,
    "sender_cpu": 18,
    "sender_raw_clock_ppm": 19.5,
    "sender_wall_step_ns": -20,
    "receiver_elapsed_ns": 10**10 + 1,
    "receiver_thread_ns": 21,
    "receiver_run_queue_delay_ns": 22,
    "receiver_quota_periods": 23,
    "receiver_quota_throttled_periods": 24,
    "receiver_host_steal_share": 0.25,
    "receiver_host_busiest_core": 26,
    "receiver_host_busiest_core_share": 0.27,
    "receiver_cpu": 28,
    "receiver_raw_clock_ppm": 29,
    "receiver_wall_step_ns": 30,
    "receiver_spin": 1,
    "sender_sent_messages_window": 31,
    "sender_send_call_histogram": to_pairs(CALLS),
    "sender_send_call_histogram_bits": CALLS.bits,
    "sender_send_room_looks": 32,
    "sender_send_room_share": 0.33,
    "sender_send_buffer_bytes": 34,
    "receiver_queue_looks": 35,
    "receiver_queue_full_share": 0.36,
    "sender_congestion": "bbr",
    "sender_path_mtu_bytes": 1400,
    "sent_messages": 41,
    "lost_messages": 42,
    "receiver_queue_drops": 48,
    "receiver_udp_checksum_errors": 5,
    "receiver_tcp_checksum_errors": 6,
    "reordered_messages": 45,
    "duplicate_messages": 46,
    "sender_local_drops": 44,
    "sender_tcp_begin_busy_time_us": 100,
    "sender_tcp_end_busy_time_us": 151,
    "sender_tcp_begin_rwnd_limited_us": 100,
    "sender_tcp_end_rwnd_limited_us": 152,
    "sender_tcp_begin_sndbuf_limited_us": 100,
    "sender_tcp_end_sndbuf_limited_us": 153,
    "sender_tcp_begin_total_retrans": 100,
    "sender_tcp_end_total_retrans": 154,
    "sender_tcp_begin_dsack_dups": 100,
    "sender_tcp_end_dsack_dups": 147,
    "sender_tcp_begin_reord_seen": 100,
    "sender_tcp_end_reord_seen": 149,
    "sender_tcp_begin_snd_wnd": 55_000,
    "sender_tcp_end_snd_wnd": 54_000,
    "sender_tcp_begin_min_rtt_us": 57,
    "sender_tcp_end_min_rtt_us": 56,
    "sender_tcp_end_pmtu": 1500,
    "sender_tcp_end_snd_mss": 1448,
}
COUNTS = {
    "sent_messages": 41,
    "reordered_messages": 45,
    "duplicate_messages": 46,
    "duplicate_packets": 47,
    "reorderings": 49,
}
SENDER = end_of(
    host="b",
    window_ns=10**10,
    thread_ns=11,
    run_queue_delay_ns=12,
    quota_periods=13,
    throttled_periods=14,
    steal_share=0.15,
    busiest_core=16,
    busiest_core_share=0.17,
    cpu=18,
    spins=False,
    clock_ppm=19.5,
    clock_step_ns=-20,
)
RECEIVER = end_of(
    host="a",
    window_ns=10**10 + 1,
    thread_ns=21,
    run_queue_delay_ns=22,
    quota_periods=23,
    throttled_periods=24,
    steal_share=0.25,
    busiest_core=26,
    busiest_core_share=0.27,
    cpu=28,
    spins=True,
    clock_ppm=29.0,
    clock_step_ns=30,
)
ACCOUNT = account_of(
    busy_us=51,
    rwnd_limited_us=52,
    sndbuf_limited_us=53,
    retransmissions=54,
    window_bytes=55_000,
    min_rtt_us=56,
)


def record(
    settings: Mapping[str, Value], values: Mapping[str, Value], test: str = "stream"
) -> tuple[PlannedCell, Record]:
    cell = PlannedCell("a cell", "WL", test, settings)
    return cell, record_of(cell, values, printed="x", server="a", client="b")


def read(
    settings: Mapping[str, Value],
    values: Mapping[str, Value],
    *,
    link: Link | None = LINK,
    test: str = "stream",
    **plan: Any,
) -> Sequence[StreamSample]:
    cell, trial_record = record(settings, values, test)
    return samples(run_of(plan_of([cell], link, **plan), [trial_record]))


def only(settings: Mapping[str, Value], values: Mapping[str, Value], **plan: Any) -> StreamSample:
    (sample,) = read(settings, values, **plan)
    return sample


def bare(size: int = 1472, protocol: str = "UDP", **more: Value) -> dict[str, Value]:
    return {"protocol": protocol, "message_bytes": size, **more}


def near(number: float) -> Any:
    """Equal except for rounding."""
    return pytest.approx(number)


# ---- every value ---------------------------------------------------------------------------------


def test_every_value_of_a_udp_record_is_read_into_its_field_of_the_sample() -> None:
    settings = bare(1400, duration_s=10.0, congestion="bbr", warm_up_s=2.0)
    # 1400 + 8 + 20 bytes go over a path of 1400 in two packets: 1376 + 8 bytes, and the rest.
    wire = (20 + 1376 + 38) + (20 + 32 + 38)
    assert shown(only(settings, SAID)) == shown(
        sample_of(
            cell="a cell",
            pairing="WL",
            protocol="UDP",
            message_bytes=1400,
            conditions=(
                *(("congestion", "bbr"), ("duration_s", 10.0)),
                *(("protocol", "UDP"), ("warm_up_s", 2.0)),
            ),
            throughput_bit_per_s=9e7,
            ceiling_bit_per_s=near(1e8 * 1400 / wire),
            highest_ceiling_bit_per_s=near(1e8 * 1400 / wire),
            sender=SENDER,
            receiver=RECEIVER,
            calls=31,
            call_times=CALLS,
            room_looks=32,
            room_share=0.33,
            send_buffer_bytes=34,
            queue_looks=35,
            queue_full_share=0.36,
            tcp=account_of(),
            drops=OwnDrops(between_s=0.5 + 2.0 + 10.0 + 0.25 + 1.0, damaged=5),
            **COUNTS,
            losses=losses_of(sent=41, lost=42, receive_queue=43, local=44),
            congestion="bbr",
            congestion_asked=True,
            packets_a_message=2,
            path_mtu_bytes=1400,
            link_mtu_bytes=1500,
            framing=Framing(
                payload_bytes=1400, packets=(1396, 52), vlan=False, link_rate_bit_per_s=1e8
            ),
        )
    )


def test_every_value_of_a_tcp_record_is_read_into_its_field_of_the_sample() -> None:
    sample = only(bare(64, "TCP", streams=3), SAID)
    assert shown(sample) == shown(
        sample_of(
            cell="a cell",
            pairing="WL",
            protocol="TCP",
            message_bytes=64,
            conditions=(("protocol", "TCP"), ("streams", 3)),
            throughput_bit_per_s=9e7,
            # Of what the options may leave: 12 bytes of timestamps, or none (IEEE 802.3, RFC 7323).
            ceiling_bit_per_s=near(1e8 * 1448 / 1538),
            highest_ceiling_bit_per_s=near(1e8 * 1460 / 1538),
            streams=3,
            sender=SENDER,
            receiver=RECEIVER,
            calls=31,
            call_times=CALLS,
            room_looks=32,
            room_share=0.33,
            send_buffer_bytes=34,
            queue_looks=35,
            queue_full_share=0.36,
            tcp=ACCOUNT,
            drops=OwnDrops(between_s=0.5 + 10.0 + 0.25 + 1.0, damaged=6),
            **COUNTS,
            losses=losses_of(),
            congestion="bbr",
            congestion_asked=False,
            packets_a_message=None,
            path_mtu_bytes=1500,
            link_mtu_bytes=1500,
            framing=Framing(
                payload_bytes=1448, packets=(1500,), vlan=False, link_rate_bit_per_s=1e8
            ),
        )
    )


def test_values_missing_in_a_record_are_unknown_in_the_sample() -> None:
    for protocol in ("UDP", "TCP"):
        sample = only(bare(1472, protocol), {"throughput_bit_per_s": 9e7}, link=None)
        assert shown(sample) == shown(
            sample_of(
                cell="a cell",
                pairing="WL",
                protocol=protocol,
                message_bytes=1472,
                conditions=(("protocol", protocol),),
                throughput_bit_per_s=9e7,
                ceiling_bit_per_s=None,
                sender=end_of(host="b"),
                receiver=end_of(host="a"),
                drops=OwnDrops(between_s=1.0),
            )
        )


@pytest.mark.parametrize("wrong", ["7", True, None, [7], 7.5])
def test_record_values_of_a_wrong_type_are_unknown_in_the_sample(wrong: Any) -> None:
    names = ("throughput_bit_per_s", "sender_congestion")
    values = {name: value if name in names else wrong for name, value in SAID.items()}
    sample = only(bare(1472, "TCP"), {**values, "sender_congestion": 7})
    numbers = wrong == 7.5
    only_shares: dict[str, Any] = {
        "steal_share": 7.5 if numbers else None,
        "busiest_core_share": 7.5 if numbers else None,
        "clock_ppm": 7.5 if numbers else None,
    }
    assert shown(sample.sender) == shown(end_of(host="b", **only_shares))
    assert shown(sample.receiver) == shown(end_of(host="a", **only_shares))
    assert (shown(sample.tcp), sample.congestion) == (shown(account_of()), None)
    assert (sample.calls, sample.call_times, sample.room_looks) == (None, None, None)
    assert (sample.send_buffer_bytes, sample.queue_looks) == (None, None)
    assert (sample.room_share, sample.queue_full_share) == ((7.5, 7.5) if numbers else (None, None))
    assert sample.path_mtu_bytes is None
    assert read(bare(), {"throughput_bit_per_s": wrong}) == () or numbers


def test_a_tcp_counter_missing_at_one_edge_or_falling_is_unknown_in_the_sample() -> None:
    names = ("busy_time_us", "rwnd_limited_us", "sndbuf_limited_us", "total_retrans")
    for name in names:
        for edge in ("begin", "end"):
            lacking = {k: v for k, v in SAID.items() if k != f"sender_tcp_{edge}_{name}"}
            counts = only(bare(64, "TCP"), lacking).tcp
            counters = (
                counts.busy_us,
                counts.rwnd_limited_us,
                counts.sndbuf_limited_us,
                counts.retransmissions,
            )
            flags = [value is not None for value in counters]
            assert flags == [name != counter for counter in names]
    still = only(bare(64, "TCP"), {**SAID, "sender_tcp_end_busy_time_us": 100})
    assert still.tcp.busy_us == 0
    fell = only(bare(64, "TCP"), {**SAID, "sender_tcp_end_busy_time_us": 99})
    assert fell.tcp.busy_us is None


@pytest.mark.parametrize(
    ("begin", "end", "window"),
    [(5, 9, 9), (9, 5, 9), (None, 5, 5), (5, None, 5), (None, None, None)],
)
def test_the_receive_window_of_a_sample_is_the_larger_of_both_edges(
    begin: int | None, end: int | None, window: int | None
) -> None:
    edges = {"sender_tcp_begin_snd_wnd": begin, "sender_tcp_end_snd_wnd": end}
    values = {name: value for name, value in edges.items() if value is not None}
    sample = only(bare(64, "TCP"), {"throughput_bit_per_s": 9e7, **values})
    assert sample.tcp.window_bytes == window


@pytest.mark.parametrize(
    ("pairs", "bits", "validity"),
    [
        ([100, 3], 7, True),
        ((100, 3), 7, True),
        ([100], 7, False),
        ([100, 0], 7, False),
        (["x", 3], 7, False),
        ("100", 7, False),
        (None, 7, False),
        ([100, 3], None, False),
        ([100, 3], "7", False),
    ],
)
def test_an_incomplete_histogram_of_call_times_is_unknown_in_the_sample(
    pairs: Any, bits: Any, validity: bool
) -> None:
    values = {
        **{"throughput_bit_per_s": 9e7, "sender_send_call_histogram": pairs},
        "sender_send_call_histogram_bits": bits,
    }
    sample = only(bare(), values)
    assert sample.call_times == (of_values([100] * 3) if validity else None)


# ---- whose and which -----------------------------------------------------------------------------


def test_the_client_is_the_sender_of_a_sample_unless_the_server_sends() -> None:
    upload = only(bare(direction="client-sends"), SAID)
    assert (upload.sender.host, upload.receiver.host, upload.flow) == ("b", "a", "")
    download = only(bare(direction="server-sends"), SAID)
    assert (download.sender.host, download.receiver.host, download.flow) == ("a", "b", "")


def test_a_stream_both_ways_has_one_sample_per_direction_with_its_own_values() -> None:
    values: dict[str, Value] = {
        **{f"to_server_{name}": value for name, value in SAID.items()},
        **{"to_client_throughput_bit_per_s": 8e7, "to_client_sender_thread_ns": 99},
        "same_host": False,
    }
    upload, download = read(bare(direction="both"), values)
    ends = (shown(upload.sender), shown(upload.receiver))
    assert (upload.flow, *ends) == ("to server", shown(SENDER), shown(RECEIVER))
    assert (upload.throughput_bit_per_s, download.throughput_bit_per_s) == (9e7, 8e7)
    assert (download.flow, download.sender.host, download.receiver.host) == ("to client", "a", "b")
    assert shown(download.sender) == shown(end_of(host="a", thread_ns=99))


def test_unknown_hosts_of_a_record_have_no_name_in_the_sample() -> None:
    cell, trial_record = record(bare(), SAID)
    unknown: list[Any] = ["", None]
    for server in unknown:
        nobody = changed(trial_record, server=server, client=server)
        (sample,) = samples(run_of(plan_of([cell]), [nobody]))
        assert (sample.sender.host, sample.receiver.host) == ("", "")


def test_samples_are_read_only_from_ok_streams_with_a_throughput_and_a_message_size() -> None:
    assert read(bare(), SAID, test="round_trip") == ()
    assert read(bare(), {"lost_messages": 3}) == ()
    assert read({"protocol": "UDP"}, SAID) == ()
    assert read({"protocol": "UDP", "message_bytes": "64"}, SAID) == ()
    cell, trial_record = record(bare(), SAID)
    for status in Status:
        readings = samples(run_of(plan_of([cell]), [changed(trial_record, status=status)]))
        assert len(readings) == (status is Status.OK)
    assert samples(run_of(plan_of([cell]), [])) == ()


def test_samples_come_in_the_order_of_the_plan_trial_by_trial() -> None:
    cells = [PlannedCell(key, "LL", "stream", bare()) for key in "yxz"]
    records = [
        record_of(cell, {"throughput_bit_per_s": float(trial)}, printed="x", trial=trial)
        for trial in (2, 1)
        for cell in reversed(cells)
    ]
    skipped = changed(cells[1], test="connect")
    plan = plan_of([cells[0], skipped, cells[2]], repeats=2)
    readings = samples(run_of(plan, records))
    assert [(sample.cell, sample.throughput_bit_per_s) for sample in readings] == [
        *(("y", 1.0), ("y", 2.0), ("z", 1.0), ("z", 2.0)),
    ]


def test_samples_of_an_imported_table_are_marked_as_imported() -> None:
    assert only(bare(), SAID, source="table.csv").imported is True
    assert only(bare(), SAID).imported is False


@pytest.mark.parametrize(
    ("answer", "same"), [(True, True), (False, False), (1, False), (None, False)]
)
def test_a_sample_within_one_host_has_no_wire_ceiling(answer: Any, same: bool) -> None:
    sample = only(bare(), {**SAID, "same_host": answer})
    assert sample.same_host is same
    assert (sample.ceiling_bit_per_s is None) is same
    assert (sample.highest_ceiling_bit_per_s is None) is same
