"""The kinds of tests: which of them a session runs, in which process, and what skips them.

A test has one kind, on every machine:

- ``unit``: pure rooms, files, C units. No process but a compiler, no socket, no waiting;
- ``agents``: the controller against hosts that the test plays. No time passes, as for units;
- ``demo``: the one real measurement that `make test` makes;
- ``lab``: real probes, SSH servers, cables, other systems, browsers, other tools;
- ``night``, ``week``: what judges this machine or takes long; not in CI.

Markers name the kind; a need that only a lab has makes a test one of the lab.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import needs
import pytest
from xdist.scheduler import LoadFileScheduling, Scheduling

Kind = Literal["unit", "agents", "demo", "lab", "night", "week"]
KINDS: tuple[Kind, ...] = ("unit", "agents", "demo", "lab", "night", "week")
MARKED: tuple[Kind, ...] = ("week", "night", "demo", "lab")
"""Kinds by the marker of the same name; the first that a test has counts."""

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
    "test_repeat",
    "test_concurrent",
    "test_hosts_away",
    "test_10_no_room_for_the_probe",
    "test_12_wrong_host_key",
    "test_13_no_key_is_taken",
    "test_14_no_algorithm_in_common",
    "test_33_noisy_login",
    "test_39_mute_sftp",
    "test_40_rc_file_prints_into_sftp",
    "test_53_full_standard_output",
    "test_59_one_session",
    "test_local_cluster",
    "test_lab",
    "test_lab_end",
    "test_lab_kept",
    "test_lab_status",
    "test_lab_first_hour",
    "test_lab_opening",
    "test_lab_doctor",
    "test_lab_sudo",
    "test_lab_claims",
    "test_lab_windows",
    "test_machines_start",
)
"""Files whose tests run netlab on this machine, which takes its lock, or bring a lab up and down:
one after the other."""
FIRST = (
    *LOCKING,
    "test_build",
    "test_wheel",
    "test_platforms",
    "test_probe_units",
    "test_explored_charts",
    "test_first_screen",
    "test_page",
)
"""Files that take longest: they begin first, so that all processes end together."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--kinds unit,agents`` is most of `make test`; all kinds without it."""
    parser.addoption("--kinds", type=kinds_named, default=KINDS, help=f"of {', '.join(KINDS)}")
    parser.addoption(
        "--alone",
        choices=("yes", "no"),
        help="only tests that measure, which nothing may run beside; or only the others",
    )


def kinds_named(text: str) -> tuple[Kind, ...]:
    """The kinds that a list with commas names; ``pytest.UsageError`` where one is unknown."""
    unknown = [name for name in text.split(",") if name not in KINDS]
    if unknown:
        raise pytest.UsageError(f"--kinds: {unknown[0]!r} is none of {', '.join(KINDS)}")
    return tuple(kind for kind in KINDS if kind in text.split(","))


def kind_of(item: pytest.Item) -> Kind:
    """The one kind of a test."""
    for kind in MARKED:
        if item.get_closest_marker(kind):
            return kind
    if is_alone(item) or not all(needs.NEEDS[name].of_units for name in needs.needs_of(item)):
        return "lab"
    return "agents" if item.get_closest_marker("agents") else "unit"


def is_alone(item: pytest.Item) -> bool:
    """Whether a test measures something that other load would falsify: it is marked ``alone``, or
    has a need of such tests and is not marked ``beside``."""
    if item.get_closest_marker("alone"):
        return True
    if item.get_closest_marker("beside"):
        return False
    return any(needs.NEEDS[name].alone for name in needs.needs_of(item))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Choose by kind, and by whether a test measures."""
    kinds: Sequence[Kind] = config.getoption("kinds")
    alone = config.getoption("alone")
    left_out = {
        item
        for item in items
        if kind_of(item) not in kinds or alone not in (None, "yes" if is_alone(item) else "no")
    }
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]
    items.sort(key=lambda item: (*FIRST, item.path.stem).index(item.path.stem))


class ByFile(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
    """A file's tests go to one process, as do those of all files that take the lock."""

    def _split_scope(self, nodeid: str) -> str:
        file = super()._split_scope(nodeid)
        return "the lock" if Path(file).stem in LOCKING else file


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Scheduling | None:
    """How ``--dist loadfile`` shares the tests out."""
    return ByFile(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """A test is skipped where the machine lacks what it needs."""
    needs.require(*needs.needs_of(item))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skip that something installed could have saved is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    avoidable = [report for report in skipped if needs.EXCUSED not in str(report.longrepr)]
    if needs.STRICT and avoidable and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
