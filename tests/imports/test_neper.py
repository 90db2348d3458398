"""The importer reads recorded outputs of neper, and refuses outputs that are cut or wrong."""

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
from netlab.imports.common.tool_results import ToolResult
from netlab.imports.neper import IMPORTER, parse_neper

SAMPLES = Path(__file__).parent / "samples" / "neper"
NAMES = tuple(
    f"neper-{test}.{side}.txt"
    for test in ("tcp_stream", "udp_stream", "tcp_rr", "udp_rr")
    for side in ("client", "server")
)
OVERHEAD_BYTES = {"TCP": 14 + 52, "UDP": 14 + 28}
"""Of Ethernet, IPv4, and TCP with timestamps, or UDP."""


def sample(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


def truth(name: str) -> Mapping[str, str]:
    with (SAMPLES.parent / "truth.csv").open(encoding="utf-8", newline="") as file:
        return next(row for row in csv.DictReader(file) if row["file"] == name)


def result_of(text: str) -> ToolResult:
    (result,) = parse_neper(text, "out.txt")
    return result


def figure(result: ToolResult, name: str) -> float:
    return float(str(result.values[name]))


def changed(text: str, **options: str) -> str:
    lines = (line.partition("=")[::2] for line in text.splitlines())
    return "".join(f"{name}={options.get(name, word)}\n" for name, word in lines)


def imported(folder: Path, *names: str, **more: Any) -> Any:
    for name in names:
        shutil.copy(SAMPLES / name, folder / name)
    paths = tuple(folder / name for name in names)
    return load(IMPORTER.read(paths, folder / "run", imported_at="2026-01-31T12:00:00Z", **more))


@pytest.mark.parametrize("name", [name for name in NAMES if "stream" in name])
def test_the_throughput_from_neper_matches_the_kernels_count_of_bytes(name: str) -> None:
    result = result_of(sample(name))
    elapsed_s = float(str(result.values.get("elapsed_ns", 2e9))) / 1e9
    payload_bytes = figure(result, "throughput_bit_per_s") * elapsed_s / 8
    row = truth(name)
    overhead_bytes = (
        int(row["server_interface_received_frames"])
        * OVERHEAD_BYTES[str(result.settings["protocol"])]
    )
    wire_bytes = int(row["server_interface_received_bytes"]) - overhead_bytes
    assert payload_bytes == pytest.approx(wire_bytes, rel=0.01)


@pytest.mark.parametrize("name", [name for name in NAMES if "_rr" in name])
def test_the_transactions_from_neper_match_the_kernels_count_of_frames(name: str) -> None:
    result = result_of(sample(name))
    frames = int(truth(name)["server_interface_received_frames"])
    assert figure(result, "transactions_per_s") * 2.0 == pytest.approx(frames, rel=0.01)
    # The client of udp_rr prints a count without its last tenth of the time.
    share = 0.9 if name == "neper-udp_rr.client.txt" else 1.0
    assert figure(result, "transactions") == pytest.approx(frames * share, rel=0.01)


def test_the_output_of_a_neper_client_gives_each_setting_and_figure(tmp_path: Path) -> None:
    run = imported(tmp_path, "neper-tcp_rr.client.txt", names={"198.18.0.2": "nas"})
    (record,) = run.records
    assert (record.pairing, record.server, record.client) == ("nas+client", "nas", "client")
    assert record.settings == {
        "protocol": "TCP",
        "message_bytes": 1,
        "response_bytes": 1,
        "streams": 1,
        "duration_s": 2.0,
        "nodelay": False,
        "ip_version": 4,
    }
    assert record.values == {
        "transactions_per_s": 48261.90,
        "transactions": 96531,
        "elapsed_ns": 2_000_149_101,
        "rtt_mean_ns": 20641.0,
        "rtt_min_ns": 16956,
        "rtt_max_ns": 1932133,
        "rtt_p50_ns": 20310,
        "rtt_p90_ns": 20790,
        "rtt_p99_ns": 25910,
    }


def test_a_neper_client_states_more_settings_of_a_stream_than_its_server() -> None:
    client = result_of(sample("neper-udp_stream.client.txt"))
    assert client.settings == {
        "protocol": "UDP",
        "direction": "client-sends",
        "message_bytes": 1400,
        "streams": 1,
        "duration_s": 2.0,
        "ip_version": 4,
    }
    server = result_of(sample("neper-udp_stream.server.txt"))
    assert server.settings == {"protocol": "UDP", "direction": "client-sends"}
    assert client.values == {"throughput_bit_per_s": 95505540.0}
    assert server.values == {"throughput_bit_per_s": 95505540.0, "elapsed_ns": 2_005_563_232}
    assert "the test is there twice" in server.unread[0] and client.unread == ()


@pytest.mark.parametrize("is_client", [True, False])
@pytest.mark.parametrize(
    ("client", "server", "direction", "values"),
    [
        ("1", "0", "both", {"to_server_": 8.0, "to_client_": 9.0}),
        ("0", "0", "server-sends", {"": 9.0}),
    ],
)
def test_the_neper_importer_reads_streams_to_the_client_and_in_both_directions(
    is_client: bool, client: str, server: str, direction: str, values: Mapping[str, float]
) -> None:
    # The client reads and, if it is both ways, writes.
    name = f"neper-tcp_stream.{'client' if is_client else 'server'}.txt"
    is_both = direction == "both"
    options = {
        "enable_read": "1" if is_client or is_both else server,
        "enable_write": client if is_client else "1",
        "local_throughput": "9" if is_client else str(8 * is_both),
        "remote_throughput": str(8 * is_both) if is_client else "9",
    }
    result = result_of(changed(sample(name), **options))
    assert result.settings["direction"] == direction
    rates = {f"{prefix}throughput_bit_per_s": rate for prefix, rate in values.items()}
    assert rates == {key: rate for key, rate in result.values.items() if "throughput" in key}
    assert ("message_bytes" in result.settings) == (is_both or not is_client)


def test_neper_options_become_settings_or_are_named_as_unread() -> None:
    options = {"no_delay": "1", "congestion_control": "bbr", "test_length": "-500", "ipv6": "1"}
    text = changed(
        sample("neper-tcp_rr.client.txt"),
        **options,
        num_flows="5",
        source_port="7000",
        local_hosts="198.18.0.3",
        num_threads="4",
        delay="1000",
    )
    result = result_of(text)
    assert result.settings == {
        "protocol": "TCP",
        "message_bytes": 1,
        "response_bytes": 1,
        "streams": 5,
        "count": 500,
        "source_port": 7000,
        "nodelay": True,
        "congestion": "bbr",
        "ip_version": 6,
    }
    assert result.client == "198.18.0.3"
    assert [sentence.partition(":")[0] for sentence in result.unread] == [
        "`num_threads` is '4'",
        "`delay` is '1000'",
    ]


def test_a_neper_test_that_connects_for_each_transaction_becomes_a_connect_test() -> None:
    lines = sample("neper-tcp_rr.client.txt").splitlines(keepends=True)
    result = result_of("".join(line for line in lines if not line.startswith(("delay", "noburst"))))
    assert (result.test, result.reason) == ("connect", None)


def test_the_neper_importer_reads_a_99_9th_percentile_of_latency() -> None:
    text = sample("neper-tcp_rr.client.txt").replace("latency_p99=", "latency_p99.9=")
    text = text.replace("latency_p90=", "latency_p95=")
    values = result_of(text).values
    assert values["rtt_p99_9_ns"] == 25910 and "rtt_p99_ns" not in values


def test_both_sides_of_a_neper_test_state_the_same_rate_and_only_the_client_has_latencies() -> None:
    client, server = (
        result_of(sample(f"neper-tcp_rr.{side}.txt")) for side in ("client", "server")
    )
    assert server.values == {"transactions_per_s": 48261.0, "transactions": 96531}
    assert figure(client, "transactions_per_s") == pytest.approx(48261, abs=1)


@pytest.mark.parametrize(
    ("name", "reason"), [("tcp_stream", "no-traffic"), ("udp_rr", "no-answer")]
)
def test_a_neper_rate_of_zero_becomes_a_failure_without_figures(name: str, reason: str) -> None:
    zeros = ("throughput", "local_throughput", "remote_throughput", "latency_mean")
    text = changed(sample(f"neper-{name}.client.txt"), **dict.fromkeys(zeros, "0"))
    result = result_of(text)
    assert (result.reason, result.values) == (reason, {})


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("connect: Connection refused", "connect-refused"),
        ("recv_msg: Read error: read want 112 bytes", "peer-vanished"),
        ("Killed", "not-recorded"),
    ],
)
def test_a_neper_test_that_broke_off_becomes_a_failure_without_figures(
    tmp_path: Path, words: str, reason: str
) -> None:
    text = sample("neper-tcp_stream.client.txt")
    text = text[: text.index("invalid_secret_count")] + words + "\n"
    (tmp_path / "out.txt").write_text(text, encoding="utf-8")
    run = load(IMPORTER.read((tmp_path / "out.txt",), tmp_path / "run"))
    (record,) = run.records
    assert (record.reason, record.values) == (reason, {})


