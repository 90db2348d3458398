"""A stand-in for `netprobe agent` that misbehaves on demand: in this process, or as a program.

    python fake_agent.py [KNOB …]

Knobs: ``banner`` (lines and an unfinished one before hello), ``crlf``, ``bom``, ``garbage`` (bytes
that are no record between any two), ``huge`` (a line of 1 MiB before each record), ``silent``
(answers hello, then nothing), ``mute`` (never answers), ``endless`` (no line feed, ever),
``flood`` (lines that are no records, ever), ``blank`` (empty lines, ever), ``once`` (answers
one `clock`), ``slow`` (50 ms an answer), ``old`` (another version),
``other`` (another protocol), ``no-machine`` and ``no-network`` (without these ids), ``no-undo``
(without an undo log),
``dies`` (ends with 3 on `clock`). tests/played/played_agents.py plays it in this process.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence

ENDLESS = {"endless": b"x", "flood": b"not a record\n", "blank": b"\n"}
AHEAD_NS = 5_000_000_000
"""By how much its clock is ahead."""


class Ended(Exception):
    """The agent ends with this status."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


class FakeAgent:
    """An agent that gets lines and says bytes."""

    def __init__(
        self,
        knobs: Collection[str],
        say: Callable[[bytes], None],
        warn: Callable[[str], None],
        *,
        version: str,
        hostname: str | None = None,
        scripted: Mapping[str, Sequence[Mapping[str, object]]] | None = None,
        sleep: Callable[[float], None] = time.sleep,
        monotonic_ns: Callable[[], int] = time.monotonic_ns,
        slow_s: float = 0.05,
        around_clock: Callable[[Callable[[], None]], None] = lambda answer: answer(),
    ) -> None:
        """``scripted``: verb → the records that answer it; ``sleep`` and ``monotonic_ns``: the
        clock by which it waits; ``slow_s``: how long each answer of a ``slow`` one takes;
        ``around_clock`` makes the call that answers `clock`.
        """
        self._slow_s, self._around_clock = slow_s, around_clock
        self.knobs = set(knobs)
        self._say, self._warn = say, warn
        self._version, self._hostname = version, hostname
        self._scripted = scripted or {}
        self._sleep, self._monotonic_ns = sleep, monotonic_ns

    @property
    def endless(self) -> bytes | None:
        """What it says without end, if it does."""
        return next((data * 4096 for knob, data in ENDLESS.items() if knob in self.knobs), None)

    def begin(self) -> None:
        """What it says before any request."""
        if "banner" in self.knobs:
            self._say(b"\r\nWelcome to this host\r\nUnauthorised use is {forbidden}\n$ ")

    def answer(self, line: str) -> None:
        """Answer a request."""
        if not line.strip() or "mute" in self.knobs:
            return
        request_id, verb, *_rest = line.split(" ")
        if verb == "hello":
            self._hello(request_id)
        elif "silent" in self.knobs:
            return
        elif verb in self._scripted:
            for record in self._scripted[verb]:
                keys = {key: value for key, value in record.items() if key != "type"}
                self._record(str(record["type"]), request_id, **keys)
        elif verb == "clock":
            self._around_clock(lambda: self._clock(request_id))
        elif verb == "facts":
            names = {"hostname": self._hostname} if self._hostname else {}
            self._record("facts", request_id, boot_id="the-boot", **names)
        elif verb == "refuse":
            self._record("error", request_id, error="address-in-use", errno=98, detail="bind")
        elif verb == "stream":
            self._record("ready", request_id, port=5001)
            self._record("progress", request_id, bytes=1)
            self._record("result", request_id, bytes=2)
        else:
            self._record(verb, request_id, **({"line": line} if verb == "echo" else {}))
        if verb == "quit":
            raise Ended(0)

    def _record(self, kind: str, request_id: str, **keys: object) -> None:
        if "slow" in self.knobs:
            self._sleep(self._slow_s)
        if "garbage" in self.knobs:
            self._say(
                b'\x00\xff\x1b[31m{"type":\n[1,2]\n"type"\n{"id":7}\n{"type":3}\n'
                + b"[" * 5000
                + b"\n"
            )
        if "huge" in self.knobs:
            self._say(b"x" * (1 << 16) * 3 + b'{"type":"hello","id":"1","protocol":99}\n')
        content = {"type": kind, "id": request_id} | keys
        # A number beyond all is written as a host may write it.
        line = json.dumps(content, separators=(",", ":")).replace("Infinity", "1e400").encode()
        if "bom" in self.knobs:
            line = b"\xef\xbb\xbf" + line
        self._say(line + (b"\r\n" if "crlf" in self.knobs else b"\n"))

    def _clock(self, request_id: str) -> None:
        if "dies" in self.knobs:
            self._warn("the roof is on fire\n")
            raise Ended(3)
        if "once" in self.knobs:
            self.knobs.add("silent")
        now_ns = self._monotonic_ns()
        self._record("clock", request_id, monotonic_ns=now_ns + AHEAD_NS, wall_ns=1)

    def _hello(self, request_id: str) -> None:
        keys: dict[str, object] = {
            "protocol": 99 if "other" in self.knobs else 1,
            "version": "0.0.0" if "old" in self.knobs else self._version,
            "build": "f00dcafef00dcafe",
            "os": "linux",
            "architecture": "x86_64",
            "cpu_count": 2,
            "capabilities": "stream,run" if "no-undo" in self.knobs else "stream,run,undo",
        }
        if "no-network" not in self.knobs:
            keys["network_id"] = 7
        if "no-machine" not in self.knobs:
            keys["machine_id"] = "0123456789abcdef"
        self._record("hello", request_id, **keys)


def _print(data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(1, view) :]


def _warn(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def main() -> None:
    """The agent as a program."""
    agent = FakeAgent(
        sys.argv[1:],
        _print,
        _warn,
        version=os.environ["FAKE_VERSION"],
        hostname=os.environ.get("FAKE_HOSTNAME"),
    )
    try:
        agent.begin()
        while agent.endless is not None:
            _print(agent.endless)
        for line in sys.stdin:
            agent.answer(line.rstrip("\r\n"))
    except BrokenPipeError:
        pass
    except Ended as ended:
        os._exit(ended.status)


if __name__ == "__main__":
    main()
