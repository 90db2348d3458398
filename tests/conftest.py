"""What all tests share. Which of them a session runs: kinds.py, needs.py, guard.py."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from draws import NIGHT, drawn
from hypothesis import HealthCheck, Phase, settings

pytest_plugins = ["kinds", "guard", "runners", "packages", "browsers", "lab_scenarios"]

if TYPE_CHECKING:
    from made_parts import Make

    from netlab.findings.analysis import Analysis
    from netlab.store.plan import Plan
    from netlab.trial.record import Record

# Few cases, the same each time; at night many, others each night. A busy machine is no reason for a
# property to fail.
settings.register_profile(
    "netlab",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    database=None,
    derandomize=NIGHT is None,
    max_examples=drawn(few=20, many=1000),
)
settings.load_profile("netlab")
# For `make mutants`: the same examples each time, and no search for the simplest that fails.
settings.register_profile(
    "mutants",
    settings.get_profile("netlab"),
    derandomize=True,
    max_examples=100,
    phases=(Phase.explicit, Phase.generate),
)


@pytest.fixture(scope="session", autouse=True)
def heard_signals() -> Iterator[None]:
    """Programs that tests start hear what ends them, also where a shell or nohup has the tests
    themselves ignore it: what is ignored is inherited, and what is handled is not.
    """
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [getattr(signal, name) for name in names if hasattr(signal, name)]
    ignored = [number for number in numbers if signal.getsignal(number) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture(scope="session", autouse=True)
def state_of_labs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What labs of tests keep for their next ``up`` is gone with the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a run folder out of a plan and its records, and read it."""
    from made_parts import made_run

    def make_run(plan: Plan, records: Sequence[Record]) -> Analysis:
        return made_run(tmp_path, plan, records)

    return make_run
