"""The undo log on every system that can run here: undone at the end, or left by a killed agent."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from netprobe_agents import PATIENCE_S, Agent
from runners import Runner
from undo_logs import guard, leftovers, notes, undo

__all__ = ["notes"]

pytestmark = [pytest.mark.lab, pytest.mark.usefixtures("notes")]


def note(runner: Runner, file: Path, text: str) -> tuple[str, ...]:
    """Words of a command that notes a text; cmd takes a digit there for a descriptor."""
    if runner.windows:
        name = "Z:" + str(file).replace("/", "\\")
        return ("cmd", "/c", f"echo {text}>>{name}")
    return ("sh", "-c", f"echo {text} >> '{file}'")


def failing(runner: Runner) -> tuple[str, ...]:
    return ("cmd", "/c", "exit 3") if runner.windows else ("sh", "-c", "exit 3")


def lines(file: Path) -> list[str]:
    return file.read_text().split() if file.exists() else []


def own(agent: Agent, entries: list[str]) -> list[str]:
    """Those of the entries that are left, in the order of the list."""
    return [record["entry"] for record in leftovers(agent) if record.get("entry") in entries]


def left(runner: Runner, entries: list[str], number: int) -> list[str]:
    """Waits until so many of the entries are left."""
    until = time.monotonic() + PATIENCE_S
    with runner.agent() as agent:
        while len(entries_now := own(agent, entries)) != number and time.monotonic() < until:
            time.sleep(0.05)
    return entries_now


def test_undo_entries_are_undone_on_request_and_when_the_agent_quits(
    runner: Runner, tmp_path: Path
) -> None:
    file = tmp_path / "notes"
    with runner.agent() as agent:
        assert "undo" in agent.ask("hello")["capabilities"].split(",")
        entries = [guard(agent, *note(runner, file, text)) for text in "abc"]
        bad = guard(agent, *failing(runner))
        last = undo(agent, entries[1]).last
        assert (last["exit_code"], last.get("left")) == (0, None)
        last = undo(agent, bad).last
        assert (last["exit_code"], last.get("left")) == (3, 1)
        assert lines(file) == ["b"]
        with runner.agent() as other:
            assert undo(other, entries[0]).last["error"] == "entry-in-use"
            assert own(other, [*entries, bad]) == []
        agent.ask("quit")
        assert agent.process.wait(PATIENCE_S) == 0
    assert lines(file) == ["b", "c", "a"]
    assert left(runner, [*entries, bad], 1) == [bad]


def test_undo_entries_of_a_killed_agent_are_undone_by_its_keeper_or_stay_listed(
    runner: Runner, tmp_path: Path
) -> None:
    file = tmp_path / "notes"
    with runner.agent() as agent:
        entries = [guard(agent, *note(runner, file, text)) for text in "ab"]
        agent.process.kill()
        agent.process.wait(PATIENCE_S)
    if not runner.windows:
        until = time.monotonic() + PATIENCE_S
        while len(lines(file)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert lines(file) == ["b", "a"]
        assert left(runner, entries, 0) == []
        return
    assert left(runner, entries, 2) == entries[::-1]
    with runner.agent() as agent:
        for entry in entries[::-1]:
            assert "left" not in undo(agent, entry).last
    assert lines(file) == ["b", "a"]
    assert left(runner, entries, 0) == []
