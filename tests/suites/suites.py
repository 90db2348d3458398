"""Which tests a session runs: by suite, by whether they measure, by a sample; and what skips them.

The hooks of conftest.py, apart from what the tests themselves share.
"""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import needs
import pytest
import tries
from xdist.scheduler import LoadFileScheduling, Scheduling

LOCKING = (
    "test_run",
    "test_shipped_matrices",
    "test_measured_report",
    "test_mirrors",
    "test_pytest_plugin",
    "test_refused_congestion",
    "test_progress",
    "test_loudness",
    "test_possible",
    "test_installed",
    "test_api",
    "test_notebooks",
    "test_readme",
    "test_installers",
)
"""Files whose tests run netlab on this machine, one after the other: a run takes its lock."""
BUILDERS = (
    "test_build",
    "test_wheel",
    "test_platforms",
    "test_platform_agents",
    "test_platform_ends",
    "test_platform_pacing",
    "test_platform_old_headers",
    "test_probe_units",
)
"""Files whose tests build: of the others they take longest."""
FIRST = (*LOCKING, *BUILDERS)
SAMPLE = os.environ.get("NETLAB_SAMPLE")
"""Seed by which CI draws rows of tests that wait long; without it all rows are run."""
FILES_DRAWN = {"faults": 20, "measuring": 24}
"""Files that the sample has: of tests/faults, and of the further tests that measure."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--suite plain`` is `make test`; all suites without it."""
    parser.addoption(
        "--suite", choices=("plain", "further", "faults"), help="tests of one suite: needs.py"
    )
    parser.addoption(
        "--measuring",
        choices=("yes", "no"),
        help="only tests that measure, which nothing may run beside; or only the others",
    )


def pytest_configure(config: pytest.Config) -> None:
    """The account of tries is kept where the tests are run and told."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(tries.Account())


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose by suite, by whether a test measures, and by the sample."""
    suite, measuring = config.getoption("suite"), config.getoption("measuring")
    left_out = {
        item
        for item in items
        if suite not in (None, needs.suite_of(item))
        or measuring not in (None, "yes" if needs.is_alone(item) else "no")
    } | not_drawn(items)
    for item in items:
        if needs.is_alone(item) and needs.suite_of(item) != "plain":
            tries.allow_tries(item)
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
    # The longest files first, so that all processes end together.
    items.sort(key=lambda item: (*FIRST, item.path.stem).index(item.path.stem))


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """A file's tests go to one process, as do those of all files that take the lock."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        locks = Path(file).stem in LOCKING or "faults" in Path(file).parts
        return "the lock" if locks else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    """How ``--dist loadfile`` shares the tests out."""
    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


def not_drawn(items: list[pytest.Item]) -> set[pytest.Item]:
    """What the sample leaves out: rows of tests marked ``sampled(most=…)``, and whole files; the
    seed names them.
    """
    rows: dict[str, list[pytest.Item]] = {}
    for item in items:
        if SAMPLE is not None and item.get_closest_marker("sampled"):
            rows.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out: set[pytest.Item] = set()
    for test, test_rows in rows.items():
        marker = test_rows[0].get_closest_marker("sampled")
        most = len(test_rows) if marker is None else min(len(test_rows), marker.kwargs["most"])
        sample = random.Random(f"{SAMPLE} {test}").sample(test_rows, most)  # noqa: S311
        left_out |= {item for item in test_rows if item not in sample}
    for group, most in FILES_DRAWN.items():
        waiting = [item for item in items if waits_long(item) == group]
        files = sorted({item.path for item in waiting})
        if SAMPLE is not None and len(files) > most:
            drawn = random.Random(f"{SAMPLE} {group}").sample(files, most)  # noqa: S311
            left_out |= {item for item in waiting if item.path not in drawn}
    return left_out


def waits_long(item: pytest.Item) -> str | None:
    """The group of files that a test belongs to, if the sample has only some of its files."""
    suite = needs.suite_of(item)
    if suite == "further" and needs.is_alone(item):
        return "measuring"
    return suite if suite in FILES_DRAWN else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A try begins; a test is skipped where the machine lacks what it needs."""
    account = tries.tries_of(item)
    if account is not None:
        account.begin()
    needs.require(*needs.needs_of(item))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skip that something installed could have saved is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    avoidable = [report for report in skipped if needs.EXCUSED not in str(report.longrepr)]
    if needs.STRICT and avoidable and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
