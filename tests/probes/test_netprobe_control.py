"""The agent's control protocol: bad lines, the lease, ends of input, the lock, by-hand use."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import time
from pathlib import Path

import pytest
from folders import DOCS
from netprobe_agents import PATIENCE_S, Agent, agents, at, netprobe, open_trial
from netprobe_bad_lines import BAD_LINES, LISTEN
from round_trip_peers import TOKEN

__all__ = ["agents", "netprobe"]

pytestmark = pytest.mark.lab

Agents = tuple[Agent, Agent]

UDP_TO_NOBODY = (
    "x ask to=127.0.0.1:9 peer=echo message=64 proto=udp",
    "connect-refused",
    None,
)
"""Which wine does not tell."""


def test_an_agent_answers_each_bad_request_with_one_error_and_its_word(netprobe: Path) -> None:
    """One agent for all bad lines: it lives on after each."""
    with Agent(netprobe) as agent:
        for line, word, key in [*BAD_LINES, UDP_TO_NOBODY]:
            name = f"b{secrets.token_hex(4)}"
            has_id = line.startswith("x ")
            request = name + line[1:] if has_id else line
            agent.raw(request.encode() + b"\n")
            reply = agent.next(name if has_id else line if line == "x" else "-", "error")
            if word is not None:
                assert (reply["error"], reply.get("key")) == (word, key), line
            assert agent.ask("heartbeat")["type"] == "heartbeat", line


def test_an_agent_skips_a_too_long_line_to_its_end(netprobe: Path) -> None:
    with Agent(netprobe) as agent:
        agent.raw(b"x hello " + b"a" * 20000 + b"\n\n\r\n")
        assert agent.next("x")["error"] == "line-too-long"
        assert agent.ask("clock")["monotonic_ns"] > 0


def test_an_agent_still_answers_after_random_bytes(netprobe: Path) -> None:
    with Agent(netprobe) as agent:
        agent.raw(os.urandom(50_000).replace(b"\n", b"") + b"\n")
        agent.raw(b"\n".join(os.urandom(60).replace(b"\n", b"") for _ in range(200)) + b"\n")
        assert agent.ask("heartbeat")["type"] == "heartbeat"
        assert len(agent.lines) > 100


def test_an_agent_refuses_an_id_in_use_and_a_65th_test(netprobe: Path) -> None:
    with Agent(netprobe) as agent:
        for number in range(64):
            agent.raw(f"n{number} receive {LISTEN}\n".encode())
            assert agent.next(f"n{number}")["type"] == "ready"
        agent.raw(f"n0 receive {LISTEN}\n".encode())
        assert agent.next("n0")["error"] == "id-in-use"
        agent.raw(f"n64 receive {LISTEN}\n".encode())
        assert agent.next("n64")["error"] == "too-many-tests"
        agent.ask("stop", test="n5", abort=1)
        assert agent.next("n5")["error"] == "stopped"
        assert agent.ask("quit")["type"] == "quit"
        assert agent.process.wait(PATIENCE_S) == 0
        assert agent.next("n63")["error"] == "stopped"


def test_an_agent_refuses_a_port_in_use_and_takes_the_next_of_a_range(netprobe: Path) -> None:
    with Agent(netprobe) as agent:
        for protocol in ("tcp", "udp"):
            first = agent.ask("receive", proto=protocol, bind="127.0.0.1", token=TOKEN)["port"]
            second = agent.ask("receive", proto=protocol, bind="127.0.0.1", token=TOKEN, port=first)
            assert second["error"] == "address-in-use"
            assert second["errno"] > 0
            if first < 65000:
                third = agent.ask(
                    "receive",
                    proto=protocol,
                    bind="127.0.0.1",
                    token=TOKEN,
                    port=f"{first}-{first + 200}",
                )
                assert first < third["port"] <= first + 200


def test_the_hello_record_names_protocol_process_cpus_clock_step_and_build(netprobe: Path) -> None:
    with Agent(netprobe) as agent:
        hello = agent.ask("hello")
        assert hello["protocol"] == 1
        assert {"stream", "tcp", "udp"} <= set(hello["capabilities"].split(","))
        assert hello["pid"] == agent.process.pid
        assert hello["cpu_count"] == len(os.sched_getaffinity(0))
        # Linux counts nanoseconds; what no clock ticks in, nothing could be paced by.
        assert 0 < hello["clock_step_ns"] < 100_000
        # Asked to sleep for 0.1 ms, none of them came back at once or a minute late.
        assert 0 < hello["worst_sleep_ns"] < 60_000_000_000
        assert hello["build"] != "unknown"


def test_the_clock_of_an_agent_advances_and_equals_the_wall_clock(netprobe: Path) -> None:
    with Agent(netprobe) as agent:
        first_clock, second_clock = agent.ask("clock"), agent.ask("clock")
        assert first_clock["monotonic_ns"] < second_clock["monotonic_ns"]
        assert abs(second_clock["wall_ns"] / 1e9 - time.time()) < 60


def test_records_are_lines_of_flat_json_with_type_and_id_first(agents: Agents) -> None:
    running_trial = open_trial(agents, seconds=0.1)
    running_trial.finish()
    for agent in agents:
        for line in agent.lines:
            assert line.endswith(b"}\n") and len(line) <= 65536
            pairs = json.loads(line, object_pairs_hook=list)
            assert [key for key, _ in pairs[:2]] == ["type", "id"]
            assert len({key for key, _ in pairs}) == len(pairs)
            for _, value in pairs:
                assert isinstance(value, str | int | float) or all(
                    isinstance(item, int | float) for item in value
                )


# ---- ends ----


def test_closed_input_ends_an_agent_and_its_tests(agents: Agents) -> None:
    open_trial(agents, seconds=300)
    time.sleep(0.2)
    for agent in agents:
        assert agent.process.stdin is not None
        agent.process.stdin.close()
        assert agent.process.wait(PATIENCE_S) == 0


def test_an_agent_exits_after_its_lease_without_a_line(netprobe: Path) -> None:
    with Agent(netprobe, "lease_s=3") as agent:
        for _ in range(20):
            time.sleep(0.2)
            agent.raw(b"\n")
        assert agent.process.poll() is None
        assert agent.process.wait(PATIENCE_S) == 0


def test_a_running_test_outlives_the_lease_until_its_deadline(netprobe: Path) -> None:
    with Agent(netprobe, "lease_s=2") as agent:
        began = time.monotonic()
        listening = agent.start("receive", bind="127.0.0.1", token=TOKEN, deadline=4)
        assert agent.next(listening)["type"] == "ready"
        assert agent.next(listening)["error"] == "no-peer"
        assert time.monotonic() - began > 3
        assert agent.process.wait(PATIENCE_S) == 0


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_sender_stops_after_the_controller_is_silent_too_long(
    netprobe: Path, protocol: str
) -> None:
    """Also one that has no end of its own for long, and whose peer takes all it sends."""
    quick = ("lease_s=2", "silence_s=5")
    with Agent(netprobe) as receiver, Agent(netprobe, *quick) as sender:
        began = time.monotonic()
        running_trial = open_trial(
            (receiver, sender), proto=protocol, seconds=3000, message=100, message_rate=1000
        )
        assert sender.next(running_trial.sample, "error")["error"] == "stopped"
        assert time.monotonic() - began > 4
        assert sender.process.wait(PATIENCE_S) == 0
        receiver.ask("stop", test=running_trial.receiving, abort=1)


def test_an_agent_exits_after_its_output_is_closed(netprobe: Path) -> None:
    with Agent(netprobe) as agent:
        assert agent.process.stdout is not None
        agent.ask("heartbeat")
        read, write = os.pipe()
        child = subprocess.Popen([netprobe, "agent"], stdin=subprocess.PIPE, stdout=write)
        os.close(write)
        os.close(read)
        assert child.stdin is not None
        with child.stdin:
            child.stdin.write(b"1 hello\n")
            child.stdin.flush()
            assert child.wait(PATIENCE_S) != 0


def test_quit_is_answered_and_ends_the_agent(netprobe: Path) -> None:
    with Agent(netprobe) as agent:
        assert agent.ask("quit")["type"] == "quit"
        assert agent.process.wait(PATIENCE_S) == 0


# ---- by hand ----


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_two_probes_measure_a_stream_without_a_controller(netprobe: Path, protocol: str) -> None:
    keys = [f"proto={protocol}", "seconds=0.3", "message=1000", "message_rate=3000"]
    with subprocess.Popen(
        [netprobe, "receive", *keys], stdout=subprocess.PIPE, text=True
    ) as receiver:
        assert receiver.stdout is not None
        ready = json.loads(receiver.stdout.readline())
        sender = subprocess.run(
            [netprobe, "send", f"to={at('127.0.0.1', ready)}", *keys],
            capture_output=True,
            check=True,
            env={"NETPROBE_TOKEN": ready["token"]},
            text=True,
        )
        records = [json.loads(line) for line in receiver.stdout]
        assert receiver.wait(PATIENCE_S) == 0
    sender_record = json.loads(sender.stdout.splitlines()[-1])
    kinds = [record["type"] for record in records]
    assert [kind for kind in kinds if kind != "progress"] == ["window", "result"]
    assert sender_record["type"] == "result"
    if protocol == "udp":
        receiver_record = records[-1]
        assert receiver_record["sent_messages"] == sender_record["sent_messages"]
        assert (
            receiver_record["total_messages"] + receiver_record["lost_messages"]
            == sender_record["sent_messages"]
        )


def test_a_probe_without_a_controller_prints_an_error_and_exits_with_a_code(netprobe: Path) -> None:
    process = subprocess.run([netprobe, "fly"], capture_output=True, check=False, text=True)
    assert process.returncode == 1
    assert json.loads(process.stdout)["error"] == "unknown-verb"
    process = subprocess.run([netprobe], capture_output=True, check=False, text=True)
    assert process.returncode == 2
    assert "--help" in process.stderr


def test_the_help_of_the_probe_explains_each_verb_and_key(netprobe: Path) -> None:
    text = subprocess.run([netprobe, "--help"], capture_output=True, check=True, text=True).stdout
    protocol = (DOCS / "protocol.md").read_text()
    verbs = protocol.split("| verb | keys |")[1].split("\n\n")[0]
    keys = protocol.split("| key | meaning |")[1].split("\n\n")[0]
    cells = [row.split("|")[1] for row in (verbs + keys).splitlines() if row.startswith("| `")]
    words = [word for cell in cells for word in cell.split("`")[1::2]]
    assert len(words) > 30
    for word in words:
        assert word.partition("=")[0] in text, word


def test_the_probe_prints_its_version(netprobe: Path) -> None:
    text = subprocess.run([netprobe, "--version"], capture_output=True, check=True, text=True)
    assert text.stdout.startswith("netprobe 0.")
