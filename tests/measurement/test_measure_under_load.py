"""Latency under load is measured with scripted agents: the requests, and the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from loaded_hosts import MS, S, World

from netlab.errors import HostGone
from netlab.experiment.hosts import Mirror
from netlab.trial.record import Status, to_json

pytestmark = pytest.mark.agents


def aborted(world: World) -> set[str]:
    """The ids of the tests that were ended without a result."""
    return {keys["test"] for _, verb, keys in world.asked if verb == "stop" and "abort" in keys}


# ---- a trial that goes well ----


def test_the_figures_of_a_latency_under_load_trial_equal_those_computed_by_hand() -> None:
    record = World().run()
    assert record.status is Status.OK, record.detail
    values = record.values
    to_json(record)
    assert (values["idle_rtt_count"], values["idle_rtt_p50_ns"]) == (200, 10 * MS)
    # The load settles at once: the second phase begins 2 s after the load, and lasts 18 s.
    assert (values["loaded_rtt_count"], values["loaded_rtt_p99_ns"]) == (1800, 50 * MS)
    assert (values["after_rtt_count"], values["after_rtt_max_ns"]) == (200, 10 * MS)
    assert values["increase_ns"] == 40 * MS
    assert values["round_trips_per_minute_loaded"] == pytest.approx(1200)
    assert sum(values[f"{phase}_lost_messages"] for phase in ("idle", "loaded", "after")) == 0  # type: ignore[misc]
    assert values["throughput_bit_per_s"] == pytest.approx(16e6)
    # 80 ms are two round trips of 40: Foreign is 1500; 100 ms are Loaded 600.
    assert values["responsiveness_per_minute"] == pytest.approx(1050)
    assert (values["idle_connections"], values["idle_connect_p50_ns"]) == (2, 20 * MS)
    assert (values["loaded_connections"], values["loaded_connect_max_ns"]) == (18, 80 * MS)
    assert not any(name.startswith("client_rtt_histogram") for name in values)
    assert values["server_answered_messages"] == 10


def test_the_times_of_the_phases_under_load_are_counted_from_the_first_request() -> None:
    values = World().run().values
    assert values["idle_open_ns"] == 250 * MS
    assert values["load_open_ns"] == 2250 * MS
    assert values["settled_ns"] == 4250 * MS
    assert values["load_close_ns"] == 22250 * MS
    # Due 10 ms and more behind the load's last message (1 ms): back at 20.01 + 0.2 s.
    assert values["drained_ns"] == 22250 * MS + 210 * MS
    assert values["after_close_ns"] == 22250 * MS + 2210 * MS


def test_round_trips_are_stored_in_request_order_with_the_numbers_of_lost_requests() -> None:
    """Later answers arrive first, and records hold them in the order of arrival."""
    world = World(
        trips=lambda at_s: (
            None if round(100 * at_s) % 10 == 5 else 50 - 20 * (round(100 * at_s) % 3)
        ),
        opened_s=0.0,
    )
    values = world.run(request_timeout_s=1.0).values
    count = round(100 * (2 + 20 + 1 + 2 + 0.5))
    losses = [number for number in range(count) if (number - 200) % 10 == 5]
    assert values["lost_trips"] == losses
    assert values["trip_ns"] == [
        MS * (50 - 20 * ((number - 200) % 3)) for number in range(count) if number not in losses
    ]
    assert values["loaded_lost_messages"] == 180
    assert "loaded_rtt_p90_ns" in values
    assert "loaded_rtt_p99_ns" not in values


@pytest.mark.parametrize("direction", ["client-sends", "server-sends"])
@pytest.mark.parametrize(("client_ns", "server_ns"), [(0, 10**15), (10**15, 0), (5 * S, -7 * S)])
def test_clock_offsets_between_the_hosts_do_not_change_the_figures_under_load(
    client_ns: int, server_ns: int, direction: str
) -> None:
    plain = World().run(direction=direction).values
    off = World(client_ns=client_ns, server_ns=server_ns).run(direction=direction).values
    timed = {"server_setup_ns", "client_setup_ns"}
    own = {name for name in plain if name.endswith(("first_send_ns", "last_send_ns"))} | timed
    assert off["drained_ns"] == plain["drained_ns"] == 22250 * MS + 210 * MS
    assert {n: v for n, v in off.items() if n not in own} == {
        n: v for n, v in plain.items() if n not in own
    }


def test_throughput_under_load_is_that_of_the_settled_phase() -> None:
    growing = [100_000 * number for number in range(1, 9)]
    values = World(of_half_seconds=[*growing, *([1_000_000] * 32)]).run().values
    # Three half seconds within 10 %: from 4 to 5.5 s.
    assert values["settled_ns"] == 2250 * MS + 5500 * MS
    assert values["loaded_rtt_count"] == 1450
    assert values["throughput_bit_per_s"] == pytest.approx(16e6)
    restless = World(of_half_seconds=[1_000_000, 2_000_000] * 20).run().values
    assert restless["settled_ns"] == 2250 * MS + 10_000 * MS


def test_a_longer_last_interval_does_not_change_the_throughput_under_load() -> None:
    """A receiver's last interval is half to one and a half as long as the others."""
    world = World()

    def longer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        reply = world.answer(verb, keys)
        assert reply is not None
        if verb == "receive":
            reply["interval_bytes"][-1] = 3 * reply["interval_bytes"][-1] // 2
            reply["elapsed_ns"] += 50 * MS
        return reply

    values = world.run(server={"answer": longer}).values
    assert values["throughput_bit_per_s"] == pytest.approx(16e6)


