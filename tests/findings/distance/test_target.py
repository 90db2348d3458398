"""Targets over a longer path pass, fail or stay undecided by recorded evidence."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from draws import chance, drawn
from made_readings import planned
from made_streams import run_of, stream_values

from netlab.ethernet import Link
from netlab.experiment.matrix import LongPath
from netlab.findings.analysis import Analysis
from netlab.findings.distance import at_a_distance
from netlab.findings.finding import Finding, Kind
from netlab.trial.record import Value

LAB: dict[str, Any] = {
    "tcp_rmem": "4096 131072 33554432",
    "tcp_wmem": "4096 16384 4194304",
    "interface_offloads": "rx-checksum,scatter-gather",
}
FAST = Link(1e10, 1500)


def tcp(mbit_per_s: float, **more: Value) -> dict[str, Value]:
    """A trial over a cable of 10 Gbit/s: 64 KiB requested, doubled, nothing lost."""
    defaults: dict[str, Value] = {
        "sender_send_buffer_bytes": 131_072,
        "receiver_receive_buffer_bytes": 131_072,
        "sender_tcp_begin_snd_wnd": 80_000,
        "sender_tcp_end_snd_wnd": 81_502,
        "sender_tcp_end_options": "timestamps,sack,wscale",
        "sender_tcp_end_snd_mss": 1448,
        "sender_tcp_begin_total_retrans": 0,
        "sender_tcp_end_total_retrans": 0,
        "sender_tcp_begin_data_segs_out": 1_000,
        "sender_tcp_end_data_segs_out": 101_000,
        "receiver_queue_full_share": 0.0,
    }
    values = stream_values(mbit_per_s, **{**defaults, **more})
    assert values is not None
    return values


def made(
    path: Path,
    target: LongPath | None,
    *trials: dict[str, Value],
    buffer: int | None = 65536,
    facts: dict[str, Any] | None = None,
    more_cells: Any = (),
    **settings: Any,
) -> list[Finding]:
    cell = planned(
        "stream", "LL", protocol="TCP", message_bytes=65536, socket_buffer_bytes=buffer, **settings
    )
    run = run_of(path, (cell, trials), *more_cells, link=FAST, target=target)
    return found_in(run, LAB if facts is None else facts)


def found_in(run: Analysis, facts: dict[str, Any]) -> list[Finding]:
    hosts = {host for record in run.records for host in (record.server, record.client) if host}
    noted = {host: [facts] for host in hosts}
    return [*at_a_distance(run.samples, noted, run.plan.link, run.plan.target)]


def only(findings: list[Finding]) -> Finding:
    (finding,) = findings
    return finding


def test_a_run_without_a_target_path_has_no_target_finding(tmp_path: Path) -> None:
    assert made(tmp_path / "a", None, tcp(9000)) == []


def test_a_target_fails_by_too_small_buffers_and_the_smallest_bound_is_named_first(
    tmp_path: Path,
) -> None:
    finding = only(made(tmp_path / "a", LongPath(0.05, 1e9), tcp(9000), tcp(8900)))
    assert finding.kind is Kind.TARGET_FAILS
    first, second = finding.words["bounds"].split("; ")
    assert first.startswith("the send buffer of ") and " allows 9.44 Mbit/s, 58982 B" in first
    assert (
        second.startswith("the receive buffer of ") and " allows 13 Mbit/s, a window of" in second
    )
    assert finding.evidence["predicted_bit_per_s"] == pytest.approx(9.44e6, rel=1e-3)
    assert finding.evidence["needed_window_bytes"] == 6.25e6
    assert [trial for _, trial in finding.trials] == [1, 2]
    assert finding.words["sender"] != finding.words["receiver"]


def test_a_target_over_a_short_path_passes(tmp_path: Path) -> None:
    finding = only(made(tmp_path / "a", LongPath(0.0001, 1e9), tcp(9000)))
    assert finding.kind is Kind.TARGET_PASSES
    assert finding.evidence["lost_packets"] == 0 and finding.evidence["packets"] == 100_000


def test_with_automatic_buffers_the_target_is_judged_by_the_limits_of_the_hosts(
    tmp_path: Path,
) -> None:
    values = {"receiver_receive_buffer_bytes": 131_072, "sender_send_buffer_bytes": 46_080}
    finding = only(made(tmp_path / "a", LongPath(0.05, 1e9), tcp(9000, **values), buffer=None))
    assert finding.kind is Kind.TARGET_FAILS
    assert "send buffer of" in finding.words["bounds"] and "at most" in finding.words["bounds"]
    assert "receive buffer" not in finding.words["bounds"]
    more = LAB | {"tcp_wmem": "4096 16384 33554432"}
    finding = only(made(tmp_path / "b", LongPath(0.05, 1e9), tcp(9000), buffer=None, facts=more))
    # 100,000 packets are far from 56 million.
    assert finding.kind is Kind.TARGET_UNDECIDED
    assert finding.words["doubts"].startswith(
        "0 of 100,000 packets were lost: the loss is at most one packet in "
    )


def test_without_window_scaling_a_target_is_limited_by_a_window_of_64_kib(tmp_path: Path) -> None:
    values = {"sender_tcp_end_options": "timestamps,sack"}
    finding = only(made(tmp_path / "a", LongPath(0.05, 2e7), tcp(9000, **values), buffer=None))
    assert finding.kind is Kind.TARGET_FAILS
    assert (
        "receive buffer of" in finding.words["bounds"] and "10.50 Mbit/s" in finding.words["bounds"]
    )


def test_a_target_is_undecided_if_the_buffers_of_a_host_are_not_recorded(tmp_path: Path) -> None:
    finding = only(made(tmp_path / "a", LongPath(0.0001, 1e9), tcp(9000), facts={"os": "windows"}))
    assert finding.kind is Kind.TARGET_UNDECIDED
    assert "keeps in flight is not recorded" in finding.words["doubts"]
    bare = stream_values(9000)
    assert bare is not None
    finding = only(made(tmp_path / "b", LongPath(0.0001, 1e9), bare, facts={}))
    assert finding.kind is Kind.TARGET_UNDECIDED
    assert finding.words["doubts"].count("not recorded") == 3


def test_a_target_above_the_measured_throughput_fails(tmp_path: Path) -> None:
    finding = only(made(tmp_path / "a", LongPath(0.0001, 1e9), tcp(600), tcp(700)))
    assert finding.kind is Kind.TARGET_FAILS
    assert finding.words["bounds"] == "the measured throughput is 700 Mbit/s"
    assert finding.evidence["predicted_bit_per_s"] == pytest.approx(7e8)


def test_a_target_above_the_wire_ceiling_fails_and_the_link_is_named_as_the_bound(
    tmp_path: Path,
) -> None:
    finding = only(made(tmp_path / "a", LongPath(0.000_01, 1.1e10), tcp(9400)))
    assert finding.kind is Kind.TARGET_FAILS
    assert finding.words["bounds"] == "the link carries 9.41 Gbit/s"


def udp(lost_count: int, *, sent_count: int = 200_000, **more: Value) -> dict[str, Value]:
    drops: dict[str, Value] = {
        f"{host}_{place}_dropped_frames": 0
        for host in ("server", "client")
        for place in ("interface", "queue", "softnet")
    }
    drops |= dict.fromkeys(
        ("receiver_queue_drops", "sender_local_drops", "receiver_ip_reassembly_failures"), 0
    )
    values = stream_values(
        1000,
        sent_messages=sent_count,
        received_messages=sent_count - lost_count,
        lost_messages=lost_count,
        **{**drops, **more},
    )
    assert values is not None
    return values


def datagrams(**settings: Any) -> Any:
    return planned("stream", "LL", protocol="UDP", message_bytes=1400, **settings)


def test_a_target_fails_if_the_measured_loss_allows_only_a_lower_rate(tmp_path: Path) -> None:
    datagram_cells = [(datagrams(rate_bit_per_s=1e9), [udp(200)])]
    finding = only(made(tmp_path / "a", LongPath(0.005, 1e8), tcp(9000), more_cells=datagram_cells))
    assert finding.kind is Kind.TARGET_FAILS
    # 1 in 1000: a window of 18.3 packets of 1448 bytes each 5 ms.
    assert finding.words["bounds"].startswith(
        "the loss of 200 of 200,000 packets allows 42.30 Mbit/s"
    )


def test_loss_caused_by_a_full_link_or_a_host_does_not_fail_a_target(
    tmp_path: Path,
) -> None:
    target = LongPath(0.005, 1e8)
    full = [(datagrams(), [udp(200)])]
    own = [(datagrams(rate_bit_per_s=1e9), [udp(200, receiver_queue_drops=200)])]
    again = {"sender_tcp_end_total_retrans": 500}
    for name, findings in (
        ("full", made(tmp_path / "a", target, tcp(9000), more_cells=full)),
        ("own", made(tmp_path / "b", target, tcp(9000), more_cells=own)),
        ("tcp", made(tmp_path / "c", target, tcp(9000, **again))),
    ):
        assert only(findings).kind is Kind.TARGET_UNDECIDED, name


def test_each_socket_buffer_size_has_its_own_target_finding(tmp_path: Path) -> None:
    cells = [
        planned("stream", "LL", protocol="TCP", message_bytes=65536, socket_buffer_bytes=size)
        for size in (65536, 1 << 30)
    ]
    large = {"sender_send_buffer_bytes": 1 << 31, "receiver_receive_buffer_bytes": 1 << 31}
    large |= {"sender_tcp_end_snd_wnd": 1 << 30, "sender_tcp_begin_snd_wnd": 1 << 30}
    run = run_of(
        tmp_path / "a",
        (cells[0], [tcp(9000)]),
        (cells[1], [tcp(9000, **large)]),
        link=FAST,
        target=LongPath(0.01, 1e8),
    )
    small, big = found_in(run, LAB)
    assert small.kind is Kind.TARGET_FAILS
    assert small.group.conditions == (("socket_buffer_bytes", 65536),)
    assert big.kind is not Kind.TARGET_FAILS
    assert big.group.conditions == (("socket_buffer_bytes", 1 << 30),)
    assert small.cells != big.cells


@pytest.mark.parametrize(
    ("values", "settings"),
    [({"same_host": True}, {}), ({}, {"streams": 4}), ({}, {"rate_bit_per_s": 1e9})],
)
def test_loopback_parallel_and_paced_streams_have_no_target_finding(
    tmp_path: Path, values: dict[str, Value], settings: dict[str, Any]
) -> None:
    assert made(tmp_path / "a", LongPath(0.05, 1e9), tcp(9000, **values), **settings) == []


def test_on_random_paths_a_target_never_passes_or_fails_wrongly(tmp_path: Path) -> None:
    """The truth is known: what a window within the bounds of the buffers really carries."""
    draw = chance(7)
    wrong = []
    for number in range(drawn(15, 300)):
        size = draw.choice((65536, 262144, 1 << 20, 8 << 20))
        target = LongPath(10 ** draw.uniform(-4, -1), 10 ** draw.uniform(6, 9.5))
        likely = draw.uniform(0.5, 0.63) * size
        values: dict[str, Value] = {
            "sender_send_buffer_bytes": size,
            "receiver_receive_buffer_bytes": size,
            "sender_tcp_begin_snd_wnd": round(likely),
            "sender_tcp_end_snd_wnd": round(likely),
            "sender_tcp_end_data_segs_out": 4_000_000,
        }
        finding = only(made(tmp_path / f"{number}", target, tcp(9400, **values), buffer=size))
        truth = 8 * min(likely, draw.uniform(0.41, 0.62) * size) / target.rtt_s
        comes = truth >= target.rate_bit_per_s
        if finding.kind is (Kind.TARGET_FAILS if comes else Kind.TARGET_PASSES):
            wrong.append((size, target, finding.words))
    assert wrong == []
