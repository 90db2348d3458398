"""A stream is measured with scripted agents: the requests to each end, and the record."""

from __future__ import annotations

from typing import Any, cast

import pytest
from advanced_clock import AdvancedClock, passing_clock
from scripted_agent import Asked, Fake, run_with

from netlab import clock
from netlab.errors import HostGone
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Mirror
from netlab.experiment.schedule import Trial
from netlab.kinds import Stream
from netlab.measurement.conversation import ENDS_S, ConversationEnd
from netlab.measurement.ends import SoFar
from netlab.measurement.engines import measure
from netlab.measurement.stream import Flow
from netlab.remote.agent import Agent
from netlab.trial.record import Record, Status

__all__ = ["passing_clock"]

pytestmark = [pytest.mark.agents, pytest.mark.usefixtures("passing_clock")]


def trial_of(**settings: Any) -> Trial:
    defaults: dict[str, Any] = {"protocol": "TCP", "message_bytes": 1448, "duration_s": 1.0}
    stream = Stream(**defaults | settings)
    return Trial(cell=Cell(pairing="LL", test="stream", setup=stream), number=1)


def run(trial: Trial, **fakes: Any) -> tuple[Record, list[Asked], list[SoFar]]:
    return run_with(measure, trial, **fakes)


def test_the_server_listens_first_and_the_client_receives_its_port_and_token() -> None:
    record, requests, live = run(trial_of())
    (_, first, listening), (_, second, connecting) = requests[:2]
    assert [first, second] == ["receive", "send"]
    assert listening["open"] == "listen"
    assert connecting["to"] == "10.0.0.1:40001"
    assert connecting["token"] == listening["token"]
    assert len(listening["token"]) == 32
    assert record.status is Status.OK
    assert record.values["throughput_bit_per_s"] == 94_100_000.0
    assert record.values["sent_bit_per_s"] == 94_200_000.0
    assert record.values["mss_bytes"] == 1448
    assert record.values["tcp_timestamps"] is True
    assert record.values["receiver_drain_ns"] == 5
    assert [progress.rate_bit_per_s for progress in live] == [8e6]


def test_the_receiver_is_stopped_with_the_message_count_of_the_sender() -> None:
    _, requests, _ = run(trial_of(protocol="UDP"))
    stops = [(name, keys) for name, verb, keys in requests if verb == "stop"]
    assert [name for name, _ in stops] == ["client", "server"]
    assert stops[1][1]["sent"] == 8003


def test_the_client_connects_even_if_the_server_sends() -> None:
    record, requests, _ = run(trial_of(direction="server-sends"))
    assert [(name, verb) for name, verb, _ in requests[:2]] == [
        ("server", "send"),
        ("client", "receive"),
    ]
    assert record.values["connected_by"] == "client"


@pytest.mark.parametrize(
    ("direction", "client_does", "server_does"),
    [("client-sends", "send", "receive"), ("server-sends", "receive", "send")],
)
def test_a_server_that_has_to_connect_connects_in_each_direction_of_a_stream(
    direction: str, client_does: str, server_does: str
) -> None:
    record, requests, _ = run(
        trial_of(direction=direction),
        connected_by={"TCP": "server", "UDP": "client"},
        client={"port_range": (5001, 5100)},
    )
    assert [(name, verb) for name, verb, _ in requests[:2]] == [
        ("client", client_does),
        ("server", server_does),
    ]
    assert [keys["open"] for _, _, keys in requests[:2]] == ["listen", "connect"]
    assert requests[0][2]["port"] == "5001-5100"
    assert record.status is Status.OK
    assert record.values["connected_by"] == "server"


def test_a_server_that_connects_for_tcp_still_listens_for_udp() -> None:
    record, requests, _ = run(
        trial_of(protocol="UDP"), connected_by={"TCP": "server", "UDP": "client"}
    )
    assert [name for name, _, _ in requests[:2]] == ["server", "client"]
    assert record.values["connected_by"] == "client"


