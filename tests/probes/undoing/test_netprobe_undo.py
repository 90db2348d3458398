"""Commands that undo changes of a host: how they are registered, undone and listed."""

from __future__ import annotations

import os
import signal
import stat
import time
from pathlib import Path

import pytest
from netprobe_agents import PATIENCE_S, Agent, Reply, ended, gone, netprobe, printed
from undo_logs import (
    SLOT_BYTES,
    Notes,
    by_hand,
    guard,
    keeper_of,
    keys_of,
    leftovers,
    notes,
    orphan,
    undo,
)

__all__ = ["netprobe", "notes"]

pytestmark = [pytest.mark.lab, pytest.mark.needs("linux")]


def test_an_undo_entry_is_in_a_private_file_before_the_answer(netprobe: Path, notes: Notes) -> None:
    with Agent(netprobe) as agent:
        entry = guard(agent, "echo", "gso", "on again", "")
        (file,) = notes.files()
        assert entry == f"{file.name}-1"
        assert b"echo\0gso\0on again\0\0" in file.read_bytes()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        for folder in (notes.log, notes.log.parent):
            assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert guard(agent, "true") == f"{file.name}-2"
        assert file.stat().st_size == 2 * SLOT_BYTES
        assert "undo" in agent.ask("hello")["capabilities"].split(",")
    assert notes.files() == []


@pytest.mark.needs("strace")
def test_the_undo_log_and_its_folder_are_synced_before_the_answer(
    netprobe: Path, notes: Notes, tmp_path: Path
) -> None:
    trace = tmp_path / "trace"
    script = tmp_path / "traced"
    calls = "openat,pwrite64,fsync,write,mkdirat"
    # Under the sanitizers too: the one of leaks cannot run in a process that is traced.
    command = f"ASAN_OPTIONS=detect_leaks=0 exec strace -f -y -o '{trace}' -e {calls}"
    script.write_text(f"#!/bin/sh\n{command} '{netprobe}' \"$@\"\n")
    script.chmod(0o755)
    with Agent(script) as agent:
        guard(agent, "true")
        deeds = [line.split(maxsplit=1)[1] for line in trace.read_text().splitlines()]
    answer = next(
        i for i, deed in enumerate(deeds) if deed.startswith("write(") and "guard" in deed
    )
    (file,) = {deed.split("<")[1].split(">")[0] for deed in deeds if deed.startswith("pwrite64(")}
    written = next(i for i, deed in enumerate(deeds) if deed.startswith("pwrite64("))
    index = next(i for i, deed in enumerate(deeds) if "O_EXCL" in deed)
    synced = {
        folder: [i for i, deed in enumerate(deeds) if deed.startswith("fsync(") and folder in deed]
        for folder in (f"<{notes.state}>", f"<{notes.log.parent}>", f"<{notes.log}>", f"<{file}>")
    }
    assert all(places and places[-1] < answer for places in synced.values()), synced
    assert synced[f"<{notes.log}>"][-1] > index
    assert synced[f"<{file}>"][-1] > written


def test_undo_runs_the_command_and_removes_the_entry(netprobe: Path, notes: Notes) -> None:
    with Agent(netprobe) as agent:
        entries = [guard(agent, *notes.command(number, "echo out")) for number in (1, 2)]
        ran = undo(agent, entries[0])
        assert ran.texts[1] == "out\n"
        assert (ran.last["exit_code"], ran.last["entry"]) == (0, entries[0])
        assert "left" not in ran.last
        assert undo(agent, entries[0]).last["error"] == "unknown-entry"
        assert notes.lines() == ["1"]
    assert notes.lines() == ["1", "2"]


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (("sh", "-c", "exit 3"), "exit_code", 3),
        (("sh", "-c", "kill -SEGV $$"), "signal", signal.SIGSEGV),
        (("no-such-program",), "error", "program-missing"),
        (("sleep", "60"), "error", "deadline"),
    ],
)
def test_an_undo_entry_with_a_failing_command_stays_listed(
    netprobe: Path, notes: Notes, words: tuple[str, ...], key: str, value: object
) -> None:
    agent = Agent(netprobe)
    entry = guard(agent, *words, deadline=0.5 if words[0] == "sleep" else 20)
    for _ in range(2):
        last = undo(agent, entry).last
        assert (last[key], last["left"], last["entry"]) == (value, 1, entry)
    keeper = keeper_of(agent)
    os.kill(keeper, signal.SIGKILL)
    agent.kill()
    assert gone(keeper)
    (left,) = leftovers_by_hand(netprobe)
    assert left["entry"] == entry
    expected = {"program-missing": ("exit_code", 127), "deadline": ("killed", 1)}
    name, number = expected.get(str(value), (key, value))
    assert left[name] == number
    assert len({"exit_code", "signal", "killed"} & left.keys()) == 1
    assert left["tried_wall_ns"] >= left["written_wall_ns"]


def leftovers_by_hand(netprobe: Path) -> list[Reply]:
    *records, last = by_hand(netprobe, "leftovers")
    assert last["count"] == len(records)
    return records


def test_an_undo_entry_remains_if_its_undo_is_stopped(netprobe: Path, notes: Notes) -> None:
    with Agent(netprobe) as agent:
        entry = guard(agent, "sh", "-c", f"[ -e '{notes.state}/go' ] && exit 0; echo up; sleep 600")
        name = agent.start("undo", entry=entry)
        assert agent.next(name)["type"] == "started"
        assert printed(agent, name) == ["up"]
        assert undo(agent, entry).last["error"] == "entry-in-use"
        agent.ask("stop", test=name, abort=1)
        last = ended(agent, name).last
        assert (last["error"], last["left"]) == ("stopped", 1)
        (notes.state / "go").touch()
    assert notes.files() == []