def test_several_neper_outputs_in_a_file_become_cells_and_repeats_become_trials(
    tmp_path: Path,
) -> None:
    names = ("neper-udp_rr.client.txt", "neper-tcp_stream.client.txt", "neper-udp_rr.client.txt")
    (tmp_path / "all.txt").write_text("\n".join(map(sample, names)), encoding="utf-8")
    run = load(IMPORTER.read((tmp_path / "all.txt",), tmp_path / "run"))
    assert sorted((record.test, record.trial) for record in run.records) == [
        ("round_trip", 1),
        ("round_trip", 2),
        ("stream", 1),
    ]


def test_the_neper_importer_reads_an_unknown_version_and_names_what_it_leaves_out() -> None:
    text = changed(
        sample("neper-tcp_rr.client.txt"), VERSION="2.0.0", latency_p50="-nan", latency_max="1e308"
    )
    result = result_of(text)
    assert result.values["rtt_mean_ns"] == 20641.0
    assert not {"rtt_p50_ns", "rtt_max_ns"} & result.values.keys()
    assert len(result.unread) == 3


@pytest.mark.parametrize(
    "text", ["", "\0\0", "iperf Done.\n", '{"start": {}}', "THROUGHPUT=94.16\nVERSION=1.1.0\n"]
)
def test_text_that_is_not_a_neper_output_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(MatrixError, match=r"out\.txt:1:1: not an output of neper"):
        parse_neper(text, "out.txt")


