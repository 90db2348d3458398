"""The undo log of a probe's agents: requests about its entries, and what they leave behind."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from netprobe_agents import PATIENCE_S, Agent, Ran, Reply, ended, gone

SLOT_BYTES = 8192


def keys_of(*words: str, deadline: float = 20) -> dict[str, object]:
    """The keys of a request for a program with its words."""
    keys: dict[str, object] = {"program": quote(words[0]), "deadline": deadline}
    if words[1:]:
        keys["arguments"] = quote("\n".join(words[1:]))
    return keys


def guard(agent: Agent, *words: str, deadline: float = 20) -> str:
    """Register a command; returns the id of its entry."""
    answer = agent.ask("guard", **keys_of(*words, deadline=deadline))
    assert answer["type"] == "guard", answer
    return str(answer["entry"])


def undo(agent: Agent, entry: str) -> Ran:
    """Undo an entry, and wait for its end."""
    name = agent.start("undo", entry=entry)
    record = agent.next(name)
    if record["type"] == "started":
        return ended(agent, name)
    return Ran({}, record, 0)


def leftovers(agent: Agent) -> list[Reply]:
    """The entries of agents that no longer live."""
    name = agent.start("leftovers")
    entries = []
    while (record := agent.next(name))["type"] == "leftover":
        entries.append(record)
    assert record["type"] == "leftovers", record
    assert record["count"] == len(entries)
    return entries


class Notes:
    """A file into which commands write lines, and the folder of the undo log beside it."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self._path = folder / "notes"

    @property
    def log(self) -> Path:
        return self.state / "netlab" / "undo"

    def command(self, text: object, more: str = "") -> tuple[str, ...]:
        """Words that note a text."""
        return ("sh", "-c", f"echo {text} >> '{self._path}'; {more}")

    def lines(self) -> list[str]:
        return self._path.read_text().split() if self._path.exists() else []

    def files(self) -> list[Path]:
        return sorted(self.log.iterdir()) if self.log.is_dir() else []

    def settled(self) -> bool:
        """Whether, within our patience, no process holds a file of the log any more."""
        until = time.monotonic() + PATIENCE_S
        while any(map(is_held, self.files())):
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True


def is_held(path: Path) -> bool:
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def by_hand(netprobe: Path, *words: str) -> list[Reply]:
    """The records of a request by hand."""
    process = subprocess.run([netprobe, *words], capture_output=True, text=True, check=False)
    return [json.loads(line) for line in process.stdout.splitlines()]


def keeper_of(agent: Agent) -> int:
    """The one child of an agent that runs no program."""
    paths = Path(f"/proc/{agent.process.pid}/task").glob("*/children")
    (pid,) = {int(pid) for path in paths for pid in path.read_text().split()}
    return pid


def orphan(netprobe: Path, *commands: tuple[str, ...]) -> list[str]:
    """Entries of an agent that was killed together with its keeper."""
    agent = Agent(netprobe)
    entries = [guard(agent, *words) for words in commands]
    keeper = keeper_of(agent)
    os.kill(keeper, signal.SIGKILL)
    agent.kill()
    assert gone(keeper)
    return entries


@pytest.fixture
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Notes:
    """An undo log of the test alone."""
    notes = Notes(tmp_path)
    notes.state.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_STATE_HOME", str(notes.state))
    return notes
