"""How other programs that an agent runs end: at their deadline, when asked, and with the agent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

import pytest
from netprobe_agents import (
    PATIENCE_S,
    Agent,
    agent,
    ended,
    gone,
    lives,
    netprobe,
    printed,
    shell,
    started,
)

__all__ = ["agent", "netprobe"]

pytestmark = [pytest.mark.lab, pytest.mark.needs("linux")]

FAMILY = "sleep 600 & echo $$; echo $!; wait"
"""A program of the shell and one that it starts; both print their process ids."""


def family(agent: Agent, deadline: float = 30) -> tuple[str, list[int]]:
    """The id of a program that started another one, and the pids of both."""
    name = shell(agent, FAMILY, deadline)
    pids = [int(line) for line in printed(agent, name, 2)]
    assert all(map(lives, pids))
    return name, pids


# ---- its end ----


def test_the_deadline_ends_a_program_and_its_child(agent: Agent) -> None:
    began = time.monotonic()
    name, pids = family(agent, deadline=3)
    assert ended(agent, name).last["error"] == "deadline"
    assert time.monotonic() - began >= 3
    assert gone(*pids)


def test_output_of_a_program_before_its_deadline_is_reported(agent: Agent) -> None:
    ran = ended(agent, shell(agent, "sleep 0.35; printf late; sleep 600", deadline=4))
    assert ran.texts[1] == "late"
    assert ran.last["error"] == "deadline"


def test_a_stop_lets_a_program_end_by_itself(agent: Agent) -> None:
    name = shell(agent, "trap 'echo asked; exit 5' TERM; echo up; while :; do sleep 0.01; done")
    printed(agent, name)
    assert agent.ask("stop", test=name, sent=7)["type"] == "stop"
    ran = ended(agent, name)
    assert (ran.texts[1], ran.last["exit_code"]) == ("asked\n", 5)


def test_a_program_that_ignores_a_stop_is_killed(agent: Agent) -> None:
    name = shell(agent, "trap '' TERM; echo $$; while :; do sleep 0.1; done")
    (pid,) = map(int, printed(agent, name))
    began = time.monotonic()
    agent.ask("stop", test=name)
    assert ended(agent, name).last["signal"] == signal.SIGKILL
    assert time.monotonic() - began > 0.9
    assert gone(pid)


def test_an_abort_kills_a_program_and_its_child(agent: Agent) -> None:
    name = shell(agent, "trap '' TERM; sleep 600 & echo $$; echo $!; wait; wait")
    pids = [int(line) for line in printed(agent, name, 2)]
    agent.ask("stop", test=name, abort=1)
    assert ended(agent, name).last["error"] == "stopped"
    assert gone(*pids)
    assert agent.ask("stop", test=name)["error"] == "unknown-test"


def test_children_of_a_program_end_with_the_program(agent: Agent) -> None:
    ran = ended(agent, shell(agent, "sleep 600 & echo $!"))
    assert ran.last["exit_code"] == 0
    assert gone(int(ran.texts[1]))


def test_a_child_in_another_session_does_not_delay_the_result_of_a_program(
    agent: Agent, tmp_path: Path
) -> None:
    said = tmp_path / "said"
    child = f"setsid sh -c 'echo $$; : > {said}; exec sleep 600'"
    name = shell(agent, f"{child} & until [ -e {said} ]; do sleep 0.01; done")
    ran = ended(agent, name)
    pid = int(ran.texts[1])
    try:
        assert lives(pid)
        assert ran.last["exit_code"] == 0
    finally:
        os.kill(pid, signal.SIGKILL)


# ---- none is left behind ----


def test_closed_input_ends_all_programs_of_an_agent(agent: Agent) -> None:
    programs = [family(agent) for _ in range(3)]
    assert agent.process.stdin is not None
    agent.process.stdin.close()
    assert agent.process.wait(PATIENCE_S) == 0
    for name, pids in programs:
        assert ended(agent, name).last["error"] == "stopped"
        assert not any(map(lives, pids))


def test_quit_ends_the_programs_of_an_agent(agent: Agent) -> None:
    name, pids = family(agent)
    assert agent.ask("quit")["type"] == "quit"
    assert agent.process.wait(PATIENCE_S) == 0
    assert ended(agent, name).last["error"] == "stopped"
    assert not any(map(lives, pids))


def test_a_silent_controller_ends_the_programs_of_an_agent(netprobe: Path) -> None:
    with Agent(netprobe, "lease_s=2", "silence_s=5") as agent:
        began = time.monotonic()
        name, pids = family(agent)
        assert ended(agent, name).last["error"] == "stopped"
        assert time.monotonic() - began > 4
        assert agent.process.wait(PATIENCE_S) == 0
    assert not any(map(lives, pids))


def test_a_program_outlives_the_lease_of_its_agent(netprobe: Path) -> None:
    with Agent(netprobe, "lease_s=2") as agent:
        ran = ended(agent, shell(agent, "sleep 3; echo done"))
        assert ran.texts[1] == "done\n"
        assert agent.process.wait(PATIENCE_S) == 0


def children(agent: Agent) -> set[int]:
    """The processes that an agent has started: each program, and a keeper of each."""
    paths = Path(f"/proc/{agent.process.pid}/task").glob("*/children")
    return {int(pid) for path in paths for pid in path.read_text().split()}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_a_killed_agent_leaves_no_program(netprobe: Path, number: signal.Signals) -> None:
    agent = Agent(netprobe)
    programs = [family(agent) for _ in range(2)]
    own = children(agent)
    assert len(own) == 4
    agent.process.send_signal(number)
    assert agent.process.wait(PATIENCE_S) != 0
    agent.kill()
    assert gone(*own, *(pid for _, pids in programs for pid in pids))


def test_a_program_without_a_keeper_ends_with_its_killed_agent(netprobe: Path) -> None:
    """By the kernel's own signal, which those that it started do not get."""
    agent = Agent(netprobe)
    _, (program, grandchild) = family(agent)
    (keeper,) = children(agent) - {program}
    try:
        os.kill(keeper, signal.SIGKILL)
        time.sleep(0.1)
        assert lives(program)
        agent.kill()
        assert gone(program)
    finally:
        os.kill(grandchild, signal.SIGKILL)


