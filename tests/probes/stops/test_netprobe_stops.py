"""A process that is stopped in the middle of a test: gaps and late ticks in the records."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from netprobe_agents import Agent, Reply, Trial, netprobe, open_trial
from stops import stop_process

__all__ = ["netprobe"]

pytestmark = pytest.mark.lab

BETWEEN_S = 0.2
"""From a progress record to the stop: a pause while a record is being printed is no late tick."""
STOP_S = 2.0
LEAST_NS = 1_600_000_000
"""Of a gap or a tick: what a busy machine does beside is shorter."""


@dataclass(frozen=True)
class Stops:
    """Two streams: of the first the receiver was stopped, of the second the sender."""

    receiver: Trial
    sender: Trial


@pytest.fixture(scope="module")
def stops(netprobe: Path) -> Stops:
    outcomes = []
    keys: dict[str, Any] = {"proto": "udp", "message": 1448, "message_rate": 2000, "streams": 2}
    for end in (0, 1):
        with Agent(netprobe) as receiver, Agent(netprobe) as sender:
            agents = (receiver, sender)
            running_trial = open_trial(agents, seconds=5, **keys)
            receiver.next(running_trial.receiving, "progress")
            time.sleep(BETWEEN_S)
            stop_process(agents[end].process.pid, STOP_S)
            outcomes.append(running_trial.finish())
    return Stops(*outcomes)


def longest(listed: list[int]) -> tuple[int, int]:
    """Begin and length of the longest of a list of pairs; none has no length."""
    pairs = zip(listed[::2], listed[1::2], strict=True)
    return max(pairs, key=lambda pair: pair[1], default=(0, 0))


def late_tick(record: Reply) -> tuple[int, int]:
    return longest(record.get("late_ticks", []))


def test_a_receiver_reports_a_gap_while_either_process_is_stopped(stops: Stops) -> None:
    for outcome in (stops.receiver, stops.sender):
        record = outcome.received
        assert record["gap_count"] >= 1
        assert record["gap_total_ns"] >= longest(record["gaps"])[1] >= LEAST_NS
        assert record["longest_gap_ns"] >= LEAST_NS
        assert len(record["gaps"]) == 2 * len(record["gap_queue_full"])


def test_a_stopped_receiver_reports_a_pause_of_its_thread_at_the_time_of_its_gap(
    stops: Stops,
) -> None:
    at_ns, long_ns = late_tick(stops.receiver.received)
    assert long_ns >= LEAST_NS
    assert abs(at_ns - longest(stops.receiver.received["gaps"])[0]) < LEAST_NS
    assert late_tick(stops.receiver.sent)[1] < LEAST_NS


def test_a_stopped_sender_reports_a_pause_of_its_thread_at_the_gap_of_its_receiver(
    stops: Stops,
) -> None:
    at_ns, long_ns = late_tick(stops.sender.sent)
    assert long_ns >= LEAST_NS
    assert abs(at_ns - longest(stops.sender.received["gaps"])[0]) < LEAST_NS
    assert late_tick(stops.sender.received)[1] < LEAST_NS


def test_the_queue_of_a_stopped_receiver_is_full_during_its_gap(stops: Stops) -> None:
    record = stops.receiver.received
    place = record["gaps"][::2].index(longest(record["gaps"])[0])
    assert record["gap_queue_full"][place] == 1


def test_a_stopped_process_counts_the_time_that_it_was_stopped(stops: Stops) -> None:
    """Each may also count what a busy machine kept it from running."""
    for record, other in (
        (stops.receiver.received, stops.receiver.sent),
        (stops.sender.sent, stops.sender.received),
    ):
        assert record["stalled_ns"] >= LEAST_NS
        assert record["stalled_ns"] - other["stalled_ns"] > LEAST_NS / 2


@pytest.mark.parametrize("end", [0, 1], ids=["mirror", "asker"])
def test_an_asker_reports_a_gap_while_either_process_is_stopped(netprobe: Path, end: int) -> None:
    with Agent(netprobe) as mirror, Agent(netprobe) as asker:
        keys: dict[str, Any] = {"proto": "tcp", "message": 64, "token": "5a" * 16}
        mirroring = mirror.start("mirror", open="listen", bind="127.0.0.1", **keys)
        to = f"127.0.0.1:{mirror.next(mirroring, 'ready')['port']}"
        asking = asker.start("ask", to=to, seconds=5, **keys)
        asker.next(asking, "progress")
        time.sleep(BETWEEN_S)
        stop_process((mirror, asker)[end].process.pid, STOP_S)
        asked = asker.next(asking, "result", "error")
        mirror.ask("stop", test=mirroring)
        records = (mirror.next(mirroring, "result", "error"), asked)
    assert longest(asked["gaps"])[1] >= LEAST_NS
    assert late_tick(records[end])[1] >= LEAST_NS
    assert late_tick(records[1 - end])[1] < LEAST_NS
