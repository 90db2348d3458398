"""Programs that agents run, on every system that can run here: their output and their end."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

import pytest
from netprobe_agents import DEADLINE_S, PATIENCE_S, Agent, ended, printed, request, started
from runners import Runner

pytestmark = pytest.mark.lab


def shell(runner: Runner, posix: str, windows: str) -> tuple[str, ...]:
    """Words that make the system's shell run a line."""
    return ("cmd", "/c", windows) if runner.windows else ("sh", "-c", posix)


def endless(runner: Runner, marker: str) -> tuple[str, ...]:
    """A program that does not end and started another one, which prints the marker; both have the
    marker as a word."""
    loop = f"for /l %i in (1,1,2000000000) do @if %i==1 echo {marker}"
    return shell(runner, f"sh -c 'echo {marker}; sleep 600'; : {marker}", f"cmd /c {loop}")


def both_run(agent: Agent, runner: Runner, marker: str, deadline: float = DEADLINE_S) -> str:
    """Start an endless program, and wait until the one that it started runs. A process that wine
    is starting when its parent ends would never end."""
    name = started(agent, *endless(runner, marker), deadline=deadline)
    assert printed(agent, name) == [marker]
    return name


def count(marker: str) -> int:
    """Processes of this machine with the marker on their command line; wine's are among them."""
    count = 0
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            count += marker.encode() in path.read_bytes()
        except OSError:
            continue  # it has ended meanwhile
    return count


def becomes(marker: str, number: int) -> bool:
    """Whether one count is the number: a shell that starts a program is two for a moment."""
    until = time.monotonic() + PATIENCE_S
    while (counted := count(marker)) != number and time.monotonic() < until:
        time.sleep(0.05)
    return counted == number


def test_an_agent_reports_both_outputs_and_the_exit_code_of_a_program(runner: Runner) -> None:
    with runner.agent() as agent:
        assert "run" in agent.ask("hello")["capabilities"].split(",")
        words = shell(runner, "echo out; echo err >&2; exit 3", "echo out& echo err>&2& exit 3")
        ran = ended(agent, started(agent, *words))
        assert {number: text.strip() for number, text in ran.texts.items()} == {1: "out", 2: "err"}
        assert ran.last["exit_code"] == 3
        assert ran.last["elapsed_ns"] > 0
        assert ran.last["user_ns"] + ran.last["system_ns"] < 60e9
        words = shell(runner, 'echo "$LC_ALL$NETPROBE_TOKEN"', "echo %LC_ALL%")
        assert ended(agent, started(agent, *words)).texts[1].strip() == "C"


def test_an_agent_reports_a_program_that_the_host_lacks_as_missing(runner: Runner) -> None:
    with runner.agent() as agent:
        for name in ("no-such-program", "/no/such", "relative/name", "C:\\no\\such.exe"):
            refusal = agent.next(request(agent, name))
            assert refusal["error"] == "program-missing", (name, refusal)
            assert name in refusal["detail"]


def test_programs_end_at_their_deadline_and_when_stopped(runner: Runner) -> None:
    marker = secrets.token_hex(8)
    with runner.agent() as agent:
        late = both_run(agent, runner, marker, deadline=10)
        first, aborted = (both_run(agent, runner, marker) for _ in range(2))
        agent.ask("stop", test=first)
        last = ended(agent, first).last
        assert last["type"] == "result"
        assert (last.get("signal"), last.get("exit_code")) == (
            (None, 1) if runner.windows else (15, None)
        )
        agent.ask("stop", test=aborted, abort=1)
        assert ended(agent, aborted).last["error"] == "stopped"
        assert ended(agent, late).last["error"] == "deadline"
        assert becomes(marker, 0)


@pytest.mark.parametrize("way", ["input", "kill"])
def test_programs_and_their_children_end_with_their_agent(runner: Runner, way: str) -> None:
    marker = secrets.token_hex(8)
    with runner.agent() as agent:
        for _ in range(2):
            both_run(agent, runner, marker)
        assert becomes(marker, 4)
        end_agent(agent, way)
        assert becomes(marker, 0)


def end_agent(agent: Agent, way: str) -> None:
    if way == "kill":
        agent.process.kill()
    else:
        assert agent.process.stdin is not None
        agent.process.stdin.close()
    agent.process.wait(PATIENCE_S)
