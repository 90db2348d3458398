"""Round trips are measured with scripted agents: the requests to each end, and the record."""

from __future__ import annotations

from typing import Any, cast

import pytest
from advanced_clock import passing_clock
from scripted_agent import Asked, Fake, run_with

from netlab.errors import HostGone
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Mirror
from netlab.experiment.schedule import Trial
from netlab.kinds import Connect, RoundTrip
from netlab.measurement.ends import Ends, SoFar
from netlab.measurement.engines import measure
from netlab.measurement.round_trip import deadline_s, exchange_of
from netlab.remote.agent import Agent
from netlab.trial.record import Record, Status, to_json

__all__ = ["passing_clock"]

pytestmark = [pytest.mark.agents, pytest.mark.usefixtures("passing_clock")]


def trial_of(**settings: Any) -> Trial:
    defaults: dict[str, Any] = {"protocol": "UDP", "message_bytes": 18, "duration_s": 1.0}
    setup = RoundTrip(**defaults | settings)
    return Trial(cell=Cell(pairing="LL", test="round_trip", setup=setup), number=1)


def connect_trial_of(**settings: Any) -> Trial:
    setup = Connect(**{"message_bytes": 64, "duration_s": 1.0} | settings)
    return Trial(cell=Cell(pairing="LL", test="connect", setup=setup), number=1)


def run(trial: Trial, **fakes: Any) -> tuple[Record, list[Asked], list[SoFar]]:
    return run_with(measure, trial, **fakes)


def keys_by_verb(requests: list[Asked]) -> dict[str, dict[str, Any]]:
    return {verb: keys for _, verb, keys in requests if verb != "stop"}


def test_the_mirror_listens_first_and_is_stopped_after_the_result_of_the_client() -> None:
    record, requests, live = run(trial_of())
    assert [(name, verb) for name, verb, _ in requests] == [
        ("server", "mirror"),
        ("client", "ask"),
        ("server", "stop"),
    ]
    (_, _, listening), (_, _, connecting), (_, _, stop) = requests
    assert (listening["open"], connecting["open"]) == ("listen", "connect")
    assert connecting["to"] == "10.0.0.1:40001"
    assert connecting["token"] == listening["token"]
    assert stop == {"test": "server1"}
    assert [progress.rate_bit_per_s for progress in live] == [8e6]
    assert record.status is Status.OK


def test_a_round_trip_record_stores_its_main_figures_and_the_values_of_each_end() -> None:
    record, _, _ = run(trial_of())
    values = record.values
    assert values["transactions_per_s"] == 1000.0
    assert values["rtt_mean_ns"] == 1_000_000.0
    assert values["rtt_histogram"] == [1791, 10]
    assert (values["client_user_ns"], values["server_user_ns"]) == (5, 7)
    assert values["client_latency_from"] == "sent"
    assert values["server_answered_messages"] == 10
    assert not any(name.startswith("client_rtt") for name in values)
    assert values["connected_by"] == "client"
    to_json(record)


def test_a_server_that_has_to_connect_is_still_the_mirror() -> None:
    record, requests, _ = run(trial_of(source_port=4000), connected_by={"UDP": "server"})
    assert [(name, verb, keys["open"]) for name, verb, keys in requests[:2]] == [
        ("client", "ask", "listen"),
        ("server", "mirror", "connect"),
    ]
    assert "port" not in requests[0][2]
    assert requests[1][2]["port"] == 4000
    assert requests[2] == ("server", "stop", {"test": "server2"})
    assert record.values["connected_by"] == "server"


def test_a_mirror_without_a_probe_receives_no_token_and_has_no_values() -> None:
    record, requests, _ = run(trial_of(), mirror=Mirror("10.0.0.9", 7))
    ((name, verb, keys),) = requests
    assert (name, verb) == ("client", "ask")
    assert (keys["to"], keys["peer"], keys["open"]) == ("10.0.0.9:7", "echo", "connect")
    assert "token" not in keys
    assert record.server == "echo"
    assert record.values["agentless"] is True
    assert not any(name.startswith("server_") for name in record.values)


