"""Other tools as engines: their command lines, what they refuse, and how their outputs are read.

The outputs in ``tool_outputs`` were recorded over the loopback interface, with the command lines of
these tests: iperf 3.12, iperf 2.1.8, netperf 2.7.0, nuttcp 6.1.2, sockperf 3.7, neper 1.1.0.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from netlab.errors import MatrixError
from netlab.imports.common.tool_results import ToolResult
from netlab.kinds import ONLY_OF_TCP, ONLY_OF_UDP, ROWS, RoundTrip, Stream
from netlab.measurement.tool import Tool, ToolTrial, changed_settings, refusal, remarks_of
from netlab.measurement.tools import ROUND_TRIP_KEYS, STREAM_KEYS, TOOLS

OUTPUTS = Path(__file__).parent / "tool_outputs"
SERVER, CLIENT = "192.0.2.1", "192.0.2.2"
SERVER_6, CLIENT_6 = "2001:db8::1", "2001:db8::2"

BY_NATURE = {
    *((name, "tcp_receive_call") for name in ("iperf3", "nuttcp", "neper")),
    ("sockperf", "warm_up_s"),
}
"""Tools that do what a setting asks in any case: there is no option for it."""


def stream(**levels: Any) -> Stream:
    return Stream(**{"protocol": "TCP", "message_bytes": 512, "duration_s": 1.0, **levels})


def round_trip(**levels: Any) -> RoundTrip:
    return RoundTrip(**{"protocol": "TCP", "message_bytes": 512, "duration_s": 1.0, **levels})


def trial_of(setup: Stream | RoundTrip) -> ToolTrial:
    ends = (SERVER_6, CLIENT_6) if setup.ip_version == 6 else (SERVER, CLIENT)
    return ToolTrial(setup, *ends, ports=(5300, 5301))


def words_of(tool: Tool, setup: Stream | RoundTrip) -> tuple[tuple[str, ...], tuple[str, ...]]:
    trial = trial_of(setup)
    return tool.server_words(trial), tool.client_words(trial)


def output(name: str) -> str:
    """A recorded output, such as ``iperf3/tcp.client``; empty if none was needed."""
    path = OUTPUTS / f"{name}.txt"
    return path.read_text(encoding="utf-8") if path.exists() else ""


def recorded(name: str, case: str, setup: Stream | RoundTrip) -> ToolResult:
    server, client = (output(f"{name}/{case}.{side}") for side in ("server", "client"))
    return TOOLS[name].result(trial_of(setup), server=server, client=client)


# ---- the table ----


def test_every_engine_of_a_matrix_has_its_tool() -> None:
    assert set(get_args(ROWS["engine"].type)) == TOOLS.keys()
    assert all(tool.name == name for name, tool in TOOLS.items())


@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_a_tool_follows_only_settings_of_its_tests_and_protocols(tool: Tool) -> None:
    for (test, protocol), names in tool.follows.items():
        kind = Stream if test == "stream" else RoundTrip
        foreign = ONLY_OF_UDP if protocol == "TCP" else ONLY_OF_TCP
        assert {"message_bytes", "duration_s"} <= names <= set(kind.names()) - foreign
        # Every trial is bounded by its duration.
        assert "count" not in names


# ---- command lines, and what is refused ----


def cases(name: str) -> list[list[str]]:
    """The paragraphs of a file of cases, or its lines if it has none, without comments."""
    text = (OUTPUTS / name).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    parts = "\n".join(lines).strip().split("\n\n")
    return [part.splitlines() for part in parts] if len(parts) > 1 else [[line] for line in lines]


def case_of(text: str) -> tuple[Tool, Stream | RoundTrip]:
    """The tool and the setup of a text such as ``iperf3 stream streams=2``."""
    name, test, *levels = text.split()
    pairs = (level.split("=") for level in levels)
    make = stream if test == "stream" else round_trip
    return TOOLS[name], make(**{key: _level(value) for key, value in pairs})


def _level(text: str) -> Any:
    for read in (lambda word: {"True": True, "None": None}[word], int, float):
        try:
            return read(text)
        except (KeyError, ValueError):
            continue
    return text


@pytest.mark.parametrize("case", cases("commands.txt"), ids=lambda case: case[0])
def test_the_settings_of_a_trial_give_the_recorded_command_lines_of_the_tool(
    case: list[str],
) -> None:
    tool, setup = case_of(case[0])
    assert refusal(tool, setup) is None
    keys = ",".join(STREAM_KEYS if isinstance(setup, Stream) else ROUND_TRIP_KEYS)
    for words, text in zip(words_of(tool, setup), case[1:], strict=True):
        assert words == tuple(text.replace("KEYS", keys).split())


@pytest.mark.parametrize("case", cases("refusals.txt"), ids=lambda case: case[0])
def test_a_setting_that_a_tool_cannot_follow_is_refused_and_named(case: list[str]) -> None:
    text, setting, words = case[0].split(": ")
    refused = refusal(*case_of(text))
    assert refused is not None
    assert refused.startswith(f"`{setting}`: ")
    assert words in refused


@pytest.mark.parametrize("case", cases("remarks.txt"), ids=lambda case: case[0])
def test_a_setting_that_a_tool_follows_in_another_way_has_a_remark(case: list[str]) -> None:
    text, words = case[0].split(": ")
    tool, setup = case_of(text)
    assert refusal(tool, setup) is None
    remarks = "; ".join(remarks_of(tool, setup))
    assert remarks == "" if words == "nothing" else words in remarks


# ---- results ----

UDP_SMALL = {"protocol": "UDP", "socket_buffer_bytes": 4096}
LOSSY: tuple[tuple[str, str, Stream], ...] = (
    ("iperf3", "udp", stream(**UDP_SMALL, warm_up_s=1.0)),
    ("iperf3", "reverse", stream(**UDP_SMALL, direction="server-sends")),
    ("iperf2", "udp", stream(**UDP_SMALL)),
    ("netperf", "udp", stream(protocol="UDP", socket_buffer_bytes=65536)),
    ("nuttcp", "udp", stream(**UDP_SMALL)),
)


@pytest.mark.parametrize(("name", "case", "setup"), LOSSY)
def test_the_throughput_of_a_tool_is_that_of_the_receiver(
    name: str, case: str, setup: Stream
) -> None:
    result = recorded(name, case, setup)
    assert result.reason is None
    values: dict[str, Any] = dict(result.values)
    received_bits = 8 * 512 * values["received_messages"]
    received_bit_per_s = received_bits / (values["elapsed_ns"] / 1e9)
    # netperf and nuttcp print a time in hundredths of a second.
    assert values["throughput_bit_per_s"] == pytest.approx(received_bit_per_s, rel=0.01)
    assert values["lost_messages"] > values["sent_messages"] / 4
    assert values["received_messages"] + values["lost_messages"] == values["sent_messages"]
    if "sent_bit_per_s" in values:
        assert values["sent_bit_per_s"] > 1.3 * values["throughput_bit_per_s"]


def test_message_counts_of_iperf3_are_those_of_the_server_and_not_of_the_client() -> None:
    setup = stream(**UDP_SMALL, warm_up_s=1.0)
    trial, client = trial_of(setup), output("iperf3/udp.client")
    whole = recorded("iperf3", "udp", setup)
    alone = TOOLS["iperf3"].result(trial, server="", client=client)
    assert "received_messages" in whole.values
    assert "received_messages" not in alone.values
    assert alone.values["throughput_bit_per_s"] == whole.values["throughput_bit_per_s"]
    # Not the client's own counts, of which more are lost than sent.
    udp = json.loads(client)["end"]["sum_received"]
    assert udp["packets"] - udp["lost_packets"] != whole.values["received_messages"]


def test_the_outputs_of_both_ends_of_iperf3_give_one_result() -> None:
    result = recorded("iperf3", "tcp", stream())
    server = json.loads(output("iperf3/tcp.server"))["end"]["sum_received"]
    client = json.loads(output("iperf3/tcp.client"))["end"]
    assert result.values["throughput_bit_per_s"] == server["bits_per_second"]
    assert result.values["throughput_bit_per_s"] != client["sum_sent"]["bits_per_second"]
    assert result.values["sent_bit_per_s"] == client["sum_sent"]["bits_per_second"]
    assert result.values["sender_congestion"] == "bbr"
    other = output("iperf3/both.server")
    alone = TOOLS["iperf3"].result(
        trial_of(stream()), server=other, client=output("iperf3/tcp.client")
    )
    assert "to_server_throughput_bit_per_s" not in alone.values  # a server of another test


@pytest.mark.parametrize("name", ["iperf3", "neper"])
def test_a_stream_of_a_tool_in_both_directions_has_two_throughputs(name: str) -> None:
    values: Mapping[str, Any] = recorded(name, "both", stream(direction="both")).values
    for way in ("to_server", "to_client"):
        assert values[f"{way}_throughput_bit_per_s"] > 0
        assert values[f"{way}_elapsed_ns"] == pytest.approx(1e9, rel=0.05)
    assert "throughput_bit_per_s" not in values


@pytest.mark.parametrize("case", cases("figures.txt"), ids=lambda case: case[0])
def test_each_figure_is_read_from_its_place_in_the_output_of_a_tool(case: list[str]) -> None:
    text, name, figures = case[0].split(": ")
    tool, setup = case_of(text)
    result = recorded(tool.name, name, setup)
    assert (result.reason, result.unread) == (None, ())
    assert isinstance(setup, Stream)
    assert result.settings.get("direction", setup.direction) == setup.direction
    for figure in figures.split():
        key, value = figure.split("=")
        assert result.values[key] == int(value)


def test_iperf2_output_with_early_connection_lines_and_reordered_messages_is_read() -> None:
    first, *lines = output("iperf2/udp.server").splitlines(keepends=True)
    peers = [line for line in lines if " connected with " in line]
    lines = [*peers, first, *(line for line in lines if line not in peers)]
    lines.append("[  1] 0.0000-0.9932 sec  74 datagrams received out-of-order\n")
    trial = trial_of(stream(**UDP_SMALL))
    result = TOOLS["iperf2"].result(trial, server="".join(lines), client="")
    assert result.values["received_messages"] == 42589
    assert result.unread == ()
    assert "sent_bit_per_s" not in result.values


def test_iperf2_output_with_a_missing_stream_gives_no_figure() -> None:
    trial = trial_of(stream(streams=3))
    server, client = output("iperf2/tcp.server"), output("iperf2/tcp.client")
    result = TOOLS["iperf2"].result(trial, server=server, client=client)
    assert (result.reason, result.values) == ("not-recorded", {})
    assert result.detail == "2 of 3 streams are there"


ROUND_TRIPS: tuple[tuple[str, str, RoundTrip, bool], ...] = (
    ("netperf", "round-trip", round_trip(outstanding=4, nodelay=True), False),
    ("netperf", "udp-round-trip", round_trip(protocol="UDP", response_bytes=50), False),
    ("sockperf", "tcp", round_trip(), True),
    ("sockperf", "udp", round_trip(protocol="UDP"), True),
    ("neper", "round-trip", round_trip(), True),
    ("neper", "udp-round-trip", round_trip(protocol="UDP"), True),
)


@pytest.mark.parametrize(("name", "case", "setup", "has_more"), ROUND_TRIPS)
def test_the_round_trips_of_a_tool_are_whole_and_their_percentiles_are_in_order(
    name: str, case: str, setup: RoundTrip, has_more: bool
) -> None:
    result = recorded(name, case, setup)
    assert (result.reason, result.test) == (None, "round_trip")
    values: dict[str, Any] = dict(result.values)
    times = [values[f"rtt_{part}_ns"] for part in ("min", "p50", "p90", "p99", "max")]
    assert times == sorted(times)
    assert ("rtt_p99_9_ns" in values) == has_more
    # One after another: the mean is the time that each took. A half round trip is not.
    mean_s = setup.outstanding / values["transactions_per_s"]
    assert values["rtt_mean_ns"] == pytest.approx(1e9 * mean_s, rel=0.02)
    for setting in ("message_bytes", "outstanding", "nodelay"):
        level = getattr(setup, setting)
        assert result.settings.get(setting, level) == level
    assert "warm_up_s" not in result.settings


# ---- failures ----


@pytest.mark.parametrize("name", ["iperf3", "sockperf"])
def test_a_refused_connection_of_a_tool_is_reported_as_the_reason(name: str) -> None:
    setup = round_trip() if name == "sockperf" else stream()
    result = recorded(name, "refused", setup)
    assert (result.reason, result.values) == ("connect-refused", {})
    assert "refused" in str(result.detail)


def test_an_error_line_of_netperf_is_reported_as_the_detail_of_the_failure() -> None:
    result = recorded("netperf", "refused", stream())
    assert (result.reason, result.values) == ("unknown-error", {})
    assert "could not establish the control connection" in str(result.detail)


def test_the_figure_of_a_sender_never_replaces_a_missing_figure_of_the_receiver() -> None:
    client = output("iperf2/tcp.client")
    with pytest.raises(MatrixError):
        TOOLS["iperf2"].result(trial_of(stream(streams=2)), server="", client=client)
    reverse = stream(direction="server-sends")
    result = TOOLS["iperf2"].result(
        trial_of(reverse), server="", client=output("iperf2/refused.client")
    )
    assert (result.reason, result.values) == ("not-recorded", {})
    # nuttcp ends so, with the exit code 0, if its server is killed.
    lost = (
        "megabytes=0.0000 real_seconds=0.00 rate_Mbps=0.0000 tx_cpu=49 rx_cpu=0 drop=375 pkt=375 "
        "data_loss=100.00000\n"
    )
    result = TOOLS["nuttcp"].result(trial_of(stream(protocol="UDP")), server="", client=lost)
    assert (result.reason, result.values) == ("no-traffic", {})


@pytest.mark.parametrize("text", ["", "\n", "Usage: as if an option were unknown\n"])
@pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)
def test_text_that_is_no_output_of_a_tool_is_refused(tool: Tool, text: str) -> None:
    setup = stream() if ("stream", "TCP") in tool.follows else round_trip()
    with pytest.raises(MatrixError):
        tool.result(trial_of(setup), server=text, client=text)


# ---- any setup ----

LEVELS: Mapping[str, st.SearchStrategy[Any]] = {
    "ip_version": st.sampled_from([4, 6]),
    "socket_buffer_bytes": st.integers(1, 2**30) | st.sampled_from([4096, 2**20]),
    "duration_s": st.sampled_from([0.001, 0.05, 0.5, 1.0, 10.0, 60.0, 86400.0]),
    "count": st.integers(1, 10**6),
    "dscp": st.integers(0, 63),
    "interface": st.just("eth0"),
    "congestion": st.sampled_from(["cubic", "bbr"]),
    "nodelay": st.booleans(),
    "message_rate_per_s": st.floats(1e-3, 1e9) | st.integers(1, 10**6).map(float),
    "rate_bit_per_s": st.floats(1, 1e13) | st.integers(1, 10**6).map(lambda kbit: 1000.0 * kbit),
    "server_cpu": st.integers(0, 4095),
    "client_cpu": st.integers(0, 4095),
    "warm_up_s": st.sampled_from([0.0, 0.2, 0.4, 1.0, 60.0, 3600.0]),
    "source_port": st.integers(1, 65535),
    "direction": st.sampled_from(["client-sends", "server-sends", "both"]),
    "streams": st.integers(1, 1000) | st.integers(1, 4),
    "server_cpus": st.just("0,1"),
    "send_method": st.just("batch"),
    "receive": st.sampled_from(["blocking", "spinning", "polling"]),
    "opening": st.sampled_from(["client-connects", "server-connects"]),
    "dont_fragment": st.booleans(),
    "tcp_receive_call": st.just("message"),
    "response_bytes": st.integers(1, 2**24),
    "outstanding": st.integers(1, 1024),
    "server_receive": st.just("spinning"),
    "timeout_s": st.sampled_from([0.5, 1.0, 2.0]),
    "keep_first": st.integers(0, 5),
}


@st.composite
def asked(draw: st.DrawFn) -> tuple[Tool, Stream | RoundTrip]:
    """A tool, and a setup with up to four settings, most of which the tool follows."""
    tool = draw(st.sampled_from(list(TOOLS.values())))
    test = draw(st.sampled_from(["stream", "round_trip"]))
    protocol = draw(st.sampled_from(["TCP", "UDP"]))
    kind: Any = Stream if test == "stream" else RoundTrip
    foreign = ONLY_OF_UDP if protocol == "TCP" else ONLY_OF_TCP
    names = LEVELS.keys() & set(kind.names()) - foreign
    if draw(st.integers(0, 9)):
        test, protocol = draw(st.sampled_from(sorted(tool.follows)))
        kind = Stream if test == "stream" else RoundTrip
        names = LEVELS.keys() & tool.follows[test, protocol] | {"ip_version", "duration_s"}
    chosen = draw(st.lists(st.sampled_from(sorted(names)), max_size=4, unique=True))
    levels = {"duration_s": 1.0, **{name: draw(LEVELS[name]) for name in chosen}}
    if "count" in levels:
        levels["duration_s"] = None
    if "rate_bit_per_s" in levels:
        levels.pop("message_rate_per_s", None)
    size = draw(st.integers(1, 2**24) | st.integers(1, 1472))
    return tool, kind(protocol=protocol, message_bytes=size, **levels)


@given(asked())
def test_a_changed_setting_is_either_refused_or_changes_the_command_of_the_tool(
    case: tuple[Tool, Any],
) -> None:
    tool, setup = case
    refused = refusal(tool, setup)
    if refused is not None:
        keys = {ROWS[name].key for name in setup.names()} | {"test", "protocol"}
        _, key, sentence = refused.split("`", 2)
        assert key in keys
        assert sentence.removeprefix(": ").strip()
        return
    remarks = remarks_of(tool, setup)
    assert len({*remarks} - {""}) == len(remarks)
    words = words_of(tool, setup)
    for word in (*words[0], *words[1]):
        assert len(word.split()) == 1
        assert word == word.strip()
        assert "None" not in word
    test = "stream" if isinstance(setup, Stream) else "round_trip"
    for name in set(changed_settings(setup)) & tool.follows[test, setup.protocol]:
        if (tool.name, name) in BY_NATURE or _is_the_same(setup, name):
            continue
        default = setup.defaults()[name]
        other = setup.message_bytes + 1 if default is MISSING else default
        assert words_of(tool, replace(setup, **{name: other})) != words, name


def _is_the_same(setup: Stream | RoundTrip, name: str) -> bool:
    """An answer as long as its request is the default."""
    return name == "response_bytes" and getattr(setup, name) == setup.message_bytes