def test_one_side_opens_the_connections_of_both_directions_of_a_stream() -> None:
    record, _, _ = run(trial_of(direction="both"), connected_by={"TCP": "server"})
    assert record.values["to_server_connected_by"] == "server"
    assert record.values["to_client_connected_by"] == "server"


def test_the_ipv6_address_of_a_stream_is_sent_in_brackets() -> None:
    _, requests, _ = run(trial_of(ip_version=6))
    assert requests[1][2]["to"] == "[fd00::1]:40001"


def test_a_stream_in_both_directions_stores_each_throughput_and_no_sum() -> None:
    record, requests, _ = run(
        trial_of(direction="both"), server={"offset_ns": 5_000_000_000}, client={"offset_ns": 7}
    )
    assert "throughput_bit_per_s" not in record.values
    assert record.values["to_server_throughput_bit_per_s"] == 94_100_000.0
    assert record.values["to_client_throughput_bit_per_s"] == 94_100_000.0
    assert record.values["common_window"] is True
    opens = {name: keys["window_open_ns"] for name, verb, keys in requests if verb == "send"}
    assert opens["server"] - opens["client"] == 5_000_000_000 - 7


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("message-too-long", Status.IMPOSSIBLE),
        ("no-buffers", Status.IMPOSSIBLE),
        ("capability-missing", Status.IMPOSSIBLE),
        ("connect-refused", Status.FAILED),
        ("a-word-of-a-newer-probe", Status.FAILED),
    ],
)
def test_the_error_word_of_a_probe_decides_between_failed_and_impossible(
    word: str, status: Status
) -> None:
    record, requests, _ = run(
        trial_of(), client={"faults": {"send": {"error": word, "errno": 105, "detail": "why"}}}
    )
    assert record.status is status
    assert record.errno == 105
    assert "why" in str(record.detail)
    assert not any(key.endswith("throughput_bit_per_s") for key in record.values)
    assert ("server", "stop", {"test": "server1", "abort": 1}) in requests


def test_a_fault_of_the_listener_before_the_connection_is_the_reported_reason() -> None:
    record, _, _ = run(
        trial_of(),
        server={"faults": {"receive": {"error": "peer-vanished"}}},
        client={"faults": {"send": {"error": "no-buffers", "errno": 105}}},
    )
    # The listener fails before the client is asked: its fault is the only one.
    assert record.reason == "peer-vanished"


def test_a_lost_host_ends_a_stream_trial() -> None:
    with pytest.raises(HostGone, match="no heartbeat"):
        run(trial_of(), client={"gone_after": "send"})


def test_the_stream_test_of_the_remaining_host_is_aborted_after_a_lost_host() -> None:
    requests: list[Asked] = []
    with pytest.raises(HostGone):
        run(trial_of(), client={"gone_after": "send"}, asked=requests)
    assert requests[-1] == ("server", "stop", {"test": "server1", "abort": 1})


def test_the_wait_for_an_aborted_stream_test_ends_at_its_time_limit(
    passing_clock: AdvancedClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Fake, "_stop", lambda *_: None)
    began_s = clock.monotonic()
    with pytest.raises(HostGone):
        run(trial_of(), client={"gone_after": "send"})
    assert ENDS_S <= clock.monotonic() - began_s < ENDS_S + 0.1


def test_a_port_range_is_sent_only_to_the_listening_side() -> None:
    _, requests, _ = run(trial_of(), server={"port_range": (5001, 5100)})
    assert requests[0][2]["port"] == "5001-5100"
    assert "port" not in requests[1][2]


def test_only_the_sender_receives_a_rate_and_only_the_receiver_spins() -> None:
    _, requests, _ = run(trial_of(protocol="UDP", rate_bit_per_s=5e6, receive="spinning"))
    keys = {verb: keys for _, verb, keys in requests}
    assert keys["send"]["rate"] == "5000000"
    assert "rate" not in keys["receive"]
    assert keys["receive"]["spin"] == 1
    assert "spin" not in keys["send"]


