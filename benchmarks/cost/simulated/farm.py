"""A process that serves many simulated agents, one for each connection to its Unix socket.

    python farm.py SOCKET ANSWERS

The first line of a connection names the host and its test address; then the connection carries the
control protocol (docs/protocol.md) as the standard input and output of an agent. ``ANSWERS`` is a
file with the records that a real probe gave (recorded.py). An agent of this process answers with
these records after a delay, under its own ids and addresses. It sends nothing to other agents, and
every path works. At the end of its input, the process prints one JSON line: the requests that it
got by verb, and the flows whose request came after their start.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

ANSWER_S = 0.0005
"""Time until an answer, such as a round trip to the host takes."""
CHECK_S = 0.002
"""Time that a check of a path takes."""
PORT = 40001


class Figures:
    """What this process has done, for all of its agents."""

    def __init__(self) -> None:
        self.requests: Counter[str] = Counter()
        self.flows = self.late_flows = 0
        self.least_ahead_ns: int | None = None

    def note_start(self, start_ns: int) -> None:
        """Note that the request of a flow has come; ``start_ns``: when the flow starts."""
        ahead_ns = start_ns - time.monotonic_ns()
        self.flows += 1
        self.late_flows += ahead_ns < 0
        least_ns = self.least_ahead_ns
        self.least_ahead_ns = ahead_ns if least_ns is None else min(least_ns, ahead_ns)


class SimulatedAgent(asyncio.Protocol):
    """One agent."""

    def __init__(self, answers: dict[str, Any], figures: Figures) -> None:
        self._answers = answers
        self._figures = figures
        self._rest = b""
        self._name = self._address = ""
        self._packets = 1000
        self._running: dict[str, str] = {}
        """Id of a test that ends when it is stopped → its verb."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the connection."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        """Answer every line that is complete."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            words = line.decode("ascii").split(" ")
            if not self._name:
                self._name, self._address = words
                continue
            keys = dict(word.split("=", 1) for word in words[2:])
            self._figures.requests[words[1]] += 1
            self._answer(words[0], words[1], keys)

    def _answer(self, request_id: str, verb: str, keys: dict[str, str]) -> None:
        answer = getattr(self, f"_on_{verb}", None)
        if answer is None:
            self._say(ANSWER_S, verb, request_id)
        else:
            answer(request_id, keys)

    def _on_hello(self, request_id: str, _keys: dict[str, str]) -> None:
        own = {"machine_id": f"machine-{self._name}", "network_id": 1}
        self._say(ANSWER_S, "hello", request_id, {**self._answers["hello"], **own})

    def _on_clock(self, request_id: str, _keys: dict[str, str]) -> None:
        now = {"monotonic_ns": time.monotonic_ns(), "wall_ns": time.time_ns()}
        self._say(ANSWER_S, "clock", request_id, now)

    def _on_facts(self, request_id: str, keys: dict[str, str]) -> None:
        facts = dict(self._answers["facts"])
        facts["addresses"] = f"lo=127.0.0.1/8,test0={self._address}/15"
        facts |= {"hostname": self._name, "boot_id": f"boot-{self._name}"}
        if "to" in keys:
            self._packets += 1000
            facts |= {
                "route_interface": "test0",
                "route_source": self._address,
                "interface_mtu_bytes": 1500,
                "interface_sent_packets": self._packets,
                "interface_received_packets": self._packets,
            }
        self._say(ANSWER_S, "facts", request_id, facts)

    def _on_leftovers(self, request_id: str, _keys: dict[str, str]) -> None:
        self._say(ANSWER_S, "leftovers", request_id, {"count": 0, "left_out": 0, "elsewhere": 0})

    def _on_receive(self, request_id: str, keys: dict[str, str]) -> None:
        self._flow("receive", request_id, keys)

    def _on_send(self, request_id: str, keys: dict[str, str]) -> None:
        self._flow("send", request_id, keys)

    def _flow(self, verb: str, request_id: str, keys: dict[str, str]) -> None:
        ready_s = 0.0
        if keys.get("open") == "listen":
            ready_s = ANSWER_S
            self._say(ready_s, "ready", request_id, {"port": PORT})
        if keys["kind"] == "check":
            self._say(ready_s + CHECK_S, "result", request_id, self._answers["check"])
            return
        if "start_ns" in keys:
            self._figures.note_start(int(keys["start_ns"]))
        self._running[request_id] = verb
        if verb == "receive":
            close_ns = int(keys.get("window_close_ns", 0))
            self._say((close_ns - time.monotonic_ns()) / 1e9, "window", request_id)

    def _on_mirror(self, request_id: str, _keys: dict[str, str]) -> None:
        self._running[request_id] = "mirror"
        self._say(ANSWER_S, "ready", request_id, {"port": PORT})

    def _on_stop(self, request_id: str, keys: dict[str, str]) -> None:
        self._say(0.0, "stop", request_id)
        verb = self._running.pop(keys["test"], None)
        if verb is not None:
            self._say(ANSWER_S, "result", keys["test"], self._answers[verb])

    def _on_ask(self, request_id: str, keys: dict[str, str]) -> None:
        count = int(keys.get("count", 1))
        took_s = count * self._answers["ask"]["rtt_mean_ns"] / 1e9
        self._say(ANSWER_S + took_s, "result", request_id, self._answers["ask"])

    def _on_quit(self, request_id: str, _keys: dict[str, str]) -> None:
        self._say(0.0, "quit", request_id)
        self._loop.call_later(ANSWER_S, self._transport.close)

    def _say(
        self, after_s: float, kind: str, request_id: str, keys: dict[str, Any] | None = None
    ) -> None:
        record = {"type": kind, "id": request_id, **(keys or {})}
        line = json.dumps(record, separators=(",", ":")).encode("ascii") + b"\n"
        if after_s > 0:
            self._loop.call_later(after_s, self._transport.write, line)
        else:
            self._transport.write(line)


async def serve(socket: str, answers: dict[str, Any]) -> Figures:
    """Serve agents at a Unix socket until the standard input ends."""
    figures = Figures()
    loop = asyncio.get_running_loop()
    server = await loop.create_unix_server(
        lambda: SimulatedAgent(answers, figures), socket, backlog=4096
    )
    print("ready", flush=True)
    async with server:
        await loop.run_in_executor(None, sys.stdin.read)
    return figures


def main() -> None:
    """Serve, then print what was done."""
    answers = json.loads(Path(sys.argv[2]).read_text())
    figures = asyncio.run(serve(sys.argv[1], answers))
    print(json.dumps(vars(figures)), flush=True)


if __name__ == "__main__":
    main()
