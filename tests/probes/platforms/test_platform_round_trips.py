"""Round trips on every system that can run here, and between Linux and Windows."""

from __future__ import annotations

from typing import Any

import pytest
from round_trip_peers import (
    Answered,
    Echo,
    check_accounts,
    check_times,
    done,
    patient,
    relayed,
    round_trips,
)
from runners import Runner

pytestmark = pytest.mark.lab

KEYS: dict[str, dict[str, Any]] = {
    "tcp": {"proto": "tcp", "message": 1448},
    "udp": {"proto": "udp", "message": 1400},
    "connect": {"kind": "connect", "message": 200},
}


def check(outcome: Answered, count: int) -> None:
    check_accounts(outcome)
    assert outcome.asked["transactions"] == count == outcome.mirrored["answered_messages"]


def test_two_agents_of_one_system_measure_round_trips(runner: Runner) -> None:
    with runner.agent() as mirror, runner.agent() as asker:
        assert {"round_trip", "connect"} <= set(asker.ask("hello")["capabilities"].split(","))
        for keys in KEYS.values():
            check(done((mirror, asker), count=60, **keys), 60)


@pytest.mark.parametrize("asks", ["linux", "windows"])
def test_a_linux_agent_and_a_windows_agent_measure_round_trips(
    linux: Runner, windows: Runner, asks: str
) -> None:
    mirrors, askers = (windows, linux) if asks == "linux" else (linux, windows)
    with mirrors.agent() as mirror, askers.agent() as asker:
        for keys in KEYS.values():
            check(done((mirror, asker), count=100, **keys), 100)


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_windows_agents_complete_parallel_paced_and_delayed_round_trips(
    windows: Runner, protocol: str
) -> None:
    with windows.agent() as mirror, windows.agent() as asker:
        agents = (mirror, asker)
        check(done(agents, proto=protocol, message=100, count=200, ask={"outstanding": 8}), 200)
        check(done(agents, proto=protocol, message=100, count=50, ask={"message_rate": 200}), 50)
        check(done(agents, proto=protocol, message=100, count=50, mirror={"hold": 0.001}), 50)


def test_windows_agents_complete_parallel_round_trips_of_large_messages(windows: Runner) -> None:
    with windows.agent() as mirror, windows.agent() as asker:
        check(done((mirror, asker), message=500_000, count=20, ask={"outstanding": 6}), 20)


def test_a_windows_asker_measures_round_trips_while_spinning(
    linux: Runner, windows: Runner
) -> None:
    with linux.agent() as mirror, windows.agent() as asker:
        check(done((mirror, asker), proto="udp", message=64, count=100, spin=1), 100)


@pytest.mark.parametrize("message", [12, 100])
def test_a_windows_asker_counts_a_lost_request(windows: Runner, message: int) -> None:
    def rule(kind: str, number: int) -> tuple[int, float]:
        return (0 if kind == "request" and number == 3 else 1), 0

    with windows.agent() as mirror, windows.agent() as asker:
        outcome, ports = relayed(
            (mirror, asker), rule, message=message, count=10, ask={"timeout": 2}
        )
    assert outcome.asked["type"] == "result", outcome.asked
    assert (outcome.asked["transactions"], outcome.asked["lost_messages"]) == (9, 1)
    assert ports == (2 if message < 16 else 1)


def test_a_windows_asker_without_answers_reports_no_answer(windows: Runner) -> None:
    with windows.agent() as mirror, windows.agent() as asker:
        outcome = round_trips(
            (mirror, asker),
            proto="udp",
            message=32,
            mirror={"message": 33},
            count=3,
            ask={"timeout": 0.5},
        )
    assert outcome.asked["error"] == "no-answer"
    assert outcome.mirrored["foreign_messages"] == 3


@pytest.mark.parametrize("protocol", ["tcp", "udp"])
def test_a_windows_asker_measures_round_trips_with_an_echo(windows: Runner, protocol: str) -> None:
    with Echo() as echo, windows.agent() as asker:
        asker_record = asker.next(
            asker.start("ask", peer="echo", to=echo.to(protocol), proto=protocol, count=20,
                        **patient({"proto": protocol})),
            "result", "error",
        )  # fmt: skip
    assert asker_record["type"] == "result", asker_record
    check_times(asker_record)
    assert asker_record["transactions"] == 20


def test_a_windows_mirror_refuses_options_that_windows_lacks(windows: Runner) -> None:
    with windows.agent() as agent:
        words = agent.ask("hello")["capabilities"].split(",")
        for key, word in (("stamps", "stamps"), ("no_checksum", "no-checksum")):
            if word in words:
                continue
            # Stamps are asked for once the asker is there, which here is nobody.
            keys: dict[str, Any] = {"proto": "udp", "bind": "127.0.0.1", "token": "0" * 32, key: 1}
            if key == "no_checksum":
                refusal = agent.ask("mirror", **keys)
                assert (refusal["error"], refusal["key"]) == ("capability-missing", key)