def test_methods_of_sending_and_receiving_are_sent_only_to_the_end_that_uses_the_method() -> None:
    methods = {"send_method": "batch", "receive": "polling"}
    _, requests, _ = run(trial_of(protocol="UDP", **methods))
    keys = {verb: keys for _, verb, keys in requests}
    assert (keys["send"]["method"], keys["receive"]["poll"]) == ("batch", 1)
    assert "poll" not in keys["send"] and "method" not in keys["receive"]
    _, requests, _ = run(trial_of(protocol="UDP"))
    assert not any({"poll", "method"} & set(keys) for _, _, keys in requests)


def test_the_size_of_a_receive_call_is_sent_only_to_the_receiver() -> None:
    _, requests, _ = run(trial_of(protocol="TCP", tcp_receive_call="message"))
    keys = {verb: keys for _, verb, keys in requests}
    assert keys["receive"]["receive_call"] == "message"
    assert "receive_call" not in keys["send"]
    _, requests, _ = run(trial_of(protocol="TCP"))
    assert not any("receive_call" in keys for _, _, keys in requests)


def test_the_congestion_control_is_sent_only_to_the_sender() -> None:
    record, requests, _ = run(trial_of(congestion="cubic"))
    keys = {verb: keys for _, verb, keys in requests}
    assert keys["send"]["congestion"] == "cubic"
    assert "congestion" not in keys["receive"]
    assert record.values["congestion_chosen"] is True


def test_the_record_states_that_a_sender_could_not_choose_its_congestion_control() -> None:
    record, requests, _ = run(
        trial_of(congestion="cubic"), client={"capabilities": "stream,tcp,udp"}
    )
    assert not any("congestion" in keys for _, _, keys in requests)
    assert record.status is Status.OK
    assert record.values["congestion_chosen"] is False


def test_a_stream_is_impossible_with_a_server_without_a_probe() -> None:
    record, requests, _ = run(trial_of(), mirror=Mirror("10.0.0.9", 7))
    assert requests == []
    assert (record.status, record.reason) == (Status.IMPOSSIBLE, "not-as-set-up")
    assert record.server == "echo"


def test_no_connection_is_opened_to_a_listener_that_is_ready_after_an_abort() -> None:
    requests: list[Asked] = []
    listener, connector = (
        ConversationEnd(cast(Agent, Fake(name, requests)), verb, "10.0.0.1", {})
        for name, verb in (("server", "receive"), ("client", "send"))
    )
    flow = Flow(name="", listener=listener, connector=connector)
    flow.begin(lambda _pending, _record: None)
    flow.abort()
    flow.handle(listener, {"type": "ready", "port": 40001}, lambda _pending, _record: None)
    assert [verb for _, verb, _ in requests] == ["receive", "stop"]


def test_the_callback_on_stop_is_called_once_after_the_sender_was_stopped() -> None:
    requests: list[Asked] = []
    listener, connector = (
        ConversationEnd(cast(Agent, Fake(name, requests)), verb, "10.0.0.1", {})
        for name, verb in (("server", "receive"), ("client", "send"))
    )
    stops: list[list[str]] = []
    flow = Flow(
        name="",
        listener=listener,
        connector=connector,
        on_stop=lambda: stops.append([name for name, verb, _ in requests if verb == "stop"]),
    )

    def hear(_pending: object, _record: object) -> None:
        """The records are passed on below."""

    flow.begin(hear)
    flow.handle(listener, {"type": "ready", "port": 40001}, hear)
    assert stops == []
    for _ in range(2):
        flow.handle(listener, {"type": "window"}, hear)
    flow.handle(connector, {"type": "result", "sent_messages": 7}, hear)
    assert stops == [["client"]]
