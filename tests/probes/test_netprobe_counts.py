"""netprobe over UDP with a count: a sender that is told to stop, a receiver that waits."""

from __future__ import annotations

import pytest
from netprobe_agents import Agent, agents, netprobe, open_trial

__all__ = ["agents", "netprobe"]

pytestmark = pytest.mark.lab

Agents = tuple[Agent, Agent]


def test_a_sender_stopped_before_its_last_message_reports_how_many_it_sent(agents: Agents) -> None:
    running_trial = open_trial(agents, proto="udp", message=100, count=1_000_000, message_rate=2000)
    running_trial.sender.next(running_trial.sample, "progress")
    running_trial.sender.ask("stop", test=running_trial.sample)
    sender_record = running_trial.sender.next(running_trial.sample, "result", "error")
    running_trial.receiver.ask(
        "stop", test=running_trial.receiving, sent=sender_record.get("sent_messages", 0)
    )
    receiver_record = running_trial.receiver.next(running_trial.receiving, "result", "error")
    assert (sender_record["type"], receiver_record["type"]) == ("result", "result"), (
        sender_record,
        receiver_record,
    )
    assert 0 < sender_record["sent_messages"] < 1_000_000
    assert (
        sender_record["elapsed_ns"]
        == sender_record["last_send_ns"] - sender_record["first_send_ns"]
    )
    assert receiver_record["sent_messages"] == sender_record["sent_messages"]
    assert (
        receiver_record["total_messages"] + receiver_record["lost_messages"]
        == sender_record["sent_messages"]
    )


@pytest.mark.parametrize("drain_s", [0.3, 0.9])
def test_a_receiver_waits_the_requested_time_for_missing_messages(
    agents: Agents,
    drain_s: float,
) -> None:
    """A short queue loses some of what comes at once: the sender's markers say so, and yet."""
    receive: dict[str, object] = {"drain": drain_s, "socket_buffer": 4096}
    running_trial = open_trial(agents, proto="udp", message=1000, count=5000, receive=receive)
    outcome = running_trial.finish()
    assert outcome.received["type"] == "result", outcome.received
    assert outcome.received["lost_messages"] > 0
    assert drain_s - 0.05 < outcome.received["drain_ns"] / 1e9 < drain_s + 20


@pytest.mark.alone
@pytest.mark.night
def test_a_receiver_does_not_wait_for_messages_that_its_socket_dropped(
    agents: Agents,
) -> None:
    """Beside trials that are asked to wait for as long as a quiet behind the markers takes."""
    drains: dict[str, list[int]] = {"as it is": [], "asked": []}
    for _ in range(5):
        for name, drain_times_ns in drains.items():
            receive: dict[str, object] = {"socket_buffer": 4096}
            receive |= {"drain": 0.02} if name == "asked" else {}
            running_trial = open_trial(
                agents, proto="udp", message=1000, seconds=0.1, receive=receive
            )
            outcome = running_trial.finish()
            assert outcome.received["type"] == "result", outcome.received
            # An end marker may be dropped as well.
            assert 0 < outcome.received["lost_messages"] <= outcome.received["queue_drops"]
            drain_times_ns.append(outcome.received["drain_ns"])
    assert min(drains["as it is"]) < min(drains["asked"])


def test_a_receiver_that_has_every_message_does_not_wait_for_more(agents: Agents) -> None:
    receive: dict[str, object] = {"drain": 30}
    running_trial = open_trial(
        agents, proto="udp", message=100, count=50, message_rate=500, receive=receive
    )
    outcome = running_trial.finish()
    assert outcome.received["total_messages"] == 50
    assert outcome.received["drain_ns"] < 20e9
