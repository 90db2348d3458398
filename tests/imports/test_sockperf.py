"""The importer reads recorded outputs of sockperf, and refuses outputs that are cut or wrong."""

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
from netlab.imports.sockperf import IMPORTER, parse_sockperf

SAMPLES = Path(__file__).parent / "samples" / "sockperf"
NAMES = ("sockperf-pp-tcp.txt", "sockperf-pp-udp.txt", "sockperf-ul.txt", "sockperf-tp.txt")
UDP_FRAME_BYTES = 14 + 20 + 8


def sample(name: str) -> str:
    return (SAMPLES / name).read_text(encoding="utf-8")


def truth(name: str) -> Mapping[str, str]:
    with (SAMPLES.parent / "truth.csv").open(encoding="utf-8", newline="") as file:
        return next(row for row in csv.DictReader(file) if row["file"] == name)


def result_of(text: str) -> ToolResult:
    (result,) = parse_sockperf(text, "out.txt")
    return result


def figure(result: ToolResult, name: str) -> float:
    return float(str(result.values[name]))


def imported(folder: Path, *names: str, **more: Any) -> Any:
    for name in names:
        shutil.copy(SAMPLES / name, folder / name)
    paths = tuple(folder / name for name in names)
    return load(IMPORTER.read(paths, folder / "run", imported_at="2026-01-31T12:00:00Z", **more))


@pytest.mark.parametrize("name", ["sockperf-pp-tcp.txt", "sockperf-pp-udp.txt"])
def test_the_transactions_from_sockperf_match_the_kernels_count_of_frames(
    name: str,
) -> None:
    result = result_of(sample(name))
    answers_per_s = figure(result, "transactions") / (figure(result, "elapsed_ns") / 1e9)
    frames = int(truth(name)["server_interface_received_frames"])
    assert answers_per_s * 2.0 == pytest.approx(frames, rel=0.01)
    # With one request at once, a round trip takes nearly all the time between two.
    assert figure(result, "rtt_mean_ns") == pytest.approx(1e9 / answers_per_s, rel=0.05)


def test_sockperf_throughput_becomes_a_sent_rate_that_matches_the_wire() -> None:
    result = result_of(sample("sockperf-tp.txt"))
    row = truth("sockperf-tp.txt")
    assert result.values == {"sent_messages": 6002, "sent_bit_per_s": 32.043 * 2**20}
    assert int(row["server_interface_received_frames"]) == 6002
    payload_bytes = int(row["server_interface_received_bytes"]) - 6002 * UDP_FRAME_BYTES
    assert figure(result, "sent_bit_per_s") * 2.0 / 8 == pytest.approx(payload_bytes, rel=1e-3)
    assert (result.reason, result.test) == (None, "stream")


def test_the_answer_rate_of_sockperf_under_load_matches_the_clients_interface() -> None:
    result = result_of(sample("sockperf-ul.txt"))
    answers = int(truth("sockperf-ul.txt")["client_interface_received_bytes"]) // (
        64 + UDP_FRAME_BYTES
    )
    rate = figure(result, "transactions") / figure(result, "elapsed_ns") * 1e9
    assert rate * 2.0 == pytest.approx(answers, rel=0.01)
    assert any("4001 messages and 400 answers" in sentence for sentence in result.unread)


def test_the_sockperf_importer_doubles_latencies_to_round_trips(tmp_path: Path) -> None:
    run = imported(tmp_path, "sockperf-pp-udp.txt", names={"198.18.0.2": "nas"})
    (record,) = run.records
    assert (record.server, record.client, record.started_at) == ("nas", "client", "")
    assert record.settings == {"protocol": "UDP", "ip_version": 4, "warm_up_s": 0.4}
    assert record.values == {
        "transactions": 92669,
        "elapsed_ns": 1_550_000_000,
        "lost_messages": 0,
        "duplicate_messages": 0,
        "reordered_messages": 0,
        "rtt_mean_ns": 16708.0,
        "rtt_min_ns": 13410,
        "rtt_max_ns": 5035352,
        "rtt_p50_ns": 16184,
        "rtt_p90_ns": 16864,
        "rtt_p99_ns": 20580,
        "rtt_p99_9_ns": 60320,
        "rtt_p99_99_ns": 128882,
    }


