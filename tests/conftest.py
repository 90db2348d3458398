"""What all tests share: reasons to skip, and no skip where a machine could have run the test."""

from __future__ import annotations

import os

import pytest

NO_SKIP = os.environ.get("CI") == "true"


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """On the machine that checks every change a skipped test is a failed one: it has all pieces."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if NO_SKIP and skipped and exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
