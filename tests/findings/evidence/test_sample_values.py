"""A stream sample has the stops, series, losses, drops and framing of its own flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from made_findings import LINK, plan_of, run_of
from made_interfaces import cell_of_wire, drawn_wire, record_of_wire
from made_samples import account_of, losses_of, shown

from netlab.ethernet import Link
from netlab.findings.derived import StreamSample, samples
from netlab.findings.rates import Framing, ceiling_of, framing_of
from netlab.findings.traffic import OwnDrops
from netlab.imports.common.csv_table import record_of
from netlab.results.tcp_series import TcpSeries
from netlab.store.plan import PlannedCell
from netlab.trial.record import Value

RATE: dict[str, Any] = {"throughput_bit_per_s": 9e6}
TIMES_US = tuple(range(0, 260_000, 20_000))
ACKNOWLEDGED = tuple(25_000 * at for at in range(13))
"""25,000 bytes in every 20 ms: 10 Mbit/s."""
SERIES: Mapping[str, Any] = {
    "sender_tcp_series_time_us": list(TIMES_US),
    "sender_tcp_series_delivered_bytes": list(ACKNOWLEDGED),
}


def read(settings: Mapping[str, Value], values: Mapping[str, Any]) -> Sequence[StreamSample]:
    cell = PlannedCell("a cell", "WL", "stream", settings)
    record = record_of(cell, values, printed="x", server="a", client="b")
    return samples(run_of(plan_of([cell], LINK), [record]))


def only(settings: Mapping[str, Value], values: Mapping[str, Any]) -> StreamSample:
    (sample,) = read(settings, {**RATE, **values})
    return sample


def both(
    settings: Mapping[str, Value],
    to_server: Mapping[str, Any],
    to_client: Mapping[str, Any],
    **common: Any,
) -> tuple[StreamSample, StreamSample]:
    values = {
        **{f"to_server_{name}": value for name, value in (RATE | dict(to_server)).items()},
        **{f"to_client_{name}": value for name, value in (RATE | dict(to_client)).items()},
        **common,
    }
    upload, download = read({**settings, "direction": "both"}, values)
    return upload, download


def bare(protocol: str = "TCP", **more: Value) -> dict[str, Value]:
    return {"protocol": protocol, "message_bytes": 1472, **more}


# ---- the whole sample ----------------------------------------------------------------------------


def test_a_sample_names_the_tool_that_measured_it_and_how_it_measures() -> None:
    sample = only(bare(engine="iperf3"), {"engine_remarks": "counts headers"})
    assert (sample.engine, sample.engine_remarks) == ("iperf3", "counts headers")
    own = only(bare(), {})
    assert (own.engine, own.engine_remarks) == ("", "")


def test_a_sample_without_a_protocol_has_an_empty_protocol() -> None:
    assert only({"message_bytes": 1472}, {}).protocol == ""


def test_a_sample_has_the_receive_calls_and_those_that_found_no_data() -> None:
    sample = only(bare(), {"receiver_receive_calls": 61, "receiver_empty_receives": 62})
    assert (sample.receive_calls, sample.empty_receives) == (61, 62)


def test_a_sample_has_the_time_in_which_a_quota_made_each_end_wait() -> None:
    waits = {"sender_quota_throttled_ns": 63, "receiver_quota_throttled_ns": 64}
    sample = only(bare(), waits)
    assert (sample.sender.throttled_ns, sample.receiver.throttled_ns) == (63, 64)


def test_a_sample_has_the_smoothed_round_trip_at_the_end_of_its_window() -> None:
    trips = {"sender_tcp_begin_rtt_us": 64, "sender_tcp_end_rtt_us": 65}
    assert shown(only(bare(), trips).tcp) == shown(account_of(rtt_us=65))


# ---- stops ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stopped_s", "share"),
    # Half a second is the shortest stop of a long window. No share is above the whole window.
    [(0.4, 0.0), (2.5, 0.25), (12, 1.0)],
)
def test_the_stopped_share_of_a_sample_is_the_part_of_its_window_without_data(
    stopped_s: float, share: float
) -> None:
    gaps = {"receiver_gaps": [10**9, round(stopped_s * 1e9)], "elapsed_ns": 10**10}
    assert only(bare("UDP", duration_s=10.0), gaps).stopped_share == share
    upload, download = both(bare("UDP", duration_s=10.0), {"elapsed_ns": 10**10}, gaps)
    assert (upload.stopped_share, download.stopped_share) == (0.0, share)


# ---- the series of TCP ---------------------------------------------------------------------------


def test_a_tcp_sample_of_one_stream_has_its_series_and_the_rate_of_its_plateau() -> None:
    series = TcpSeries(time_us=list(TIMES_US), delivered_bytes=list(ACKNOWLEDGED))
    sample = only(bare(), SERIES)
    assert sample.tcp_series == series
    assert sample.plateau_bit_per_s == pytest.approx(1e7)
    upload, download = both(bare(), {}, SERIES)
    assert (upload.tcp_series, upload.plateau_bit_per_s) == (None, None)
    assert download.tcp_series == series
    assert download.plateau_bit_per_s == pytest.approx(1e7)


def test_a_sample_of_several_streams_has_a_series_of_the_first_but_no_plateau() -> None:
    for streams in (2, 3):
        sample = only(bare(streams=streams), SERIES)
        assert sample.tcp_series is not None
        assert sample.plateau_bit_per_s is None


def test_a_sample_over_udp_has_no_series_of_tcp() -> None:
    sample = only(bare("UDP"), SERIES)
    assert (sample.tcp_series, sample.plateau_bit_per_s) == (None, None)


# ---- losses and drops ----------------------------------------------------------------------------


def test_losses_of_the_other_way_over_tcp_are_the_segments_retransmitted_there() -> None:
    resent = {"sender_tcp_begin_total_retrans": 5, "sender_tcp_end_total_retrans": 12}
    upload, download = both(bare(), {}, resent)
    assert shown(upload.losses) == shown(losses_of(other_way=7))
    assert shown(download.losses) == shown(losses_of(other_way=None))
    assert shown(only(bare(), resent).losses) == shown(losses_of(other_way=0))


def test_losses_of_the_other_way_over_udp_are_the_messages_lost_there() -> None:
    upload, download = both(bare("UDP"), {"lost_messages": 3}, {"lost_messages": 8})
    assert shown(upload.losses) == shown(losses_of(lost=3, other_way=8))
    assert shown(download.losses) == shown(losses_of(lost=8, other_way=3))
    assert shown(only(bare("UDP"), {"lost_messages": 3}).losses) == shown(
        losses_of(lost=3, other_way=0)
    )


def test_the_drops_of_a_sample_are_those_of_the_host_that_sends_and_of_the_one_that_receives() -> (
    None
):
    dropped = {
        "server_interface_dropped_frames": 1,
        "server_queue_dropped_frames": 2,
        "server_softnet_dropped_frames": 3,
        "client_interface_dropped_frames": 4,
        "client_queue_dropped_frames": 5,
        "client_softnet_dropped_frames": 6,
    }
    client_sends = OwnDrops(
        sender_interface=4,
        sender_queue=5,
        sender_backlog=6,
        receiver_interface=1,
        receiver_backlog=3,
        between_s=1.0,
    )
    server_sends = OwnDrops(
        sender_interface=1,
        sender_queue=2,
        sender_backlog=3,
        receiver_interface=4,
        receiver_backlog=6,
        between_s=1.0,
    )
    assert only(bare("UDP"), dropped).drops == client_sends
    assert only(bare("UDP", direction="server-sends"), dropped).drops == server_sends
    upload, download = both(bare("UDP"), {}, {}, **dropped)
    assert (upload.drops, download.drops) == (client_sends, server_sends)


def test_a_sample_has_the_messages_that_the_receiver_could_not_reassemble() -> None:
    drops = only(bare("UDP"), {"receiver_ip_reassembly_failures": 9}).drops
    assert drops == OwnDrops(reassembly=9, between_s=1.0)


def test_samples_of_an_imported_run_have_no_other_traffic() -> None:
    wire = drawn_wire(
        1,
        **{"protocol": "UDP", "version": 4, "link": LINK, "window_s": 10.0, "share": 0.3},
        **{"message": 1472, "segments_together": 1, "step_s": 0.02, "lost_share": 0.0},
        **{"others": {("linux-b", True): 3e7}},
    )
    record = record_of_wire(wire, 1)
    (measured,) = samples(run_of(plan_of([cell_of_wire(record)], LINK), [record]))
    assert [(other.host, other.receiving) for other in measured.others] == [("linux-b", True)]
    assert measured.likely_others_share == pytest.approx(0.3, abs=0.02)
    plan = plan_of([cell_of_wire(record)], LINK, source="table.csv")
    (imported,) = samples(run_of(plan, [record]))
    nothing = (imported.others, imported.likely_others_share, imported.others_doubt_share)
    assert nothing == ((), 0.0, 0.0)


# ---- ceilings and framing ------------------------------------------------------------------------


def test_the_mss_shows_timestamps_of_ipv6_and_then_the_highest_ceiling_counts_them() -> None:
    # 1500 - 40 (IPv6) - 20 (TCP) - 12 (timestamps) = 1428; a full frame is 1538 byte times.
    settings = bare(ip_version=6)
    highest = ceiling_of(settings, {"mss_bytes": 1428}, "", LINK, highest=True)
    assert highest == pytest.approx(1e8 * 1428 / 1538)
    # 8 bytes less show other options, not whether there are timestamps: none are assumed, and the
    # packet is 1420 + 60 bytes long.
    highest = ceiling_of(settings, {"mss_bytes": 1420}, "", LINK, highest=True)
    assert highest == pytest.approx(1e8 * 1420 / (1480 + 38))


@pytest.mark.parametrize(
    ("version", "values", "payload_bytes", "packet_bytes"),
    [
        # Headers: 20 (IPv4) or 40 (IPv6), 20 (TCP), and 12 of timestamps unless they are off.
        (4, {}, 1448, 1500),
        (4, {"tcp_timestamps": True}, 1448, 1500),
        (4, {"tcp_timestamps": False}, 1460, 1500),
        (6, {}, 1428, 1500),
        (6, {"tcp_timestamps": False}, 1440, 1500),
        (4, {"mss_bytes": 1000}, 1000, 1052),
        (4, {"mss_bytes": 1000, "tcp_timestamps": False}, 1000, 1040),
        # No segment is longer than the link's MTU allows.
        (4, {"mss_bytes": 1460}, 1448, 1500),
    ],
)
def test_the_framing_of_a_tcp_flow_is_that_of_its_full_segment(
    version: int, values: Mapping[str, Any], payload_bytes: int, packet_bytes: int
) -> None:
    expected = Framing(
        payload_bytes=payload_bytes, packets=(packet_bytes,), vlan=True, link_rate_bit_per_s=1e8
    )
    link = Link(1e8, 1500, vlan=True)
    assert framing_of(bare(ip_version=version), values, "", link) == expected
    of_flow = {f"to_client_{name}": value for name, value in values.items()}
    assert framing_of(bare(ip_version=version), of_flow, "to_client_", link) == expected


def test_the_framing_of_a_udp_message_over_ipv6_has_the_fragments_of_ipv6() -> None:
    # 1472 + 8 bytes and a header of 40 exceed the MTU. A fragment has 40 + 8 bytes of headers and
    # 1448 bytes, the largest multiple of 8 up to 1452; the last one has the other 32 bytes.
    assert framing_of(bare("UDP", ip_version=6), {}, "", LINK) == Framing(
        payload_bytes=1472, packets=(1496, 80), vlan=False, link_rate_bit_per_s=1e8
    )
