"""The controller's side of the undo log, and programs that run to their end, on a real agent."""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from netprobe_agents import netprobe
from played_agents import PlayedAgents, played
from undo_logs import Notes, notes, orphan

from netlab.errors import HostGone, ProbeError
from netlab.experiment.hosts import Host
from netlab.remote.agent import Agent
from netlab.remote.answers import TEST_RECORDS_AT_ONCE, Answers
from netlab.remote.programs import Leftover, guard, in_order, leftovers, run_to_end, undo
from netlab.remote.transport import LocalTransport

__all__ = ["netprobe", "notes", "played"]

pytestmark = pytest.mark.needs("linux")

HERE = Host(name="here", os="L", local=True)
Opener = Callable[..., Agent]


@pytest.fixture
def opened(netprobe: Path, notes: Notes) -> Iterator[Opener]:
    """Opens agents whose undo log is the test's."""
    agents: list[Agent] = []

    def start() -> Agent:
        transport = LocalTransport(HERE)
        agent = Agent(HERE, transport, transport.start([str(netprobe), "agent"]))
        agents.append(agent)
        agent.greet(None)
        return agent

    yield start
    for agent in agents:
        agent.close()


# ---- programs to their end ----


@pytest.mark.parametrize(
    ("script", "expected"),
    [
        ("echo out; echo err >&2; exit 3", (3, None, False, "out\n", "err\n")),
        ("echo out; kill -SEGV $$", (None, signal.SIGSEGV, False, "out\n", "")),
        ("echo out; exec sleep 60", (None, None, True, "out\n", "")),
        ("true", (0, None, False, "", "")),
    ],
)
@pytest.mark.lab
def test_the_agent_reports_the_exit_code_signal_and_output_of_a_program(
    opened: Opener, script: str, expected: Any
) -> None:
    ended = run_to_end(opened(), ("sh", "-c", script), 2.0 if "sleep" in script else 20.0)
    outcome = ended.exit_code, ended.signal, ended.killed, ended.text, ended.errors
    assert outcome == expected
    assert not ended.is_cut


@pytest.mark.lab
def test_long_output_of_a_program_is_cut_and_marked_as_cut(opened: Opener) -> None:
    ended = run_to_end(opened(), ("head", "-c", "2000000", "/dev/zero"), 20.0)
    assert (ended.exit_code, ended.is_cut, len(ended.text)) == (0, True, 1 << 20)


@pytest.mark.lab
def test_a_missing_program_is_named(opened: Opener) -> None:
    with pytest.raises(ProbeError, match="this host has no program no-such-program") as caught:
        run_to_end(opened(), ("no-such-program", "x"), 1.0)
    assert caught.value.word == "program-missing"


# ---- guard and undo ----


@pytest.mark.lab
def test_a_registered_undo_command_runs_once(opened: Opener, notes: Notes) -> None:
    agent = opened()
    first, second = (guard(agent, notes.command(number, "echo out"), 5.0) for number in (1, 2))
    undone = undo(agent, first, 5.0)
    assert (undone.left, undone.exit_code) == (False, 0)
    assert (undone.signal, undone.killed, undone.output) == (None, False, "out")
    with pytest.raises(ProbeError) as caught:
        undo(agent, first, 5.0)
    assert caught.value.word == "unknown-entry"
    assert first in str(caught.value)
    assert notes.lines() == ["1"]
    agent.close()
    assert notes.lines() == ["1", "2"]
    assert second != first


@pytest.mark.parametrize(
    ("words", "ending"),
    [
        (("sh", "-c", "seq 12; echo why >&2; exit 3"), (3, None, False)),
        (("sh", "-c", "kill -KILL $$"), (None, signal.SIGKILL, False)),
        (("sleep", "60"), (None, None, True)),
        (("no-such-program",), (127, None, False)),
    ],
)
@pytest.mark.lab
def test_an_undo_command_that_fails_stays_in_the_undo_log(
    opened: Opener, words: tuple[str, ...], ending: object
) -> None:
    agent = opened()
    limit_s = 0.5 if words[0] == "sleep" else 20.0
    undone = undo(agent, guard(agent, words, limit_s), limit_s)
    assert undone.left
    assert (undone.exit_code, undone.signal, undone.killed) == ending
    if undone.exit_code == 3:
        # The last lines of both streams.
        assert undone.output.split() == [*map(str, range(3, 13)), "why"]


