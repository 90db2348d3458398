"""Streams over several CPUs, and many streams in one agent: where they ran, what each carried."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest
from faulty_probe import faulty_probe
from netprobe_agents import CPUS, SANITIZED, Agent, agents, netprobe, open_trial, trial

__all__ = ["agents", "faulty_probe", "netprobe"]

pytestmark = pytest.mark.lab

Agents = tuple[Agent, Agent]

MANY = 1000
MOST_KIB = 64 * 1024
"""Memory of an agent with a thousand streams: 64 KiB each, where a thread and a buffer each would
take a MiB and more."""
FAST: dict[str, Any] = {"proto": "udp", "message": 100, "message_rate": 50_000_000}
"""The time between two messages is shorter than any sleep, so a sender spins."""
two_cpus = pytest.mark.skipif(len(CPUS) < 2, reason="one CPU may be used here")
of_memory = pytest.mark.skipif(SANITIZED, reason="sanitizers take memory of their own")


def listed(cpus: list[int]) -> str:
    return ",".join(map(str, cpus))


def status(agent: Agent, name: str) -> int:
    """A number of proc_pid_status(5)."""
    rows = Path(f"/proc/{agent.process.pid}/status").read_text().splitlines()
    return next(int(row.split()[1]) for row in rows if row.startswith(f"{name}:"))


def check_sums(record: dict[str, Any], total: str) -> None:
    streams = record["streams"]
    assert len(record["stream_bytes"]) == streams
    assert sum(record["stream_bytes"]) == record[total]
    squares = sum(byte_count**2 for byte_count in record["stream_bytes"])
    if streams > 1:
        jain = record[total] ** 2 / (streams * squares)
        assert record["fairness_index"] == pytest.approx(jain)
        assert 1 / streams <= record["fairness_index"] <= 1
    else:
        assert "fairness_index" not in record


@pytest.mark.parametrize(("protocol", "streams"), [("tcp", 1), ("tcp", 3), ("udp", 2)])
def test_each_stream_runs_on_its_listed_cpu_and_stream_bytes_add_up(
    agents: Agents, protocol: str, streams: int
) -> None:
    ends = {"receive": CPUS[:2], "send": CPUS[:2][::-1]}
    sides: dict[str, Any] = {end: {"cpus": listed(cpus)} for end, cpus in ends.items()}
    outcome = trial(agents, proto=protocol, message=1000, seconds=0.3, streams=streams, **sides)
    for record, cpus in ((outcome.received, ends["receive"]), (outcome.sent, ends["send"])):
        expected_cpus = list(itertools.islice(itertools.cycle(cpus), streams))
        assert record["stream_cpus_open"] == record["stream_cpus_close"] == expected_cpus
        assert record["cpus"] == cpus
        assert "cpu" not in record
    check_sums(outcome.received, "received_bytes")
    check_sums(outcome.sent, "sent_bytes")


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_stream_bytes_of_a_fixed_number_of_messages_add_up(agents: Agents, protocol: str) -> None:
    outcome = trial(agents, proto=protocol, count=200, message=500, message_rate=4000, streams=4)
    check_sums(outcome.sent, "sent_bytes")
    assert outcome.sent["stream_bytes"] == 4 * [50 * 500]
    check_sums(outcome.received, "received_bytes")


def test_a_stream_without_a_cpu_list_runs_on_a_usable_cpu(agents: Agents) -> None:
    outcome = trial(agents, seconds=0.2, message=1000)
    assert outcome.received["stream_cpus_open"][0] in CPUS
    assert "cpus" not in outcome.received
    assert "cpu" not in outcome.received


def test_parallel_streams_with_one_cpu_all_run_on_that_cpu(agents: Agents) -> None:
    outcome = trial(agents, seconds=0.2, message=1000, streams=2, cpu=CPUS[0])
    assert outcome.received["cpu"] == CPUS[0]
    assert outcome.received["stream_cpus_open"] == 2 * [CPUS[0]]
    assert "cpus" not in outcome.received


@two_cpus
def test_an_agent_refuses_receivers_that_would_spin_on_all_cpus(agents: Agents) -> None:
    last: dict[str, Any] = {"spin": 1, "seconds": 0.2, "message": 1000, "streams": len(CPUS)}
    refusal = open_listener(agents[0], cpus=listed(CPUS), **last)
    assert (refusal["error"], refusal["key"]) == ("cannot-pin", "spin")
    # As many threads, tied to all CPUs but one.
    outcome = trial(agents, receive={"cpus": listed(CPUS[1:])}, **last)
    assert outcome.received["spin"] == 1


def open_listener(agent: Agent, verb: str = "receive", **keys: Any) -> dict[str, Any]:
    keys = {"bind": "127.0.0.1", "token": "0" * 32, "deadline": 2} | keys
    return agent.ask(verb, **keys)


@two_cpus
def test_an_agent_refuses_paced_senders_that_would_spin_on_all_cpus(agents: Agents) -> None:
    refusal = open_listener(agents[1], "send", streams=len(CPUS), **FAST)
    assert (refusal["error"], refusal["key"]) == ("cannot-pin", "streams")
    fewer = open_listener(agents[1], "send", streams=len(CPUS) - 1, **FAST)
    assert fewer["type"] == "ready", fewer


def test_an_agent_on_one_cpu_accepts_a_paced_sender_that_spins_elsewhere(
    agents: Agents,
) -> None:
    os.sched_setaffinity(agents[1].process.pid, CPUS[:1])
    sender = open_listener(agents[1], "send", streams=1, **FAST)
    assert sender["type"] == "ready", sender


def test_a_paced_sender_that_can_sleep_may_have_more_streams_than_cpus(agents: Agents) -> None:
    streams = len(CPUS) + 2
    outcome = trial(
        agents, proto="udp", message=100, message_rate=200 * streams, streams=streams, seconds=0.5
    )
    assert outcome.sent["sent_messages"] > 0


@of_memory
@pytest.mark.parametrize(
    ("protocol", "keys"),
    [
        ("tcp", {"message": 1000}),
        pytest.param("tcp", {"message": 3000, "message_rate": 10_000}, marks=pytest.mark.night),
        pytest.param("udp", {"message": 1000}, marks=pytest.mark.night),
        ("udp", {"message": 200, "message_rate": 10_000}),
    ],
)
def test_a_thousand_streams_take_few_threads_and_little_memory(
    agents: Agents, protocol: str, keys: dict[str, Any]
) -> None:
    thread_counts = [status(agent, "Threads") for agent in agents]
    running_trial = open_trial(agents, proto=protocol, streams=MANY, seconds=1, **keys)
    outcome = running_trial.finish()
    for record, total in ((outcome.received, "received_bytes"), (outcome.sent, "sent_bytes")):
        assert record["type"] == "result", record
        assert record["streams"] == MANY
        check_sums(record, total)
        assert len(record["stream_cpus_open"]) == len(record["stream_cpus_close"]) == MANY
    assert outcome.received["marks"] >= MANY
    if "message_rate" in keys:
        assert outcome.sent["fairness_index"] > 0.5  # each has its turn
    for agent, threads in zip(agents, thread_counts, strict=True):
        assert status(agent, "VmHWM") < MOST_KIB
        assert status(agent, "Threads") <= threads + 2


@pytest.mark.parametrize(
    ("protocol", "listener", "message"),
    [
        ("tcp", "receive", 10),
        ("tcp", "send", 3000),
        ("udp", "receive", 3000),
        ("udp", "send", 10),
    ],
)
def test_each_message_over_a_hundred_streams_is_counted_as_received_or_lost(
    agents: Agents, protocol: str, listener: str, message: int
) -> None:
    outcome = trial(
        agents,
        listener=listener,
        proto=protocol,
        streams=100,
        count=1050,
        message=message,
        message_rate=8000,
        cpus=listed(CPUS[:2]),
    )
    assert outcome.sent["sent_messages"] == 1050
    assert outcome.sent["stream_bytes"] == 50 * [11 * message] + 50 * [10 * message]
    losses = outcome.received.get("lost_messages", 0)
    assert outcome.received["total_messages"] + losses == 1050
    assert outcome.received["total_bytes"] == outcome.received["total_messages"] * message
    if protocol == "tcp":
        assert losses == 0
    elif message > 16:
        assert outcome.received["duplicate_messages"] == 0


@two_cpus
def test_many_streams_alternate_between_the_listed_cpus(agents: Agents) -> None:
    outcome = trial(agents, streams=65, seconds=0.5, message=1000, cpus=listed(CPUS[:2]))
    for record in (outcome.received, outcome.sent):
        expected_cpus = list(itertools.islice(itertools.cycle(CPUS[:2]), 65))
        assert record["stream_cpus_open"] == record["stream_cpus_close"] == expected_cpus


def test_a_spinning_receiver_of_many_streams_finds_most_receives_empty(agents: Agents) -> None:
    if len(CPUS) < 2:
        pytest.skip("one CPU may be used here")
    outcome = trial(
        agents, streams=70, seconds=0.3, message=1000, message_rate=2000, receive={"spin": 1}
    )
    assert outcome.received["empty_receives"] > outcome.received["received_messages"]


def test_an_aborted_sender_of_many_streams_ends(agents: Agents) -> None:
    running_trial = open_trial(agents, streams=200, seconds=300, message=1000)
    running_trial.sender.next(running_trial.sample, "progress")
    running_trial.sender.ask("stop", test=running_trial.sample, abort=1)
    assert running_trial.sender.next(running_trial.sample, "error")["error"] == "stopped"
    assert running_trial.receiver.next(running_trial.receiving, "error")["error"] == "peer-vanished"


@pytest.mark.needs("cc")
def test_a_stream_runs_on_cpu_3000_where_the_kernel_has_so_many(
    faulty_probe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel for 4,096 CPUs refuses every set of fewer."""
    monkeypatch.setenv("FAULTY", "cpus")
    with Agent(faulty_probe) as receiver, Agent(faulty_probe) as sender:
        assert receiver.ask("hello")["cpu_count"] == len(CPUS) + 1
        outcome = trial((receiver, sender), seconds=0.2, message=1000, cpus=f"3000,{CPUS[-1]}")
        assert outcome.received["cpus"] == [3000, CPUS[-1]]
        refusal = open_listener(receiver, cpus="3001")
        assert (refusal["error"], refusal["key"]) == ("cannot-pin", "cpus")
