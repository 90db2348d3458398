"""Agents and programs at a worker, used over a relay: real probes of this machine, no dask."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

import pytest
from loop_worker import LoopWorker

from netlab.errors import HostGone, ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import LOOPBACK, Host
from netlab.experiment.schedule import Trial
from netlab.kinds import RoundTrip
from netlab.measurement.ends import Ends
from netlab.measurement.engines import measure
from netlab.remote.agent import Agent
from netlab.runner.cluster import relay as relay_room
from netlab.runner.cluster import worker as worker_room
from netlab.runner.cluster.relay import Relay, RelayedTransport
from netlab.runner.cluster.worker import SPINE
from netlab.trial.record import Status
from netlab.version import VERSION

pytestmark = [pytest.mark.needs("cc", "linux"), pytest.mark.lab]

HOST = Host(name="here", os="L", local=True, addresses={"loopback": LOOPBACK})


@pytest.fixture
def worker() -> Iterator[LoopWorker]:
    with LoopWorker() as worker:
        yield worker


def relayed(worker: LoopWorker, relay: Relay, name: str = "here") -> Agent:
    transport = RelayedTransport(relay, name)
    agent = Agent(HOST, transport, transport.start(None))
    agent.greet(None)
    return agent


def wait_for(condition: Callable[[], bool], within_s: float = 60) -> None:
    until_s = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_worker_reports_its_version_and_begins_a_session_once(worker: LoopWorker) -> None:
    assert worker.version == VERSION
    before = worker.resident
    worker.call(worker_room.begin(worker.run))
    assert worker.resident is before


def test_a_relay_connects_to_the_agent_that_the_worker_has_already_started(
    worker: LoopWorker,
) -> None:
    own = worker.resident.open(HOST, print)
    agent = relayed(worker, worker.relay())
    assert agent.hello["pid"] == own.hello["pid"]
    assert agent.identity == own.identity
    assert agent.facts()["boot_id"] == own.facts()["boot_id"]
    offset = agent.clock_offset()
    assert abs(offset.offset_ns) <= offset.bound_ns + own.clock_offset().bound_ns


def test_an_error_of_a_probe_has_the_same_text_over_a_relay_as_at_the_worker(
    worker: LoopWorker,
) -> None:
    own = worker.resident.open(HOST, print)
    agent = relayed(worker, worker.relay())
    errors = []
    for one in (own, agent):
        with pytest.raises(ProbeError) as caught:
            one.ask("facts", to="not an address")
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


@pytest.mark.alone
def test_a_trial_between_a_local_and_a_relayed_agent_has_a_result(worker: LoopWorker) -> None:
    """The worker's own agent serves, an agent over a relay asks; `stop` names the right test."""
    own = worker.resident.open(HOST, print)
    far_host = Host(name="far", os="L", local=True, addresses={"loopback": LOOPBACK})
    worker.resident.open(far_host, print)
    far = relayed(worker, worker.relay("worker-1"), "far")
    setup = RoundTrip(
        protocol="UDP", message_bytes=64, count=50, duration_s=None, network="loopback"
    )
    cell = Cell(pairing="LL", test="round_trip", setup=setup)
    ends = Ends(server=own, client=far, same_host=True)
    for number in (1, 2):
        record = measure(Trial(cell, number), ends, 1, lambda *_: None)
        assert record.status is Status.OK, record
        assert record.values["transactions"] == 50


def test_a_program_over_a_relay_reads_input_writes_output_and_ends(worker: LoopWorker) -> None:
    worker.resident.open(HOST, print)
    agent = relayed(worker, worker.relay())
    process = agent.start_beside(["cat"])
    process.write(b"one\n")
    assert process.read() == b"one\n"
    process.write(b"two\n")
    process.close_input()
    assert process.read() == b"two\n"
    assert process.read() == process.read() == b""
    assert process.wait(60) == 0 and process.is_connected()
    failed = agent.start_beside(["ls", "/nowhere"])
    assert failed.read() == b"" and failed.wait(60) == 2
    assert "/nowhere" in failed.stderr_tail()


