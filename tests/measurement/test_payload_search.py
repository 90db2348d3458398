"""A payload search with scripted agents handles paths that refuse, report or drop long packets."""

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
from netlab.experiment.schedule import Trial
from netlab.kinds import PayloadSearch
from netlab.measurement.ends import SoFar
from netlab.measurement.engines import measure
from netlab.measurement.payload_search import sizes_around
from netlab.trial.record import Record, Status, to_json

pytestmark = pytest.mark.agents

Answer = Callable[[str, dict[str, Any]], dict[str, Any] | None]
LOST = {"type": "error", "error": "no-answer", "detail": "3 of 3 timed out"}


def trial_of(**settings: Any) -> Trial:
    defaults: dict[str, Any] = {"protocol": "UDP", "timeout_s": 0.01}
    setup = PayloadSearch(**defaults | settings)
    return Trial(cell=Cell(pairing="LL", test="payload_search", setup=setup), number=1)


def run(trial: Trial, **fakes: Any) -> tuple[Record, list[Asked], list[SoFar]]:
    return run_with(measure, trial, **fakes)


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


def test_a_refusal_by_the_interface_names_the_mtu_and_ends_the_payload_search() -> None:
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


def test_an_mtu_reported_by_a_router_is_stored_with_the_evidence_icmp() -> None:
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


def test_the_payload_of_a_black_hole_is_found_by_time_outs() -> None:
    record, _, _ = run(
        trial_of(),
        client={"answer": udp_path(1412), "facts_": {"interface_mtu_bytes": 9000}},
        server={"answer": udp_path(1372), "facts_": {"interface_mtu_bytes": 1400}},
    )
    assert record.values["path_mtu_evidence"] == "timeout"
    assert record.values["payload_bytes"] == 1412
    assert record.values["to_client_payload_bytes"] == 1372


def test_the_payload_is_found_if_the_system_refuses_without_an_mtu() -> None:
    record, _, _ = run(trial_of(), client={"answer": udp_path(1472, word="message-too-long")})
    assert record.values["path_mtu_evidence"] == "emsgsize"
    assert record.values["payload_bytes"] == 1472


@pytest.mark.parametrize(("version", "payload"), [(4, 65507), (6, 65527)])
def test_the_protocol_is_the_limit_if_the_longest_udp_message_passes(
    version: int, payload: int
) -> None:
    record, _, _ = run(trial_of(ip_version=version))
    assert record.values["payload_bytes"] == payload
    assert record.values["path_mtu_evidence"] == "protocol"


def test_a_udp_payload_search_requests_three_round_trips_without_fragmentation() -> None:
    _, requests, _ = run(trial_of(dscp=8, interface="test"))
    keys = next(keys for name, verb, keys in requests if (name, verb) == ("client", "ask"))
    assert (keys["count"], keys["outstanding"], keys["dont_fragment"]) == (3, 3, 1)
    assert (keys["response"], keys["timeout"], keys["dscp"]) == (16, "0.01", 8)
    assert keys["interface"] == "test"


def test_a_payload_search_tries_both_directions_and_the_client_always_connects() -> None:
    _, requests, _ = run(trial_of())
    openings = [(name, verb, keys["open"]) for name, verb, keys in requests if verb != "stop"]
    assert openings[:2] == [("server", "mirror", "listen"), ("client", "ask", "connect")]
    assert openings[-2:] == [("server", "ask", "listen"), ("client", "mirror", "connect")]


def test_a_payload_search_fails_if_a_udp_request_ends_at_its_deadline() -> None:
    record, _, _ = run(trial_of(), client={"answer": udp_path(1472, word="deadline")})
    assert (record.status, record.reason) == (Status.FAILED, "deadline")


def test_lost_probe_messages_of_sizes_that_pass_are_counted() -> None:
    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        return {"type": "result", **RESULT["ask"], "lost_messages": 1} if verb == "ask" else None

    record, _, _ = run(trial_of(), client={"answer": answer})
    assert record.values["lost_probes"] == 2


def test_a_size_without_an_answer_is_tried_again_on_a_lossy_path() -> None:
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
def test_a_payload_search_without_any_answer_fails_without_a_limit(protocol: str) -> None:
    record, _, _ = run(trial_of(protocol=protocol), client={"answer": lambda *_: LOST})
    assert (record.status, record.reason) == (Status.FAILED, "no-answer")
    assert set(record.values) == {"same_host"}


