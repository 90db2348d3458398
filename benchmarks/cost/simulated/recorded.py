"""Records the answers of a real probe on this machine, for the simulated agents (farm.py)."""

from __future__ import annotations

from typing import Any

from netlab.experiment.hosts import Host
from netlab.kinds import RoundTrip, Stream
from netlab.measurement.conversation import drive
from netlab.measurement.ends import Ends, common_window
from netlab.measurement.round_trip import exchange_of
from netlab.measurement.stream import flows_of
from netlab.remote.agent import Agent

HERE = "127.0.0.1"


def recorded_answers(count: int) -> dict[str, Any]:
    """Verb → a record of the local probe: its greeting, its facts, and the results of both ends of
    ``count`` round trips and of a short stream over the loopback interface.
    """
    hosts = [Host(name=name, os="L", local=True, addresses={"test": (HERE,)}) for name in "ab"]
    agents = [Agent.open(host) for host in hosts]
    try:
        ends = Ends(server=agents[0], client=agents[1], same_host=True)
        setup = RoundTrip(protocol="UDP", message_bytes=64, duration_s=None, count=count)
        exchange = exchange_of(setup, ends)
        stream = Stream(protocol="UDP", message_bytes=64, duration_s=0.5, rate_bit_per_s=1e6)
        flow = flows_of(stream, ends, common_window([stream], agents))[0]
        drive([exchange], 10.0, lambda _side, _record: None)
        drive([flow], 10.0, lambda _side, _record: None)
        answers = {
            "hello": agents[0].hello,
            "facts": agents[0].facts(to=HERE),
            **{side.verb: side.result or {} for side in (*exchange.sides, *flow.sides)},
        }
    finally:
        for agent in agents:
            agent.close()
    return {
        "check": {"elapsed_ns": 1_000_000},
        **{verb: _plain(record) for verb, record in answers.items()},
    }


def _plain(record: Any) -> dict[str, Any]:
    """A record without its type and the id of its request."""
    return {key: value for key, value in record.items() if key not in ("type", "id")}
