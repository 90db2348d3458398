"""By how much later than the fastest one requests arrived, and silences that late answers end."""

from __future__ import annotations

from typing import Any

import pytest
from netprobe_agents import agents, netprobe
from round_trip_peers import Agents, Echo, done, relayed

__all__ = ["agents", "netprobe"]

pytestmark = pytest.mark.lab

MS = 1_000_000
LATER = {"later_mean_ns", "later_max_ns"}


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
@pytest.mark.parametrize(("message", "outstanding"), [(24, 1), (100, 20), (9000, 1)])
def test_requests_over_loopback_are_later_by_less_than_their_round_trips(
    agents: Agents, protocol: str, message: int, outstanding: int
) -> None:
    """One clock: a request is on its way for a part of its round trip."""
    keys: dict[str, Any] = {"proto": protocol, "message": message, "count": 300}
    outcome = done(agents, **keys, ask={"outstanding": outstanding})
    mirror_record, asker_record = outcome.mirrored, outcome.asked
    assert 0 <= mirror_record["later_mean_ns"] <= mirror_record["later_max_ns"]
    assert mirror_record["later_mean_ns"] <= asker_record["rtt_mean_ns"]
    assert mirror_record["later_max_ns"] <= asker_record["rtt_max_ns"]
    assert not LATER & asker_record.keys()


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_messages_too_short_for_their_time_do_not_tell_how_late_they_are(
    agents: Agents, protocol: str
) -> None:
    outcome = done(agents, proto=protocol, message=23, count=50)
    assert not LATER & outcome.mirrored.keys()


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_an_echo_tells_no_times_and_returns_what_was_sent(agents: Agents, protocol: str) -> None:
    with Echo() as echo:
        keys = {"proto": protocol, "message": 100, "count": 50}
        asking = agents[1].start("ask", to=echo.to(protocol), peer="echo", **keys)
        asker_record = agents[1].next(asking, "result", "error")
    assert asker_record["type"] == "result", asker_record
    assert (asker_record["transactions"], asker_record["mismatched_messages"]) == (50, 0)
    assert not LATER & asker_record.keys()


@pytest.mark.parametrize("delayed", ["request", "response"])
def test_only_what_delays_requests_makes_them_later(agents: Agents, delayed: str) -> None:
    """A relay holds every other one back for 50 ms."""

    def rule(kind: str, number: int) -> tuple[int, float]:
        return 1, 0.05 * (kind == delayed and number % 2)

    outcome, _ports = relayed(agents, rule, message=100, count=40)
    later = outcome.mirrored
    assert outcome.asked["rtt_mean_ns"] > 25 * MS
    if delayed == "request":
        assert later["later_max_ns"] > 40 * MS
        assert later["later_mean_ns"] > 20 * MS
    else:
        assert later["later_mean_ns"] < 20 * MS


def test_answers_that_come_too_late_end_a_silence(agents: Agents) -> None:
    """Of a second from 0.5 s on, the first half comes 0.5 s late, and the rest not at all."""

    def rule(kind: str, number: int) -> tuple[int, float]:
        if kind == "request" or not 50 <= number < 150:
            return 1, 0.0
        return (1, 0.5) if number < 100 else (0, 0.0)

    ask = {"message_rate": 100, "timeout": 0.2, "outstanding": 100}
    outcome, _ports = relayed(agents, rule, message=100, seconds=2.5, ask=ask)
    asker_record = outcome.asked
    assert asker_record["type"] == "result", asker_record
    assert asker_record["lost_messages"] >= 100
    assert asker_record["late_messages"] >= 50
    lengths = asker_record["gaps"][1::2]
    assert 400 * MS < max(lengths) < 900 * MS, "it would last for a second else"
