"""Which tests are run again when they fail, and the account of it at the end of the run.

What is measured in a lab or on an emulated system depends on the CPU time that this machine has
left. Such a test is run again when it fails, `FAIR_RERUNS` times at most. A try during which the
hypervisor took more than `MOST_STOLEN` of the CPUs' time says nothing of netlab: it is excused,
`EXCUSED_TRIES` times at most. Every test that passed only then is listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from needs import STRICT

FAIR_RERUNS, EXCUSED_TRIES = 2, 2
MOST_STOLEN = 0.02
"""Share of the CPUs' time that others on the hypervisor may take during a fair try."""
MOST_UNSTEADY = 3
"""Tests that may pass only when they are run again, in a run of CI."""


@dataclass
class Tries:
    """The tries of one test."""

    failed: int = 0
    """Tries that failed, and whose CPUs nobody took away."""
    excused: int = 0
    """Tries that failed while others had the CPUs."""
    begun_at: tuple[int, int] = (0, 0)
    judged: bool = False

    def begin(self) -> None:
        """A try begins."""
        self.begun_at, self.judged = cpu_ticks(), False

    def __call__(self, error: BaseException | None) -> bool:
        """Whether another try is due; asked once or more after each, ``error``: why it failed."""
        if error is not None and not self.judged:
            self.judge(stolen_share(self.begun_at, cpu_ticks()))
        return self.failed <= FAIR_RERUNS

    def judge(self, stolen: float) -> None:
        """Count the failed try, with the share of the CPUs that was stolen during it."""
        self.judged = True
        if stolen > MOST_STOLEN and self.excused < EXCUSED_TRIES:
            self.excused += 1
        else:
            self.failed += 1


def cpu_ticks() -> tuple[int, int]:
    """Stolen and all time of all CPUs, in ticks: proc_stat(5). Zeros where no system tells."""
    try:
        words = Path("/proc/stat").read_text().split()[1:9]
    except OSError:
        return 0, 0
    return int(words[7]), sum(map(int, words))


def stolen_share(begin: tuple[int, int], end: tuple[int, int]) -> float:
    """Share of the CPUs' time between two readings that others on the hypervisor took."""
    return (end[0] - begin[0]) / max(1, end[1] - begin[1])


def allow_tries(item: pytest.Item) -> None:
    """Have a test run again when it fails."""
    rule = pytest.mark.flaky(reruns=FAIR_RERUNS + EXCUSED_TRIES, condition=Tries())
    item.add_marker(rule)


def tries_of(item: pytest.Item) -> Tries | None:
    """The account of a test that may be run again."""
    marker = item.get_closest_marker("flaky")
    return None if marker is None else marker.kwargs["condition"]


def unsteady(items: list[pytest.Item], failed: set[str]) -> tuple[list[str], list[str]]:
    """Tests that passed only when they were run again: those that count, and those excused."""
    failures: list[str] = []
    excuses: list[str] = []
    for item in items:
        tries = tries_of(item)
        if tries is None or item.nodeid in failed or not tries.failed + tries.excused:
            continue
        line = f"{item.nodeid}: failed {tries.failed}, excused by stolen CPU time {tries.excused}"
        (failures if tries.failed else excuses).append(line)
    return failures, excuses


class Account:
    """Lists at the end of a run which tests passed only when they were run again."""

    def __init__(self) -> None:
        self._failed: set[str] = set()
        self._lists: tuple[list[str], list[str]] = ([], [])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.add(report.nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self._lists = unsteady(session.items, self._failed)
        too_many = STRICT and len(self._lists[0]) > MOST_UNSTEADY
        if too_many and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        failures, excuses = self._lists
        if failures:
            limit = f", at most {MOST_UNSTEADY} in CI" if STRICT else ""
            terminalreporter.section(f"passed only when run again: {len(failures)}{limit}")
        for line in failures:
            terminalreporter.write_line(line)
        if excuses:
            terminalreporter.section(f"run again, excused by stolen CPU time: {len(excuses)}")
        for line in excuses:
            terminalreporter.write_line(line)
