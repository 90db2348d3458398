"""The tests within a search have every setting that they share with the search."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, get_args

import pytest
from advanced_clock import passing_clock
from scripted_agent import Fake

from netlab.experiment.cells import Cell
from netlab.experiment.schedule import Trial
from netlab.kinds import ROWS, PayloadSearch, ThroughputSearch
from netlab.measurement import conversation, payload_search, stream, throughput_search
from netlab.measurement import search_trial as trial_room
from netlab.measurement.ends import Ends

__all__ = ["passing_clock"]

pytestmark = [pytest.mark.agents, pytest.mark.usefixtures("passing_clock")]

OWN = {"duration_s", "socket_buffer_bytes"}
"""What some of them decide for themselves: how long they take, and with which buffers."""


def unlike_default(kind: type[Any]) -> Any:
    """A search with a non-default level of each of its settings."""

    def level(name: str, default: object) -> Any:
        words = [word for word in get_args(ROWS[name].type) if word != default]
        numbers = {int: 97, float: 0.25, str: "eth7", bool: not default}
        return words[-1] if words else numbers.get(ROWS[name].type, default)

    return kind(**{name: level(name, default) for name, default in kind.defaults().items()})


class MadeError(Exception):
    """Carries the settings that a search was about to measure with."""


def carry(*args: Any, **_: Any) -> Any:
    raise MadeError(next(argument for argument in args if hasattr(argument, "settings")))


def carry_cell(trial: Trial, *_: Any) -> Any:
    raise MadeError(trial.cell.setup)


AGENT: Any = Fake("a", [])
ENDS = Ends(AGENT, AGENT, same_host=False)


def swept(search: PayloadSearch) -> None:
    trial = Trial(Cell(pairing="LL", test="payload_search", setup=search), 1)
    payload_search.sweep(trial, search, 100, ENDS, lambda _cell, _rate: None)


def probed(search: PayloadSearch) -> None:
    payload_search.Direction(search, ENDS).exchange(100)


def offered(search: ThroughputSearch) -> None:
    load = trial_room.OfferedLoad(10, 10.0, 1.0)
    trial_room.flows_of(search, ENDS, load, starts={})


def timed(search: ThroughputSearch) -> None:
    runner: Any = SimpleNamespace(setup=search, ends=ENDS)
    throughput_search._exchange(runner, 10.0, 1.0)


@pytest.mark.parametrize(
    ("kind", "stage", "seam", "own"),
    [
        (PayloadSearch, swept, (stream, "values_of", carry_cell), set()),
        (PayloadSearch, probed, (payload_search, "exchange_of", carry), OWN),
        (ThroughputSearch, offered, (conversation, "end_of", carry), {"duration_s"}),
        (ThroughputSearch, timed, (throughput_search, "exchange_of", carry), OWN),
    ],
)
def test_the_tests_within_a_search_use_the_settings_of_the_search(
    kind: type[Any],
    stage: Callable[[Any], None],
    seam: tuple[Any, str, Any],
    own: set[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(*seam)
    search = unlike_default(kind)
    with pytest.raises(MadeError) as raised:
        stage(search)
    setup = raised.value.args[0]
    shared = {*setup.names()} & {*search.names()}
    assert shared > {"protocol", "dscp", "interface", "network", "ip_version"}
    assert {n: getattr(setup, n) for n in shared - own} == {
        n: getattr(search, n) for n in shared - own
    }
