"""Other programs that an agent runs: what they print, how they end, and that none is left."""

from __future__ import annotations

import json
import signal
import socket
import stat
import subprocess
from pathlib import Path

import pytest
from netprobe_agents import Agent, agent, ended, netprobe, printed, request, shell, started
from netprobe_bad_lines import LISTEN

__all__ = ["agent", "netprobe"]

pytestmark = [pytest.mark.lab, pytest.mark.needs("linux")]

MIB = 1 << 20


# ---- what is run, and what it prints ----


def test_an_agent_reports_both_outputs_and_the_exit_code_of_a_program(agent: Agent) -> None:
    ran = ended(agent, shell(agent, "echo out; echo err >&2; exit 3"))
    assert ran.texts == {1: "out\n", 2: "err\n"}
    assert (ran.last["exit_code"], ran.last["output_bytes"]) == (3, 8)
    assert "signal" not in ran.last
    assert ran.last["discarded_bytes"] == 0
    assert 0 < ran.last["elapsed_ns"] < 60e9


def test_arguments_reach_a_program_unchanged(agent: Agent) -> None:
    words = ["", "a b", "$HOME", "'\"\\", "ä%20", "*", ""]
    ran = ended(agent, started(agent, "printf", "%s|", *words))
    assert ran.texts[1] == "|".join(words) + "|"
    assert ended(agent, started(agent, "true")).last["exit_code"] == 0


def test_a_program_takes_64_arguments_and_no_more(agent: Agent) -> None:
    words = ["x" * 80] * 63
    ran = ended(agent, started(agent, "printf", "%s|", *words))
    assert ran.texts[1].split("|")[:-1] == words
    refusal = agent.next(request(agent, "printf", "%s|", *words, "x"))
    assert (refusal["error"], refusal["key"]) == ("bad-value", "arguments")


def test_an_agent_reports_the_signal_that_ended_a_program(agent: Agent) -> None:
    ran = ended(agent, shell(agent, "kill -SEGV $$"))
    assert ran.last["signal"] == signal.SIGSEGV
    assert "exit_code" not in ran.last


def test_the_cpu_time_of_a_program_includes_its_children(agent: Agent) -> None:
    work = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
    own, child = (shell(agent, line) for line in (work, f"sh -c '{work}'; true"))
    for name in (own, child):
        last = ended(agent, name).last
        assert 1e6 < last["user_ns"] + last["system_ns"] < 60e9  # nanoseconds


def test_an_agent_reports_why_a_program_does_not_start(agent: Agent, tmp_path: Path) -> None:
    for name in ("no-such-program", "/no/such/program", "bin/sh", "x" * 255):
        refusal = agent.next(request(agent, name))
        assert (refusal["error"], refusal["errno"]) == ("program-missing", 2)
        assert name in refusal["detail"]
    plain = tmp_path / "plain"
    plain.write_text("exit 0\n")
    assert agent.next(request(agent, str(plain)))["error"] == "permission-denied"
    plain.chmod(plain.stat().st_mode | stat.S_IXUSR)
    assert agent.next(request(agent, str(plain)))["error"] == "system"  # no shell tries it
    plain.write_text("#!/bin/sh\necho yes\n")
    assert ended(agent, started(agent, str(plain))).texts[1] == "yes\n"