@pytest.mark.lab
def test_an_undo_command_without_an_answer_in_time_is_ended_and_can_be_tried_again(
    opened: Opener, notes: Notes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("netlab.remote.programs.ENDS_S", 0.2)
    agent = opened()
    entry = guard(agent, ("sh", "-c", f"[ -e '{notes.state}/go' ] || sleep 60"), 20.0)
    with pytest.raises(ProbeError) as caught:
        undo(agent, entry, 0.2)
    assert caught.value.word == "no-answer"
    (notes.state / "go").touch()
    until = time.monotonic() + 60
    while True:
        try:
            assert not undo(agent, entry, 5.0).left
        except ProbeError as error:
            # The agent still ends the first try.
            assert error.word == "entry-in-use"
            assert time.monotonic() < until
            time.sleep(0.05)
        else:
            return


@pytest.mark.lab
def test_a_host_lost_during_an_undo_command_is_gone(opened: Opener) -> None:
    agent = opened()
    entry = guard(agent, ("sh", "-c", "kill -KILL $PPID; sleep 1"), 5.0)
    with pytest.raises(HostGone):
        undo(agent, entry, 5.0)


@pytest.mark.agents
def test_a_probe_without_an_undo_log_registers_nothing(played: PlayedAgents) -> None:
    agent = played.greeted("no-undo")
    with pytest.raises(ProbeError) as caught:
        guard(agent, ("true",), 5.0)
    assert caught.value.word == "capability-missing"
    with pytest.raises(ProbeError):
        undo(agent, "0123456789abcdef-1", 5.0)
    assert leftovers(agent).entries == ()
    assert [line.split()[1] for line in played.processes[0].lines] == ["hello"]


# ---- leftovers ----


@pytest.mark.lab
def test_undo_commands_left_by_ended_agents_are_listed_as_they_were_registered(
    netprobe: Path, opened: Opener, notes: Notes
) -> None:
    began_ns = time.time_ns()
    first = orphan(netprobe, ("echo", "a b", "", "c"), ("false",))
    second = orphan(netprobe, ("true",))
    agent = opened()
    assert undo(agent, first[1], 20.0).exit_code == 1
    listing = leftovers(agent)
    assert (listing.left_out, listing.elsewhere) == (0, 0)
    assert [leftover.entry for leftover in listing.entries] == [*second, first[1], first[0]]
    last, _failed, echo = listing.entries
    assert (last.words, echo.words) == (("true",), ("echo", "a b", "", "c"))
    assert echo.deadline_s == 20.0
    assert echo.network_id == Path("/proc/self/ns/net").stat().st_ino
    assert began_ns - 10**9 < echo.written_wall_ns < time.time_ns() + 10**9
    assert {leftover.file for leftover in listing.entries} == set(map(str, notes.files()))


def test_undo_commands_left_in_one_file_stay_in_order_although_the_clock_was_set() -> None:
    def entry(name: str, second: int) -> Leftover:
        return Leftover(name, name[0], written_wall_ns=second * 10**9)

    damaged = Leftover("", "a", damaged=True)
    entries = [damaged, entry("a3", 10), entry("a2", 50), entry("b2", 40), entry("b1", 5)]
    names = [leftover.entry for leftover in in_order(entries)]
    assert names == ["b2", "a3", "a2", "b1", ""]


LEFTOVER: dict[str, Any] = {
    "type": "leftover",
    "file": "/state/netlab/undo/1f1142ebb697033b",
    "entry": "1f1142ebb697033b-1",
    "program": "true",
    "arguments": "x",
    "deadline_ns": 20_000_000_000,
    "written_wall_ns": 1_790_000_000_000_000_000,
    "network_id": 4026531833,
}
LEFTOVERS: dict[str, Any] = {"type": "leftovers", "count": 1, "left_out": 0, "elsewhere": 0}
MISSING: Any = object()


def told(of: dict[str, Any], key: str, value: Any) -> dict[str, Any]:
    """A record with another value of a key, or without it."""
    return {k: v for k, v in (of | {key: value}).items() if v is not MISSING}


@pytest.mark.agents
def test_a_valid_record_of_a_leftover_undo_command_is_accepted(played: PlayedAgents) -> None:
    (leftover,) = leftovers(played.greeted(scripted={"leftovers": [LEFTOVER, LEFTOVERS]})).entries
    assert (leftover.words, leftover.deadline_s) == (("true", "x"), 20.0)


@pytest.mark.agents
@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("program", ["sh"], "its leftover has program ['sh']"),
        ("program", MISSING, "its leftover has no program"),
        ("arguments", 1, "its leftover has arguments 1"),
        ("file", MISSING, "its leftover has no file"),
        ("file", None, "its leftover has file None"),
        ("entry", "1; reboot", "its leftover has entry '1; reboot'"),
        ("entry", MISSING, "its leftover has no entry"),
        ("deadline_ns", "long", "its leftover has deadline_ns 'long'"),
        ("deadline_ns", -1, "its leftover has deadline_ns -1"),
        ("written_wall_ns", math.inf, "its leftover has written_wall_ns inf"),
        ("written_wall_ns", MISSING, "its leftover has no written_wall_ns"),
        ("network_id", [1], "its leftover has network_id [1]"),
        ("damaged", 2, "its leftover has damaged 2"),
        ("type", "output", "it answered `leftovers` with `output`"),
    ],
)
def test_an_invalid_record_of_a_leftover_undo_command_is_refused_with_its_key(
    played: PlayedAgents, key: str, value: Any, words: str
) -> None:
    agent = played.greeted(scripted={"leftovers": [told(LEFTOVER, key, value), LEFTOVERS]})
    with pytest.raises(ProbeError) as caught:
        leftovers(agent)
    assert caught.value.word == "bad-answer"
    assert words in caught.value.detail


