"""How a stream's receiver waits for more, on every system that can run here: the same rule and the
same words, and what differs is in the record by its name."""

from __future__ import annotations

from typing import Any

import pytest
from netprobe_agents import Reply, open_trial, trial
from platform_trials import KEYS, check
from runners import Runner

pytestmark = pytest.mark.alone

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
def test_a_receiver_waits_in_the_way_asked_for_and_the_record_says_what_it_did(
    runner: Runner, way: str, protocol: str
) -> None:
    with runner.agent() as receiver, runner.agent() as sender:
        outcome = trial(
            (receiver, sender),
            proto=protocol,
            seconds=0.3,
            warm_up=0.15,
            receive=WAYS[way],
            **KEYS[protocol],
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


@pytest.mark.parametrize("way", WAYS)
def test_a_count_over_tcp_arrives_whole_whatever_the_way(runner: Runner, way: str) -> None:
    with runner.agent() as receiver, runner.agent() as sender:
        outcome = trial(
            (receiver, sender), proto="tcp", message=1000, count=2000, receive=WAYS[way]
        )
    assert outcome.received["total_bytes"] == 2_000_000


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_receiver_that_adapts_blocks_where_polling_brings_no_more(
    linux: Runner, protocol: str
) -> None:
    """Of a stream that is paced either way brings what is sent."""
    keys: dict[str, Any] = {"message": 1000, "message_rate": 5000, "seconds": 0.2, "warm_up": 0.2}
    with linux.agent() as receiver, linux.agent() as sender:
        outcome = trial((receiver, sender), proto=protocol, receive={"adapt": 1}, **keys)
    assert outcome.received["receive_chosen"] == "blocking"
    assert outcome.received["receive_pause_ns"] >= POLL_NS  # it has tried


def test_a_receiver_without_a_warm_up_has_nothing_to_choose_by(linux: Runner) -> None:
    with linux.agent() as receiver, linux.agent() as sender:
        outcome = trial(
            (receiver, sender),
            proto="tcp",
            message=1000,
            message_rate=5000,
            seconds=0.1,
            receive={"adapt": 1},
        )
    assert outcome.received["receive_chosen"] == "blocking"
    assert "receive_pause_ns" not in outcome.received


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_who_polls_sleeps_between_its_looks(linux: Runner, protocol: str) -> None:
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


def test_nobody_polls_where_sleeps_are_as_coarse_as_a_windows_tick(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NETPROBE_TEST_SLEEP_NS", "15625000")
    with runner.agent() as receiver, runner.agent() as sender:
        running_trial = open_trial((receiver, sender), proto="tcp", message=1000, seconds=0.2)
        assert running_trial.finish().received["type"] == "result"
        test_id = receiver.start("receive", proto="tcp", bind="127.0.0.1", token="0" * 32, poll=1)
        answer = receiver.next(test_id)
    assert (answer["error"], answer["key"]) == ("capability-missing", "poll")


@pytest.mark.parametrize(
    ("verb", "keys", "key"),
    [
        ("send", {"poll": 1}, "poll"),
        ("send", {"adapt": 1}, "adapt"),
        ("receive", {"poll": 1, "spin": 1}, "poll"),
        ("receive", {"poll": 1, "adapt": 1}, "adapt"),
        ("receive", {"spin": 1, "adapt": 1}, "adapt"),
    ],
)
def test_a_receiver_waits_in_one_way_and_a_sender_in_none(
    linux: Runner, verb: str, keys: dict[str, int], key: str
) -> None:
    with linux.agent() as agent:
        to = {"bind": "127.0.0.1"} if verb == "receive" else {"to": "127.0.0.1:9"}
        answer = agent.next(agent.start(verb, proto="udp", token="0" * 32, **to, **keys))
    assert (answer["error"], answer["key"]) == ("bad-value", key)