def test_the_ipv6_address_of_a_mirror_is_sent_in_brackets() -> None:
    _, requests, _ = run(trial_of(ip_version=6), mirror=Mirror("fd00::9", 7))
    assert requests[0][2]["to"] == "[fd00::9]:7"


def test_each_end_of_a_round_trip_receives_only_its_own_settings() -> None:
    _, requests, _ = run(
        trial_of(
            response_bytes=16,
            outstanding=4,
            message_rate_per_s=500.0,
            timeout_s=0.25,
            keep_first=10,
            mirror_hold_s=0.001,
            server_receive="spinning",
            client_cpu=1,
            server_cpu=0,
            stack_time=True,
            udp_checksum=False,
            dont_fragment=True,
            dscp=46,
            warm_up_s=0.5,
            socket_buffer_bytes=65536,
        )
    )
    keys = keys_by_verb(requests)
    common = {"kind", "proto", "token", "message", "response", "socket_buffer", "dscp"}
    common |= {"dont_fragment", "no_checksum", "cpu", "deadline", "open", "bind"}
    assert set(keys["ask"]) == common | {
        *("seconds", "warm_up", "message_rate", "keep", "outstanding", "timeout", "to")
    }
    assert set(keys["mirror"]) == common | {"spin", "hold", "stamps"}
    assert (keys["ask"]["cpu"], keys["mirror"]["cpu"]) == (1, 0)
    assert (keys["ask"]["timeout"], keys["mirror"]["hold"]) == ("0.25", "0.001")
    assert keys["ask"]["message_rate"] == "500"
    assert keys["mirror"]["response"] == 16


def test_a_response_is_as_long_as_its_request_by_default() -> None:
    _, requests, _ = run(trial_of(message_bytes=1472))
    assert {keys["response"] for keys in keys_by_verb(requests).values()} == {1472}


def test_the_deadline_of_the_mirror_is_later_than_that_of_the_client() -> None:
    _, requests, _ = run(trial_of(duration_s=2.0))
    keys = keys_by_verb(requests)
    assert float(keys["mirror"]["deadline"]) > float(keys["ask"]["deadline"]) > 2.0


@pytest.mark.parametrize(
    ("settings", "least_s", "most_s"),
    [
        ({"count": 1_000_000, "message_rate_per_s": 1000.0}, 1000, 1060),
        ({"count": 1000}, 60, 600),
        ({"count": 1_000_000}, 10_000, 10_000),
    ],
)
def test_the_deadline_of_round_trips_grows_with_their_requested_number(
    settings: dict[str, Any], least_s: float, most_s: float
) -> None:
    setup = RoundTrip(protocol="UDP", message_bytes=18, duration_s=None, **settings)
    assert least_s <= deadline_s(setup) <= most_s


def test_round_trips_over_tcp_have_no_time_out_and_set_congestion_control_at_both_ends() -> None:
    record, requests, _ = run(trial_of(protocol="TCP", congestion="cubic", nodelay=True))
    keys = keys_by_verb(requests)
    assert "timeout" not in keys["ask"]
    for verb in ("ask", "mirror"):
        assert (keys[verb]["congestion"], keys[verb]["nodelay"]) == ("cubic", 1)
    assert record.values["congestion_chosen"] is True


def test_the_record_states_that_a_mirror_could_not_choose_its_congestion_control() -> None:
    record, requests, _ = run(
        trial_of(protocol="TCP", congestion="cubic"), server={"capabilities": "tcp"}
    )
    keys = keys_by_verb(requests)
    assert ("congestion" in keys["ask"], "congestion" in keys["mirror"]) == (True, False)
    assert record.values["congestion_chosen"] is False


