"""The client of the agent, against played agents that misbehave and against a real one."""

from __future__ import annotations

import os
import resource
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from played_agents import PlayedAgents, played

from netlab import clock
from netlab.build.binaries import local_probe
from netlab.errors import HostError, HostGone, LockedError, ProbeError
from netlab.experiment.hosts import Host
from netlab.remote import agent as probe
from netlab.remote.agent import Agent
from netlab.remote.answers import Pending
from netlab.remote.programs import LockOwner, lock_host, same_host
from netlab.remote.transport import LocalTransport
from netlab.version import VERSION

__all__ = ["played"]


@pytest.fixture
def real() -> Iterator[Agent]:
    agent = Agent.open(Host(name="here", os="L", local=True))
    yield agent
    agent.close()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def until(condition: Callable[[], bool], timeout_s: float = 60.0) -> bool:
    give_up = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < give_up:
        time.sleep(0.005)
    return condition()


# Played agents


@pytest.mark.agents
@pytest.mark.parametrize(
    "knobs", [(), ("crlf",), ("slow",), ("banner",), ("bom",), ("banner", "crlf")]
)
def test_the_greeting_of_an_agent_is_read_despite_a_banner_or_other_line_ends(
    played: PlayedAgents, knobs: tuple[str, ...]
) -> None:
    agent = played.greeted(*knobs)
    assert agent.hello["version"] == VERSION
    assert agent.ask("echo", owner="a b%\n")["line"].endswith("echo owner=a%20b%25%0A")


@pytest.mark.agents
def test_lines_of_a_banner_are_skipped_and_counted(played: PlayedAgents) -> None:
    assert played.greeted("banner").skipped_lines == 2


@pytest.mark.agents
def test_lines_that_are_no_records_are_skipped_until_the_next_record(played: PlayedAgents) -> None:
    agent = played.greeted("garbage")
    assert agent.ask("echo")["type"] == "echo"
    assert agent.skipped_lines >= 10


@pytest.mark.agents
def test_an_overlong_line_is_dropped_although_it_ends_like_a_record(played: PlayedAgents) -> None:
    agent = played.greeted("huge")
    assert agent.hello["protocol"] == 1
    assert agent.ask("echo")["type"] == "echo"


