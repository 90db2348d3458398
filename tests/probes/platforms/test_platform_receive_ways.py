"""How a stream's receiver waits for more, on every system that can run here: the same rule and the
same words, and what differs is in the record by its name."""

from __future__ import annotations

from typing import Any

import pytest
from netprobe_agents import Reply, open_trial, trial
from platform_trials import KEYS, check
from runners import Runner

pytestmark = pytest.mark.lab

WAYS: dict[str, dict[str, int]] = {
    "blocking": {},
    "polling": {"poll": 1},
    "spinning": {"spin": 1},
    "adaptive": {"adapt": 1},
}
POLL_NS = 100_000


def polled(receiver_record: Reply, way: str) -> bool:
    """Whether it was to poll at any time: one that adapts tries it."""
    return way == "polling" or (
        way == "adaptive" and receiver_record["receive_chosen"] == "polling"
    )


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("way", WAYS)
def test_a_receiver_waits_in_the_requested_way_and_records_it(
    linux: Runner, way: str, protocol: str
) -> None:
    check_way(linux, way, protocol)


@pytest.mark.night
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize("way", WAYS)
def test_a_receiver_on_another_system_waits_in_the_requested_way_and_records_it(
    runner: Runner, way: str, protocol: str
) -> None:
    check_way(runner, way, protocol)


def check_way(runner: Runner, way: str, protocol: str) -> None:
    keys = KEYS[protocol]
    if protocol == "udp":  # a receiver that this machine holds up has room for all of them
        keys = keys | {"message_rate": 60}
    with runner.agent() as receiver, runner.agent() as sender:
        outcome = trial(
            (receiver, sender),
            proto=protocol,
            seconds=1,
            warm_up=0.15,
            receive=WAYS[way],
            **keys,
        )
    receiver_record = outcome.received
    check(outcome, protocol)
    assert receiver_record["receive_method"] == way
    assert receiver_record["spin"] == int(way == "spinning")
    assert ("receive_chosen" in receiver_record) == (way == "adaptive")
    if protocol == "udp":
        assert receiver_record["lost_messages"] == 0
        batch = 1 if way == "blocking" or runner.windows else 32
        method = receiver_record.get("receive_chosen", way)
        assert receiver_record["receive_call_messages"] == (1 if method == "blocking" else batch)
    else:
        assert "receive_call_messages" not in receiver_record
    assert ("receive_pause_ns" in receiver_record) >= polled(receiver_record, way)
    assert ("receive_pause_ns" in receiver_record) <= (way in ("polling", "adaptive"))
    assert receiver_record.get("receive_pause_ns", POLL_NS) >= POLL_NS


def test_every_byte_of_a_tcp_stream_arrives_in_each_way_of_waiting(runner: Runner) -> None:
    with runner.agent() as receiver, runner.agent() as sender:
        for way in WAYS.values():
            outcome = trial((receiver, sender), proto="tcp", message=1000, count=2000, receive=way)
            assert outcome.received["total_bytes"] == 2_000_000


@pytest.mark.alone
@pytest.mark.night
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_an_adaptive_receiver_blocks_if_polling_does_not_raise_the_throughput(
    linux: Runner, protocol: str
) -> None:
    """Of a stream that is paced either way brings what is sent."""
    keys: dict[str, Any] = {"message": 1000, "message_rate": 5000, "seconds": 0.2, "warm_up": 0.2}
    with linux.agent() as receiver, linux.agent() as sender:
        outcome = trial((receiver, sender), proto=protocol, receive={"adapt": 1}, **keys)
    assert outcome.received["receive_chosen"] == "blocking"
    assert outcome.received["receive_pause_ns"] >= POLL_NS  # it has tried


def test_an_adaptive_receiver_without_a_warm_up_blocks(linux: Runner) -> None:
    with linux.agent() as receiver, linux.agent() as sender:
        outcome = trial(
            (receiver, sender),
            proto="tcp",
            message=1000,
            message_rate=5000,
            seconds=1,
            receive={"adapt": 1},
        )
    assert outcome.received["receive_chosen"] == "blocking"
    assert "receive_pause_ns" not in outcome.received


@pytest.mark.alone
@pytest.mark.night
@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_polling_receiver_sleeps_between_two_polls(linux: Runner, protocol: str) -> None:
    """Its thread is on a CPU for little of the time, and most looks find nothing."""
    with linux.agent() as receiver, linux.agent() as sender:
        outcome = trial(
            (receiver, sender),
            proto=protocol,
            message=400,
            message_rate=500,
            seconds=0.5,
            receive={"poll": 1},
        )
    receiver_record = outcome.received
    assert receiver_record["thread_ns"] < 0.5 * receiver_record["elapsed_ns"]
    assert receiver_record["empty_receives"] > 0.6 * receiver_record["receive_calls"]


def test_an_agent_refuses_polling_where_sleeps_last_a_windows_tick(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETPROBE_TEST_SLEEP_NS", "15625000")
    with runner.agent() as receiver, runner.agent() as sender:
        running_trial = open_trial((receiver, sender), proto="tcp", message=1000, seconds=0.2)
        assert running_trial.finish().received["type"] == "result"
        test_id = receiver.start("receive", proto="tcp", bind="127.0.0.1", token="0" * 32, poll=1)
        answer = receiver.next(test_id)
    assert (answer["error"], answer["key"]) == ("capability-missing", "poll")
