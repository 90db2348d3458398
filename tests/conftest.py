"""What all tests share: reasons to skip, and no skip where a machine could have run the test."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, Phase, settings

if TYPE_CHECKING:
    from made_parts import Make

    from netlab.frame import Run
    from netlab.header import Plan
    from netlab.records import Record

# A busy machine is no reason for a property to fail.
settings.register_profile(
    "netlab", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("netlab")
# For `make mutants`: the same examples each time, and no search for the simplest that fails.
settings.register_profile(
    "mutants",
    settings.get_profile("netlab"),
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate),
)

BUILDERS = ("test_build", "test_wheel", "test_platforms", "test_platform_round_trips")
FAIR_RERUNS, MOST_RERUNS = 2, 6
MOST_STOLEN = 0.02
"""Share of the CPUs' time that others on the hypervisor may take during a fair try of a test."""
NO_SKIP = "NETLAB_NO_SKIP" in os.environ


@dataclass
class Tries:
    """Those of one test that hangs on the time this machine has left: is another one due?"""

    fair: int = 0
    """Tries that failed, and whose CPUs nobody took away."""
    begun_at: tuple[int, int] = (0, 0)
    judged: bool = False

    def begin(self) -> None:
        """A try begins."""
        self.begun_at, self.judged = cpu_times(), False

    def __call__(self, error: BaseException | None) -> bool:
        """Asked after each try, ``error``: why it failed; of what it left behind perhaps again."""
        now = cpu_times()
        stolen = (now[0] - self.begun_at[0]) / max(1, now[1] - self.begun_at[1])
        if error is not None and not self.judged:
            self.judged = True
            self.fair += stolen <= MOST_STOLEN
        return self.fair <= FAIR_RERUNS


def cpu_times() -> tuple[int, int]:
    """Stolen and all time of all CPUs, in ticks: proc_stat(5). Zeros where no system tells."""
    try:
        words = Path("/proc/stat").read_text().split()[1:9]
    except OSError:
        return 0, 0
    return int(words[7]), sum(map(int, words))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """What is run anew is told apart by what was taken from it."""
    for marker in item.iter_markers("flaky"):
        marker.kwargs["condition"].begin()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """On the machine that checks every change a skipped test is a failed one: it has all pieces."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if NO_SKIP and skipped and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is run in a lab or on an emulated system hangs on the time that this machine has left.

    Such a test is run anew when it failed, at most twice; tries during which the hypervisor took
    the CPUs away do not count, up to six in all. The closing line tells how many were run anew. All
    others get one chance. What builds for other systems comes last: by then most of it is built.
    """
    for item in items:
        if item.get_closest_marker("lab") or item.get_closest_marker("emulated"):
            item.add_marker(pytest.mark.flaky(reruns=MOST_RERUNS, condition=Tries()))
    items.sort(key=lambda item: item.path.stem in BUILDERS)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a run folder out of a plan and its records, and read it."""
    from made_parts import made_run

    def make_run(plan: Plan, records: Sequence[Record]) -> Run:
        return made_run(tmp_path, plan, records)

    return make_run