@pytest.mark.agents
@pytest.mark.parametrize("knob", ["endless", "flood", "blank"])
def test_endless_output_without_a_record_is_given_up_in_bounded_memory(
    played: PlayedAgents, knob: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if knob != "endless":  # short lines take long
        monkeypatch.setattr(probe, "SKIPPED_MOST", 1 << 16)
    start_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(HostGone, match="prints endless output that is no record"):
        played.greeted(knob)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start_kib < 50_000  # KiB


@pytest.mark.agents
def test_an_agent_that_never_answers_hello_is_given_up(played: PlayedAgents) -> None:
    with pytest.raises(HostError, match=r"^fake: no probe answers: nothing in 57 s$"):
        played.greeted("mute")
    assert clock.monotonic_ns() - played.began_ns == 60e9


@pytest.mark.agents
@pytest.mark.parametrize("knob", ["old", "other"])
def test_an_agent_of_another_version_or_protocol_is_refused(
    played: PlayedAgents, knob: str
) -> None:
    with pytest.raises(HostError, match="they have to be the same"):
        played.greeted(knob)


@pytest.mark.agents
def test_an_agent_of_another_build_than_the_installed_probe_is_refused(
    played: PlayedAgents,
) -> None:
    played().greet(b"\x7fELF f00dcafef00dcafe ")
    with pytest.raises(
        HostError, match="build f00dcafef00dcafe, not the one that netlab installed"
    ):
        played().greet(b"\x7fELF another build")


@pytest.mark.agents
def test_a_silent_agent_is_given_up_and_every_pending_request_ends(
    played: PlayedAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "SILENCE_S", 5.0)
    agent = played.greeted("silent")
    records: list[Mapping[str, Any]] = []
    agent.start("receive", inbox=lambda _pending, record: records.append(record))
    pending = agent.start("clock")
    played.clock.advance(5.0)
    played.heartbeats.beat()
    assert not agent.gone
    played.clock.advance(0.1)
    played.heartbeats.beat()
    assert agent.gone
    assert [record["type"] for record in records] == ["gone"]
    with pytest.raises(HostGone, match="fake: silent for 5 s"):
        pending.record(10)
    with pytest.raises(HostGone):
        agent.ask("clock")


@pytest.mark.agents
def test_heartbeats_keep_an_idle_agent_alive(
    played: PlayedAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "SILENCE_S", 5.0)
    agent = played.greeted()
    for _ in range(20):
        played.clock.advance(1.0)
        played.heartbeats.beat()
    assert not agent.gone
    assert played.processes[0].lines.count("beat heartbeat") == 10
    assert agent.ask("echo")["type"] == "echo"


@pytest.mark.agents
def test_the_error_about_an_agent_that_died_has_its_exit_status_and_last_error_line(
    played: PlayedAgents,
) -> None:
    agent = played.greeted("dies")
    with pytest.raises(HostGone, match="ended with status 3: the roof is on fire"):
        agent.ask("clock")


@pytest.mark.agents
def test_an_error_record_is_raised_with_its_word_and_errno(played: PlayedAgents) -> None:
    agent = played.greeted()
    with pytest.raises(ProbeError, match="address-in-use") as raised:
        agent.ask("refuse")
    assert (raised.value.word, raised.value.errno) == ("address-in-use", 98)


@pytest.mark.agents
def test_records_of_parallel_requests_reach_their_own_request(played: PlayedAgents) -> None:
    agent = played.greeted("garbage")
    record_types: dict[int, list[str]] = {}

    def ask(number: int) -> None:
        pending = agent.start("stream")
        record_types[number] = [str(pending.record(10)["type"]) for _ in range(3)]
        assert agent.ask("echo", number=number)["line"].endswith(f"number={number}")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert record_types == {key: ["ready", "progress", "result"] for key in range(4)}


@pytest.mark.agents
def test_the_callback_of_a_request_receives_each_record_together_with_the_request(
    played: PlayedAgents,
) -> None:
    agent = played.greeted()
    deliveries: list[tuple[Pending, str]] = []
    pending = agent.start(
        "stream", inbox=lambda request, record: deliveries.append((request, str(record["type"])))
    )
    assert deliveries == [(pending, "ready"), (pending, "progress"), (pending, "result")]


@pytest.mark.agents
def test_the_clock_offset_is_that_of_the_fastest_exchange(played: PlayedAgents) -> None:
    delays_ms = iter([(3, 1), (2, 2), (5, 0), (0, 1.5), *[(7, 2)] * 12])

    def delayed(say: Callable[[], None]) -> None:
        there_ms, back_ms = next(delays_ms)
        clock.sleep(there_ms / 1000)
        say()
        clock.sleep(back_ms / 1000)

    offset = played.greeted(around_clock=delayed).clock_offset()
    assert offset.bound_ns == pytest.approx(750_000, abs=2)
    assert offset.offset_ns == pytest.approx(5_000_000_000 - 750_000, abs=2)


@pytest.mark.agents
@pytest.mark.parametrize("knob", ["slow", "once"])
def test_all_exchanges_for_a_clock_offset_share_one_time_limit(
    played: PlayedAgents, knob: str
) -> None:
    """An exchange that has begun in time may end later."""

    def late(answer: Callable[[], None]) -> None:
        answer()
        clock.sleep(0.001)

    agent = played.greeted(knob, slow_s=0.6, around_clock=late)
    began_s = clock.monotonic()
    offset = agent.clock_offset()
    assert probe.CLOCK_S <= clock.monotonic() - began_s <= probe.CLOCK_S + 0.602
    assert abs(offset.offset_ns - 5_000_000_000) <= offset.bound_ns


@pytest.mark.agents
def test_a_clock_offset_without_any_answer_is_an_error(played: PlayedAgents) -> None:
    agent = played.greeted("silent")
    with pytest.raises(ProbeError, match="no-answer"):
        agent.clock_offset()


@pytest.mark.agents
def test_a_silent_agent_is_given_up_even_while_a_request_cannot_be_written(
    played: PlayedAgents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "SILENCE_S", 5.0)
    agent = played.greeted()
    process = played.processes[0]
    process.is_stopped = True
    stuck = threading.Thread(target=agent.start, args=("echo",), daemon=True)
    stuck.start()
    process.is_stuck.wait()
    played.clock.advance(5.1)
    played.heartbeats.beat()
    assert agent.gone
    assert "silent for" in agent.why_gone
    stuck.join()


@pytest.mark.agents
def test_a_machine_without_an_id_is_identified_by_its_boot_id(played: PlayedAgents) -> None:
    first_agent, second_agent = (
        played.greeted("no-machine", name=name) for name in ("one", "other")
    )
    assert first_agent.identity == ("the-boot", "7")
    assert same_host(first_agent, second_agent)


@pytest.mark.agents
def test_hosts_with_the_same_machine_name_in_the_inventory_count_as_one_host(
    played: PlayedAgents,
) -> None:
    first_agent = played.greeted("no-machine", name="one", machine="pc")
    second_agent = played.greeted(name="other", machine="pc")
    assert first_agent.identity != second_agent.identity
    assert same_host(first_agent, second_agent)


@pytest.mark.agents
def test_several_threads_may_close_one_agent(played: PlayedAgents) -> None:
    agent = played.greeted()
    threads = [threading.Thread(target=agent.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert agent.gone
    with pytest.raises(HostGone):
        agent.ask("echo")


# The real agent


@pytest.mark.lab
def test_the_local_agent_reports_its_version_build_and_facts(real: Agent) -> None:
    assert (real.hello["protocol"], real.hello["version"]) == (1, VERSION)
    assert str(real.hello["build"]).encode() in local_probe().read_bytes()
    assert real.facts()["type"] == "facts"


@pytest.mark.alone
@pytest.mark.night
def test_a_request_to_the_local_agent_takes_less_than_a_millisecond(real: Agent) -> None:
    def ask_s() -> float:
        start_s = time.perf_counter()
        real.ask("clock")
        return time.perf_counter() - start_s

    # The best tenth: other programs of this machine are not what is tested.
    assert statistics.quantiles([ask_s() for _ in range(300)], n=10)[0] < 0.001


@pytest.mark.lab
def test_closing_a_local_agent_ends_its_probe(real: Agent) -> None:
    pid = int(real.hello["pid"])
    assert is_alive(pid)
    real.close()
    assert until(lambda: not is_alive(pid))


@pytest.mark.lab
def test_an_agent_whose_process_was_killed_is_reported_as_dead_with_the_signal(real: Agent) -> None:
    os.kill(int(real.hello["pid"]), signal.SIGKILL)
    with pytest.raises(HostGone, match=r"here: the probe died \(signal 9\)"):
        real.ask("clock")


@pytest.fixture
def start_in_own_network() -> Iterator[Callable[[str], Agent]]:
    """Starts agents in the test's own network namespace: a run may hold the machine's lock."""
    name = f"netlab-test-{os.getpid()}"
    subprocess.run(["ip", "netns", "add", name], check=True)
    agents: list[Agent] = []

    def start(host_name: str) -> Agent:
        host = Host(name=host_name, os="L", local=True)
        transport = LocalTransport(host)
        argv = ["ip", "netns", "exec", name, str(local_probe()), "agent"]
        agent = Agent(host, transport, transport.start(argv))
        agents.append(agent)
        agent.greet(None)
        return agent

    try:
        yield start
    finally:
        for agent in agents:
            agent.close()
        subprocess.run(["ip", "netns", "delete", name], check=True)


@pytest.mark.needs("root")
def test_agents_of_one_host_have_one_identity_and_a_locked_host_names_its_holder(
    start_in_own_network: Callable[[str], Agent],
) -> None:
    first_agent, second_agent, stranger = (
        start_in_own_network(name) for name in ("one", "two", "stranger")
    )
    ada, bob = LockOwner("ada", "1", "out"), LockOwner("bob", "1", "out")
    assert first_agent.identity == second_agent.identity == stranger.identity
    lock_host(first_agent, ada, give_up_s=0.0)
    with pytest.raises(LockedError, match=r"^stranger is measured by run ada, .*; wait"):
        lock_host(stranger, bob, give_up_s=0.0)
    freed = threading.Timer(0.3, first_agent.close)
    freed.start()
    lock_host(stranger, bob, give_up_s=time.monotonic() + 60)
    freed.join()
