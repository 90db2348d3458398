"""The importer reads recorded outputs of iperf 2, and refuses outputs that are cut or wrong."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import MatrixError, UsageError
from netlab.findings.analysis import load
from netlab.imports.iperf2 import IMPORTER, parse_iperf2

SAMPLES = Path(__file__).parent / "samples" / "iperf2"
ETHERNET_BYTES = 14
HEADERS_BYTES = {"TCP": 52, "UDP": 28}
"""Of IPv4 and TCP with timestamps, or UDP."""
NAMES = [
    "iperf2-tcp-streams.client.csv",
    "iperf2-tcp.client.csv",
    "iperf2-tcp.server.csv",
    "iperf2-text-enhanced.client.txt",
    "iperf2-text-enhanced.server.txt",
    "iperf2-udp.client.csv",
    "iperf2-udp.server.csv",
]
RECEIVERS = [name for name in NAMES if ".server." in name]
UDP_TEXT = """\
------------------------------------------------------------
Client connecting to 198.18.0.2, UDP port 5001
Sending 1470 byte datagrams, IPG target: 11215.21 us (kalman adjust)
UDP buffer size:  416 KByte (WARNING: requested  208 KByte)
TOS set to 0xb8 and nodelay (Nagle off)
------------------------------------------------------------
[  3] local 198.18.0.3 port 40000 connected with 198.18.0.2 port 5001
[ ID] Interval       Transfer     Bandwidth
[  3]  0.0-10.0 sec  1.25 MBytes  1.05 Mbits/sec
[  3] Sent 893 datagrams
[  3] Server Report:
[  3]  0.0-10.0 sec  1.24 MBytes  1.04 Mbits/sec   0.123 ms    8/  893 (0.9%)
"""


def sample(name: str) -> str:
    return (SAMPLES.parent / name.partition("-")[0] / name).read_text(encoding="utf-8")


def truths() -> dict[str, Mapping[str, str]]:
    with (SAMPLES.parent / "truth.csv").open(encoding="utf-8", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def imported(folder: Path, *names: str, **more: Any) -> Any:
    for name in names:
        shutil.copy(SAMPLES / name, folder / name)
    paths = tuple(folder / name for name in names)
    return load(IMPORTER.read(paths, folder / "run", imported_at="2026-01-31T12:00:00Z", **more))


@pytest.mark.parametrize("name", RECEIVERS)
def test_the_throughput_from_iperf2_matches_the_kernels_count_of_bytes(name: str) -> None:
    (result,) = parse_iperf2(sample(name), name)
    payload_bytes = float(str(result.values["throughput_bit_per_s"])) / 8
    payload_bytes *= float(str(result.values["elapsed_ns"])) / 1e9
    truth = truths()[name]
    header_bytes = ETHERNET_BYTES + HEADERS_BYTES[str(result.settings["protocol"])]
    frames = int(truth["server_interface_received_frames"])
    counted_bytes = int(truth["server_interface_received_bytes"]) - frames * header_bytes
    assert payload_bytes == pytest.approx(counted_bytes, rel=0.01)


@pytest.mark.parametrize("name", [name for name in NAMES if ".client." in name])
def test_an_iperf2_client_that_only_sends_gives_no_throughput(name: str) -> None:
    (result,) = parse_iperf2(sample(name), name)
    assert result.reason is None and "throughput_bit_per_s" not in result.values
    assert result.settings["direction"] == "client-sends"
    assert (result.client, result.server) == ("198.18.0.3", "198.18.0.2")
    assert result.unread == ()


@pytest.mark.parametrize("name", NAMES)
def test_each_iperf2_sample_imports_as_one_ok_record(tmp_path: Path, name: str) -> None:
    (record,) = imported(tmp_path, name).records
    assert record.status == "ok" and record.pairing == "198.18.0.2+198.18.0.3"


def test_rows_of_iperf2_udp_give_their_settings_and_figures() -> None:
    (server,) = parse_iperf2(sample("iperf2-udp.server.csv"), "iperf2-udp.server.csv")
    assert server.settings == {
        "protocol": "UDP",
        "streams": 1,
        "direction": "client-sends",
        "ip_version": 4,
    }
    assert server.values == {
        "throughput_bit_per_s": 50332210,
        "elapsed_ns": round(8e9 * 12583600 / 50332210),
        "received_messages": 62918,
        "lost_messages": 0,
        "sent_messages": 62918,
        "reordered_messages": 0,
        "receiver_jitter_ns": 0,
    }
    (client,) = parse_iperf2(sample("iperf2-udp.client.csv"), "iperf2-udp.client.csv")
    assert client.values == {"sent_bit_per_s": 50331858}
    assert (client.identity, client.started_at) == (server.identity, "")


def test_iperf2_streams_without_a_sum_row_add_their_bytes_over_the_longest_time() -> None:
    name = "iperf2-tcp-streams.client.csv"
    (result,) = parse_iperf2(sample(name), name)
    seconds = 8 * 6553660 / 22798471
    assert result.settings["streams"] == 5
    assert result.values["sent_bit_per_s"] == pytest.approx(8 * 27001132 / seconds)
    total = "20261122061720,198.18.0.3,0,198.18.0.2,5001,-1,0.0-2.3,27001132,93930000\n"
    (total_result,) = parse_iperf2(sample(name) + total, name)
    assert total_result.values["sent_bit_per_s"] == 93930000


def test_the_text_of_iperf2_gives_each_setting_and_figure(tmp_path: Path) -> None:
    names = ("iperf2-text-enhanced.server.txt", "iperf2-text-enhanced.client.txt")
    run = imported(tmp_path, *names, names={"198.18.0.2": "nas"})
    (record,) = run.records
    assert record.settings == {
        "protocol": "TCP",
        "streams": 1,
        "direction": "client-sends",
        "ip_version": 4,
        "message_bytes": 131072,
    }
    assert (record.server, record.client) == ("nas", "198.18.0.3")
    assert record.started_at == "2026-11-22T06:17:24.000000Z"
    assert record.values == {
        "mss_bytes": 1448,
        "throughput_bit_per_s": 94.1e6,
        "printed_step_bit_per_s": 1e5,
        "elapsed_ns": 2_049_500_000,
        "sent_bit_per_s": 93.7e6,
    }


def test_an_iperf2_udp_client_takes_the_receivers_figures_from_the_server_report() -> None:
    (result,) = parse_iperf2(UDP_TEXT, "x")
    assert result.settings == {
        "protocol": "UDP",
        "streams": 1,
        "direction": "client-sends",
        "ip_version": 4,
        "message_bytes": 1470,
        "socket_buffer_bytes": 208 * 1024,
        "dscp": 46,
        "nodelay": True,
    }
    assert result.values["throughput_bit_per_s"] == 1.04e6
    assert result.values["sent_bit_per_s"] == 1.05e6
    names = ("sent_messages", "received_messages", "lost_messages", "receiver_jitter_ns")
    assert [result.values[name] for name in names] == [893, 885, 8, 123000]
    warning = "[  3] WARNING: did not receive ack of last datagram after 10 tries.\n"
    (alone,) = parse_iperf2(UDP_TEXT.partition("[  3] Server")[0] + warning, "x")
    assert "throughput_bit_per_s" not in alone.values and "did not receive" in alone.unread[0]


@pytest.mark.parametrize("side", ["client", "server"])
def test_a_reverse_iperf2_test_has_the_client_as_receiver(side: str) -> None:
    text = sample(f"iperf2-text-enhanced.{side}.txt").replace("(sock", "(reverse) (sock")
    (result,) = parse_iperf2(text, "x")
    assert result.settings["direction"] == "server-sends"
    assert ("throughput_bit_per_s" in result.values) == (side == "client")
    row = "20261122061716,198.18.0.2,5001,198.18.0.3,46292,1,0.0-2.0,24010812,94052808\n"
    (of_rows,) = parse_iperf2(row, f"x.{side}.csv")
    assert of_rows.reason == (None if side == "client" else "not-recorded")
    assert ("throughput_bit_per_s" in of_rows.values) == (side == "client")


def test_both_sides_of_an_iperf2_test_become_one_trial_and_repeats_become_trials(
    tmp_path: Path,
) -> None:
    run = imported(tmp_path, "iperf2-tcp.server.csv", "iperf2-tcp.client.csv")
    (record,) = run.records
    assert record.values["throughput_bit_per_s"] == 94151554
    assert record.values["sent_bit_per_s"] == 94052808
    text = sample("iperf2-tcp.client.csv")
    for again in (text, text.replace("46292", "46300")):
        results = parse_iperf2(text + again, "x.client.csv")
        assert [result.values for result in results] == [{"sent_bit_per_s": 94052808}] * 2
        assert len({result.identity for result in results}) == 2
    texts = sample("iperf2-text-enhanced.client.txt") * 3
    assert len(parse_iperf2(texts, "x")) == 3


def test_rows_of_an_iperf2_server_form_one_test_only_if_their_times_overlap() -> None:
    def row(stamp: str, port: int, number: int) -> str:
        end = f"{number},0.0-10.0,11250000,9000000"
        return f"{stamp},198.18.0.3,{port},198.18.0.2,5001,{end}\n"

    def results(*rows: str) -> list[tuple[object, str | None]]:
        parsed = parse_iperf2("".join(rows), "x.server.csv")
        return [(result.settings["streams"], result.reason) for result in parsed]

    one, late = row("20261122061710", 40000, 1), row("20261122061721", 40001, 2)
    assert results(one, late) == [(1, None), (1, None)]
    assert results(one, row("20261122061711", 40001, 2)) == [(2, None)]
    unknown = [row("19700101000000", 40000 + number, number) for number in (1, 2)]
    assert results(*unknown) == [(2, "not-recorded")]
    parts = [line.replace("0.0-10.0", "0.0-5.0").replace("11250", "5625") for line in unknown]
    assert results(parts[0], parts[1], *unknown) == [(2, None)]
    assert results(parts[0], unknown[0], parts[1], unknown[1]) == [(1, None)] * 2


def test_enhanced_iperf2_rows_are_read_as_sent_or_received_by_their_columns() -> None:
    head = "time,srcaddress,srcport,dstaddr,dstport,transferid,istart,iend,bytes,speed,"
    row = "20261122061716.1+0000,198.18.0.3,4000,198.18.0.2,5001,1,0.0,2.0,24010812,94052808,9,1\n"
    for more, name in (("writecnt,x", "sent_bit_per_s"), ("readcnt,x", "throughput_bit_per_s")):
        (result,) = parse_iperf2(f"{head}{more}\n{row}", "x")
        assert result.values[name] == 94052808


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (sample(NAMES[3]) + "write failed: Broken pipe\n", "peer-vanished"),
        (sample(NAMES[3]).replace("(sock=3)", "(full-duplex)"), "not-recorded"),
        (sample(NAMES[3]).replace("(sock=3)", "(bb len/hold=100/0)"), "not-recorded"),
        (sample(NAMES[3]).rpartition("[  1] 0.0000-2")[0], "not-recorded"),
        (sample(NAMES[3]).replace("(1 flows)", "(2 flows)"), "not-recorded"),
        ("".join(sample(NAMES[3]).partition("(1 flows)")[:2]) + "\ntcp connect failed: Connection "
         "refused\n", "connect-refused"),
        ("20261122061716,198.18.0.3,4000,198.18.0.2,5001,1,0.0-2.0,0,0\n", "no-traffic"),
    ],
)  # fmt: skip
def test_iperf2_outputs_without_a_result_become_failures_without_figures(
    text: str, reason: str
) -> None:
    (result,) = parse_iperf2(text, "x.server.csv")
    assert (result.reason, dict(result.values)) == (reason, {})
    assert "protocol" in result.settings


def test_an_iperf2_output_with_only_an_error_is_refused_with_this_error(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("connect failed: Connection refused\n")
    with pytest.raises(UsageError, match="Connection refused"):
        IMPORTER.read((tmp_path / "out.txt",), tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "x:1:1: empty"),
        ("\niperf Done.\n", "x:2:1: not an output of iperf 2"),
        ("a" * 5000, "longer than 4096"),
        (sample("iperf2-tcp.client.csv"), "does not say whether the client or the server"),
        (sample("nuttcp-tcp.txt"), "not an output"),
        (sample("iperf3-tcp.client.json"), "not an output"),
        ("2" * 14 + ",a,1,b,5001,1,0.0-2.0,NaN,1e308\n", "not an output"),
        ("2" * 14 + ",a,1,b,5001,1,0.0-2.0,-24010812,-94052808\n", "not an output"),
    ],
)
def test_text_that_is_not_an_iperf2_output_is_refused_with_its_place(
    text: str, sentence: str
) -> None:
    with pytest.raises(MatrixError) as excinfo:
        parse_iperf2(text, "x")
    assert sentence in str(excinfo.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_iperf2_output_gives_no_rate_far_above_that_of_the_whole_output(name: str) -> None:
    text = sample(name)
    (whole,) = parse_iperf2(text, name)
    for end in range(len(text)):
        try:
            results = parse_iperf2(text[:end], name)
        except MatrixError:
            continue
        for result in results:
            assert result.settings["protocol"] == whole.settings["protocol"]
            for value in {"throughput_bit_per_s", "sent_bit_per_s"} & result.values.keys():
                rate = float(str(result.values[value]))
                # A part of the streams, or the first interval, is whole by itself.
                assert 1.6e7 < rate < 1.06 * float(str(whole.values[value]))


def test_the_iperf2_importer_reads_an_unknown_version_and_names_it() -> None:
    text = sample("iperf2-text-enhanced.server.txt").replace("peer 2.1.8", "peer 7.0.0")
    (result,) = parse_iperf2(text, "x")
    assert result.values["throughput_bit_per_s"] == 94.1e6 and "7.0.0" in result.unread[0]


def test_the_iperf2_importer_reads_8000_rows_and_refuses_very_long_meaningless_lines() -> None:
    # Work that grew with the square of the length would take hours.
    lines = ["1" * 4000, " " * 4000, "a " * 2000, "[  1] 0.0-" + " " * 4000, ",1" * 2000]
    with pytest.raises(MatrixError):
        parse_iperf2("".join(f"{line}\n" * 200 for line in lines), "x")
    rows = sample("iperf2-tcp.server.csv")
    many = "".join(rows.replace("46292,", f"{port},") for port in range(1024, 9024))
    assert len(parse_iperf2(many, "x.server.csv")) >= 1


PIECES = st.sampled_from(["", " ", "\n", "\0", "-", "NaN", "1e308", "9" * 400, "-1", "é", "SUM"])


@given(name=st.sampled_from(NAMES), data=st.data())
def test_a_mutated_iperf2_output_is_refused_or_gives_either_rates_or_a_reason(
    name: str, data: st.DataObject
) -> None:
    text = sample(name)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        piece = data.draw(st.one_of(PIECES, st.just(text[start:end] * 2)))
        text = text[:start] + piece + text[end:]
    try:
        results = parse_iperf2(text, name)
    except MatrixError:
        return
    for result in results:
        rates = {"throughput_bit_per_s", "sent_bit_per_s"} & result.values.keys()
        assert (result.reason is None) == bool(rates)