def test_the_sockperf_importer_does_not_double_round_trips() -> None:
    text = sample("sockperf-pp-udp.txt").replace("avg-latency", "avg-rtt")
    result = result_of(text.replace("Summary: Latency", "Summary: Round trip"))
    assert (result.values["rtt_mean_ns"], result.values["rtt_p50_ns"]) == (8354.0, 8092)


def test_the_sockperf_importer_reads_the_settings_of_throughput_and_bursts() -> None:
    assert result_of(sample("sockperf-tp.txt")).settings == {
        "protocol": "UDP",
        "ip_version": 4,
        "direction": "client-sends",
        "message_bytes": 1400,
        "message_rate_per_s": 3000.0,
    }
    text = sample("sockperf-pp-udp.txt").replace("Latency is", "Latency of burst of 4 messages is")
    assert result_of(text).settings["outstanding"] == 4


@pytest.mark.parametrize(
    ("words", "rate"),
    [
        ("0.004 GBps (0.032 Gbps)", 0.032 * 1000 * 2**20),
        ("4.005432129 MBps (32.043457031 Mbps)", 32.043457031 * 2**20),
        ("4.005432129 GBps (32.043457031 Gbps)", 32.043457031 * 2**20),
    ],
)
def test_the_sockperf_importer_reads_each_form_of_the_bandwidth(words: str, rate: float) -> None:
    text = sample("sockperf-tp.txt").replace("4.005 MBps (32.043 Mbps)", words)
    assert result_of(text).values["sent_bit_per_s"] == pytest.approx(rate)


def test_the_sockperf_importer_reads_version_3_10_without_colours() -> None:
    text = sample("sockperf-pp-tcp.txt").replace("\x1b[2;35m", "").replace("\x1b[0m", "")
    text = text.replace("3.7-no.git", "3.10-23.git1")
    text = text.replace("(std-dev=8.755)", "(std-dev=8.755, cv=0.8, 99.0% ci=[10.3, 10.5])")
    assert result_of(text).values == result_of(sample("sockperf-pp-tcp.txt")).values
    assert result_of(text).unread == ()


def test_the_sockperf_importer_reads_an_unknown_version_and_names_what_it_leaves_out() -> None:
    text = sample("sockperf-pp-tcp.txt").replace("3.7-no.git", "4.0")
    text = text.replace("percentile 50.000 =   10.410", "percentile 50.000 =   nan")
    result = result_of(text)
    assert result.values["rtt_mean_ns"] == 20832.0 and "rtt_p50_ns" not in result.values
    assert len(result.unread) == 2


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("sockperf: No messages were received from the server. Is the server down?", "no-answer"),
        ("sockperf: No messages were sent", "no-traffic"),
        ("sockperf: No valid observations found. Try tune parameters: --time", "too-few-messages"),
        (
            "IP = 198.18.0.2      PORT = 11111 # TCP sockperf: ERROR: "
            "A connection was forcibly closed by a peer (errno=104 Connection reset by peer)",
            "peer-vanished",
        ),
        ("sockperf: ERROR: something new (errno=99 Strange)", "unknown-error"),
        ("", "not-recorded"),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_a_sockperf_output_with_an_error_becomes_a_failure_without_figures(
    name: str, words: str, reason: str
) -> None:
    text = sample(name)
    beginning = text[: text.index("sockperf: Test ended")]
    result = result_of(f"{beginning}sockperf: Test ended\n{words}\n")
    assert (result.reason, result.values) == (reason, {})
    assert result.test == ("stream" if "tp" in name else "round_trip")
    if words:
        assert result_of(f"{text}{words}\n").values == {}


def test_an_option_that_the_system_does_not_support_does_not_fail_a_sockperf_trial() -> None:
    words = (
        "sockperf: ERROR: setsockopt(TOS), set  failed.  It could be that this option is not "
        "supported in your system (errno=22 Invalid argument)\n"
    )
    result = result_of(
        sample("sockperf-pp-tcp.txt").replace("sockperf: Starting", f"{words}sockperf: Starting")
    )
    assert result.reason is None and any("setsockopt(TOS)" in text for text in result.unread)


