"""The engine that measures with another tool: two agents run the tool's server and its client.

A server may also run already on a host without an agent; then only the client is started. Both
programs end when the trial ends, or earlier if their agents end.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from netlab import clock
from netlab.errors import HostGone, MatrixError, ProbeError
from netlab.experiment.schedule import Trial
from netlab.imports.common.tool_results import ToolResult
from netlab.kinds import ROWS, RoundTrip, Stream
from netlab.measurement import tool
from netlab.measurement.conversation import PROBE_SLACK_S
from netlab.measurement.ends import Ends, OnGoodput
from netlab.measurement.host_watch import DropWatch
from netlab.measurement.tool import Tool, ToolSetup, ToolTrial
from netlab.remote.agent import Agent
from netlab.remote.answers import Pending
from netlab.remote.programs import STANDARD_ERROR, Program
from netlab.terminal import excerpt
from netlab.trial.record import Value

FIRST_PORT, PORTS, PORTS_TRIED = 20_000, 12_000, 100
"""Ports that no system gives to a connection by itself (Linux: from 32768, RFC 6335: from 49152).
So a port is still free when a program opens it, a moment after the agent has left it."""


def free_ports(agent: Agent, address: str) -> tuple[int, int]:
    """Two free TCP ports of an address, within the host's port range if it has one.

    The agent listens on both at the same time, so that they differ. Raises ProbeError, HostGone.
    """
    first = FIRST_PORT + secrets.randbelow(PORTS)
    keys: dict[str, Any] = {
        "kind": "stream",
        "open": "listen",
        "bind": address,
        "message": 64,
        "port": agent.host.ports or f"{first}-{first + PORTS_TRIED}",
    }
    tests: list[Pending] = []
    try:
        ports = []
        for _ in range(2):
            test = agent.start("receive", proto="tcp", token=secrets.token_hex(16), **keys)
            tests.append(test)
            ports.append(int(test.record(PROBE_SLACK_S)["port"]))
        return ports[0], ports[1]
    finally:
        for test in tests:
            agent.start("stop", test=test.id, abort=1)
        for test in tests:
            with suppress(ProbeError, HostGone):
                while test.record(PROBE_SLACK_S)["type"] != "result":
                    pass


SETTLE_S = 0.15
"""Time that a server gets to open its port before the client starts."""
RETRY_S = 5.0
"""Time in which a client that ends too early is started again. Its server may not listen yet: a
host under load opens the port late."""
LAST_S = 3.0
"""Time that a server gets to print its result and to end by itself."""
VERSION_S = 10.0
WORDS_MOST = 500
"""Maximum length, in characters, of a command line, a message or the remarks in a record."""


class ToolEngine:
    """The engine that measures with one tool."""

    def __init__(self, tool: Tool) -> None:
        self._tool = tool
        self._versions: dict[tuple[str, ...], str] = {}

    def values_of(self, trial: Trial, ends: Ends, _live: OnGoodput) -> Mapping[str, Value]:
        """The values of a trial; ProbeError if it has no result."""
        setup = trial.cell.setup
        assert isinstance(setup, Stream | RoundTrip)  # noqa: S101  (for the type checker)
        self._raise(tool.refusal(self._tool, setup))
        agents = {"client": ends.client, "server": ends.server}
        versions = {end: self._version(agent) for end, agent in agents.items() if agent is not None}
        tool_trial = self._placed(setup, ends)
        watch = None
        if isinstance(setup, Stream) and ends.server is not None:
            watch = DropWatch(ends, setup)
            watch.ask()
        remarks = tuple(tool.remarks_on_versions(self._tool, versions))
        try:
            server, client = self._run(tool_trial, ends)
            result = self._result(tool_trial, server, client)
        except ProbeError as error:
            if error.word != "engine-failed" or not remarks:
                raise
            # A version that was not tried may be the cause of the failure.
            detail = excerpt("; ".join((error.detail, *remarks)), WORDS_MOST)
            raise ProbeError(error.host, error.word, detail=detail) from None
        values = dict(result.values)
        if watch is not None:
            watch.ask_again()
            values |= watch.end()
        values |= {f"{end}_engine_version": version for end, version in versions.items()}
        result = replace(result, unread=result.unread + remarks)
        return values | self._beside(setup, result, server, client)

    def _raise(self, refused: str | None) -> None:
        if refused is not None:
            raise ProbeError(self._tool.name, "engine-cannot", detail=refused)

    def _placed(self, setup: ToolSetup, ends: Ends) -> ToolTrial:
        """The trial with its addresses and ports; ProbeError if no port is free."""
        client = ends.address("client", setup)
        if ends.server is None:
            served = ends.served[self._tool.name]
            trial = ToolTrial(setup, served.address, client, (served.port, 0))
            self._raise(tool.refusal_of_running_server(self._tool, trial))
            return trial
        server = ends.address("server", setup)
        if ends.connects(setup.protocol) == "server":
            detail = (
                f"only the server can connect on this path, and {self._tool.name}'s client connects"
            )
            raise ProbeError(ends.client.host.name, "path-blocked", detail=detail)
        return ToolTrial(setup, server, client, free_ports(ends.server, server))

    def _version(self, agent: Agent) -> str:
        """The line that the tool prints about its version. Each host is asked only once."""
        # Two hosts may be two accounts of one machine, with different programs.
        key = (agent.host.name, *agent.identity)
        if key not in self._versions:
            program = Program.start(agent, self._tool.version_words, VERSION_S)
            program.wait()
            printed = program.text() + "\n" + program.text(STANDARD_ERROR)
            self._versions[key] = excerpt(tool.version_line(self._tool, printed), 100)
        return self._versions[key]

    def _run(self, trial: ToolTrial, ends: Ends) -> tuple[Program | None, Program]:
        """Run server (``None`` if it runs already) and client until both have ended."""
        limit_s = trial.setup.warm_up_s + tool.duration_of(trial.setup) + PROBE_SLACK_S
        if ends.server is None:
            return None, self._client(trial, ends, limit_s, None)
        server = Program.start(
            ends.server, self._tool.server_words(trial), limit_s + RETRY_S + LAST_S
        )
        programs = [server]
        try:
            programs.append(client := self._client(trial, ends, limit_s, server))
            server.end(LAST_S if self._tool.serves_once else 0.0)
        except BaseException:
            for program in programs:
                program.abort()
            raise
        return server, client

    def _client(
        self, trial: ToolTrial, ends: Ends, limit_s: float, server: Program | None
    ) -> Program:
        """Run the client until it ends. If it ends early, it is started again as long as the server
        runs, because the server was probably not ready.
        """
        duration_s = tool.duration_of(trial.setup)
        give_up = clock.monotonic() + RETRY_S
        settle_s = SETTLE_S
        while True:
            clock.sleep(settle_s)
            program = Program.start(ends.client, self._tool.client_words(trial), limit_s)
            try:
                last = program.wait()
            except BaseException:
                program.abort()
                raise
            self._raise_if_killed(program, "client")
            # Some tools end with the exit code 0 if their server does not listen yet.
            is_early = last["elapsed_ns"] < duration_s * 1e9
            if is_early and server is not None and server.has_ended():
                self._raise_if_killed(server, "server")
                return program
            if not is_early or clock.monotonic() > give_up:
                return program
            settle_s *= 2

    def _raise_if_killed(self, program: Program, end: str) -> None:
        if program.result is not None and (number := program.result.get("signal")) is not None:
            detail = f"{self._tool.name}'s {end} was ended by signal {number}"
            raise ProbeError(program.agent.host.name, "engine-failed", detail=detail)

    def _result(self, trial: ToolTrial, server: Program | None, client: Program) -> ToolResult:
        """The result that the tool printed; ProbeError if there is none."""
        programs = [client] if server is None else [client, server]
        for program in programs:
            if program.is_cut:
                detail = "it printed more than netlab keeps: take a shorter duration"
                raise ProbeError(program.agent.host.name, "engine-failed", detail=detail)
        is_server_failed = server is not None and bool((server.result or {}).get("exit_code"))
        if is_server_failed:
            programs.reverse()  # what the server printed is the cause
        lines = dict.fromkeys(program.last_words for program in programs if program.last_words)
        last_words = excerpt("; ".join(lines) or "it printed nothing", WORDS_MOST)
        server_text = "" if server is None else server.text()
        try:
            result = self._tool.result(trial, server=server_text, client=client.text())
        except MatrixError:
            detail = f"{self._tool.name} printed no result: {last_words}"
            raise ProbeError(client.agent.host.name, "engine-failed", detail=detail) from None
        if result.reason is not None:
            is_known = result.reason not in ("unknown-error", "not-recorded")
            is_unheard = is_server_failed and result.reason == "connect-refused"
            reason = result.reason if is_known and not is_unheard else "engine-failed"
            detail = last_words if is_unheard else excerpt(result.detail or last_words, WORDS_MOST)
            raise ProbeError(client.agent.host.name, reason, detail=f"{self._tool.name}: {detail}")
        return result

    def _beside(
        self, setup: ToolSetup, result: ToolResult, server: Program | None, client: Program
    ) -> dict[str, Value]:
        """The values that the record has in addition to the tool's figures."""
        remarks = [*tool.remarks_of(self._tool, setup)]
        for name, printed in result.settings.items():
            level = getattr(setup, name, None) if name in ROWS else None
            if level not in (None, printed):
                remarks.append(f"`{ROWS[name].key}` was {printed}, {level} was asked")
        remarks += result.unread
        values: dict[str, Value] = {}
        if remarks:
            values["engine_remarks"] = excerpt("; ".join(dict.fromkeys(remarks)), WORDS_MOST)
        for end, program in (("server", server), ("client", client)):
            if program is None:
                continue
            values[f"{end}_engine_command"] = excerpt(" ".join(program.words), WORDS_MOST)
            if program.cpu_ns is not None:
                values[f"{end}_engine_cpu_ns"] = program.cpu_ns
        return values