def test_the_neper_importer_reads_a_whole_output_after_a_cut_output(tmp_path: Path) -> None:
    text = sample("neper-tcp_rr.client.txt")
    (tmp_path / "out.txt").write_text(text[:90] + "\n" + text, encoding="utf-8")
    run = load(IMPORTER.read((tmp_path / "out.txt",), tmp_path / "run"))
    assert len(run.records) == 1
    (tmp_path / "cut.txt").write_text(text[:90], encoding="utf-8")
    with pytest.raises((MatrixError, UsageError), match="only its beginning"):
        IMPORTER.read((tmp_path / "cut.txt",), tmp_path / "other")


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_neper_output_gives_no_figure_that_the_whole_output_lacks(name: str) -> None:
    whole = result_of(sample(name))
    for cut in range(len(sample(name))):
        try:
            (result,) = parse_neper(sample(name)[:cut], "x")
        except MatrixError:
            continue
        assert result.values.items() <= whole.values.items()
        assert (result.test, result.settings["protocol"]) == (
            whole.test,
            whole.settings["protocol"],
        )


@given(
    name=st.sampled_from(NAMES),
    at=st.floats(0, 1),
    length=st.integers(0, 60),
    piece=st.sampled_from(
        ["", "\0", "nan", "1e308", "-5", "9" * 40, "\n", "=", "é\u2028", "x" * 9000, "VERSION=\n"]
    )
    | st.text(max_size=8),
    is_double=st.booleans(),
)
def test_a_mutated_neper_output_is_refused_or_gives_either_figures_or_a_reason(
    name: str, at: float, length: int, piece: str, is_double: bool
) -> None:
    text = sample(name)
    start = round(at * len(text))
    end = start if is_double else start + length
    text = text[:start] + piece + text[start : start + length] * is_double + text[end:]
    try:
        results = parse_neper(text, "x")
    except MatrixError:
        return
    endings = ("throughput_bit_per_s", "transactions_per_s", "rtt_mean_ns")
    for result in results:
        assert (result.reason is None) == any(value.endswith(endings) for value in result.values)


def test_the_neper_importer_reads_very_long_lines_and_refuses_over_10000_outputs() -> None:
    text = sample("neper-udp_rr.client.txt")
    assert parse_neper(text + "x" * 2_000_000 + "\n" + "latency_mean=\n" * 100_000, "x")
    with pytest.raises(MatrixError, match="more than 10000 outputs"):
        parse_neper("VERSION=1.1.0\n" * 20_000, "x")


def test_a_host_without_an_address_in_a_neper_output_is_called_client_or_server(
    tmp_path: Path,
) -> None:
    run = imported(tmp_path, "neper-tcp_stream.server.txt", names={"client": "pc"})
    assert {record.client for record in run.records} == {"pc"}