def test_round_trips_are_measured_even_if_the_mirror_cannot_time_its_stack() -> None:
    record, requests, _ = run(trial_of(stack_time=True), server={"capabilities": "udp"})
    assert "stamps" not in keys_by_verb(requests)["mirror"]
    assert record.status is Status.OK
    assert record.values["stack_timed"] is False


def test_a_connect_trial_passes_on_the_setting_close_and_the_client_opens_the_connections() -> None:
    record, requests, _ = run(connect_trial_of(close="orderly"), connected_by={"TCP": "server"})
    keys = keys_by_verb(requests)
    assert (keys["ask"]["kind"], keys["ask"]["close"]) == ("connect", "orderly")
    assert (keys["mirror"]["kind"], keys["mirror"]["open"]) == ("connect", "listen")
    assert "close" not in keys["mirror"]
    assert record.test == "connect"
    assert record.values["connected_by"] == "client"


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("message-too-long", Status.IMPOSSIBLE),
        ("capability-missing", Status.IMPOSSIBLE),
        ("no-answer", Status.FAILED),
        ("connect-refused", Status.FAILED),
        ("address-not-available", Status.FAILED),
    ],
)
def test_a_failed_round_trip_trial_aborts_the_mirror_and_stores_no_figure(
    word: str, status: Status
) -> None:
    fault = {"error": word, "errno": 90, "path_mtu_bytes": 1400}
    record, requests, _ = run(trial_of(), client={"faults": {"ask": fault}})
    assert (record.status, record.reason, record.errno) == (status, word, 90)
    hint = {"path_mtu_bytes": 1400} if word == "message-too-long" else {}
    assert record.values == hint | {"same_host": False}
    assert ("server", "stop", {"test": "server1", "abort": 1}) in requests


def test_the_fault_of_the_mirror_is_reported_and_not_its_consequence() -> None:
    record, _, _ = run(
        trial_of(),
        server={"faults": {"mirror": {"error": "capability-missing", "key": "stamps"}}},
    )
    assert (record.status, record.reason) == (Status.IMPOSSIBLE, "capability-missing")
    assert "stamps" in str(record.detail)


def test_a_server_without_any_answer_ends_the_trial_early() -> None:
    silent = {"type": "progress", "bytes": 0, "messages": 0, "elapsed_ns": 11_000_000_000}
    trial = trial_of(duration_s=None, count=10_000, timeout_s=0.5)
    record, requests, _ = run(trial, client={"answer": lambda verb, _keys: silent})
    assert (record.status, record.reason) == (Status.FAILED, "no-answer")
    assert "not one answer in 11 s" in str(record.detail)
    tests = {keys["test"] for _, verb, keys in requests if verb == "stop" and keys.get("abort")}
    assert tests == {"server1", "client2"}


def test_a_silent_server_is_given_up_after_ten_time_outs() -> None:
    exchange = exchange_of(
        RoundTrip(protocol="UDP", message_bytes=64, timeout_s=10.0),
        Ends(cast(Agent, Fake("server", [])), cast(Agent, Fake("client", [])), same_host=False),
    )
    exchange.begin(lambda _pending, _record: None)
    exchange.handle(exchange.sides[0], {"type": "ready", "port": 1}, lambda _p, _r: None)
    for elapsed_s, given_up in ((11, False), (99, False), (101, True)):
        progress = {"type": "progress", "messages": 0, "elapsed_ns": elapsed_s * 1_000_000_000}
        exchange.handle(exchange.asker, progress, lambda _p, _r: None)
        assert (exchange.asker.fault is not None) is given_up


@pytest.mark.parametrize(("end", "verb"), [("client", "ask"), ("server", "mirror")])
def test_a_lost_host_ends_a_round_trip_trial(end: str, verb: str) -> None:
    with pytest.raises(HostGone, match="no heartbeat"):
        run(trial_of(), **{end: {"gone_after": verb}})
