"""Tries the mutants that mutmut made: a part of `make mutants`.

mutmut starts a session of pytest for each mutant. Here one session collects the tests and runs them
once, so that what they read is in memory. Then it forks for each mutant. The child runs the tests
of the altered function to the first failure: first those that detected another mutant of it, then
the quickest. After each module the exit statuses go into mutmut's own files, so that ``mutmut
show`` and benchmarks/truth/mutants.py read them, and a run after one that was ended tries the rest.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
import time
import tomllib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]  # benchmarks/stage.py would import netlab as it is
FOLDER = ROOT / "mutants"
SURVIVED, KILLED, TIMEOUT, NO_TEST = 0, 1, -24, 33
"""mutmut's statuses of a mutant."""
LEAST_LIMIT_S, MOST_SLOWER = 20.0, 15.0
"""CPU time of a test with a mutant: so much, and so many times that without."""
LOOK_S = 0.003
Meta = dict[str, Any]
"""One file of mutmut's results: ``exit_code_by_key`` has the status of each mutant, or None."""
MOST_NAME_BYTES = 4096  # what a pipe takes at once


@dataclass(frozen=True, slots=True)
class Running:
    """A child with its mutant."""

    name: str
    failed: int
    """Where it writes the name of the test that failed."""
    until_s: float
    """When it is killed, by time.monotonic: a mutant may wait for ever."""


class Trials:
    """A plugin of pytest that tries mutants in the place of the tests."""

    def __init__(self, metas: Mapping[Path, Meta]) -> None:
        stats = json.loads((FOLDER / "mutmut-stats.json").read_text())
        self.metas = metas
        self.tests: dict[str, list[str]] = stats["tests_by_mangled_function_name"]
        self.seconds: dict[str, float] = stats["duration_by_test"]
        self.statuses: dict[str, int] = {}
        """Mutant → exit status, of all that were tried."""
        self.running: dict[int, Running] = {}
        self.first: dict[str, list[str]] = defaultdict(list)
        """Function → tests that detected a mutant of it, the last one first."""
        self.failed: int | None = None
        """Of a child: where it writes."""

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if self.failed is not None:
            signal.setitimer(signal.ITIMER_PROF, self.limit_s([nodeid]))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and self.failed is not None:
            os.write(self.failed, report.nodeid.encode()[:MOST_NAME_BYTES])
            os._exit(KILLED)
        if report.failed:
            pytest.exit(f"without a mutant fails {report.nodeid}", returncode=1)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        run_tests(session.items)
        items = {item.nodeid: item for item in session.items}
        gc.freeze()
        for path, meta in self.metas.items():
            codes: dict[str, int | None] = meta["exit_code_by_key"]
            for name in untried(meta):
                self.start(name, items)
            while self.running:
                self.reap()
            codes.update((name, self.statuses[name]) for name in untried(meta))
            path.write_text(json.dumps(meta, indent=4))
        return True

    def start(self, name: str, items: Mapping[str, pytest.Item]) -> None:
        """Try one mutant as soon as a CPU is free."""
        tests = [test for test in self.tests_of(name) if test in items]
        if not tests:
            self.statuses[name] = NO_TEST
            return
        while len(self.running) >= (os.cpu_count() or 1):
            self.reap()
        self.fork(name, [items[test] for test in tests])

    def limit_s(self, tests: Sequence[str]) -> float:
        """The longest time that tests may take with a mutant."""
        return LEAST_LIMIT_S + MOST_SLOWER * sum(self.seconds.get(test, 0.0) for test in tests)

    def tests_of(self, name: str) -> list[str]:
        """The tests that run the function of a mutant, the most promising first."""
        first = self.first[function_of(name)]
        others = set(self.tests.get(function_of(name), ())) - set(first)
        return [*first, *sorted(others, key=lambda test: self.seconds.get(test, 0.0))]

    def fork(self, name: str, items: Sequence[pytest.Item]) -> None:
        """Run the tests of one mutant in a child."""
        reading, writing = os.pipe()
        if child := os.fork():
            os.close(writing)
            until_s = time.monotonic() + 2 * self.limit_s([item.nodeid for item in items])
            self.running[child] = Running(name, reading, until_s)
            return
        try:
            self.failed = writing
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 1)
            os.dup2(nothing, 2)
            choose(name)
            run_tests(items)
            os._exit(SURVIVED)
        finally:
            os._exit(KILLED)

    def reap(self) -> None:
        """Note what became of children that ended; kill those whose time is over."""
        child, status = os.waitpid(-1, os.WNOHANG)
        if child:
            code, running = os.waitstatus_to_exitcode(status), self.running.pop(child)
            self.statuses[running.name] = code if code >= 0 else TIMEOUT
            with os.fdopen(running.failed, encoding="utf-8", errors="replace") as pipe:
                failed, first = pipe.read(), self.first[function_of(running.name)]
            if failed:
                first[:] = [failed, *(test for test in first if test != failed)]
            return
        for pid, running in self.running.items():
            if time.monotonic() > running.until_s:
                os.kill(pid, 9)
        time.sleep(LOOK_S)


def untried(meta: Meta) -> list[str]:
    """The mutants of one module that have no status."""
    return [name for name, status in meta["exit_code_by_key"].items() if status is None]


def function_of(name: str) -> str:
    """The altered function, as mutmut's notes of tests name it."""
    return name.rpartition("__mutmut_")[0]


def run_tests(items: Sequence[pytest.Item]) -> None:
    """Run these tests, one after the other."""
    for item, following in zip(items, [*items[1:], None], strict=True):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)


def choose(name: str) -> None:
    """Put the mutant in the place of its function. mutmut would look into the environment at each
    call of every function, which takes half of the time."""
    trampoline = importlib.import_module("mutmut.mutation.trampoline")
    setattr(trampoline, "get_mutant_under_test", lambda: name)  # noqa: B010 — it has no types


def main() -> int:
    metas = {path: json.loads(path.read_text()) for path in sorted(FOLDER.rglob("*.meta"))}
    count = sum(len(untried(meta)) for meta in metas.values())
    words = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["mutmut"]
    os.chdir(FOLDER)
    sys.path.insert(0, str(FOLDER))
    os.environ["MUTANT_UNDER_TEST"] = ""
    altered = importlib.import_module("netlab").__file__ or ""
    if not altered.startswith(str(FOLDER)):
        raise SystemExit(f"{altered} is not the altered code below {FOLDER}")
    trials = Trials(metas)
    options = [*words["pytest_add_cli_args"], *words["pytest_add_cli_args_test_selection"]]
    status = pytest.main(["--rootdir=.", "-q", "-s", *options], plugins=[trials])
    print(f"{len(trials.statuses)} of {count} mutants tried")
    return 0 if len(trials.statuses) == count else int(status) or 1


if __name__ == "__main__":
    sys.exit(main())
