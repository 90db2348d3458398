"""A tool that a host lacks, or of an untried version, is reported in the record.

The programs are scripts in a folder that is first in PATH.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from paths import on_loopback, shared_loopback

from netlab.experiment.cells import Cell
from netlab.experiment.schedule import Trial
from netlab.kinds import SETUPS, RoundTrip, Stream
from netlab.measurement import engines
from netlab.measurement.ends import Ends
from netlab.measurement.tool import (
    Tool,
    ToolTrial,
    remarks_on_versions,
    version_line,
)
from netlab.measurement.tool_engine import ToolEngine
from netlab.measurement.tools import TOOLS
from netlab.trial.record import Record, Status, to_json

__all__ = ["shared_loopback"]

OF_EACH_TOOL = pytest.mark.parametrize("tool", TOOLS.values(), ids=lambda tool: tool.name)


def first_test_of(tool: Tool) -> str:
    return next(iter(tool.follows))[0]


def setup_of(tool: Tool) -> Stream | RoundTrip:
    """A second of the first test that a tool has."""
    of_test: Any = SETUPS[first_test_of(tool)]
    setup: Stream | RoundTrip = of_test(
        protocol="TCP", message_bytes=512, duration_s=1.0, engine=tool.name
    )
    return setup


def measured(tool: Tool, ends: Ends) -> Record:
    setup = setup_of(tool)
    trial = Trial(Cell(pairing="LL", test=first_test_of(tool), setup=setup), number=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "engine_of", lambda _cell: ToolEngine(tool).values_of)
        record = engines.measure(trial, ends, 1, lambda _cell, _rate: None)
    to_json(record)
    return record


def programs_of(tool: Tool) -> set[str]:
    """The names of all programs that a tool consists of."""
    trial = ToolTrial(setup_of(tool), "127.0.0.1", "127.0.0.1", (5300, 5301))
    words = (tool.version_words, tool.server_words(trial), tool.client_words(trial))
    return {program for program, *_ in words}


def write_program(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.fixture(scope="module")
def first_in_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Ends]]:
    """A folder, and two agents whose PATH begins with the folder."""
    folder = tmp_path_factory.mktemp("path")
    with ExitStack() as stack:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
            ends = stack.enter_context(on_loopback())
        yield folder, ends


@pytest.fixture
def made(first_in_path: tuple[Path, Ends]) -> Iterator[Callable[..., Ends]]:
    """Two agents for which each program of a tool is a script."""
    folder, ends = first_in_path

    def made_ends(tool: Tool, script: str) -> Ends:
        for name in programs_of(tool):
            write_program(folder, name, script)
        return ends

    yield made_ends
    for file in folder.iterdir():
        file.unlink()


@pytest.mark.lab
@OF_EACH_TOOL
def test_a_failed_tool_of_an_unknown_version_is_reported_with_its_version(
    tool: Tool, made: Callable[..., Ends], tmp_path: Path
) -> None:
    name = tool.version_words[0]
    version = " ".join(tool.version_words[1:])
    script = (
        f'case "$*" in "{version}") echo "{name} version 0.9.1"; exit;; esac; '
        f"echo $$ >> {tmp_path}/pids; echo '{name}: unknown option' >&2; exit 1"
    )
    record = measured(tool, made(tool, script))
    assert (record.status, record.reason) == (Status.FAILED, "engine-failed"), record.detail
    detail = str(record.detail)
    assert f"{name}: unknown option" in detail
    for end in ("client", "server"):
        assert f"{end}: {name} version 0.9.1, but netlab was tried with {tool.name} " in detail
    assert not {"throughput_bit_per_s", "rtt_mean_ns"} & record.values.keys()
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) >= 2
    assert not [pid for pid in pids if Path(f"/proc/{pid}").exists()]


@pytest.mark.lab
@OF_EACH_TOOL
def test_a_tool_that_a_host_lacks_is_reported_as_program_missing(
    tool: Tool, shared_loopback: Ends, monkeypatch: pytest.MonkeyPatch
) -> None:
    program, *options = tool.version_words
    monkeypatch.setattr(type(tool), "version_words", (f"{program}-of-nobody", *options))
    record = measured(tool, shared_loopback)
    assert (record.status, record.reason) == (Status.IMPOSSIBLE, "program-missing"), record.detail
    assert f"{program}-of-nobody" in str(record.detail)


@pytest.mark.parametrize(
    "tool",
    [
        pytest.param(tool, marks=pytest.mark.needs(tool.name), id=tool.name)
        for tool in TOOLS.values()
    ],
)
def test_a_figure_of_an_untried_version_of_a_tool_has_a_remark(
    tool: Tool, made: Callable[..., Ends]
) -> None:
    name = tool.version_words[0]
    version = " ".join(tool.version_words[1:])
    record = measured(
        tool,
        made(
            tool,
            f'case "$*" in "{version}") echo "{name} 99.1"; exit;; esac; '
            f'PATH="{os.environ["PATH"]}"; exec "$(basename "$0")" "$@"',
        ),
    )
    assert record.status is Status.OK, record.detail
    assert record.values["client_engine_version"] == f"{name} 99.1"
    remarks = str(record.values["engine_remarks"])
    assert f"client: {name} 99.1, but netlab was tried with {tool.name} {tool.tried_version}" in (
        remarks
    )


# First lines as the tools print them, and of versions that only begin or end alike.
LINES = {
    "iperf3": ("iperf 3.12 (cJSON 1.7.15)", "iperf 3.1.3", "iperf 3.12.1", "iperf 13.12"),
    "iperf2": ("iperf version 2.1.8 (12 August 2022) pthreads", "iperf version 2.1.80"),
    "netperf": ("Netperf version 2.7.0", "Netperf version 2.6.0", "Netperf version 2.7.0.1"),
    "nuttcp": ("nuttcp-6.1.2", "nuttcp-8.2.2"),
    "sockperf": ("sockperf, version 3.7-no.git", "sockperf, version 3.10-23.gited92afb185e6"),
    "neper": ("1.1.0", "1.1.0.2", "11.1.0"),
}


@OF_EACH_TOOL
def test_the_tried_version_of_a_tool_is_distinguished_from_similar_versions(tool: Tool) -> None:
    same, *other_lines = LINES[tool.name]
    assert list(remarks_on_versions(tool, {"client": same, "server": same})) == []
    for line in other_lines:
        (remark,) = remarks_on_versions(tool, {"client": same, "server": line})
        assert remark.startswith(f"server: {line}, but")


def test_the_version_of_a_tool_is_found_below_a_line_about_the_system() -> None:
    printed = "Linux lab 6.1.0 x86_64 GNU/Linux\niperf 3.0.11\n"
    assert version_line(TOOLS["iperf3"], printed) == "iperf 3.0.11"
    assert version_line(TOOLS["neper"], "\n1.1.0\n") == "1.1.0"
    assert version_line(TOOLS["iperf2"], "") == "unknown"


def output(name: str) -> str:
    """An output of iperf 3.9 over the loopback interface."""
    folder = Path(__file__).parent / "tool_outputs" / "iperf3"
    return (folder / f"{name}.txt").read_text(encoding="utf-8")


def old_trial(direction: Any) -> ToolTrial:
    setup = Stream(
        protocol="UDP",
        message_bytes=1448,
        duration_s=1.0,
        rate_bit_per_s=10e6,
        direction=direction,
        engine="iperf3",
    )
    return ToolTrial(setup, "192.0.2.1", "192.0.2.2", (5300, 5301))


@pytest.mark.parametrize(
    ("case", "direction", "interval_bytes", "interval_ns", "messages"),
    [
        ("udp-3.9", "client-sends", 1197496 + 52128, 1000077963 + 42711001, 863),
        ("udp-3.9-reverse", "server-sends", 1303200, 1000103950, 900),
    ],
)
def test_the_throughput_of_iperf_3_9_is_the_sum_of_the_receivers_intervals(
    case: str, direction: str, interval_bytes: int, interval_ns: int, messages: int
) -> None:
    trial = old_trial(direction)
    server, client = output(f"{case}.server"), output(f"{case}.client")
    result = TOOLS["iperf3"].result(trial, server=server, client=client)
    assert (result.reason, result.detail) == (None, None)
    rate = 8e9 * interval_bytes / interval_ns
    assert result.values["throughput_bit_per_s"] == pytest.approx(rate, rel=1e-6)
    assert (result.values["received_messages"], result.values["lost_messages"]) == (messages, 0)
    assert any("sum of its intervals" in remark for remark in result.unread)


@pytest.mark.parametrize("fault", ["no server", "another test", "an interval without bytes"])
def test_iperf_3_9_without_the_receivers_intervals_has_no_figure(fault: str) -> None:
    document = json.loads(output("udp-3.9.server"))
    if fault == "another test":
        document["start"]["cookie"] = "x" * 36
    else:
        del document["intervals"][1]["sum"]["bytes"]
    result = TOOLS["iperf3"].result(
        old_trial("client-sends"),
        server="" if fault == "no server" else json.dumps(document),
        client=output("udp-3.9.client"),
    )
    assert result.detail == "iperf3 printed no rate of the receiver"
    assert "throughput_bit_per_s" not in result.values