def test_a_load_in_both_directions_has_a_throughput_for_each_direction() -> None:
    world = World()
    record = world.run(direction="both")
    assert record.status is Status.OK, record.detail
    assert [end for end, _ in world.of("receive", "stream")] == ["server", "client"]
    for flow in ("to_server_", "to_client_"):
        assert record.values[f"{flow}throughput_bit_per_s"] == pytest.approx(16e6)
    assert "throughput_bit_per_s" not in record.values
    assert record.values["increase_ns"] == 40 * MS


# ---- what is asked ----


def test_the_load_and_the_round_trips_are_requested_with_their_settings_and_start_times() -> None:
    world = World(client_ns=10**15, server_ns=-(10**14))
    world.run(streams=4, congestion="cubic", request_bytes=100, dscp=10)
    ((_, receiving),) = world.of("receive", "stream")
    ((_, sending),) = world.of("send", "stream")
    assert sending["start_ns"] - receiving["start_ns"] == 10**15 + 10**14
    for keys in (receiving, sending):
        assert keys["start_ns"] == keys["window_open_ns"]
        assert keys["window_close_ns"] - keys["window_open_ns"] == 20 * S
        assert keys["streams"] == 4
        assert keys["dscp"] == 10
    ((end, asking),) = world.of("ask", "round_trip")
    assert end == "client"
    assert (asking["trips"], asking["proto"], asking["message_rate"]) == (1, "udp", "100")
    assert (asking["message"], asking["response"], asking["dscp"]) == (100, 100, 10)
    assert (asking["outstanding"], asking["timeout"]) == (301, "3")
    assert float(asking["seconds"]) == 2 + 20 + 3 + 2 + 0.5
    assert "congestion" not in asking
    ((_, connecting),) = world.of("ask", "connect")
    assert (connecting["trips"], connecting["message_rate"]) == (1, "1")
    assert connecting["seconds"] == asking["seconds"]
    # The deadline of a longer test is not earlier.
    lives = {float(keys["deadline"]) for _, verb, keys in world.asked if verb != "stop"}
    assert min(lives) > float(asking["seconds"]) + 0.5
    ((_, mirror),) = world.of("mirror", "round_trip")
    assert "trips" not in mirror
    assert float(mirror["deadline"]) > float(asking["deadline"])


def test_round_trips_over_tcp_beside_a_load_are_requested_without_a_time_out() -> None:
    world = World()
    assert world.run(request_protocol="TCP").status is Status.OK
    ((_, asking),) = world.of("ask", "round_trip")
    assert (asking["proto"], asking["nodelay"]) == ("tcp", 1)
    assert "timeout" not in asking


def test_a_trial_without_connections_sends_no_connect_request_and_stores_no_connect_value() -> None:
    world = World()
    values = world.run(connect_rate_per_s=None).values
    assert world.of("ask", "connect") == world.of("mirror", "connect") == []
    assert not [name for name in values if "connection" in name or "connect_" in name]
    assert "responsiveness_per_minute" not in values
    assert values["increase_ns"] == 40 * MS


def test_no_connections_are_timed_if_only_the_server_can_connect() -> None:
    """The client opens them; the server opens the load and the round trips."""
    world = World()
    record = world.run(within={"connected_by": {"TCP": "server", "UDP": "server"}})
    assert record.status is Status.OK, record.detail
    assert world.of("ask", "connect") == []
    ((_, asking),) = world.of("ask", "round_trip")
    ((_, sending),) = world.of("send", "stream")
    assert asking["open"] == sending["open"] == "listen"
    assert not [name for name in record.values if "connection" in name or "connect_" in name]
    assert "responsiveness_per_minute" not in record.values
    assert record.values["increase_ns"] == 40 * MS
    assert record.values["connected_by"] == "server"


@pytest.mark.parametrize(
    "settings", [{"protocol": "UDP", "rate_bit_per_s": 1e7}, {"duration_s": 19.0}]
)
def test_a_load_over_udp_or_a_short_load_has_no_responsiveness(settings: dict[str, Any]) -> None:
    world = World(of_half_seconds=[1_000_000] * round(2 * settings.get("duration_s", 20)))
    values = world.run(**settings).values
    assert "responsiveness_per_minute" not in values
    assert values["loaded_connections"] in (17, 18)


