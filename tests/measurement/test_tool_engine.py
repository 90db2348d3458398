"""Real agents run another tool as an engine; the tools here are small shell scripts."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
from paths import shared_loopback

from netlab.errors import Fault, MatrixError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Service
from netlab.experiment.schedule import Trial
from netlab.imports.common.tool_results import ToolResult
from netlab.kinds import Stream
from netlab.kinds.groups import SettingFault
from netlab.measurement import engines
from netlab.measurement.ends import Ends
from netlab.measurement.tool import Tool, ToolSetup, ToolTrial, refusal_of_running_server
from netlab.measurement.tool_engine import ToolEngine
from netlab.measurement.tools import TOOLS
from netlab.trial.record import Record, Status, to_json

__all__ = ["shared_loopback"]

STREAM = Stream(protocol="TCP", message_bytes=1448, duration_s=0.2, engine="iperf3")


def made_tool(
    client_script: str,
    server_script: str = "sleep 60",
    version_words: tuple[str, ...] = ("sh", "-c", "echo made 1.0; echo of two lines"),
) -> Tool:
    """A tool made of two shell scripts; it prints its figure in bit/s."""

    class MadeTool(Tool):
        name = "iperf3"
        tried_version = "1.0"
        serves_once = False
        follows: ClassVar = {("stream", "TCP"): frozenset({"message_bytes", "duration_s"})}

        def limits(self, setup: ToolSetup) -> Iterator[SettingFault]:
            if setup.message_bytes == 7:
                yield "message_bytes", "7 bytes are too odd"

        def remarks(self, setup: ToolSetup) -> Iterator[str]:
            yield "made of a script"

        def server_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
            return ("sh", "-c", server_script, "server", *map(str, trial.ports))

        def client_words(self, trial: ToolTrial, /) -> tuple[str, ...]:
            return ("sh", "-c", client_script, "client", *map(str, trial.ports))

        def result(self, trial: ToolTrial, /, *, server: str, client: str) -> ToolResult:
            if not client.strip().isdigit():
                raise MatrixError([Fault("client", 1, 1, "", "no output of the tool")])
            rate = float(client)
            return ToolResult(
                file="client",
                server="",
                client="",
                settings={"message_bytes": 1400, "protocol": "TCP"},
                values={"throughput_bit_per_s": rate} if rate else {},
                reason=None if rate else "connect-refused",
                detail=None if rate else "refused, it says",
            )

    MadeTool.version_words = version_words
    return MadeTool()


@pytest.fixture
def measure(shared_loopback: Ends) -> Callable[..., Record]:
    def measured(tool: Tool, setup: Stream = STREAM, ends: Ends = shared_loopback) -> Record:
        trial = Trial(Cell(pairing="LL", test="stream", setup=setup), number=1)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(engines, "engine_of", lambda _cell: ToolEngine(tool).values_of)
            record = engines.measure(trial, ends, 1, lambda _cell, _rate: None)
        to_json(record)
        return record

    return measured


def programs() -> list[str]:
    """The tools' programs that are left on this machine: they have two ports as last words."""
    words = [path / "cmdline" for path in Path("/proc").glob("[0-9]*")]
    lines = []
    for path in words:
        try:
            lines.append(path.read_bytes().split(b"\0"))
        except OSError:
            continue
    return [line[2].decode() for line in lines if line[:1] == [b"sh"] and b"server" in line]


@pytest.mark.lab
def test_the_figure_of_a_tool_is_stored_with_version_command_and_remarks(
    measure: Callable[..., Record],
) -> None:
    record = measure(made_tool("sleep 0.3; echo 95000000"), replace(STREAM, warm_up_s=1.0))
    assert record.status is Status.OK, record.detail
    assert record.values["throughput_bit_per_s"] == 95e6
    assert record.values["server_engine_version"] == record.values["client_engine_version"]
    assert record.values["client_engine_version"] == "made 1.0"
    assert str(record.values["client_engine_command"]).startswith("sh -c sleep 0.3; echo")
    assert record.values["engine_remarks"] == (
        "no warm-up: the figure covers the beginning; made of a script; "
        "`message_size` was 1400, 1448 was asked"
    )
    assert programs() == []


@pytest.mark.lab
def test_a_tool_receives_two_different_ports(measure: Callable[..., Record]) -> None:
    record = measure(made_tool('sleep 0.3; echo "$1$2"'))
    assert record.status is Status.OK, record.detail
    command = str(record.values["server_engine_command"]).split()
    first, second = command[-2:]
    assert first != second
    assert record.values["throughput_bit_per_s"] == float(first + second)