def test_a_program_in_another_process_group_ends_when_stopped_and_with_its_agent(
    netprobe: Path,
) -> None:
    with Agent(netprobe) as agent:
        name = started(agent, sys.executable, "-c", LEAVES_ITS_GROUP)
        printed(agent, name)
        agent.ask("stop", test=name)
        assert ended(agent, name).last["signal"] == signal.SIGTERM
        name = started(agent, sys.executable, "-c", LEAVES_ITS_GROUP)
        (pid,) = map(int, printed(agent, name))
    assert gone(pid)
    agent = Agent(netprobe)
    name = started(agent, sys.executable, "-c", LEAVES_ITS_GROUP)
    (pid,) = map(int, printed(agent, name))
    agent.kill()
    assert gone(pid)


LEAVES_ITS_GROUP = (
    "import os, time; os.setpgid(0, os.getpgid(os.getppid())); print(os.getpid(), flush=True);"
    "time.sleep(600)"
)


def test_an_agent_leaves_no_program_after_its_output_is_closed(netprobe: Path) -> None:
    command = [str(netprobe), "agent"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        words = quote("-c\n" + FAMILY)
        process.stdin.write(f"p run program=sh arguments={words} deadline=60\n".encode())
        process.stdin.flush()
        text = ""
        while text.count("\n") < 2:
            text += json.loads(process.stdout.readline()).get("text", "")
        process.stdout.close()
        process.stdin.write(b"h heartbeat\n")
        process.stdin.flush()
        assert process.wait(PATIENCE_S) == 1
    assert gone(*map(int, text.split()))