def test_lost_connections_are_counted_and_stored_with_their_times() -> None:
    values = World(connections=lambda at_s: None if 5 <= at_s < 8 else 80).run().values
    assert (values["loaded_connections"], values["loaded_lost_connections"]) == (18, 3)
    # Due a second apart from 2.25 s before the load on: of those 5.75, 6.75 and 7.75 s behind it.
    assert values["lost_connection_at_ns"] == [(8 + number) * S for number in range(3)]
    times_ns = [number * S for number in range(28) if number not in (8, 9, 10)]
    assert values["connection_at_ns"] == times_ns
    assert values["connection_ns"] == [80 * MS] * len(times_ns)


# ---- a trial that fails ----


@pytest.mark.parametrize(
    ("end", "verb", "word", "status"),
    [
        ("server", "receive", "peer-vanished", Status.FAILED),
        ("client", "send", "connect-refused", Status.FAILED),
        ("client", "send", "no-buffers", Status.IMPOSSIBLE),
        ("client", "send", "capability-missing", Status.IMPOSSIBLE),
        ("client", "ask", "no-answer", Status.FAILED),
        ("client", "ask", "connect-timeout", Status.FAILED),
        ("server", "mirror", "address-in-use", Status.FAILED),
    ],
)
def test_a_fault_of_the_load_or_the_round_trips_ends_the_trial_with_its_reason(
    end: str, verb: str, word: str, status: Status
) -> None:
    world = World()
    fault = {end: {"faults": {verb: {"error": word, "errno": 5}}}}
    record = world.run(**fault)
    assert (record.status, record.reason, record.errno) == (status, word, 5)
    assert record.values == {"same_host": False}
    # The mirrors never end by themselves.
    assert len(aborted(world)) >= 1


def test_a_latency_under_load_trial_without_any_answer_fails_early() -> None:
    silent = {"type": "progress", "bytes": 0, "messages": 0, "elapsed_ns": 31 * S}
    world = World()

    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        return (
            silent if verb == "ask" and keys["kind"] == "round_trip" else world.answer(verb, keys)
        )

    record = world.run(client={"answer": answer})
    assert (record.status, record.reason) == (Status.FAILED, "no-answer")
    assert "not one answer in 31 s" in str(record.detail)


@pytest.mark.parametrize(
    ("end", "verb"),
    [("server", "mirror"), ("client", "ask"), ("server", "receive"), ("client", "send")],
)
def test_a_lost_host_ends_the_trial_and_aborts_the_tests_of_the_other_host(
    end: str, verb: str
) -> None:
    world = World()
    fault = {end: {"gone_after": verb}}
    with pytest.raises(HostGone, match="no heartbeat"):
        world.run(**fault)
    assert aborted(world)


def test_latency_under_load_is_impossible_with_a_server_without_a_probe() -> None:
    record = World().run(within={"mirror": Mirror("10.0.0.9", 7)})
    assert (record.status, record.reason) == (Status.IMPOSSIBLE, "not-as-set-up")
    assert "it runs no probe" in str(record.detail)


def without(name: str) -> Callable[[World], Callable[[str, dict[str, Any]], Any]]:
    def of(world: World) -> Callable[[str, dict[str, Any]], Any]:
        def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
            reply = world.answer(verb, keys)
            return reply and {key: value for key, value in reply.items() if key != name}

        return answer

    return of


@pytest.mark.parametrize("name", ["interval_ns", "interval_bytes"])
def test_a_load_result_without_intervals_is_a_bad_answer(name: str) -> None:
    world = World()
    record = world.run(server={"answer": without(name)(world)})
    assert (record.status, record.reason) == (Status.FAILED, "bad-answer")
    assert "the probe reported no intervals" in str(record.detail)


@pytest.mark.parametrize("half_seconds", [1, 4])
def test_intervals_that_end_before_the_loaded_phase_are_a_bad_answer(
    half_seconds: int,
) -> None:
    record = World(of_half_seconds=[1_000_000] * half_seconds).run()
    assert (record.status, record.reason) == (Status.FAILED, "bad-answer")
    assert "its intervals end before the loaded phase" in str(record.detail)
    assert "throughput_bit_per_s" not in record.values


@pytest.mark.parametrize("kind", ["round_trip", "connect"])
def test_a_result_without_single_round_trips_is_a_bad_answer(kind: str) -> None:
    world = World()

    def told(keys: dict[str, Any]) -> list[dict[str, Any]]:
        return [] if keys["kind"] == kind else world.told(keys)

    record = world.run(client={"told": told})
    assert (record.status, record.reason) == (Status.FAILED, "bad-answer")
    assert "the probe reported no round trip" in str(record.detail)


@pytest.mark.parametrize("at_us", [2**63 - 1, 10**16])
def test_impossible_connection_times_give_a_bad_answer_or_a_valid_record(at_us: int) -> None:
    world = World()

    def told(keys: dict[str, Any]) -> list[dict[str, Any]]:
        records = world.told(keys)
        if keys["kind"] == "connect":
            records[0]["trip_at_us"][0] = at_us
        return records

    record = world.run(client={"told": told})
    if record.status is Status.FAILED:
        assert record.reason == "bad-answer"
    else:
        to_json(record)
