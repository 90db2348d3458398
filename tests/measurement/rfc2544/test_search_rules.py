"""Rules of a throughput search, of its start, its losses and its line rate, without a network."""

from __future__ import annotations

import time
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

import pytest
from scripted_agent import Fake, run_with

from netlab.errors import ProbeError
from netlab.ethernet import frames_per_s
from netlab.experiment.cells import Cell
from netlab.experiment.schedule import Trial
from netlab.kinds import ThroughputSearch
from netlab.measurement import search_trial as trial_room
from netlab.measurement import throughput_search
from netlab.measurement.ends import Ends
from netlab.measurement.engines import measure
from netlab.measurement.search_trial import TrialResult, TrialRunner, line_of
from netlab.remote.agent import Agent
from netlab.remote.answers import ClockOffset
from netlab.trial.record import Status


def setup_of(**settings: Any) -> ThroughputSearch:
    return ThroughputSearch(**{"resolution": 0.05, "settle_s": 0.0, **settings})


def test_both_directions_of_a_load_start_at_one_moment_despite_different_clocks() -> None:
    """Clocks an hour apart, neither of them the controller's."""
    off_ns = {"client": 3_600_000_000_000, "server": -7_000}
    agents = {
        end: cast(Agent, SimpleNamespace(clock_offset=lambda ns=ns: ClockOffset(ns, 5)))
        for end, ns in off_ns.items()
    }
    ends = Ends(server=agents["server"], client=agents["client"], same_host=False)
    before_ns = time.monotonic_ns()
    starts = trial_room._starts_soon(setup_of(frame_bytes=64, direction="both"), ends)
    moments = {starts[end] - ns for end, ns in off_ns.items()}
    assert len(moments) == 1
    assert moments.pop() >= before_ns + 300_000_000


@pytest.mark.parametrize(("word", "raises"), [("no-traffic", False), ("pair-gone", True)])
def test_a_failed_frame_loss_test_does_not_fail_the_search_unless_a_pair_left(
    word: str, raises: bool
) -> None:
    def trial(_share: Fraction, *, full: bool) -> TrialResult:
        raise ProbeError("a", word, detail=str(full))

    bench = cast(TrialRunner, SimpleNamespace(setup=setup_of(frame_bytes=64), trial=trial))
    if not raises:
        assert throughput_search._losses(bench) == ([], Fraction(1))
        return
    with pytest.raises(ProbeError, match=word):
        throughput_search._losses(bench)


# The line rate, against scripted agents


def line(ends: Ends, **settings: Any) -> tuple[float, str]:
    line_rate = line_of(setup_of(frame_bytes=64, **settings), ends)
    assert line_rate.frames_per_s == frames_per_s(line_rate.bit_per_s, 64)
    return line_rate.bit_per_s, line_rate.source


@pytest.mark.agents
def test_the_line_rate_comes_from_the_test_or_else_the_matrix_or_else_the_interface() -> None:
    facts = {"interface_speed_bit_per_s": 10_000_000_000}
    server, client = Fake("server", []), Fake("client", [], facts_=facts)
    own = Ends(cast(Agent, server), cast(Agent, client), same_host=False)
    stated = replace(own, link_rate_bit_per_s=20e6)
    assert line(stated, line_rate_bit_per_s=5e6) == (5e6, "setting")
    assert line(stated) == (20e6, "link")
    assert line(own) == (10e9, "interface")


@pytest.mark.agents
def test_a_throughput_search_without_a_known_line_rate_is_impossible() -> None:
    cell = Cell(pairing="LL", test="throughput_search", setup=setup_of(frame_bytes=64))
    record, _, _ = run_with(measure, Trial(cell, 1))
    assert (record.status, record.reason) == (Status.IMPOSSIBLE, "not-as-set-up")
    assert not record.is_final
    assert "set `link` or `line_rate`" in str(record.detail)
