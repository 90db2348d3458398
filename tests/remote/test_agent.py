"""The client of the agent, against faulty agents and against the real one."""

from __future__ import annotations

import os
import resource
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
from folders import SUPPORT

from netlab.build.local import local_probe
from netlab.errors import HostError, HostGone, LockedError, ProbeError
from netlab.experiment.hosts import Host
from netlab.remote import agent as probe
from netlab.remote.agent import Agent
from netlab.remote.host_lock import LockOwner, lock_host, same_host
from netlab.remote.local import LocalTransport
from netlab.remote.pending import Pending
from netlab.version import VERSION

FAKE = SUPPORT / "fake_agent.py"
Starter = Callable[..., Agent]


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Iterator[Starter]:
    """Starts configurable fake agents; all of them are closed at the end."""
    monkeypatch.setenv("FAKE_VERSION", VERSION)
    agents: list[Agent] = []

    def start(*knobs: str, name: str = "fake", machine: str | None = None, **keys: Any) -> Agent:
        host = Host(name=name, os="L", local=True, machine=machine)
        transport = LocalTransport(host)
        process = transport.start([sys.executable, "-S", str(FAKE), *knobs])
        agent = Agent(host, transport, process, **keys)
        agents.append(agent)
        return agent

    yield start
    for agent in agents:
        agent.release()


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


def until(condition: Callable[[], bool], timeout_s: float = 10.0) -> bool:
    give_up = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < give_up:
        time.sleep(0.005)
    return condition()


@pytest.mark.parametrize(
    "knobs", [(), ("crlf",), ("slow",), ("banner",), ("bom",), ("banner", "crlf")]
)
def test_an_agent_is_greeted_with_any_line_ends_and_banners(
    fake: Starter, knobs: tuple[str, ...]
) -> None:
    agent = fake(*knobs)
    agent.greet(None)
    assert agent.hello["version"] == VERSION
    assert agent.ask("echo", owner="a b%\n")["line"].endswith("echo owner=a%20b%25%0A")


def test_lines_of_a_banner_are_skipped_and_counted(fake: Starter) -> None:
    agent = fake("banner")
    agent.greet(None)
    assert agent.skipped_lines == 2


def test_lines_that_are_no_records_are_skipped_until_the_next_record(fake: Starter) -> None:
    agent = fake("garbage")
    agent.greet(None)
    assert agent.ask("echo")["type"] == "echo"
    assert agent.skipped_lines >= 10


def test_an_overlong_line_is_dropped_although_it_ends_like_a_record(
    fake: Starter,
) -> None:
    agent = fake("huge")
    agent.greet(None)
    assert agent.hello["protocol"] == 1
    assert agent.ask("echo")["type"] == "echo"


@pytest.mark.parametrize("knob", ["endless", "flood", "blank"])
def test_endless_output_without_a_record_is_given_up_in_bounded_memory(
    fake: Starter, knob: str
) -> None:
    start_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    agent = fake(knob)
    with pytest.raises(HostGone, match="prints endless output that is no record"):
        agent.greet(None)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start_kib < 50_000  # KiB


def test_an_agent_that_never_answers_hello_is_given_up(fake: Starter) -> None:
    with pytest.raises(HostError, match=r"^fake: no probe answers: nothing in 0.2 s$"):
        fake("mute").greet(None, hello_s=0.2)


@pytest.mark.parametrize("knob", ["old", "other"])
def test_an_agent_of_another_version_or_protocol_is_refused(fake: Starter, knob: str) -> None:
    with pytest.raises(HostError, match="they have to be the same"):
        fake(knob).greet(None)


def test_an_agent_of_another_build_than_the_installed_probe_is_refused(fake: Starter) -> None:
    fake().greet(b"\x7fELF f00dcafef00dcafe ")
    with pytest.raises(
        HostError, match="build f00dcafef00dcafe, not the one that netlab installed"
    ):
        fake().greet(b"\x7fELF another build")


def test_a_silent_agent_is_gone_and_every_pending_request_ends(
    fake: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "HEARTBEAT_S", 0.05)
    agent = fake("silent", silence_s=0.3)
    agent.greet(None)
    records: list[Mapping[str, Any]] = []
    agent.start("receive", inbox=lambda _pending, record: records.append(record))
    with pytest.raises(HostGone, match="silent for"):
        agent.ask("clock", timeout_s=10)
    assert agent.gone
    assert [record["type"] for record in records] == ["gone"]
    with pytest.raises(HostGone):
        agent.ask("clock")


def test_heartbeats_keep_an_idle_agent(fake: Starter, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "HEARTBEAT_S", 0.05)
    agent = fake(silence_s=0.3)
    agent.greet(None)
    time.sleep(0.6)
    assert not agent.gone
    assert agent.ask("echo")["type"] == "echo"


def test_an_agent_that_dies_is_gone_with_its_exit_status_and_last_error_line(fake: Starter) -> None:
    agent = fake("dies")
    agent.greet(None)
    with pytest.raises(HostGone, match="ended with status 3: the roof is on fire"):
        agent.ask("clock")


def test_an_error_record_is_raised_with_its_word_and_errno(fake: Starter) -> None:
    agent = fake()
    agent.greet(None)
    with pytest.raises(ProbeError, match="address-in-use") as raised:
        agent.ask("refuse")
    assert (raised.value.word, raised.value.errno) == ("address-in-use", 98)


