"""The importer reads outputs of ntttcp, which were written by hand from the code of the tools."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import MatrixError, UsageError
from netlab.findings.analysis import load
from netlab.imports.ntttcp import IMPORTER, parse_ntttcp

SAMPLES = Path(__file__).parent / "samples" / "ntttcp"
RECEIVER = (SAMPLES / "ntttcp-windows.receiver.xml").read_text(encoding="utf-8")
SENDER = (SAMPLES / "ntttcp-linux.sender.xml").read_text(encoding="utf-8")


def test_an_ntttcp_receiver_on_windows_gives_throughput_and_settings() -> None:
    (result,) = parse_ntttcp(RECEIVER, "x")
    assert result.values == {
        "throughput_bit_per_s": pytest.approx(8 * 117666162.4),
        "elapsed_ns": 10_001_000_000,
    }
    assert result.settings == {
        "protocol": "TCP",
        "direction": "client-sends",
        "ip_version": 4,
        "duration_s": 10.0,
        "warm_up_s": 1.0,
        "socket_buffer_bytes": 262144,
        "streams": 2,
    }
    assert (result.server, result.client, result.unread) == ("BOX-R", "", ())


def test_an_ntttcp_sender_on_linux_gives_a_sent_rate_and_no_throughput() -> None:
    (result,) = parse_ntttcp(SENDER, "x")
    assert result.values == {"sent_bit_per_s": pytest.approx(941_428_824.968)}
    assert result.settings == {
        "protocol": "TCP",
        "direction": "client-sends",
        "ip_version": 4,
        "duration_s": 10.0,
        "warm_up_s": 0.0,
        "message_bytes": 131072,
        "streams": 64,
    }
    assert (result.server, result.client, result.reason) == ("", "box-s", None)


def test_several_outputs_in_an_ntttcp_file_become_trials_of_one_cell(tmp_path: Path) -> None:
    (tmp_path / "xml.txt").write_text(2 * RECEIVER, encoding="utf-8")
    run = load(IMPORTER.read((tmp_path / "xml.txt",), tmp_path / "run", names={"BOX-R": "nas"}))
    assert [(record.trial, record.server) for record in run.records] == [(1, "nas"), (2, "nas")]


def test_the_ntttcp_importer_reads_an_xml_declaration_and_a_list_of_samples() -> None:
    text = f'<?xml version="1.0"?>\n<samples>\n{RECEIVER}{RECEIVER}</samples>\n'
    assert len(parse_ntttcp(text, "x")) == 2


def test_ntttcp_outputs_without_traffic_or_without_a_figure_become_failures() -> None:
    silent = RECEIVER.replace("117666162.4", "0.0")
    (result,) = parse_ntttcp(silent, "x")
    assert (result.reason, result.values) == ("no-traffic", {})
    absent = RECEIVER.replace("throughput metric", "throughput unit")
    (result,) = parse_ntttcp(absent, "x")
    assert (result.reason, result.values) == ("not-recorded", {})


def test_the_ntttcp_importer_reads_megabits_if_bytes_per_second_are_absent() -> None:
    older = "".join(line for line in RECEIVER.splitlines(True) if 'metric="Bps"' not in line)
    (result,) = parse_ntttcp(older, "x")
    assert result.values["throughput_bit_per_s"] == pytest.approx(941_329_000)


@pytest.mark.parametrize("figure", ["NaN", "1e308", "9" * 400, "inf"])
def test_an_ntttcp_figure_out_of_range_becomes_a_failure_without_figures(figure: str) -> None:
    text = RECEIVER.replace("117666162.4", figure).replace("941.329", figure)
    (result,) = parse_ntttcp(text, "x")
    assert (result.reason, result.values) == ("not-recorded", {})
    assert "no number in range" in result.unread[0]


def test_the_ntttcp_importer_reads_an_unknown_version_and_names_it() -> None:
    (result,) = parse_ntttcp(RECEIVER.replace("5.40", "6.0"), "x")
    assert "throughput_bit_per_s" in result.values and "'6.0'" in result.unread[0]


def test_an_ntttcp_output_without_its_protocol_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "xml.txt"
    path.write_text(RECEIVER.replace("<udp>False", "<udp>what"), encoding="utf-8")
    with pytest.raises(UsageError):
        IMPORTER.read((path,), tmp_path / "run")


ENTITIES = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "out.xml:1:1"),
        (ENTITIES + RECEIVER, "out.xml:1:"),
        (f"<samples>{ENTITIES}</samples>", "out.xml:1:"),
        (RECEIVER.replace("BOX-R", "&xxe;"), "out.xml:1:"),
        ("<a/>", "neither ntttcps nor ntttcpr"),
        ("<samples>" + 1000 * "<a>", "nested too deeply"),
        (RECEIVER.replace("</ntttcpr>", RECEIVER + "</ntttcpr>"), "is inside of another output"),
        ("</netlab><netlab>", "not XML"),
        (RECEIVER.replace("BOX", "B\0X"), "out.xml:1:"),
        (RECEIVER.replace("10.001000", "\ud800"), "surrogate"),
        ('{"start": {}}', "out.xml:1:"),
    ],
)
def test_text_that_is_not_an_ntttcp_output_is_refused_with_its_place(
    text: str, sentence: str
) -> None:
    with pytest.raises(MatrixError) as excinfo:
        parse_ntttcp(text, "out.xml")
    assert sentence in str(excinfo.value)


def test_a_fault_in_an_ntttcp_output_states_its_line_and_column() -> None:
    with pytest.raises(MatrixError) as excinfo:
        parse_ntttcp(RECEIVER.replace("\t<parameters>", "\t<parameters>&none;"), "out.xml")
    assert "out.xml:2:14" in str(excinfo.value)


@given(
    text=st.sampled_from([RECEIVER, SENDER]),
    begin=st.integers(0, 4000),
    length=st.integers(0, 400),
    piece=st.text(max_size=20) | st.sampled_from(["1e308", "NaN", "-1", "<", "&lt;", "]]>"]),
    doubled=st.booleans(),
)
def test_a_mutated_ntttcp_output_is_refused_or_gives_either_figures_or_a_reason(
    text: str, begin: int, length: int, piece: str, doubled: bool
) -> None:
    end = begin + length
    middle = 2 * text[begin:end] if doubled else piece
    try:
        results = parse_ntttcp(text[:begin] + middle + text[end:], "x")
    except MatrixError:
        return
    for result in results:
        assert (result.reason is None) == bool(result.values)