def test_sockperf_outputs_of_refused_connections_and_of_servers_give_no_trial(
    tmp_path: Path,
) -> None:
    header = "sockperf: == version #3.7-no.git == \n"
    refused = f"{header}sockperf: ERROR: Can`t connect socket (errno=111 Connection refused)\n"
    (tmp_path / "refused.txt").write_text(refused, encoding="utf-8")
    with pytest.raises(UsageError, match="Connection refused"):
        IMPORTER.read((tmp_path / "refused.txt",), tmp_path / "run")
    server = f"{header}sockperf: [SERVER] listen on:\n[ 0] IP = 0.0.0.0 PORT = 11111 # UDP\n"
    (tmp_path / "server.txt").write_text(server, encoding="utf-8")
    run = imported(tmp_path, "sockperf-tp.txt")
    assert len(run.records) == 1
    assert result_of(server).settings == {}


def test_several_sockperf_outputs_in_a_file_become_cells_and_repeats_become_trials(
    tmp_path: Path,
) -> None:
    names = ("sockperf-pp-udp.txt", "sockperf-tp.txt", "sockperf-pp-udp.txt")
    (tmp_path / "all.txt").write_text("".join(map(sample, names)), encoding="utf-8")
    run = load(IMPORTER.read((tmp_path / "all.txt",), tmp_path / "run"))
    assert sorted((record.test, record.trial) for record in run.records) == [
        ("round_trip", 1),
        ("round_trip", 2),
        ("stream", 1),
    ]


def test_the_sockperf_importer_reads_only_the_first_of_several_servers() -> None:
    text = sample("sockperf-pp-udp.txt")
    more = text[text.index("sockperf: ========= Print") :].replace("No: 0", "No: 1")
    result = result_of(text + more.replace("8.354", "9.999"))
    assert result.values["rtt_mean_ns"] == 16708.0
    assert result.unread == ("the figures of more servers than the first are left out",)


@pytest.mark.parametrize("text", ["", "\0\0", "iperf Done.\n", '{"start": {}}', "VERSION=1.1.0\n"])
def test_text_that_is_not_a_sockperf_output_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(MatrixError, match=r"out\.txt:1:1: not an output of sockperf"):
        parse_sockperf(text, "out.txt")


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_sockperf_output_gives_no_figure_that_the_whole_output_lacks(name: str) -> None:
    whole = result_of(sample(name)).values.items()
    for cut in range(10, len(sample(name)), 3):
        (result,) = parse_sockperf(sample(name)[:cut], "x")
        assert result.values.items() <= whole
        assert result.reason is None or not result.values


def test_a_sockperf_output_without_its_last_line_end_gives_the_same_figures() -> None:
    for name in NAMES:
        assert result_of(sample(name).rstrip()).values == result_of(sample(name)).values


@given(
    name=st.sampled_from(NAMES),
    at=st.floats(0, 1),
    length=st.integers(0, 60),
    piece=st.sampled_from(
        ["", "\0", "nan", "1e308", "-5", "9" * 40, "\n", "\x1b[", "é\u2028", "x" * 9000, "0.000"]
    )
    | st.text(max_size=8),
    is_double=st.booleans(),
)
def test_a_mutated_sockperf_output_is_refused_or_gives_either_figures_or_a_reason(
    name: str, at: float, length: int, piece: str, is_double: bool
) -> None:
    text = sample(name)
    start = round(at * len(text))
    end = start if is_double else start + length
    text = text[:start] + piece + text[start : start + length] * is_double + text[end:]
    try:
        results = parse_sockperf(text, "x")
    except MatrixError:
        return
    for result in results:
        assert (result.reason is None) == bool({"rtt_mean_ns", "sent_bit_per_s"} & {*result.values})


def test_the_sockperf_importer_reads_very_long_lines_and_refuses_over_10000_outputs() -> None:
    header = "sockperf: == version #3.7 ==\n"
    assert parse_sockperf(header + "---> percentile " + " " * 2_000_000 + "\n", "x")
    assert parse_sockperf(header + "\x1b[1" * 500_000, "x")
    with pytest.raises(MatrixError, match="more than 10000 outputs"):
        parse_sockperf(header * 20_000, "x")
