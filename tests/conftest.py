"""What all tests share: reasons to skip, and no skip where a machine could have run the test."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

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

BUILDERS = ("test_build", "test_wheel", "test_platforms", "test_platform_round_trips")
MEASURED_ANEW = pytest.mark.flaky(reruns=2)
NO_SKIP = "NETLAB_NO_SKIP" in os.environ


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """On the machine that checks every change a skipped test is a failed one: it has all pieces."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if NO_SKIP and skipped and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What is run in a lab or on an emulated system hangs on the time that this machine has left.

    Such a test is run anew when it failed, at most twice; the closing line tells how many were. All
    others get one chance. What builds for other systems comes last: by then most of it is built.
    """
    for item in items:
        if item.get_closest_marker("lab") or item.get_closest_marker("emulated"):
            item.add_marker(MEASURED_ANEW)
    items.sort(key=lambda item: item.path.stem in BUILDERS)


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Make a run folder out of a plan and its records, and read it."""
    from made_parts import made_run

    def make_run(plan: Plan, records: Sequence[Record]) -> Run:
        return made_run(tmp_path, plan, records)

    return make_run
