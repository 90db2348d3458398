"""A test cable that is unplugged during a run: its trials wait and are measured later."""

from __future__ import annotations

import time

import pytest
from wired_pools import CELL, pool, wires
from wires import Wires, ip

from netlab.experiment.schedule import Trial
from netlab.measurement.engines import measure
from netlab.runner.host_pool import HostPool
from netlab.trial.record import Record, Status

__all__ = ["pool", "wires"]

pytestmark = [pytest.mark.needs("root"), pytest.mark.beside]


def measured(pool: HostPool) -> Record:
    return measure(Trial(CELL, 1), pool.ends(CELL), 1, lambda _cell, _rate: None)


def failed(reason: str) -> Record:
    return Record(
        cell=CELL.key,
        trial=1,
        attempt=1,
        status=Status.FAILED,
        pairing="LL",
        server="left",
        client="right",
        test="stream",
        started_at="",
        settings={},
        values={},
        reason=reason,
    )


def test_a_run_waits_for_an_unplugged_cable_and_measures_after_its_return(
    pool: HostPool, wires: Wires, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pool.reason_not_to_measure(CELL) is None
    ip("-n", wires.client, "link", "set", "test0", "down")
    pool.check_path_again(failed("connect-timeout"), CELL)
    assert pool.is_away(CELL)
    obstacle = pool.reason_left(CELL)
    assert obstacle is not None
    assert (obstacle.status, obstacle.reason) in {
        (Status.FAILED, "path-blocked"),
        (Status.FAILED, "wrong-path"),
    }
    wait_s = pool.next_ask_s([CELL], 600.0)
    assert wait_s is not None
    assert wait_s <= 1.0
    assert pool.next_ask_s([CELL], 0.0) is None
    time.sleep(1.0)
    pool.ask_again()
    assert pool.is_away(CELL)
    longer_s = pool.next_ask_s([CELL], 600.0)
    assert longer_s is not None
    assert longer_s <= 2.0
    ip("-n", wires.client, "link", "set", "test0", "up")
    # It goes on asking: a busy machine may not answer in time.
    while (wait_s := pool.next_ask_s([CELL], 600.0)) is not None:
        time.sleep(wait_s)
        pool.ask_again()
    assert not pool.is_away(CELL)
    assert measured(pool).status is Status.OK


def test_a_failed_trial_does_not_mark_a_path_as_cut_if_packets_still_pass(pool: HostPool) -> None:
    pool.check_path_again(failed("connect-timeout"), CELL)
    assert not pool.is_away(CELL)
    assert pool.reason_left(CELL) is None


def test_a_trial_that_failed_by_its_own_settings_causes_no_path_check(
    pool: HostPool, wires: Wires
) -> None:
    ip("-n", wires.client, "link", "set", "test0", "down")
    pool.check_path_again(failed("message-too-long"), CELL)
    assert not pool.is_away(CELL)
