"""How agents and tests end on every system that can run here, and who holds a Windows host."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from netprobe_agents import PATIENCE_S, open_trial
from platform_trials import KEYS
from runners import Runner

pytestmark = pytest.mark.lab


def test_closed_input_ends_an_agent_in_the_middle_of_a_stream(runner: Runner) -> None:
    with runner.agent() as receiver, runner.agent() as sender:
        open_trial((receiver, sender), seconds=300)
        time.sleep(0.3)
        for agent in (receiver, sender):
            assert agent.process.stdin is not None
            agent.process.stdin.close()
            assert agent.process.wait(PATIENCE_S) == 0


def test_an_agent_exits_after_its_lease_without_a_line(runner: Runner) -> None:
    with runner.agent("lease_s=3") as agent:
        agent.ask("heartbeat")
        for _ in range(20):
            time.sleep(0.2)
            agent.raw(b"\n")
        assert agent.process.poll() is None
        assert agent.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_an_abort_ends_a_blocked_stream_on_windows(windows: Runner, protocol: str) -> None:
    with windows.agent() as receiver, windows.agent() as sender:
        keys = KEYS[protocol] | ({} if protocol == "tcp" else {"message_rate": 1})
        running_trial = open_trial((receiver, sender), proto=protocol, seconds=300, **keys)
        sender.next(running_trial.sample, "progress")
        for agent, name in ((receiver, running_trial.receiving), (sender, running_trial.sample)):
            assert agent.ask("stop", test=name, abort=1)["type"] in ("stop", "error")
            record = agent.next(name, "error", "result")
            assert record["error"] in ("stopped", "peer-vanished"), record


def test_a_killed_windows_sender_leaves_its_receiver_an_error_and_no_result(
    linux: Runner, windows: Runner
) -> None:
    """Windows closes a dead program's connections at once, wine's server when it looks: then the
    deadline comes first."""
    with linux.agent() as receiver, windows.agent() as sender:
        running_trial = open_trial(
            (receiver, sender), proto="tcp", seconds=2, deadline=4, **KEYS["tcp"]
        )
        time.sleep(0.5)
        sender.process.kill()
        record = receiver.next(running_trial.receiving, "error", "result")
        assert record["error"] in ("peer-vanished", "deadline")


def test_a_refused_lock_of_a_windows_host_names_its_holder(windows: Runner) -> None:
    with windows.agent() as first:
        assert first.ask("lock", owner="first%20one")["type"] == "lock"
        assert first.ask("lock", owner="first%20one")["type"] == "lock"
        with windows.agent() as second:
            for _ in range(3):
                refusal = second.ask("lock", owner="second")
                assert (refusal["error"], refusal["detail"]) == ("locked", "first one")
            assert first.ask("unlock")["type"] == "unlock"
            assert second.ask("lock", owner="second")["type"] == "lock"
            assert first.ask("lock", owner="first")["detail"] == "second"
        assert first.ask("lock", owner="first")["type"] == "lock"


SILENT_HOLDER = r"""
#include <stdio.h>
#include <windows.h>

int main(void)
{
    HANDLE pipe = CreateNamedPipeW(L"\\\\.\\pipe\\netlab-host",
                                   PIPE_ACCESS_DUPLEX | FILE_FLAG_FIRST_PIPE_INSTANCE,
                                   PIPE_TYPE_BYTE | PIPE_WAIT, 1, 256, 0, 0, NULL);
    puts(pipe == INVALID_HANDLE_VALUE ? "refused" : "ready");
    fflush(stdout);
    ConnectNamedPipe(pipe, NULL);
    Sleep(200000);
    return 0;
}
"""


@pytest.mark.needs("mingw")
def test_a_windows_agent_does_not_wait_for_a_silent_holder_of_the_lock(
    windows: Runner, wine: tuple[str, ...], tmp_path: Path
) -> None:
    """Whoever makes it first may be anybody, and need not say a word."""
    source, program = tmp_path / "holder.c", tmp_path / "holder.exe"
    source.write_text(SILENT_HOLDER)
    subprocess.run(["x86_64-w64-mingw32-gcc", "-o", program, source], check=True)
    with subprocess.Popen([*wine, str(program)], stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline().strip() == b"ready"
            with windows.agent() as agent:
                refusal = agent.next(agent.start("lock", owner="us"), "error")
                assert refusal["error"] == "locked"
        finally:
            holder.kill()
