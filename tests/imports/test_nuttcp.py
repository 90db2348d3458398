"""The importer reads recorded outputs of nuttcp, and refuses outputs that are cut or wrong."""

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
from netlab.imports.nuttcp import IMPORTER, parse_nuttcp

SAMPLES = Path(__file__).parent / "samples" / "nuttcp"
ETHERNET_BYTES = 14
HEADERS_BYTES = {"TCP": 52, "UDP": 28}
"""Of IPv4 and TCP with timestamps, or UDP."""
NAMES = ["nuttcp-parse.txt", "nuttcp-reverse.txt", "nuttcp-tcp.txt", "nuttcp-udp.txt"]


def sample(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


def truths() -> dict[str, Mapping[str, str]]:
    with (SAMPLES.parent / "truth.csv").open(encoding="utf-8", newline="") as file:
        return {row["file"]: row for row in csv.DictReader(file)}


def imported(folder: Path, *names: str, **more: Any) -> Any:
    for name in names:
        shutil.copy(SAMPLES / name, folder / name)
    paths = tuple(folder / name for name in names)
    return load(IMPORTER.read(paths, folder / "run", imported_at="2026-01-31T12:00:00Z", **more))


@pytest.mark.parametrize("name", ["nuttcp-parse.txt", "nuttcp-tcp.txt", "nuttcp-udp.txt"])
def test_the_throughput_from_nuttcp_matches_the_kernels_count_of_bytes(name: str) -> None:
    (result,) = parse_nuttcp(sample(name), name)
    payload_bytes = float(str(result.values["throughput_bit_per_s"])) / 8
    payload_bytes *= float(str(result.values["elapsed_ns"])) / 1e9
    truth = truths()[name]
    header_bytes = ETHERNET_BYTES + HEADERS_BYTES[str(result.settings["protocol"])]
    frames = int(truth["server_interface_received_frames"])
    counted_bytes = int(truth["server_interface_received_bytes"]) - frames * header_bytes
    assert payload_bytes == pytest.approx(counted_bytes, rel=0.01)


def test_the_throughput_of_a_reverse_nuttcp_test_matches_the_clients_interface() -> None:
    (result,) = parse_nuttcp(sample("nuttcp-reverse.txt"), "x")
    payload_bytes = float(str(result.values["throughput_bit_per_s"])) / 8 * 2.01
    counted_bytes = int(truths()["nuttcp-reverse.txt"]["client_interface_received_bytes"])
    assert payload_bytes * 1514 / 1448 == pytest.approx(counted_bytes, rel=0.01)
    assert "direction" not in result.settings


def test_the_nuttcp_importer_reads_each_figure_of_the_output_format_parse(tmp_path: Path) -> None:
    run = imported(tmp_path, "nuttcp-parse.txt", names={"server": "nas"})
    (record,) = run.records
    assert record.settings == {"protocol": "UDP"}
    assert (record.server, record.client) == ("nas", "client")
    assert record.values == {
        "throughput_bit_per_s": 48075500,
        "printed_mbit_per_s": "48.0755",
        "printed_step_bit_per_s": 100,
        "elapsed_ns": 2_000_000_000,
        "received_messages": 8153,
        "lost_messages": 0,
        "sent_messages": 8153,
    }


def test_the_text_of_nuttcp_gives_the_final_figures_and_ignores_intervals() -> None:
    (udp,) = parse_nuttcp(sample("nuttcp-udp.txt"), "x")
    (tcp,) = parse_nuttcp(sample("nuttcp-tcp.txt"), "x")
    assert (udp.settings, tcp.settings) == ({"protocol": "UDP"}, {"protocol": "TCP"})
    assert udp.values["throughput_bit_per_s"] == 48044800
    assert udp.values["sent_messages"] == 8153
    assert tcp.values["throughput_bit_per_s"] == 94121400
    assert (udp.unread, tcp.unread) == ((), ())


def test_the_nuttcp_importer_counts_received_and_lost_messages() -> None:
    line = (
        "  8.0000 MB /   2.00 sec =   33.5544 Mbps 99 %TX 1 %RX 2000 / 7698 drop/pkt 25.98 %loss\n"
    )
    (result,) = parse_nuttcp(line, "x")
    counts = {name: result.values[name] for name in ("received_messages", "lost_messages")}
    assert counts == {"received_messages": 5698, "lost_messages": 2000}


def test_several_nuttcp_outputs_become_trials_of_their_cells(tmp_path: Path) -> None:
    text = sample("nuttcp-tcp.txt")
    (tmp_path / "out.txt").write_text(text + text + sample("nuttcp-udp.txt"), encoding="utf-8")
    run = load(IMPORTER.read((tmp_path,), tmp_path / "run"))
    assert sorted((record.settings["protocol"], record.trial) for record in run.records) == [
        ("TCP", 1),
        ("TCP", 2),
        ("UDP", 1),
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("  0.0000 MB / 2.00 sec = 0.0000 Mbps 99 %TX 0 %RX 8153 / 8153 drop/pkt 100.00 %loss\n",
         "no-traffic"),
        ("megabytes=0.0000 real_seconds=2.00 rate_Mbps=0.0000 tx_cpu=9 rx_cpu=0 retrans=0\n",
         "no-traffic"),
        ("nuttcp-t: v6.1.2: Error: server not ACKing data\n" + "  1.0000 MB / 2.00 sec = 4.1943 "
         "Mbps 9 %TX 0 %RX 0 retrans\n", "peer-vanished"),
        ("    5.7318 MB /   1.00 sec =   48.0799 Mbps     0 /  4083 ~drop/pkt  0.00 ~%loss\n",
         "not-recorded"),
    ],
)  # fmt: skip
def test_nuttcp_outputs_without_a_result_become_failures_without_figures(
    text: str, reason: str
) -> None:
    (result,) = parse_nuttcp(text, "x")
    assert (result.reason, dict(result.values)) == (reason, {})
    assert "protocol" in result.settings


