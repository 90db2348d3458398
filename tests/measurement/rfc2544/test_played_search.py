"""A throughput search with scripted agents and a played device ends as the device demands."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from advanced_clock import AdvancedClock, passing_clock
from scripted_agent import RESULT, Asked, Fake

from netlab.ethernet import frames_per_s
from netlab.experiment.cells import Cell
from netlab.experiment.schedule import Trial
from netlab.kinds import ThroughputSearch
from netlab.kinds.throughput_search.rate_search import VERDICTS
from netlab.measurement.ends import Ends, Participant, Rendezvous
from netlab.measurement.engines import measure
from netlab.measurement.search_trial import OfferedLoad, flows_of
from netlab.remote.agent import Agent
from netlab.trial.record import Record, Status, to_json

__all__ = ["passing_clock"]

pytestmark = [pytest.mark.agents, pytest.mark.usefixtures("passing_clock")]

LINE_BIT_PER_S = 1e7
LINE_PER_S = frames_per_s(LINE_BIT_PER_S, 1518)
STEP = 0.05


@dataclass
class Device:
    """A device between two scripted hosts, whose rates are shares of the line rate.

    It forwards a share in each direction. What exceeds the share waits in a queue of so many
    frames, or is lost.
    """

    forwards: float = 1.0
    queue_frames: int = 0
    link: float = 1.0
    """How fast the sender's link takes frames that have no schedule."""
    sends: float = 100.0
    """How fast the sender can send."""
    requests: list[Asked] = field(default_factory=list)
    _sent: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Token of a stream → its frames, and their rate in frames/s."""

    def answer(self, verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        """The result of a probe."""
        if verb == "send":
            wanted = float(keys.get("message_rate", self.link * LINE_PER_S))
            per_s = min(wanted, self.sends * LINE_PER_S)
            self._sent[keys["token"]] = keys["count"], per_s
            return {
                "type": "result",
                "sent_messages": keys["count"],
                "first_send_ns": 0,
                "last_send_ns": round(1e9 * (keys["count"] - 1) / per_s),
                "send_buffer_bytes": 65536,
                "send_method": "plain",
            }
        if verb == "receive":
            return {"type": "result", **self._received(*self._sent[keys["token"]])}
        return {"type": "result", **RESULT[verb]}

    def _received(self, frames: int, per_s: float) -> dict[str, Any]:
        forwards_per_s = self.forwards * LINE_PER_S
        duration_s = (frames - 1) / per_s
        waiting = max(0.0, (per_s - forwards_per_s) * duration_s)
        lost = max(0, round(waiting - self.queue_frames))
        queued_s = min(waiting, self.queue_frames) / forwards_per_s
        return {
            "total_messages": frames - lost,
            "lost_messages": lost,
            "elapsed_ns": round(1e9 * (duration_s + queued_s)),
            "receive_buffer_bytes": 212992,
        }

    def ends(self, **settings: Any) -> Ends:
        server, client = (
            Fake(name, self.requests, answer=self.answer) for name in ("server", "client")
        )
        return Ends(
            cast(Agent, server),
            cast(Agent, client),
            same_host=False,
            link_rate_bit_per_s=LINE_BIT_PER_S,
            **settings,
        )

    @property
    def send_rates(self) -> list[float | None]:
        """The rate of each load; ``None``: without a schedule."""
        sends = [keys for _, verb, keys in self.requests if verb == "send"]
        rates = [keys.get("message_rate") for keys in sends]
        return [None if rate is None else float(rate) for rate in rates]


def searched(device: Device, ends: Ends | None = None, **settings: Any) -> Record:
    short = {"duration_s": 1.0, "resolution": STEP, "residual_s": 0.3, "settle_s": 0.5}
    setup = ThroughputSearch(frame_bytes=1518, **{**short, **settings})
    trial = Trial(Cell(pairing="LL", test="throughput_search", setup=setup), 1)
    record = measure(trial, ends or device.ends(), 1, lambda _cell, _rate: None)
    to_json(record)
    return record


def verdicts_of(record: Record) -> list[str]:
    numbers = cast("list[int]", record.values["trial_verdict"])
    return [VERDICTS[number] for number in numbers]


@pytest.mark.parametrize("ip_version", [4, 6])
@pytest.mark.parametrize("direction", ["client-sends", "server-sends", "both"])
def test_a_throughput_search_finds_the_limit_of_a_device_in_each_direction(
    direction: str, ip_version: int
) -> None:
    record = searched(Device(forwards=0.4), direction=direction, ip_version=ip_version)
    assert record.status is Status.OK, record.detail
    values = record.values
    assert (values["line_share"], values["upper_line_share"]) == (0.4, 0.45)
    assert values["frames_per_s"] == pytest.approx(0.4 * LINE_PER_S)
    assert (values["limit"], values["monotone"]) == ("device", True)
    verdicts = verdicts_of(record)
    assert verdicts[0] == "lost"
    shares = cast("list[float]", values["trial_line_share"])
    confirmed = [verdict for verdict, share in zip(verdicts, shares, strict=True) if share == 0.4]
    assert confirmed == ["passed", "passed"]


def test_a_throughput_search_over_a_device_without_a_limit_ends_at_the_line_rate() -> None:
    values = searched(Device()).values
    assert (values["limit"], values["line_share"]) == ("line rate", 1.0)
    assert "upper_line_share" not in values
    assert values["frames_per_s"] == LINE_PER_S
    assert values["line_rate_from"] == "link"


def test_a_throughput_search_does_not_mistake_the_long_queue_of_a_device_for_throughput() -> None:
    record = searched(Device(forwards=0.4, queue_frames=10_000))
    assert record.values["line_share"] == 0.4
    assert set(verdicts_of(record)) == {"absorbed", "passed"}


def test_a_frame_loss_test_measures_the_loss_from_the_line_rate_down_to_no_loss() -> None:
    values: Any = searched(Device(forwards=0.4), frame_loss=True).values
    shares = values["loss_line_share"]
    assert shares == [tenths / 10 for tenths in range(10, 2, -1)]
    rows = zip(shares, values["loss_sent_frames"], values["loss_received_frames"], strict=True)
    for share, sent_frames, received_frames in rows:
        expected_loss = max(0.0, 1 - 0.4 / share)
        assert 1 - received_frames / sent_frames == pytest.approx(expected_loss, abs=0.01)


def test_latency_of_a_device_is_measured_at_the_found_rate_and_below() -> None:
    values = searched(Device(forwards=0.4), latency=True).values
    assert values["latency_found_share"] == [0.1, 0.5, 0.9, 1.0]
    assert values["latency_count"] == [10] * 4


def test_back_to_back_bursts_find_the_queue_of_a_device() -> None:
    values = searched(Device(forwards=0.4, queue_frames=20), back_to_back=2).values
    assert values["back_to_back_limit"] == "device"
    assert values["back_to_back_waiting_frames"] == pytest.approx(20, abs=1)


def test_a_sender_slower_than_the_line_rate_is_the_limit_of_the_search() -> None:
    record = searched(Device(sends=0.4))
    assert (record.values["limit"], record.values["line_share"]) == ("generator-bound", 0.4)
    assert not {"lost", "absorbed"} & {*verdicts_of(record)}


def test_a_search_whose_sender_reaches_no_rate_fails_as_tester_bound() -> None:
    record = searched(Device(sends=0.01))
    assert (record.status, record.reason) == (Status.FAILED, "tester-bound")
    assert "generator-bound at every rate tried" in str(record.detail)
    assert "frames_per_s" not in record.values


def test_a_sender_on_a_link_faster_than_the_line_rate_paces_itself_after_two_trials() -> None:
    device = Device(forwards=0.8, link=2.0)
    record = searched(device)
    assert (record.values["line_share"], record.values["link_paced"]) == (0.8, False)
    # A load for learning, which has half the rate, goes before each trial.
    trials = [rate for rate in device.send_rates if rate != pytest.approx(LINE_PER_S / 2)]
    assert trials[:2] == [None, None]
    assert None not in trials[2:]
    assert trials[2] == pytest.approx(LINE_PER_S)


@pytest.mark.parametrize(("starts", "most_ms"), [({}, 1500), ({"client": 0}, 1800)])
def test_a_sender_is_stopped_half_a_second_after_the_planned_end_of_its_load(
    starts: dict[str, int], most_ms: int
) -> None:
    """A load with a start lies 0.3 s ahead."""
    device = Device()
    setup, load = ThroughputSearch(frame_bytes=1518), OfferedLoad(10, 10.0, 1.0)
    (flow,) = flows_of(setup, device.ends(), load, starts=starts)

    def hear(_pending: object, _record: object) -> None:
        """The records are passed on below."""

    flow.begin(hear)
    flow.handle(flow.receiver, {"type": "ready", "port": 40001}, hear)
    for elapsed_ms in (most_ms, most_ms + 1):
        assert "stop" not in [verb for _, verb, _ in device.requests]
        progress = {"type": "progress", "elapsed_ns": elapsed_ms * 1_000_000}
        flow.handle(flow.sender, progress, hear)
    assert [end for end, verb, _ in device.requests if verb == "stop"] == ["client"]


def test_a_throughput_search_pauses_between_its_trials(passing_clock: AdvancedClock) -> None:
    record = searched(Device(forwards=0.4), settle_s=7.0)
    pauses = [pause_s for pause_s in passing_clock.slept_s if pause_s == 7.0]
    assert len(pauses) == len(verdicts_of(record)) - 1


def test_pairs_that_search_together_find_the_rate_of_the_slower_device() -> None:
    rendezvous = Rendezvous(["a+b", "c+d"])
    devices = {"a+b": Device(forwards=0.4), "c+d": Device(forwards=0.7)}

    def measured(name: str) -> Record:
        participant = Participant(rendezvous, name)
        try:
            ends = devices[name].ends(participant=participant)
            return searched(devices[name], ends, together=True)
        finally:
            participant.leave()

    with ThreadPoolExecutor() as executor:
        records = list(executor.map(measured, devices))
    for record in records:
        assert record.status is Status.OK, record.detail
        assert (record.values["line_share"], record.values["pairs"]) == (0.4, 2)
    starts = [_starts(device) for device in devices.values()]
    assert starts[0] == starts[1]


def _starts(device: Device) -> list[int]:
    """When the loads of the trials begin; both clocks are the controller's."""
    return [
        keys["start_ns"]
        for _, verb, keys in device.requests
        if verb == "send" and "start_ns" in keys
    ]