def test_an_agent_searches_path_and_the_usual_folders_for_a_program(
    netprobe: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    own = tmp_path / "ls"
    own.write_text("#!/bin/sh\necho own\n")
    monkeypatch.setenv("PATH", f"::relative:/no/such:{own}")
    with Agent(netprobe) as agent:
        assert ended(agent, started(agent, "ls", "/")).last["exit_code"] == 0
    monkeypatch.setenv("PATH", str(tmp_path))
    with Agent(netprobe) as agent:  # as a shell does: the next one that can be executed
        assert "own" not in ended(agent, started(agent, "ls", "/")).texts[1]
        own.chmod(0o755)
        assert ended(agent, started(agent, "ls", "/")).texts[1] == "own\n"


# ---- what it inherits ----


def test_a_program_inherits_no_descriptor_of_the_agent(netprobe: Path) -> None:
    with socket.socket() as inherited:
        inherited.set_inheritable(True)
        number = inherited.fileno()
        with Agent(netprobe) as agent:
            agent.raw(f"l receive {LISTEN}\n".encode())
            assert agent.next("l")["type"] == "ready"
            other_programs = [shell(agent, "sleep 60") for _ in range(3)]
            ran = ended(agent, started(agent, "ls", "-l", "/proc/self/fd"))
            for name in other_programs:
                agent.ask("stop", test=name, abort=1)
    targets = [line.split(" -> ")[1] for line in ran.texts[1].splitlines() if " -> " in line]
    assert targets[0] == "/dev/null"
    assert [target.partition(":")[0] for target in targets[1:3]] == ["pipe", "pipe"]
    assert len(targets) == 4 and targets[3].startswith("/proc/"), (number, targets)


def test_a_program_has_the_locale_c_and_no_token_in_its_environment(
    netprobe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("NETPROBE_TOKEN", "0" * 32)
    monkeypatch.setenv("NETPROBE_TOKENS", "kept")
    with Agent(netprobe) as agent:
        lines = ended(agent, started(agent, "env")).texts[1].splitlines()
    assert lines.count("LC_ALL=C") == 1
    assert "NETPROBE_TOKENS=kept" in lines
    assert not [line for line in lines if line.startswith("NETPROBE_TOKEN=") or "de_DE" in line]


def test_a_program_has_default_signal_handling_and_its_own_process_group_but_no_input(
    agent: Agent,
) -> None:
    line = "pwd; cat; sed -n '/^Sig[BI]/p' /proc/self/status; ps -o pgid= -p $$; echo $$"
    lines = ended(agent, shell(agent, line)).texts[1].split()
    assert lines[0] == "/"
    assert lines[1:4] == ["SigBlk:", "0" * 16, "SigIgn:"]
    # No program can change what happens at the two signals that the C library keeps for itself.
    assert int(lines[4], 16) & ~(0b11 << 31) == 0
    assert lines[5] == lines[6]


# ---- output ----


def test_output_bytes_that_are_no_utf_8_are_replaced(agent: Agent) -> None:
    ran = ended(agent, started(agent, "printf", r"a\377b\000\033[1m\302"))
    assert ran.texts[1] == "a\ufffdb\0\x1b[1m\ufffd"
    assert ran.last["output_bytes"] == 9


def test_a_character_of_output_is_never_split_between_two_records(
    agent: Agent, tmp_path: Path
) -> None:
    waits = [f"until [ -e {tmp_path}/{number} ]; do sleep 0.01; done" for number in range(2)]
    line = rf"printf 'a\342\202'; {waits[0]}; printf '\254b\303'; {waits[1]}; printf '\244'"
    name = shell(agent, line)
    texts = []
    for number in range(4):
        texts.append(agent.next(name).get("text"))
        (tmp_path / str(number)).touch()
    assert texts == ["a", "€b", "ä", None]
    # Three bytes a character, and 16000 is no multiple of three.
    ran = ended(agent, shell(agent, "i=0; while [ $i -lt 9000 ]; do printf '€€'; i=$((i+1)); done"))
    assert ran.texts[1] == "€" * 18000


def test_records_of_output_stay_within_65536_bytes(agent: Agent) -> None:
    ran = ended(agent, started(agent, "head", "-c", "100000", "/dev/zero"))
    assert ran.texts[1] == "\0" * 100_000
    assert ran.records < 100
    assert max(map(len, agent.lines)) <= 65536


def test_output_of_many_short_lines_comes_in_few_records(agent: Agent) -> None:
    line = "i=0; while [ $i -lt 100 ]; do echo $i; echo $i >&2; sleep 0.02; i=$((i+1)); done"
    ran = ended(agent, shell(agent, line))
    expected = "".join(f"{number}\n" for number in range(100))
    assert ran.texts == {1: expected, 2: expected}
    assert ran.records <= 2 * (ran.last["elapsed_ns"] / 0.2e9 + 2)


def test_a_line_of_output_is_reported_while_the_program_runs(agent: Agent) -> None:
    name = shell(agent, "echo ready; sleep 60")
    assert printed(agent, name) == ["ready"]
    agent.ask("stop", test=name)
    assert ended(agent, name).last["signal"] == signal.SIGTERM


def test_output_beyond_a_mebibyte_is_discarded_and_counted(agent: Agent) -> None:
    name = started(agent, "yes")
    texts: list[str] = []
    while sum(map(len, texts)) < MIB:
        texts.append(agent.next(name, "output")["text"])
    assert "".join(texts) == "y\n" * (MIB // 2)
    assert len(texts) < 800
    assert agent.ask("heartbeat")["type"] == "heartbeat"
    agent.ask("stop", test=name)
    ran = ended(agent, name)
    assert ran.texts == {1: "", 2: ""}
    assert ran.last["signal"] == signal.SIGTERM
    assert ran.last["output_bytes"] == MIB
    assert ran.last["discarded_bytes"] > 0


# ---- how many, and by which names ----


def test_an_agent_refuses_a_ninth_program_until_another_ends(agent: Agent) -> None:
    names = [shell(agent, "sleep 60") for _ in range(8)]
    refusal = agent.next(request(agent, "true"))
    assert (refusal["error"], refusal["detail"]) == (
        "too-many-tests",
        "8 programs are running already",
    )
    agent.ask("stop", test=names[3], abort=1)
    assert ended(agent, names[3]).last["error"] == "stopped"
    assert ended(agent, started(agent, "true")).last["exit_code"] == 0
    agent.raw(f"t receive {LISTEN}\n".encode())  # tests have their own number
    assert agent.next("t")["type"] == "ready"


def test_an_agent_refuses_the_id_of_a_running_test_or_program(agent: Agent) -> None:
    agent.raw(f"t receive {LISTEN}\np run program=sleep arguments=60 deadline=60\n".encode())
    assert agent.next("t")["type"] == "ready"
    assert agent.next("p")["type"] == "started"
    for name in ("t", "p"):
        for request_text in (f"receive {LISTEN}", "run program=true deadline=1"):
            agent.raw(f"{name} {request_text}\n".encode())
            assert agent.next(name)["error"] == "id-in-use"


def test_a_probe_without_a_controller_runs_a_program_and_prints_its_records(netprobe: Path) -> None:
    words = ["run", "program=sh", "arguments=-c%0Aecho%20hand", "deadline=10"]
    process = subprocess.run([netprobe, *words], capture_output=True, text=True, check=True)
    records = [json.loads(line) for line in process.stdout.splitlines()]
    assert [record["type"] for record in records] == ["started", "output", "result"]
    assert records[1]["text"] == "hand\n"
    words = ["run", "program=no-such-program", "deadline=10"]
    process = subprocess.run([netprobe, *words], capture_output=True, text=True, check=False)
    assert process.returncode == 1
    assert json.loads(process.stdout)["error"] == "program-missing"
