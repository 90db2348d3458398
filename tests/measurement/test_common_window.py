"""All flows at the same time have one window, converted to the clock of each agent."""

from __future__ import annotations

from typing import Any, cast

import pytest
from advanced_clock import passing_clock
from scripted_agent import Fake

from netlab import clock
from netlab.experiment.cells import Cell
from netlab.experiment.schedule import Trial
from netlab.kinds import RoundTrip, Stream
from netlab.measurement.ends import START_AHEAD_S, CommonWindow, Ends, common_window, is_common
from netlab.measurement.engines import measure
from netlab.remote.agent import Agent
from netlab.trial.record import Record

__all__ = ["passing_clock"]

pytestmark = [pytest.mark.agents, pytest.mark.usefixtures("passing_clock")]

STREAM = Stream(protocol="TCP", message_bytes=1448, duration_s=1.0, warm_up_s=0.5)
UDP = Stream(protocol="UDP", message_bytes=1472, duration_s=1.0)


def agents(*offsets_ns: int) -> list[Agent]:
    return [cast(Agent, Fake(f"h{n}", [], offset_ns=o)) for n, o in enumerate(offsets_ns)]


def test_only_streams_of_equal_duration_have_a_common_window() -> None:
    asking = RoundTrip(protocol="TCP", message_bytes=64, duration_s=1.0)
    longer = Stream(protocol="TCP", message_bytes=64, duration_s=2.0)
    count_stream = Stream(protocol="TCP", message_bytes=64, duration_s=None, count=10)
    assert is_common([STREAM, UDP])
    assert not is_common([STREAM, longer])
    assert not is_common([STREAM, asking])
    assert not is_common([count_stream, count_stream])
    assert not is_common([])


def test_a_common_window_is_the_same_moment_in_the_clock_of_every_agent() -> None:
    four = agents(0, 5_000_000_000, -7, 3_600_000_000_000)
    shared_window = common_window([STREAM, UDP], four)
    windows = [shared_window.keys(agent) for agent in four]
    for name in ("start_ns", "window_open_ns", "window_close_ns"):
        times = [window[name] for window in windows]
        assert [at_ns - times[0] for at_ns in times] == [0, 5_000_000_000, -7, 3_600_000_000_000]
    assert shared_window.trials == 2
    # The longest warm-up applies to all, and all have the same duration.
    assert shared_window.open_ns - shared_window.start_ns == 500_000_000
    assert shared_window.close_ns - shared_window.open_ns == 1_000_000_000
    assert shared_window.bound_ns(*four[:2]) == 5


def test_a_common_window_of_more_trials_starts_later() -> None:
    pair = agents(0, 0)
    for trials in (1, 40):
        before_ns = clock.monotonic_ns()
        shared_window = common_window([UDP] * trials, pair)
        least_ns = round(1e9 * (START_AHEAD_S + 0.005 * (trials - 1)))
        assert shared_window.start_ns - before_ns >= least_ns


def measured(window: CommonWindow | None, pair: list[Agent]) -> tuple[Record, list[Any]]:
    ends = Ends(server=pair[0], client=pair[1], same_host=False, window=window)
    cell = Cell(pairing="a+b", test="stream", setup=UDP)
    record = measure(Trial(cell, 1), ends, 1, lambda _cell, _rate: None)
    return record, [*cast(Fake, pair[0]).asked, *cast(Fake, pair[1]).asked]


def test_both_ends_receive_the_common_window_and_the_record_stores_its_trials() -> None:
    pair = agents(1000, 2000)
    window = common_window([UDP, UDP, UDP], pair)
    record, requests = measured(window, pair)
    opens = {name: keys["window_open_ns"] for name, verb, keys in requests if verb != "stop"}
    assert opens == {"h0": window.open_ns + 1000, "h1": window.open_ns + 2000}
    assert record.values["common_window"] is True
    assert record.values["common_window_trials"] == 3
    assert record.values["common_window_open_ns"] == window.open_ns
    assert record.values["clock_bound_ns"] == 5


def test_a_sender_that_starts_after_the_window_opens_has_no_common_window() -> None:
    def late(verb: str, keys: dict[str, Any]) -> dict[str, Any] | None:
        if verb != "send":
            return None
        counts = {"sent_messages": 5, "last_send_ns": 1 << 62}
        return {"type": "result", "first_send_ns": keys["window_open_ns"] + 1, **counts}

    pair = [cast(Agent, Fake(name, [], answer=late)) for name in "ab"]
    record, _ = measured(common_window([UDP, UDP], pair), pair)
    assert record.values["common_window"] is False


def test_agents_that_reconnected_do_not_use_a_common_window_from_before() -> None:
    window = common_window([UDP, UDP], agents(0, 0))
    record, requests = measured(window, agents(0, 0))
    assert all("window_open_ns" not in keys for _, _, keys in requests)
    assert "common_window" not in record.values