@pytest.mark.agents
@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("count", 7, "its record leftovers has count 7, but 1 came"),
        ("count", MISSING, "its leftovers has no count"),
        ("elsewhere", 1.5, "its leftovers has elsewhere 1.5"),
    ],
)
def test_an_invalid_last_record_of_a_list_of_undo_commands_is_refused_with_its_key(
    played: PlayedAgents, key: str, value: Any, words: str
) -> None:
    agent = played.greeted(scripted={"leftovers": [LEFTOVER, told(LEFTOVERS, key, value)]})
    with pytest.raises(ProbeError) as caught:
        leftovers(agent)
    assert caught.value.word == "bad-answer"
    assert words in caught.value.detail


@pytest.mark.agents
@pytest.mark.parametrize(
    "entry", [7, "", "a b", "../../etc", "`reboot`", 65 * "1"], ids=lambda entry: repr(entry)[:12]
)
def test_an_invalid_id_of_an_undo_log_entry_is_refused(played: PlayedAgents, entry: Any) -> None:
    agent = played.greeted(scripted={"guard": [{"type": "guard", "entry": entry}]})
    with pytest.raises(ProbeError, match=r"its guard has entry .* the id of an entry"):
        guard(agent, ("true",), 5.0)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"entry": None}, "its result has entry None"),
        ({"left": "yes"}, "its result has left 'yes'"),
        ({"exit_code": -1}, "its result has exit_code -1"),
        ({"discarded_bytes": 0.5}, "its result has discarded_bytes 0.5"),
        ({"type": "ready"}, "it answered `undo` with `ready`"),
    ],
)
def test_an_invalid_result_of_an_undo_command_is_refused_with_its_key(
    more: dict[str, Any], words: str
) -> None:
    counts = {"elapsed_ns": 1, "output_bytes": 0, "discarded_bytes": 0}
    record = {"type": "result", "id": "1", "entry": "ab-1", **counts}
    answers = Answers("undo", {"entry": "ab-1"})
    assert answers.checked(record, 0.0) is record
    for key in ("entry", *counts):
        part = {name: value for name, value in record.items() if name != key}
        refused = answers.checked(part, 0.0)
        assert refused is not None
        assert refused["detail"] == f"its result has no {key}"
    refused = answers.checked(record | more, 0.0)
    assert refused is not None
    assert refused["error"] == "bad-answer"
    assert words in refused["detail"]


@pytest.mark.agents
def test_an_invalid_start_record_of_an_undo_command_is_refused(played: PlayedAgents) -> None:
    agent = played.greeted(scripted={"undo": [{"type": "ready", "port": 1}]})
    with pytest.raises(ProbeError, match="it answered `undo` with `ready`"):
        undo(agent, "1f1142ebb697033b-1", 5.0)


def test_an_endless_list_of_leftover_undo_commands_is_refused() -> None:
    answers = Answers("leftovers", {})
    record = {"type": "leftover", "id": "1", "file": "f", "damaged": 1}
    believed = [answers.checked(record, 0.0) for _ in range(TEST_RECORDS_AT_ONCE)]
    assert believed == [record] * TEST_RECORDS_AT_ONCE
    refused = answers.checked(record, 0.0)
    assert refused is not None
    assert refused["detail"] == "it sends too many records"