@pytest.mark.lab
@pytest.mark.parametrize(
    ("tool", "setup", "status", "reason", "words"),
    [
        (
            made_tool("true", version_words=("no-such-tool-of-netlab",)),
            STREAM,
            Status.IMPOSSIBLE,
            "program-missing",
            "no-such-tool-of-netlab",
        ),
        (
            made_tool("true"),
            replace(STREAM, streams=4),
            Status.IMPOSSIBLE,
            "engine-cannot",
            "`streams`: iperf3 has no setting for `streams`",
        ),
        (
            made_tool("true"),
            replace(STREAM, message_bytes=7),
            Status.IMPOSSIBLE,
            "engine-cannot",
            "`message_size`: 7 bytes are too odd",
        ),
        (
            made_tool("true"),
            replace(STREAM, protocol="UDP"),
            Status.IMPOSSIBLE,
            "engine-cannot",
            "`protocol`: iperf3 has no test stream over UDP",
        ),
        (
            made_tool("sleep 0.3; echo what is this >&2; exit 1"),
            STREAM,
            Status.FAILED,
            "engine-failed",
            "printed no result: what is this",
        ),
        (
            made_tool("echo 7; kill -9 $$"),
            STREAM,
            Status.FAILED,
            "engine-failed",
            "iperf3's client was ended by signal 9",
        ),
        (
            made_tool("sleep 0.3; echo 0"),
            STREAM,
            Status.FAILED,
            "connect-refused",
            "refused, it says",
        ),
        (
            made_tool("yes 12345 | head -c 3000000; sleep 0.3"),
            STREAM,
            Status.FAILED,
            "engine-failed",
            "more than netlab keeps",
        ),
    ],
    ids=["missing", "setting", "level", "protocol", "garbage", "killed", "reason", "flood"],
)
def test_a_tool_without_a_result_gives_a_reason_and_no_figure(
    tool: Tool,
    setup: Stream,
    status: Status,
    reason: str,
    words: str,
    measure: Callable[..., Record],
) -> None:
    record = measure(tool, setup)
    assert (record.status, record.reason) == (status, reason), record.detail
    assert words in str(record.detail)
    assert "throughput_bit_per_s" not in record.values
    until = time.monotonic() + 60
    while programs() and time.monotonic() < until:
        time.sleep(0.05)
    assert programs() == []


@pytest.mark.lab
def test_a_client_of_a_tool_that_ends_early_is_started_again(
    measure: Callable[..., Record], tmp_path: Path
) -> None:
    mark = tmp_path / "mark"
    tool = made_tool(f"if [ -e {mark} ]; then sleep 1.2; echo 5; else touch {mark}; exit 1; fi")
    record = measure(tool, replace(STREAM, duration_s=1.0))
    assert record.status is Status.OK, record.detail
    assert record.values["throughput_bit_per_s"] == 5


@pytest.mark.lab
@pytest.mark.parametrize(
    ("server", "words"),
    [
        ("echo no such option >&2; exit 2", "iperf3: no such option"),
        ("sleep 0.2; kill -9 $$", "iperf3's server was ended by signal 9"),
    ],
)
def test_a_trial_fails_with_the_message_of_a_tools_server_that_ends_early(
    server: str, words: str, measure: Callable[..., Record], tmp_path: Path
) -> None:
    starts = tmp_path / "starts"
    tool = made_tool(f"echo >> {starts}; sleep 0.1; echo 0", server_script=server)
    record = measure(tool, replace(STREAM, duration_s=5.0))
    assert (record.status, record.reason) == (Status.FAILED, "engine-failed"), record.detail
    assert words in str(record.detail)
    assert len(starts.read_text().splitlines()) <= 2


@pytest.mark.lab
def test_a_server_of_a_tool_that_already_runs_is_used(
    measure: Callable[..., Record], shared_loopback: Ends
) -> None:
    ends = replace(
        shared_loopback,
        server=None,
        mirror_name="nas",
        served={"iperf3": Service("127.0.0.1", 5201)},
        networks={"client": "loopback"},
    )
    record = measure(made_tool('sleep 0.3; echo "$1"'), ends=ends)
    assert record.status is Status.OK, record.detail
    assert record.values["throughput_bit_per_s"] == 5201
    assert record.server == "nas"
    assert "server_engine_command" not in record.values


@pytest.mark.parametrize(
    ("tool", "levels", "setting"),
    [
        ("iperf3", {"server_cpu": 1}, "server_cpu"),
        ("iperf2", {"socket_buffer_bytes": 65536}, "socket_buffer"),
        ("iperf3", {"streams": 2, "socket_buffer_bytes": 65536}, None),
        ("nuttcp", {"ip_version": 6, "engine": "nuttcp"}, None),
    ],
)
def test_a_setting_applied_at_the_start_of_a_tools_server_is_refused_for_a_running_server(
    tool: str, levels: Mapping[str, Any], setting: str | None
) -> None:
    trial = ToolTrial(replace(STREAM, **levels), "192.0.2.5", "192.0.2.7", (5201, 0))
    refused = refusal_of_running_server(TOOLS[tool], trial)
    assert (refused and refused.split("`")[1]) == setting


@pytest.mark.lab
def test_a_tool_fails_if_only_the_server_may_connect(
    measure: Callable[..., Record], shared_loopback: Ends
) -> None:
    record = measure(
        made_tool("true"), ends=replace(shared_loopback, connected_by={"TCP": "server"})
    )
    assert (record.status, record.reason) == (Status.FAILED, "path-blocked")
