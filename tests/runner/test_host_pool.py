"""The host pool: a pair of hosts one of which is lost and comes back."""

from __future__ import annotations

from typing import Any

import pytest
from wired_pools import CELL, lose, pool, wires
from wires import TEST_CLIENT, Wires, ip

from netlab.errors import HostGone
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import Host, Mirror
from netlab.experiment.schedule import Trial
from netlab.kinds import Connect, PayloadSearch, RoundTrip, Stream
from netlab.measurement.engines import measure
from netlab.remote.agent import Agent
from netlab.runner import host_pool as room
from netlab.runner.host_pool import HostPool
from netlab.runner.preflight import Preflight, preflight
from netlab.runner.trial_faults import beyond_server
from netlab.trial.record import Status

__all__ = ["pool", "wires"]

pytestmark = pytest.mark.beside

ELSEWHERE = (TEST_CLIENT, "dev", "other0")


def test_the_path_of_a_pairing_is_checked_again_only_after_a_lost_host_returned(
    pool: HostPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[Any] = []

    def counted(server: Agent, client: Agent, pair: tuple[Host, Host]) -> Preflight:
        attempts.append((server, client))
        return preflight(server, client, pair)

    monkeypatch.setattr(room, "preflight", counted)
    for _ in range(3):
        assert pool.reason_not_to_measure(CELL) is None
    assert attempts == []
    lose(pool, "right")
    record = pool.lost(Trial(CELL, 1), 1, HostGone("right: gone"))
    assert (record.status, record.reason) == (Status.FAILED, "probe-died")
    for _ in range(3):
        assert pool.reason_not_to_measure(CELL) is None
    assert len(attempts) == 1


def test_a_host_that_returns_with_a_wrong_route_is_not_measured_until_the_route_is_right(
    pool: HostPool, wires: Wires
) -> None:
    assert pool.reason_not_to_measure(CELL) is None
    lose(pool, "left")
    pool.lost(Trial(CELL, 1), 1, HostGone("left: gone"))
    ip("-n", wires.server, "route", "add", *ELSEWHERE)
    for _ in range(2):
        obstacle = pool.reason_not_to_measure(CELL)
        assert obstacle is not None
        assert (obstacle.status, obstacle.reason) == (Status.FAILED, "wrong-path")
        assert "left reaches right" in obstacle.detail
    ip("-n", wires.server, "route", "delete", *ELSEWHERE)
    assert pool.reason_not_to_measure(CELL) is None
    record = measure(Trial(CELL, 1), pool.ends(CELL), 2, lambda _cell, _rate: None)
    assert record.status is Status.OK


def test_a_firewall_that_blocks_a_restarted_host_is_reported(pool: HostPool, wires: Wires) -> None:
    lose(pool, "right")
    pool.lost(Trial(CELL, 1), 1, HostGone("right: gone"))
    wires.drop(wires.server, "ipproto", "tcp")
    obstacle = pool.reason_not_to_measure(CELL)
    assert obstacle is not None
    assert (obstacle.status, obstacle.reason) == (Status.FAILED, "path-blocked")
    assert obstacle.detail.startswith("TCP right→left is blocked")


def test_a_host_lost_during_the_path_check_raises_host_gone(
    pool: HostPool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lose(pool, "right")
    pool.lost(Trial(CELL, 1), 1, HostGone("right: gone"))

    def gone(*_: object) -> None:
        raise HostGone("right: the probe ended")

    monkeypatch.setattr(room, "preflight", gone)
    with pytest.raises(HostGone):
        pool.reason_not_to_measure(CELL)


@pytest.mark.parametrize(
    ("setup", "lacking"),
    [
        (RoundTrip(protocol="UDP", message_bytes=64), None),
        (RoundTrip(protocol="UDP", message_bytes=64, response_bytes=64, stack_time=True), None),
        (
            RoundTrip(protocol="TCP", message_bytes=64, response_bytes=16),
            "always as long as the request",
        ),
        (RoundTrip(protocol="UDP", message_bytes=64, mirror_hold_s=0.001), "cannot wait before"),
        (Connect(message_bytes=64), None),
        (Stream(protocol="TCP", message_bytes=64), "a `stream` test needs a probe at both ends"),
        (PayloadSearch(protocol="UDP"), "a `payload_search` test needs a probe at both ends"),
    ],
)
def test_a_cell_that_a_mirror_cannot_answer_is_impossible_with_the_reason(
    setup: Any, lacking: str | None
) -> None:
    tests = {RoundTrip: "round_trip", Connect: "connect", Stream: "stream"}
    cell = Cell(pairing="XL", test=tests.get(type(setup), "payload_search"), setup=setup)
    pair_matrix = Host(name="board", os="X", mirror=Mirror("10.0.0.9", 7))
    client = Host(name="client", os="L", local=True)
    obstacle = beyond_server(cell, (pair_matrix, client))
    if lacking is None:
        assert obstacle is None
    else:
        assert obstacle is not None
        assert (obstacle.status, obstacle.reason) == (Status.IMPOSSIBLE, "not-as-set-up")
        assert lacking in obstacle.detail
    assert beyond_server(cell, (client, client)) is None