def test_a_nuttcp_output_without_a_protocol_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("1.0000 MB / 2.00 sec = 4.1943 Mbps 9 %TX 0 %RX\n")
    with pytest.raises(UsageError, match="neither TCP nor UDP"):
        IMPORTER.read((tmp_path / "out.txt",), tmp_path / "run")
    (tmp_path / "out.txt").write_text("nuttcp-t: v6.1.2: Error: connect: Connection refused\n")
    with pytest.raises(UsageError, match="Connection refused"):
        IMPORTER.read((tmp_path / "out.txt",), tmp_path / "run")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "empty"),
        ("\n\n  iperf Done.\n", "x:3:3: not an output of nuttcp"),
        ("a" * 5000, "longer than 4096"),
        ("nuttcp-t: v6.1.2: socket\n", "long form"),
        ("megabytes=NaN real_seconds=2.00 rate_Mbps=1e308 tx_cpu=0 rx_cpu=0", "not an output"),
        ("  -1.0000 MB / 2.00 sec = 4.0 Mbps 9 %TX 0 %RX 0 retrans\n", "not an output"),
    ],
)
def test_text_that_is_not_a_nuttcp_output_is_refused_with_its_place(
    text: str, sentence: str
) -> None:
    with pytest.raises(MatrixError) as excinfo:
        parse_nuttcp(text, "x")
    assert sentence in str(excinfo.value)


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_nuttcp_output_gives_no_figure_that_the_whole_output_lacks(name: str) -> None:
    text = sample(name)
    (whole,) = parse_nuttcp(text, name)
    for end in range(len(text)):
        try:
            results = parse_nuttcp(text[:end], name)
        except MatrixError:
            continue
        assert all(result.values.items() <= whole.values.items() for result in results)


def test_the_nuttcp_importer_names_three_unread_lines_and_counts_the_others() -> None:
    (result,) = parse_nuttcp("what\0\n" * 100 + sample("nuttcp-tcp.txt"), "x")
    assert len(result.unread) == 4 and "97 more" in result.unread[-1]


def test_the_nuttcp_importer_refuses_very_long_meaningless_lines() -> None:
    # Work that grew with the square of the length would take hours.
    digits = ("1" * 4000 + "\n") * 500 + (" " * 4000 + "\n") * 200
    with pytest.raises(MatrixError):
        parse_nuttcp(digits + ("x =" * 1000 + "\n") * 200, "x")


def test_the_nuttcp_importer_accepts_host_names_as_an_option() -> None:
    option = IMPORTER.options[0]
    assert option.convert is not None and option.convert(("server=nas",)) == {"server": "nas"}


PIECES = st.sampled_from(["", " ", "\n", "\0", "-", "NaN", "1e308", "9" * 400, "=", "é", "%RX"])


@given(name=st.sampled_from(NAMES), data=st.data())
def test_a_mutated_nuttcp_output_is_refused_or_gives_either_throughput_or_a_reason(
    name: str, data: st.DataObject
) -> None:
    text = sample(name)
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(start, min(len(text), start + 40)))
        piece = data.draw(st.one_of(PIECES, st.just(text[start:end] * 2)))
        text = text[:start] + piece + text[end:]
    try:
        results = parse_nuttcp(text, "x")
    except MatrixError:
        return
    for result in results:
        assert (result.reason is None) == ("throughput_bit_per_s" in result.values)
