"""The search for the payload of a frame, over paths that refuse, report or drop long packets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_agent import RESULT, Asked, run_with

from netlab.ethernet import fragments
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Mirror
from netlab.experiment.kinds import PayloadSearch
from netlab.experiment.records import Record, Status, to_json
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import SoFar
from netlab.measurement.netprobe import NETPROBE
from netlab.measurement.sweep import sizes_around

Answer = Callable[[str, dict[str, Any]], dict[str, Any] | None]
LOST = {"type": "error", "error": "no-answer", "detail": "3 of 3 timed out"}


def trial_of(**settings: Any) -> Trial:
    defaults: dict[str, Any] = {"protocol": "UDP", "timeout_s": 0.01}
    setup = PayloadSearch(**defaults | settings)
    return Trial(cell=Cell(pairing="LL", test="payload_search", setup=setup), number=1)


def run(trial: Trial, **fakes: Any) -> tuple[Record, list[Asked], list[SoFar]]:
    return run_with(NETPROBE.measure, trial, **fakes)


def udp_path(payload: int, *, word: str = "no-answer", mtu: int | None = None) -> Answer:
    """The answers of an asking end on a path that carries ``payload`` bytes."""

    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        if verb != "ask" or keys["message"] <= payload:
            return None
        fault: dict[str, Any] = {"type": "error", "error": word}
        return fault | ({} if mtu is None else {"path_mtu_bytes": mtu})

    return answer


def tcp_path(mss: int, passes: int, *, reduced_mss: int | None = None) -> Answer:
    """A connection whose segments hold ``mss``, on a path that carries segments of ``passes``.

    ``reduced_mss``: what is left of the MSS once a router said that its segments are too long.
    """

    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        if verb != "ask":
            return None
        tcp_values = {"tcp_end_options": "timestamps,sack", "tcp_open_pmtu": mss + 52}
        result = {"type": "result", **RESULT["ask"], **tcp_values}
        if keys["message"] <= passes:
            return result | {"tcp_end_snd_mss": mss, "tcp_end_pmtu": mss + 52}
        if reduced_mss is not None:
            return result | {"tcp_end_snd_mss": reduced_mss, "tcp_end_pmtu": reduced_mss + 52}
        return {"type": "error", "error": "deadline"}

    return answer


def test_an_interface_that_refuses_names_its_mtu_and_a_few_tries_are_enough() -> None:
    facts = {"interface_mtu_bytes": 1500}
    path = udp_path(1472, word="message-too-long", mtu=1500)
    record, _, _ = run(
        trial_of(),
        client={"answer": path, "facts_": facts},
        server={"answer": path, "facts_": facts},
    )
    values = record.values
    assert record.status is Status.OK
    assert (values["payload_bytes"], values["path_mtu_bytes"]) == (1472, 1500)
    assert values["path_mtu_evidence"] == "emsgsize"
    assert values["probed_message_bytes"] == [16, 1472, 1473]
    assert values["probed_passed"] == [1, 1, 0]
    assert values["to_client_payload_bytes"] == 1472
    to_json(record)


def test_a_router_that_tells_is_named_as_evidence() -> None:
    record, _, _ = run(
        trial_of(),
        client={
            "answer": udp_path(1372, word="message-too-long", mtu=1400),
            "facts_": {"interface_mtu_bytes": 1500},
        },
    )
    assert record.values["path_mtu_evidence"] == "icmp"
    assert (record.values["payload_bytes"], record.values["path_mtu_bytes"]) == (1372, 1400)
    assert record.values["probed_message_bytes"] == [16, 1472, 1372, 1373]


def test_a_path_that_swallows_what_is_long_is_searched_through() -> None:
    record, _, _ = run(
        trial_of(),
        client={"answer": udp_path(1412), "facts_": {"interface_mtu_bytes": 9000}},
        server={"answer": udp_path(1372), "facts_": {"interface_mtu_bytes": 1400}},
    )
    assert record.values["path_mtu_evidence"] == "timeout"
    assert record.values["payload_bytes"] == 1412
    assert record.values["to_client_payload_bytes"] == 1372


def test_a_system_that_refuses_without_a_number_is_searched_through() -> None:
    record, _, _ = run(trial_of(), client={"answer": udp_path(1472, word="message-too-long")})
    assert record.values["path_mtu_evidence"] == "emsgsize"
    assert record.values["payload_bytes"] == 1472


@pytest.mark.parametrize(("version", "payload"), [(4, 65507), (6, 65527)])
def test_where_the_longest_message_of_all_passes_the_protocol_is_the_limit(
    version: int, payload: int
) -> None:
    record, _, _ = run(trial_of(ip_version=version))
    assert record.values["payload_bytes"] == payload
    assert record.values["path_mtu_evidence"] == "protocol"


def test_udp_is_asked_for_three_round_trips_that_nobody_may_fragment() -> None:
    _, requests, _ = run(trial_of(dscp=8, interface="test"))
    keys = next(keys for name, verb, keys in requests if (name, verb) == ("client", "ask"))
    assert (keys["count"], keys["outstanding"], keys["dont_fragment"]) == (3, 3, 1)
    assert (keys["response"], keys["timeout"], keys["dscp"]) == (16, "0.01", 8)
    assert keys["interface"] == "test"


def test_both_directions_are_asked_and_the_client_connects_in_both() -> None:
    _, requests, _ = run(trial_of())
    openings = [(name, verb, keys["open"]) for name, verb, keys in requests if verb != "stop"]
    assert openings[:2] == [("server", "mirror", "listen"), ("client", "ask", "connect")]
    assert openings[-2:] == [("server", "ask", "listen"), ("client", "mirror", "connect")]


def test_a_udp_probe_that_runs_out_of_time_says_nothing_of_the_length() -> None:
    record, _, _ = run(trial_of(), client={"answer": udp_path(1472, word="deadline")})
    assert (record.status, record.reason) == (Status.FAILED, "deadline")


def test_losses_of_sizes_that_pass_are_counted() -> None:
    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        return {"type": "result", **RESULT["ask"], "lost_messages": 1} if verb == "ask" else None

    record, _, _ = run(trial_of(), client={"answer": answer})
    assert record.values["lost_probes"] == 2


def test_on_a_path_that_loses_what_passes_silence_is_doubted() -> None:
    asked_before: set[int] = set()

    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        if verb != "ask":
            return None
        size = keys["message"]
        if size > 1472 or (size > 16 and size not in asked_before):
            asked_before.add(size)
            return LOST
        return {"type": "result", **RESULT["ask"], "lost_messages": 1}

    record, _, _ = run(
        trial_of(), client={"answer": answer, "facts_": {"interface_mtu_bytes": 1500}}
    )
    assert record.values["payload_bytes"] == 1472
    assert record.values["path_mtu_evidence"] == "timeout"


@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_a_path_that_nothing_passes_is_a_failure_and_no_limit(protocol: str) -> None:
    record, _, _ = run(trial_of(protocol=protocol), client={"answer": lambda *_: LOST})
    assert (record.status, record.reason) == (Status.FAILED, "no-answer")
    assert set(record.values) == {"same_host"}


def test_a_fault_that_says_nothing_of_the_length_ends_the_search() -> None:
    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        return {"type": "error", "error": "unreachable"} if keys["message"] > 16 else None

    record, _, _ = run(trial_of(), client={"answer": answer})
    assert (record.status, record.reason) == (Status.FAILED, "unreachable")


def test_an_interface_that_drops_what_its_system_let_out_is_named() -> None:
    record, _, _ = run(trial_of(), client={"answer": udp_path(1476, word="no-buffers")})
    assert record.values["payload_bytes"] == 1476
    assert record.values["path_mtu_evidence"] == "dropped"


def test_a_tcp_segment_that_passes_is_the_payload() -> None:
    path = tcp_path(1448, 1448)
    record, requests, _ = run(
        trial_of(protocol="TCP"), client={"answer": path}, server={"answer": path}
    )
    values = record.values
    assert (values["payload_bytes"], values["mss_bytes"]) == (1448, 1448)
    assert (values["path_mtu_bytes"], values["path_mtu_evidence"]) == (1500, "mss")
    assert values["tcp_timestamps"] is True
    assert (values["mss_told_by"], values["to_client_mss_told_by"]) == ("client", "server")
    keys = [keys for _, verb, keys in requests if verb == "ask"][-1]
    assert (keys["count"], keys["nodelay"]) == (1, 1)
    assert "dont_fragment" not in keys


def test_a_segment_that_vanishes_is_followed_by_shorter_ones() -> None:
    record, _, _ = run(
        trial_of(protocol="TCP"),
        client={"answer": tcp_path(8948, 1448)},
        server={"answer": tcp_path(1448, 1448)},
    )
    values = record.values
    assert (values["payload_bytes"], values["path_mtu_evidence"]) == (1448, "timeout")
    assert (values["mss_bytes"], values["path_mtu_bytes"]) == (8948, 1500)
    assert values["to_client_path_mtu_evidence"] == "mss"


def test_a_segment_that_a_router_cut_short_is_not_the_payload() -> None:
    record, _, _ = run(
        trial_of(protocol="TCP"),
        client={"answer": tcp_path(1448, 1348, reduced_mss=1348)},
        server={"answer": tcp_path(1348, 1348)},
    )
    values = record.values
    assert (values["payload_bytes"], values["path_mtu_evidence"]) == (1348, "icmp")
    assert values["path_mtu_bytes"] == 1400


def test_a_segment_that_a_small_window_keeps_short_is_asked_for_again_once_it_has_grown() -> None:
    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        if verb != "ask":
            return None
        mss, window = (32768, 65536) if keys["message"] <= 65536 else (65483, 1 << 20)
        tcp_values = {
            "tcp_end_snd_mss": mss,
            "tcp_end_snd_wnd": window,
            "tcp_end_options": "timestamps",
        }
        return {"type": "result", **RESULT["ask"], **tcp_values}

    record, _, _ = run(
        trial_of(protocol="TCP"), client={"answer": answer}, server={"answer": answer}
    )
    values = record.values
    assert (values["payload_bytes"], values["path_mtu_bytes"]) == (65483, 65535)
    assert values["path_mtu_evidence"] == "mss"


def test_systems_that_report_no_mss_are_impossible() -> None:
    record, _, _ = run(trial_of(protocol="TCP"))
    assert (record.status, record.reason) == (Status.IMPOSSIBLE, "capability-missing")


def test_a_sweep_holds_each_size_with_its_throughput_and_those_without_apart() -> None:
    path = udp_path(1472, word="message-too-long", mtu=1500)

    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        if verb == "send" and keys["message"] == 1473:
            return {"type": "error", "error": "no-buffers"}
        return path(verb, keys)

    record, requests, live = run(
        trial_of(sweep=True, duration_s=0.5, socket_buffer_bytes=65536), client={"answer": answer}
    )
    sizes = record.values["sweep_message_bytes"]
    rates = record.values["sweep_throughput_bit_per_s"]
    assert isinstance(sizes, list)
    assert isinstance(rates, list)
    assert len(sizes) == len(rates) > 10
    assert record.values["sweep_failed_message_bytes"] == [1473]
    assert 1473 not in sizes
    assert {1470, 1471, 1472, 1474, 2943, 2944, 2945, 2952, 2953} <= set(sizes)
    send_keys = [keys for _, verb, keys in requests if verb == "send"]
    assert {keys["seconds"] for keys in send_keys} == {"0.5"}
    assert {keys["socket_buffer"] for keys in send_keys} == {65536}
    assert not any("dont_fragment" in keys for keys in send_keys)
    assert live
    to_json(record)


def test_a_server_without_an_agent_is_not_searched() -> None:
    record, requests, _ = run(trial_of(), mirror=Mirror("10.0.0.9", 7))
    assert requests == []
    assert (record.status, record.reason) == (Status.IMPOSSIBLE, "not-as-set-up")


COUNTS = {"ip_fragments_created": 2, "ip_reassembled": 1}


def cutting_path(payload: int, *, passes: bool = True) -> Answer:
    """A path that fragments messages if it may; ``passes``: whether the fragments arrive."""

    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        if verb != "ask":
            return None
        fragmentation = keys["message"] > payload
        if fragmentation and "dont_fragment" in keys:
            return {"type": "error", "error": "message-too-long", "path_mtu_bytes": payload + 28}
        return (
            LOST if fragmentation and not passes else {"type": "result", **RESULT["ask"], **COUNTS}
        )

    return answer


def test_fragments_are_counted_where_a_message_may_be_cut_up_and_not_where_it_may_not() -> None:
    path = cutting_path(1472)
    record, requests, _ = run(trial_of(), client={"answer": path}, server={"answer": path})
    values = record.values
    assert values["next_passed"] is True
    assert values["next_client_ip_fragments_created"] == 2
    assert values["to_client_next_passed"] is True
    assert not any(name.startswith("client_ip_") for name in values)
    longer = [keys for _, verb, keys in requests if verb == "ask" and "dont_fragment" not in keys]
    assert [keys["message"] for keys in longer] == [1473, 1473]


def test_fragments_that_do_not_arrive_are_recorded_as_not_passing() -> None:
    path = cutting_path(1472, passes=False)
    record, _, _ = run(trial_of(), client={"answer": path}, server={"answer": path})
    assert record.values["next_passed"] is False
    assert record.values["payload_bytes"] == 1472


def test_a_fault_of_another_kind_leaves_open_whether_fragments_pass() -> None:
    path = cutting_path(1472)

    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        if verb == "ask" and "dont_fragment" not in keys:
            return {"type": "error", "error": "no-peer"}
        return path(verb, keys)

    record, _, _ = run(trial_of(), client={"answer": answer}, server={"answer": path})
    assert "next_passed" not in record.values


@given(st.integers(576, 9000), st.sampled_from([4, 6]))
def test_the_second_tooth_stands_where_a_third_frame_begins(mtu: int, version: Any) -> None:
    mtu = max(mtu, 1280) if version == 6 else mtu
    payload = mtu - (28 if version == 4 else 48)
    sizes = sizes_around(payload, "UDP", version)
    frames = {size: len(fragments(size, mtu_bytes=mtu, ip_version=version)) for size in sizes}
    assert (frames[payload], frames[payload + 1]) == (1, 2)
    assert any(frames[size] == 2 and frames.get(size + 1) == 3 for size in sizes)