def test_records_of_parallel_requests_reach_their_own_request(fake: Starter) -> None:
    agent = fake("garbage")
    agent.greet(None)
    record_types: dict[int, list[str]] = {}

    def ask(number: int) -> None:
        pending = agent.start("stream")
        record_types[number] = [str(pending.record(10)["type"]) for _ in range(3)]
        assert agent.ask("echo", number=number)["line"].endswith(f"number={number}")

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert record_types == {key: ["ready", "progress", "result"] for key in range(8)}


def test_an_inbox_gets_each_record_with_its_own_request(fake: Starter) -> None:
    agent = fake()
    agent.greet(None)
    deliveries: list[tuple[Pending, str]] = []
    completion = threading.Event()

    def inbox(pending: Pending, record: Mapping[str, Any]) -> None:
        deliveries.append((pending, str(record["type"])))
        if record["type"] == "result":
            completion.set()

    pending = agent.start("stream", inbox=inbox)
    assert completion.wait(10)
    assert deliveries == [(pending, "ready"), (pending, "progress"), (pending, "result")]


def test_the_clock_offset_of_an_agent_is_right_within_its_stated_bound(fake: Starter) -> None:
    agent = fake()
    agent.greet(None)
    offset = agent.clock_offset()
    assert abs(offset.offset_ns - 5_000_000_000) <= offset.bound_ns


@pytest.mark.parametrize(("knob", "clock_s"), [("slow", 0.12), ("once", 0.3)])
def test_all_exchanges_for_a_clock_offset_share_one_time_limit(
    fake: Starter, monkeypatch: pytest.MonkeyPatch, knob: str, clock_s: float
) -> None:
    monkeypatch.setattr(probe, "CLOCK_S", clock_s)
    agent = fake(knob)
    agent.greet(None)
    began = time.monotonic()
    offset = agent.clock_offset()
    assert time.monotonic() - began < clock_s + 0.3
    assert abs(offset.offset_ns - 5_000_000_000) <= offset.bound_ns


def test_a_clock_offset_without_any_answer_is_an_error(
    fake: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "ANSWER_S", 0.2)
    agent = fake("silent")
    agent.greet(None)
    with pytest.raises(ProbeError, match="no-answer"):
        agent.clock_offset()


def test_a_silent_agent_is_gone_although_a_request_cannot_be_written(
    fake: Starter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "HEARTBEAT_S", 0.05)
    agent = fake(silence_s=0.3)
    agent.greet(None)
    os.kill(agent._process._child.pid, signal.SIGSTOP)  # type: ignore[attr-defined]
    longer_than_a_pipe_holds = "x" * (1 << 20)
    stuck = threading.Thread(
        target=agent.start, args=("echo",), kwargs={"owner": longer_than_a_pipe_holds}, daemon=True
    )
    stuck.start()
    assert until(lambda: agent.gone, 5)
    assert "silent for" in agent.why_gone
    stuck.join(5)
    assert not stuck.is_alive()


def test_a_machine_without_an_id_is_identified_by_its_boot_id(fake: Starter) -> None:
    first_agent, second_agent = fake("no-machine", name="one"), fake("no-machine", name="other")
    for agent in (first_agent, second_agent):
        agent.greet(None)
    assert first_agent.identity == ("the-boot", "7")
    assert same_host(first_agent, second_agent)


def test_hosts_with_one_machine_name_in_the_inventory_are_one_host(fake: Starter) -> None:
    first_agent, second_agent = (
        fake("no-machine", name="one", machine="pc"),
        fake(name="other", machine="pc"),
    )
    for agent in (first_agent, second_agent):
        agent.greet(None)
    assert first_agent.identity != second_agent.identity
    assert same_host(first_agent, second_agent)


def test_several_threads_may_close_one_agent(fake: Starter) -> None:
    agent = fake()
    agent.greet(None)
    threads = [threading.Thread(target=agent.close) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert not any(thread.is_alive() for thread in threads)
    assert until(lambda: agent.gone)
    with pytest.raises(HostGone):
        agent.ask("echo")


# The real agent


def test_the_local_agent_reports_its_version_build_and_facts(real: Agent) -> None:
    assert (real.hello["protocol"], real.hello["version"]) == (1, VERSION)
    assert str(real.hello["build"]).encode() in local_probe().read_bytes()
    assert real.facts()["type"] == "facts"


@pytest.mark.alone
def test_a_request_to_the_local_agent_takes_less_than_a_millisecond(real: Agent) -> None:
    def ask_s() -> float:
        start_s = time.perf_counter()
        real.ask("clock")
        return time.perf_counter() - start_s

    # The best tenth: other programs of this machine are not what is tested.
    assert statistics.quantiles([ask_s() for _ in range(300)], n=10)[0] < 0.001


def test_closing_a_local_agent_ends_its_probe(real: Agent) -> None:
    pid = int(real.hello["pid"])
    assert is_alive(pid)
    real.close()
    assert until(lambda: not is_alive(pid))


def test_an_agent_whose_process_is_killed_is_gone(real: Agent) -> None:
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
    lock_host(stranger, bob, give_up_s=time.monotonic() + 10)
    freed.join()
