"""Programs that an agent runs, for tests: started, and read to their last record."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from netprobe_agents import PATIENCE_S, Agent, Reply

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