def test_a_killed_program_over_a_relay_ends_at_the_worker(worker: LoopWorker) -> None:
    worker.resident.open(HOST, print)
    process = relayed(worker, worker.relay()).start_beside(["sh", "-c", "echo $$; exec sleep 60"])
    pid = int(process.read())
    assert is_alive(pid)
    process.kill()
    wait_for(lambda: not is_alive(pid))
    assert process.read() == b""


def test_the_hosts_of_a_lost_worker_are_gone_and_its_programs_are_disconnected(
    worker: LoopWorker,
) -> None:
    worker.resident.open(HOST, print)
    relay = worker.relay()
    agent = relayed(worker, relay)
    program = agent.start_beside(["cat"])
    worker.lost = True
    wait_for(lambda: agent.gone)
    assert agent.why_gone == "here: the connection ended"
    assert not agent.died
    assert relay.why_lost == "its worker tls://192.0.2.1:4242 is lost"
    assert program.read() == b"" and not program.is_connected()
    with pytest.raises(HostGone, match="here: its worker"):
        RelayedTransport(relay, "here").start(["true"])


def test_a_worker_that_does_not_know_the_run_reports_the_reason(worker: LoopWorker) -> None:
    worker.resident.open(HOST, print)
    relay = worker.relay()
    agent = relayed(worker, relay)
    worker.call(worker_room.end(worker.run))
    wait_for(lambda: agent.gone and relay.why_lost is not None)
    assert "it was restarted, or did not hear from the run" in str(relay.why_lost)


def test_a_probe_ends_when_the_run_closes_its_channel_but_not_when_a_worker_does(
    worker: LoopWorker,
) -> None:
    own = worker.resident.open(HOST, print)
    pid = own.hello["pid"]
    of_worker = relayed(worker, worker.relay("worker-1"))
    of_run = relayed(worker, worker.relay())
    of_worker.close()
    assert of_run.facts() and is_alive(pid)
    of_run.close()
    wait_for(lambda: not is_alive(pid))


def test_a_run_that_falls_silent_leaves_no_probe_at_a_worker(
    worker: LoopWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = worker.resident.open(HOST, print)
    run = worker.resident
    monkeypatch.setattr(worker_room, "LEASE_S", 0.5)
    wait_for(run.ended.is_set)
    wait_for(lambda: not is_alive(own.hello["pid"]))
    with pytest.raises(HostGone):
        worker_room.resident_of(worker.run)


def test_programs_of_a_silent_worker_are_ended_but_the_agents_of_hosts_continue(
    worker: LoopWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = worker.resident.open(HOST, print)
    worker.relay()  # the run goes on asking
    other = worker.relay("worker-1")
    process = other.start("here", ["sh", "-c", "echo $$; exec sleep 60"])
    pid = int(process.read())
    other.close()
    monkeypatch.setattr(worker_room, "LEASE_S", 3.0)
    wait_for(lambda: not is_alive(pid))
    assert is_alive(own.hello["pid"]) and not worker.resident.ended.is_set()


def test_output_of_a_program_that_nobody_reads_waits_at_the_worker(
    worker: LoopWorker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(relay_room, "MAILBOX_MOST_BYTES", 1 << 16)
    worker.resident.open(HOST, print)
    mailbox = worker.resident.mailbox("slow")
    worker.call(
        worker_room.relay_write(
            worker.run, "slow", [("open", "1", "here", ["head", "-c", "1000000", "/dev/zero"])]
        )
    )
    time.sleep(0.5)
    sizes: list[int] = []
    while sum(sizes) < 1_000_000:
        items = worker.call(mailbox.take(15))
        assert items
        sizes.append(sum(len(item) for _, item in items if isinstance(item, bytes)))
    assert sum(sizes) == 1_000_000
    assert max(sizes) < 1 << 18  # the rest waited in the program's pipe


def test_a_relay_to_a_host_without_an_agent_at_the_worker_ends_with_the_reason(
    worker: LoopWorker,
) -> None:
    process = worker.relay(SPINE).start("elsewhere", None)
    assert process.read() == b"" and not process.is_connected()
    assert process.stderr_tail() == "elsewhere: its worker has no agent there"
