"""Streams over several CPUs, and many streams in one agent, on Windows under wine."""

from __future__ import annotations

import itertools

import pytest
from netprobe_agents import CPUS, trial
from platform_trials import KEYS, check
from runners import Runner

pytestmark = pytest.mark.lab

SPREAD = CPUS[:2]
LISTED = ",".join(map(str, SPREAD))


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_windows_agents_run_each_stream_on_its_listed_cpu(windows: Runner, protocol: str) -> None:
    with windows.agent() as receiver, windows.agent() as sender:
        outcome = trial(
            (receiver, sender),
            proto=protocol,
            streams=3,
            seconds=0.4,
            cpus=LISTED,
            **KEYS[protocol],
        )
    check(outcome, protocol)
    expected_cpus = list(itertools.islice(itertools.cycle(SPREAD), 3))
    for record in (outcome.received, outcome.sent):
        assert record["cpus"] == SPREAD
        assert record["stream_cpus_open"] == record["stream_cpus_close"] == expected_cpus
    assert sum(outcome.received["stream_bytes"]) == outcome.received["received_bytes"]
    assert 1 / 3 <= outcome.received["fairness_index"] <= 1


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_windows_agent_counts_each_message_of_a_hundred_streams(
    linux: Runner, windows: Runner, protocol: str
) -> None:
    for receives, sends in ((linux, windows), (windows, linux)):
        with receives.agent() as receiver, sends.agent() as sender:
            outcome = trial(
                (receiver, sender),
                proto=protocol,
                streams=100,
                count=300,
                message=100,
                message_rate=500,
            )
        assert outcome.sent["stream_bytes"] == 100 * [300]
        losses = outcome.received.get("lost_messages", 0)
        assert outcome.received["total_messages"] + losses == 300
        assert protocol == "udp" or losses == 0


def test_a_windows_agent_refuses_a_cpu_that_the_host_lacks(windows: Runner) -> None:
    with windows.agent() as agent:
        refusal = agent.ask("receive", bind="127.0.0.1", token="0" * 32, cpus=f"{CPUS[0]},4000")
    assert (refusal["error"], refusal["key"]) == ("cannot-pin", "cpus")
