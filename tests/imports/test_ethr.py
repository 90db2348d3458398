"""The importer reads logs of ethr, which were written by hand from the code of the tool."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import MatrixError, UsageError
from netlab.findings.analysis import load
from netlab.imports.ethr import import_ethr, parse_ethr

SAMPLES = Path(__file__).parent / "samples" / "ethr"
CLIENT = (SAMPLES / "ethr.client.jsonl").read_text(encoding="utf-8")
SERVER = (SAMPLES / "ethr.server.jsonl").read_text(encoding="utf-8")


def test_the_bandwidth_in_the_log_of_an_ethr_client_becomes_the_sent_rate() -> None:
    result = parse_ethr(CLIENT, "x")[0]
    assert result.values == {"sent_bit_per_s": pytest.approx((95.2e6 + 2 * 94.1e6) / 3)}
    assert result.settings == {
        "protocol": "TCP",
        "direction": "client-sends",
        "duration_s": 3.0,
        "streams": 2,
    }
    assert (result.server, result.client) == ("198.18.0.2", "198.18.0.3")
    assert result.started_at == "2026-11-22T06:30:00.000000Z"
    assert "-r" in result.unread[0]


def test_the_bandwidth_in_the_log_of_an_ethr_server_becomes_throughput() -> None:
    first, second = parse_ethr(SERVER, "x")
    assert first.values == {"throughput_bit_per_s": pytest.approx((93.9e6 + 2 * 94.1e6) / 3)}
    assert second.values == {"throughput_bit_per_s": pytest.approx(48.0e6)}
    assert (first.server, first.client) == ("", "198.18.0.3")
    assert second.started_at == "2026-11-22T06:30:20.000000Z"


def test_each_line_of_an_ethr_latency_test_becomes_a_trial_with_its_percentiles(
    tmp_path: Path,
) -> None:
    path = tmp_path / "ethrc.log"
    path.write_text(CLIENT, encoding="utf-8")
    run = load(import_ethr((path,), tmp_path / "run", names={"198.18.0.2": "nas"}))
    trips = [record for record in run.records if record.test == "round_trip"]
    assert [record.trial for record in trips] == [1, 2]
    assert trips[0].settings == {"protocol": "TCP", "count": 1000, "message_bytes": 1}
    assert trips[0].values == {
        "rtt_mean_ns": 58413.0,
        "rtt_min_ns": 41020,
        "rtt_p50_ns": 57100,
        "rtt_p90_ns": 66020,
        "rtt_p99_ns": 95010,
        "rtt_p99_9_ns": 204100,
        "rtt_p99_99_ns": 301000,
        "rtt_max_ns": 312400,
    }
    assert trips[1].values["rtt_max_ns"] == 1_204_000


def latency(**times: str) -> str:
    line = {"Time": "2026-11-22T06:30:11Z", "Type": "LatencyResult", "Protocol": "TCP"}
    return json.dumps({**line, "RemoteAddr": "192.0.2.1", "Avg": "5us", "Min": "1us", **times})


def test_the_ethr_importer_leaves_out_percentiles_that_are_not_in_order() -> None:
    names = ("P50", "P90", "P95", "P99", "P999", "P9999", "Max")
    ordered = latency(**{name: f"{number}us" for number, name in enumerate(names, start=2)})
    (result,) = parse_ethr(ordered, "x")
    assert (result.values["rtt_p50_ns"], result.values["rtt_max_ns"]) == (2000, 8000)
    assert not result.unread
    mixed = latency(**{name: f"{number % 3}us" for number, name in enumerate(names)})
    (result,) = parse_ethr(mixed, "x")
    assert result.values == {"rtt_mean_ns": 5000.0, "rtt_min_ns": 1000}
    assert "not in order" in result.unread[0]


def message(words: str, kind: str = "INFO") -> str:
    return json.dumps({"Time": "2026-11-22T06:30:01Z", "Type": kind, "Message": words}) + "\n"


def test_an_ethr_log_with_an_error_gives_a_failure_and_no_figure(tmp_path: Path) -> None:
    done = "Ethr done, duration: 3s."
    (result, *_) = parse_ethr(CLIENT.replace(done, "Ethr done, connection terminated."), "x")
    assert (result.reason, result.values) == ("peer-vanished", {})
    path = tmp_path / "ethrc.log"
    refused = message("Error dialing connection: connect: connection refused", "ERROR")
    path.write_text(message("Using destination: nas, ip: x, port: 8888") + refused, "utf-8")
    with pytest.raises(UsageError, match="connection refused"):
        import_ethr((path,), tmp_path / "run")


def test_ethr_logs_without_traffic_give_a_reason_and_the_times_of_pings_are_left_out() -> None:
    silent = CLIENT.replace('"95.2M"', '"0"').replace('"94.1M"', '"0"')
    assert parse_ethr(silent, "x")[0].reason == "no-traffic"
    lines = [line for line in SERVER.splitlines(True) if "INFO" not in line]
    assert parse_ethr("".join(lines), "x")[0].reason == "not-recorded"
    ping = message("TCP connect statistics for 192.0.2.1:8888:") + latency()
    (result,) = parse_ethr(ping, "x")
    assert (result.settings, result.detail) == ({}, "the times of pings are left out")


@pytest.mark.parametrize("rate", ["NaN", "-94.1M", "1e308", "9" * 400, "94.1MB", "--  "])
def test_the_ethr_importer_leaves_out_an_invalid_rate_and_says_so(
    rate: str,
) -> None:
    (result, *_) = parse_ethr(CLIENT.replace("95.2M", rate), "x")
    assert result.values == {"sent_bit_per_s": pytest.approx(94.1e6)}
    assert any("left out" in sentence for sentence in result.unread)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "ethr.log:1:1"),
        ("[1]\n", "`Type` is missing or unknown"),
        ('{"Type": ["INFO"]}', "`Type` is missing or unknown"),
        ("\n  {\n", "ethr.log:2:3"),
        ('{"Type": "INFO", "x": ' + 70_000 * "[", "longer than"),
        ('{"Type": "INFO", "x": ' + 60_000 * "[", "nested too deeply"),
        (message("Listening on port 8888"), "no result"),
        ('{"Type": "INFO", "x": ' + 5000 * "1" + "}", "ethr.log:1:1"),
    ],
)
def test_text_that_is_not_an_ethr_log_is_refused_with_its_line_and_column(
    text: str, sentence: str
) -> None:
    with pytest.raises(MatrixError) as excinfo:
        parse_ethr(text, "ethr.log")
    assert sentence in str(excinfo.value)


def test_the_ethr_importer_names_a_last_line_that_is_cut() -> None:
    results = parse_ethr(CLIENT[:-20], "x")
    assert len(results) == 3
    assert any("cut" in sentence for result in results for sentence in result.unread)


@given(
    text=st.sampled_from([CLIENT, SERVER]),
    begin=st.integers(0, 5000),
    length=st.integers(0, 400),
    piece=st.text(max_size=20) | st.sampled_from(["1e308", "NaN", "-1", "\n", "\\ud800", "{}"]),
    doubled=st.booleans(),
)
def test_a_mutated_ethr_log_is_refused_or_gives_either_figures_or_a_reason(
    text: str, begin: int, length: int, piece: str, doubled: bool
) -> None:
    end = begin + length
    middle = 2 * text[begin:end] if doubled else piece
    try:
        results = parse_ethr(text[:begin] + middle + text[end:], "x")
    except MatrixError:
        return
    for result in results:
        assert (result.reason is None) == bool(result.values)