def test_a_fault_unrelated_to_the_length_fails_the_payload_search() -> None:
    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        return {"type": "error", "error": "unreachable"} if keys["message"] > 16 else None

    record, _, _ = run(trial_of(), client={"answer": answer})
    assert (record.status, record.reason) == (Status.FAILED, "unreachable")


def test_messages_that_the_interface_drops_are_stored_with_the_evidence_dropped() -> None:
    record, _, _ = run(trial_of(), client={"answer": udp_path(1476, word="no-buffers")})
    assert record.values["payload_bytes"] == 1476
    assert record.values["path_mtu_evidence"] == "dropped"


def test_the_payload_equals_the_mss_if_a_full_tcp_segment_passes() -> None:
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


def test_a_tcp_payload_search_tries_shorter_segments_after_a_lost_segment() -> None:
    record, _, _ = run(
        trial_of(protocol="TCP"),
        client={"answer": tcp_path(8948, 1448)},
        server={"answer": tcp_path(1448, 1448)},
    )
    values = record.values
    assert (values["payload_bytes"], values["path_mtu_evidence"]) == (1448, "timeout")
    assert (values["mss_bytes"], values["path_mtu_bytes"]) == (8948, 1500)
    assert values["to_client_path_mtu_evidence"] == "mss"


def test_a_router_report_that_shortens_tcp_segments_gives_the_shorter_payload() -> None:
    record, _, _ = run(
        trial_of(protocol="TCP"),
        client={"answer": tcp_path(1448, 1348, reduced_mss=1348)},
        server={"answer": tcp_path(1348, 1348)},
    )
    values = record.values
    assert (values["payload_bytes"], values["path_mtu_evidence"]) == (1348, "icmp")
    assert values["path_mtu_bytes"] == 1400


def test_a_tcp_segment_limited_by_a_small_window_is_tried_again_at_its_full_length() -> None:
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


def test_a_tcp_payload_search_is_impossible_if_the_system_reports_no_mss() -> None:
    record, _, _ = run(trial_of(protocol="TCP"))
    assert (record.status, record.reason) == (Status.IMPOSSIBLE, "capability-missing")


def test_a_sweep_stores_the_throughput_of_each_message_size_and_lists_failed_sizes() -> None:
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


def test_a_payload_search_is_impossible_with_a_server_without_a_probe() -> None:
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


def test_fragments_are_counted_only_for_the_message_that_may_be_fragmented() -> None:
    path = cutting_path(1472)
    record, requests, _ = run(trial_of(), client={"answer": path}, server={"answer": path})
    values = record.values
    assert values["next_passed"] is True
    assert values["next_client_ip_fragments_created"] == 2
    assert values["to_client_next_passed"] is True
    assert not any(name.startswith("client_ip_") for name in values)
    longer = [keys for _, verb, keys in requests if verb == "ask" and "dont_fragment" not in keys]
    assert [keys["message"] for keys in longer] == [1473, 1473]


def test_fragments_that_do_not_arrive_are_stored_as_not_passing() -> None:
    path = cutting_path(1472, passes=False)
    record, _, _ = run(trial_of(), client={"answer": path}, server={"answer": path})
    assert record.values["next_passed"] is False
    assert record.values["payload_bytes"] == 1472


def test_the_record_does_not_state_whether_fragments_pass_after_another_fault() -> None:
    path = cutting_path(1472)

    def answer(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        if verb == "ask" and "dont_fragment" not in keys:
            return {"type": "error", "error": "no-peer"}
        return path(verb, keys)

    record, _, _ = run(trial_of(), client={"answer": answer}, server={"answer": path})
    assert "next_passed" not in record.values


@given(st.integers(576, 9000), st.sampled_from([4, 6]))
def test_a_sweep_has_both_message_sizes_around_the_step_to_a_second_and_to_a_third_frame(
    mtu: int, version: Any
) -> None:
    mtu = max(mtu, 1280) if version == 6 else mtu
    payload = mtu - (28 if version == 4 else 48)
    sizes = sizes_around(payload, "UDP", version)
    frames = {size: len(fragments(size, mtu_bytes=mtu, ip_version=version)) for size in sizes}
    assert (frames[payload], frames[payload + 1]) == (1, 2)
    assert any(frames[size] == 2 and frames.get(size + 1) == 3 for size in sizes)