def test_entries_of_a_dead_agent_are_listed_and_undone_on_request(
    netprobe: Path, notes: Notes
) -> None:
    began_ns = time.time_ns()
    entries = orphan(netprobe, notes.command(1), ("echo", "a b", "", "c"), ("true",))
    with Agent(netprobe) as agent:
        listing = leftovers(agent)
        assert [record["entry"] for record in listing] == entries[::-1]
        assert listing[1]["program"] == "echo"
        assert listing[1]["arguments"] == "a b\n\nc"
        assert "arguments" not in listing[0]
        assert listing[0]["deadline_ns"] == 20_000_000_000
        assert began_ns - 10**9 < listing[0]["written_wall_ns"] < time.time_ns() + 10**9
        assert listing[0]["network_id"] == agent.ask("hello")["network_id"]
        assert not {"exit_code", "signal", "killed", "tried_wall_ns", "damaged"} & listing[0].keys()
        assert listing[0]["file"] == str(notes.files()[0])
        for entry in entries[::-1]:
            assert "left" not in undo(agent, entry).last
        assert leftovers(agent) == []
        assert notes.lines() == ["1"]
    assert notes.files() == []


def test_an_agent_at_its_end_undoes_no_entry_of_a_dead_agent(netprobe: Path, notes: Notes) -> None:
    orphan(netprobe, notes.command(1))
    with Agent(netprobe) as agent:
        assert len(leftovers(agent)) == 1
        guard(agent, *notes.command("own"))
    assert notes.lines() == ["own"]
    assert len(notes.files()) == 1


def test_two_agents_do_not_undo_the_entries_of_each_other(netprobe: Path, notes: Notes) -> None:
    with Agent(netprobe) as first, Agent(netprobe) as second:
        entry = guard(first, *notes.command("first"))
        guard(second, *notes.command("second"))
        assert leftovers(second) == leftovers(first) == []
        assert undo(second, entry).last["error"] == "entry-in-use"
        assert notes.lines() == []
        first.ask("quit")
        assert first.process.wait(PATIENCE_S) == 0
        assert notes.lines() == ["first"]
        assert len(notes.files()) == 1
    assert notes.lines() == ["first", "second"]


def test_an_entry_registered_without_an_agent_stays_until_it_is_undone(
    netprobe: Path, notes: Notes
) -> None:
    words = [f"{key}={value}" for key, value in keys_of(*notes.command(1)).items()]
    (answer,) = by_hand(netprobe, "guard", *words)
    assert notes.lines() == []
    assert [record["entry"] for record in leftovers_by_hand(netprobe)] == [answer["entry"]]
    records = by_hand(netprobe, "undo", f"entry={answer['entry']}")
    assert [record["type"] for record in records] == ["started", "result"]
    assert notes.lines() == ["1"]
    assert notes.files() == []


def test_an_agent_accepts_at_most_64_undo_entries_and_600_seconds_of_deadlines_together(
    netprobe: Path, notes: Notes
) -> None:
    with Agent(netprobe) as agent:
        entries = [guard(agent, "true", deadline=5) for _ in range(64)]
        assert agent.ask("guard", **keys_of("true"))["error"] == "too-many-entries"
        undo(agent, entries[5])
        assert guard(agent, "true").endswith("-65")
        for entry in entries:
            undo(agent, entry)
        for _ in range(9):
            guard(agent, "true", deadline=60)
        assert agent.ask("guard", **keys_of("true", deadline=60))["error"] == "too-many-entries"
        guard(agent, "true", deadline=40)
    assert notes.files() == []


WRONG_REQUESTS = [
    ("guard program=true deadline=60.1", "bad-value", "deadline"),
    ("guard program=true deadline=0.09", "bad-value", "deadline"),
    ("guard program=true", "missing-key", "deadline"),
    ("guard deadline=1", "missing-key", "program"),
    ("guard program=true deadline=1 entry=1", "unknown-key", "entry"),
    ("undo", "missing-key", "entry"),
    ("undo entry=1", "unknown-entry", "entry"),
    ("undo entry=0123456789abcdef-1", "unknown-entry", "entry"),
    ("undo entry=0123456789abcdef-0", "unknown-entry", "entry"),
    ("undo entry=../../../etc/pass-1", "unknown-entry", "entry"),
    ("leftovers entry=1", "unknown-key", "entry"),
]


def test_a_bad_undo_request_is_refused_and_registers_nothing(netprobe: Path, notes: Notes) -> None:
    with Agent(netprobe) as agent:
        for number, (request_text, error, key) in enumerate(WRONG_REQUESTS):
            agent.raw(f"x{number} {request_text}\n".encode())
            record = agent.next(f"x{number}")
            assert (record["error"], record["key"]) == (error, key), request_text
            assert notes.files() == []


def test_an_undo_command_has_the_environment_of_a_program(netprobe: Path, notes: Notes) -> None:
    line = (
        "echo $LC_ALL; pwd; cat; sed -n '/^Sig[BI]/p' /proc/self/status; ls /proc/self/fd | wc -l"
    )
    out = notes.state / "out"
    words = ("sh", "-c", f"({line}) > '{out}' 2>&1")
    for way in ("end", "kill"):
        agent = Agent(netprobe)
        guard(agent, *words)
        if way == "kill":
            agent.kill()
            assert notes.settled()
        else:
            with agent:
                pass
        lines = out.read_text().split()
        assert lines[:4] == ["C", "/", "SigBlk:", "0" * 16], way
        assert int(lines[5], 16) & ~(0b11 << 31) == 0
        assert lines[6] == "4"
        out.unlink()
