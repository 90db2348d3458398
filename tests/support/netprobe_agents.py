"""Built probes for the tests: agents driven by hand, and whole trials between two of them."""

from __future__ import annotations

import json
import os
import queue
import secrets
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

import pytest
from folders import PROBES

PATIENCE_S = 60.0
"""For what comes at once: reached only where it never comes."""
CPUS = sorted(os.sched_getaffinity(0)) if sys.platform == "linux" else [0]
"""The CPUs that the tests may run on."""
SANITIZED = bool(os.environ.get("NETPROBE_SANITIZE"))
"""Run the same tests against the sanitizer build (``NETPROBE_SANITIZE=1``)."""

Reply = dict[str, Any]


def build() -> Path:
    """The probe, built by its own Makefile where it is older than its sources."""
    target = ["sanitize"] if SANITIZED else []
    subprocess.run(["make", "-s", "-C", str(PROBES), *target], check=True)
    return PROBES / "build" / ("netprobe-sanitize" if SANITIZED else "netprobe")


def asked(*command: Path | str) -> dict[str, object]:
    """The one record that a request by hand prints."""
    words = [str(word) for word in command]
    process = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE_S, check=True)
    record = json.loads(process.stdout)
    assert isinstance(record, dict)
    return record


class Agent:
    """One ``netprobe agent``; its records, sorted by id as they come."""

    def __init__(self, binary: Path, *words: str) -> None:
        # A file, because a program that outlives the agent would keep a pipe from its end.
        self._complaints = tempfile.TemporaryFile()  # noqa: SIM115  (it ends with the agent)
        self.process = subprocess.Popen(
            [binary, "agent", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints,
        )
        self.lines: list[bytes] = []
        self._inbox: dict[str, queue.SimpleQueue[Reply]] = {}
        self._guard = threading.Lock()
        self._next = 0
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Agent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self._complaints, self.process.stdout:
            if self.process.poll() is None:
                self.process.stdin.close()
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                raise
            self._reader.join(PATIENCE_S)
            stderr = self.complaints()
        if not self.process.stdin.closed:
            self.process.stdin.close()
        assert "Sanitizer" not in stderr, stderr
        assert "runtime error" not in stderr, stderr

    def complaints(self) -> str:
        """What it wrote to its standard error so far."""
        file = self._complaints.fileno()
        return os.pread(file, os.fstat(file).st_size, 0).decode()

    def _queue(self, of: str) -> queue.SimpleQueue[Reply]:
        with self._guard:
            return self._inbox.setdefault(of, queue.SimpleQueue())

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line)
            record = json.loads(line)
            self._queue(record["id"]).put(record)

    def raw(self, line: bytes) -> None:
        """Write bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def start(self, verb: str, **keys: object) -> str:
        """Send a request with an id of its own, and return the id."""
        self._next += 1
        name = f"t{self._next}"
        words = [name, verb, *(f"{key}={value}" for key, value in keys.items())]
        self.raw((" ".join(words) + "\n").encode())
        return name

    def next(self, of: str, *types: str, patience_s: float = PATIENCE_S) -> Reply:
        """The next record of that id, of one of the types where some are named."""
        until = time.monotonic() + patience_s
        while True:
            record = self._queue(of).get(timeout=max(0.01, until - time.monotonic()))
            if not types or record["type"] in types:
                return record

    def ask(self, verb: str, **keys: object) -> Reply:
        """Send a request and return its first record."""
        return self.next(self.start(verb, **keys))

    def answers(self, patience_s: float = PATIENCE_S) -> bool:
        """Whether it says hello within our patience."""
        try:
            return bool(self.next(self.start("hello"), patience_s=patience_s)["type"] == "hello")
        except queue.Empty:
            return False

    def kill(self) -> None:
        """End one that is not to be asked to end."""
        self.process.kill()
        self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)
        for file in (self.process.stdin, self.process.stdout, self._complaints):
            if file is not None:
                file.close()


@pytest.fixture(scope="session")
def netprobe() -> Path:
    """The built probe."""
    return build()


@pytest.fixture
def agent(netprobe: Path) -> Iterator[Agent]:
    with Agent(netprobe) as agent:
        yield agent


@pytest.fixture
def agents(netprobe: Path) -> Iterator[tuple[Agent, Agent]]:
    """Two agents: the first receives, the second sends."""
    with Agent(netprobe) as receiver, Agent(netprobe) as sender:
        yield receiver, sender


@dataclass(frozen=True)
class Trial:
    """What both sides of one trial said last."""

    received: Reply
    sent: Reply
    progress: list[Reply]


def at(address: str, ready: Reply) -> str:
    """The ``to`` of the connecting side."""
    host = f"[{address}]" if ":" in address else address
    return f"{host}:{ready.get('ports', ready['port'])}"


@dataclass
class Opened:
    """A trial under way: the ids of its two sides."""

    receiver: Agent
    sender: Agent
    receiving: str
    sample: str

    def finish(self) -> Trial:
        """Do as the controller does: stop the sender, tell the receiver its count."""
        progress: list[Reply] = []
        while (receiver_record := self.receiver.next(self.receiving))["type"] == "progress":
            progress.append(receiver_record)
        if receiver_record["type"] == "window":
            self.sender.ask("stop", test=self.sample)
            sender_record = self.sender.next(self.sample, "result", "error")
            self.receiver.ask(
                "stop", test=self.receiving, sent=sender_record.get("sent_messages", 0)
            )
            receiver_record = self.receiver.next(self.receiving, "result", "error")
        else:
            sender_record = self.sender.next(self.sample, "result", "error")
        return Trial(received=receiver_record, sent=sender_record, progress=progress)


def open_trial(
    agents: tuple[Agent, Agent],
    *,
    listener: str = "receive",
    address: str = "127.0.0.1",
    receive: dict[str, object] | None = None,
    send: dict[str, object] | None = None,
    **keys: object,
) -> Opened:
    """Let one side listen and the other connect; ``listener`` is the role that listens."""
    receiver, sender = agents
    keys |= {"token": secrets.token_hex(16)}
    sides = {"receive": (receiver, receive or {}), "send": (sender, send or {})}
    connector = "send" if listener == "receive" else "receive"
    agent, own = sides[listener]
    listening = agent.start(listener, open="listen", bind=address, **(keys | own))
    ready = agent.next(listening)
    assert ready["type"] == "ready", ready
    agent, own = sides[connector]
    connecting = agent.start(connector, to=at(address, ready), **(keys | own))
    names = {listener: listening, connector: connecting}
    return Opened(receiver, sender, names["receive"], names["send"])


def outlasting(keys: dict[str, Any]) -> dict[str, Any]:
    """What to ask of the sender of a trial with these keys, so that its receiver ends it.

    A TCP sender closes its connections 0.1 s after its own window, and that of a receiver which
    waits for its turn may be over later.
    """
    tcp = keys.get("proto", "tcp") == "tcp"
    return {"seconds": keys["seconds"] + 5} if tcp and "seconds" in keys else {}


def trial(agents: tuple[Agent, Agent], **keys: Any) -> Trial:
    """A whole trial; both sides must end with a result."""
    keys["send"] = outlasting(keys) | (keys.get("send") or {})
    outcome = open_trial(agents, **keys).finish()
    assert outcome.received["type"] == "result", outcome.received
    assert outcome.sent["type"] == "result", outcome.sent
    return outcome


# ---- programs that an agent runs ----

DEADLINE_S = 30


@dataclass(frozen=True)
class Ran:
    """What a program printed, by its descriptor, and the last record about it."""

    texts: dict[int, str]
    last: Reply
    records: int
    """Records with its output."""


def request(agent: Agent, program: str, *arguments: str, deadline: float = DEADLINE_S) -> str:
    """Request a program, and return the id."""
    keys = {"program": quote(program), "deadline": deadline}
    if arguments:
        keys["arguments"] = quote("\n".join(arguments))
    return agent.start("run", **keys)


def started(agent: Agent, program: str, *arguments: str, deadline: float = DEADLINE_S) -> str:
    """The same, once it runs."""
    name = request(agent, program, *arguments, deadline=deadline)
    record = agent.next(name)
    assert record["type"] == "started", record
    assert record["pid"] > 0
    return name


def shell(agent: Agent, line: str, deadline: float = DEADLINE_S) -> str:
    """A line for the shell of POSIX; it runs."""
    return started(agent, "sh", "-c", line, deadline=deadline)


def ended(agent: Agent, name: str) -> Ran:
    """Read its records to the last one."""
    texts: dict[int, str] = {1: "", 2: ""}
    records = 0
    while (record := agent.next(name))["type"] == "output":
        texts[record["descriptor"]] += record["text"]
        records += 1
    assert record["type"] in ("result", "error"), record
    return Ran(texts, record, records)


def printed(agent: Agent, name: str, lines: int = 1) -> list[str]:
    """Wait until it has printed so many lines on its standard output."""
    text = ""
    while text.count("\n") < lines:
        record = agent.next(name)
        assert record["type"] == "output", record
        text += record["text"]
    return text.splitlines()


def lives(pid: int) -> bool:
    """Whether a process runs; one that has ended and was not asked for does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return status.rpartition(")")[2].split()[0] not in "ZX"


def gone(*pids: int) -> bool:
    """Whether all of them end, within our patience."""
    until = time.monotonic() + PATIENCE_S
    while any(map(lives, pids)) and time.monotonic() < until:
        time.sleep(0.01)
    return not any(map(lives, pids))
