"""However an agent ends, its entries are undone: each once, the latest first."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from draws import chance, drawn
from faulty_probe import faulty_probe
from netprobe_agents import PATIENCE_S, Agent, ended, gone, netprobe, printed, shell
from undo_logs import Notes, by_hand, guard, keeper_of, keys_of, leftovers, notes, undo

__all__ = ["faulty_probe", "netprobe", "notes"]

pytestmark = [pytest.mark.lab, pytest.mark.needs("linux")]

KILLS = drawn(few=25, many=100)


@pytest.mark.parametrize("way", ["quit", "input", "lease", "TERM", "KILL", "SEGV", "HUP"])
def test_undo_entries_of_an_agent_that_ends_are_undone_in_reverse_order(
    netprobe: Path, notes: Notes, way: str
) -> None:
    agent = Agent(netprobe, *(["lease_s=3"] if way == "lease" else []))
    for number in range(1, 6):
        guard(agent, *notes.command(number))
    assert agent.process.stdin is not None
    if way == "quit":
        agent.ask("quit")
    elif way == "input":
        agent.process.stdin.close()
    elif way != "lease":
        agent.process.send_signal(getattr(signal, f"SIG{way}"))
    agent.process.wait(PATIENCE_S)
    if way in ("quit", "input", "lease"):  # the agent itself has undone them before it ended
        assert notes.lines() == list("54321")
    assert notes.settled()
    assert notes.lines() == list("54321")
    assert notes.files() == []
    agent.kill()


def test_an_agent_undoes_its_entries_after_its_output_is_closed(
    netprobe: Path, notes: Notes
) -> None:
    command = [str(netprobe), "agent"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in (1, 2):
            keys = keys_of(*notes.command(number)).items()
            words = " ".join(f"{key}={value}" for key, value in keys)
            process.stdin.write(f"g{number} guard {words}\n".encode())
            process.stdin.flush()
            assert b'"guard"' in process.stdout.readline()
        process.stdout.close()
        process.stdin.write(b"h heartbeat\n")
        process.stdin.flush()
        assert process.wait(PATIENCE_S) == 1
    assert notes.settled()
    assert notes.lines() == list("21")


def test_an_agent_reports_and_leaves_entries_that_cannot_be_undone(
    netprobe: Path, notes: Notes
) -> None:
    agent = Agent(netprobe)
    guard(agent, *notes.command(1))
    failing = guard(agent, *notes.command(2, "exit 9"))
    late = guard(agent, *notes.command(3, "exec sleep 60"), deadline=3)
    assert agent.process.stdin is not None
    agent.process.stdin.close()
    assert agent.process.wait(PATIENCE_S) == 0
    text = agent.complaints()
    assert f"{failing} of the undo log is not undone: exit code 9" in text
    assert f"{late} of the undo log is not undone: it was killed at its deadline" in text
    agent.kill()
    assert notes.lines() == list("321")
    with Agent(netprobe) as other:
        listing = leftovers(other)
        assert [record["entry"] for record in listing] == [late, failing]
        assert (listing[0]["killed"], listing[1]["exit_code"]) == (1, 9)


def test_a_keeper_leaves_entries_that_cannot_be_undone(netprobe: Path, notes: Notes) -> None:
    agent = Agent(netprobe)
    guard(agent, *notes.command(1))
    entries = [
        guard(agent, *notes.command(2, "exit 9")),
        guard(agent, *notes.command(3, "kill -KILL $$")),
        guard(agent, *notes.command(4, "exec sleep 60"), deadline=3),
        guard(agent, "no-such-program"),
    ]
    agent.kill()
    assert notes.settled()
    assert notes.lines() == list("4321")
    with Agent(netprobe) as other:
        listing = leftovers(other)
        assert [record["entry"] for record in listing] == entries[::-1]
        assert [record.get("exit_code") for record in listing] == [127, None, None, 9]
        assert (listing[1]["killed"], listing[2]["signal"]) == (1, signal.SIGKILL)


def test_entries_of_an_agent_killed_at_any_moment_are_undone_once(
    netprobe: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw = chance("undo")
    cut = 0
    for turn in range(KILLS):
        own = Notes(tmp_path / str(turn))
        own.state.mkdir(parents=True)
        monkeypatch.setenv("XDG_STATE_HOME", str(own.state))
        agent = Agent(netprobe)
        assert agent.answers()
        count = draw.randint(1, 5)
        for number in range(1, count + 1):
            agent.start("guard", **keys_of(*own.command(number)))
        time.sleep(draw.choice([0.0, 0.001, 0.002, 0.005, 0.01, 0.05]) * draw.random())
        agent.kill()
        assert own.settled()
        answered = sum(b'"guard"' in line for line in agent.lines)
        undone = [int(line) for line in own.lines()]
        assert undone == list(range(len(undone), 0, -1)), (turn, undone)
        assert answered <= len(undone) <= count
        cut += len(undone) < count or answered < len(undone)
        (last,) = by_hand(netprobe, "leftovers")
        assert last["count"] == 0
        assert own.files() == []
    assert cut > 0, "the kills all came too late"


def test_an_agent_killed_while_it_undoes_leaves_no_entry(netprobe: Path, notes: Notes) -> None:
    """The command that ran at that moment runs again, and no other one does."""
    agent = Agent(netprobe)
    for number in range(1, 6):
        guard(agent, *notes.command(number, "sleep 0.2"))
    agent.ask("quit")
    until = time.monotonic() + PATIENCE_S
    while len(notes.lines()) < 2 and time.monotonic() < until:
        time.sleep(0.01)
    agent.kill()
    assert notes.settled()
    undone = notes.lines()
    again = [undone[i] for i in range(1, len(undone)) if undone[i] == undone[i - 1]]
    assert sorted(set(undone), reverse=True) == list("54321")
    assert undone == sorted(undone, reverse=True)
    assert len(again) <= 1
    assert notes.files() == []


def test_the_keeper_repeats_an_undo_that_was_killed_with_its_agent(
    netprobe: Path, notes: Notes
) -> None:
    agent = Agent(netprobe)
    entry = guard(agent, *notes.command("x", f"[ -e '{notes.state}/go' ] || sleep 600"))
    name = agent.start("undo", entry=entry)
    pid = agent.next(name)["pid"]
    until = time.monotonic() + PATIENCE_S
    while not notes.lines() and time.monotonic() < until:
        time.sleep(0.01)
    (notes.state / "go").touch()
    agent.kill()
    assert gone(pid)
    assert notes.settled()
    assert notes.lines() == ["x", "x"]
    assert notes.files() == []


def test_a_program_of_a_killed_agent_ends_before_its_change_is_undone(
    netprobe: Path, notes: Notes
) -> None:
    agent = Agent(netprobe)
    guard(agent, *notes.command("undone"))
    change = "while :; do echo change >> '{}'; done".format(notes.state.parent / "notes")
    shell(agent, change)
    until = time.monotonic() + PATIENCE_S
    while not notes.lines() and time.monotonic() < until:
        time.sleep(0.01)
    agent.kill()
    assert notes.settled()
    lines = notes.lines()
    assert lines[-1] == "undone"
    assert lines.count("undone") == 1
    assert "change" in lines


def test_an_agent_ends_its_programs_before_it_undoes_its_entries(
    netprobe: Path, notes: Notes
) -> None:
    with Agent(netprobe) as agent:
        guard(agent, *notes.command("undone"))
        change = "echo up; trap '' TERM; while :; do echo change >> '{}'; done"
        name = shell(agent, change.format(notes.state.parent / "notes"))
        printed(agent, name)
    assert ended(agent, name).last["error"] == "stopped"
    assert notes.lines()[-1] == "undone"


def test_a_killed_keeper_is_replaced_when_the_next_entry_is_registered(
    netprobe: Path, notes: Notes
) -> None:
    agent = Agent(netprobe)
    guard(agent, *notes.command(1))
    first = keeper_of(agent)
    os.kill(first, signal.SIGKILL)
    assert gone(first)
    guard(agent, *notes.command(2))
    assert keeper_of(agent) != first
    agent.kill()
    assert notes.settled()
    assert notes.lines() == list("21")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE])
def test_a_keeper_survives_signals_that_arrive_right_after_its_start(
    faulty_probe: Path, notes: Notes, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    monkeypatch.setenv("FAULTY", "late")
    agent = Agent(faulty_probe)
    guard(agent, *notes.command(1))
    os.kill(keeper_of(agent), number)
    agent.kill()
    assert notes.settled()
    assert notes.lines() == ["1"]


def test_no_keeper_outlives_its_agent(netprobe: Path, notes: Notes) -> None:
    with Agent(netprobe) as agent:
        guard(agent, "false")
        keeper = keeper_of(agent)
    assert gone(keeper)
    agent = Agent(netprobe)
    guard(agent, "false")
    keeper = keeper_of(agent)
    agent.kill()
    assert gone(keeper)


def test_an_undone_entry_is_not_undone_again_by_the_keeper(netprobe: Path, notes: Notes) -> None:
    agent = Agent(netprobe)
    entries = [guard(agent, *notes.command(number)) for number in (1, 2, 3)]
    undo(agent, entries[1])
    agent.kill()
    assert notes.settled()
    assert notes.lines() == list("231")
