"""A run in a test: its table and its checks; errors fail the test with a plain sentence."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from netlab.errors import NetlabError
from netlab.results.run import Run, load

if TYPE_CHECKING:
    import pandas as pd

    from netlab.compare.check import Checked
    from netlab.compare.runs import Compared

PATIENCE_S = 60.0
"""Time to wait for an absent host; it is shorter than in a run that a person starts."""


@dataclass(frozen=True)
class RunUnderTest:
    """A run folder, recorded earlier or measured in this session."""

    path: Path
    baseline: Path | None = None

    @cached_property
    def run(self) -> Run:
        """The run as read from its folder."""
        with _failing_plainly():
            return load(self.path)

    @property
    def frame(self) -> pd.DataFrame:
        """One row per trial; see ``netlab.results.columns``."""
        return self.run.frame

    def check(self, baseline: str | Path | None = None, *, no_worse_by: float = 0.05) -> Checked:
        """Check every expectation of the matrix, and compare with a baseline run if there is one:
        without an expectation of it, the run may be worse by at most ``no_worse_by`` (a share).
        """
        from netlab.compare.check import check
        from netlab.report.text.findings import finding_sentences

        against = self.baseline if baseline is None else Path(baseline)
        with _failing_plainly():
            before = None if against is None else load(against)
            return check(self.run, before, no_worse_by=no_worse_by, say=finding_sentences)

    def assert_expected(
        self, baseline: str | Path | None = None, *, no_worse_by: float = 0.05
    ) -> None:
        """Fail the test unless every expectation is met; "cannot be judged" counts as not met."""
        __tracebackhide__ = True
        checked = self.check(baseline, no_worse_by=no_worse_by)
        if not checked.met:
            pytest.fail(checked.as_text(), pytrace=False)

    def compared_with(self, baseline: str | Path) -> Compared:
        """Compare every cell with its counterpart in a baseline run."""
        from netlab.compare.runs import compare_runs

        with _failing_plainly():
            return compare_runs(load(Path(baseline)), self.run)


def recorded(folder: Path, baseline: Path | None) -> RunUnderTest:
    """A recorded run; the test fails if its folder cannot be read."""
    under_test = RunUnderTest(folder, baseline)
    _ = under_test.run
    return under_test


@dataclass(slots=True)
class Live:
    """Measures matrices for tests, each once per session; it keeps the runs that it measured."""

    root: Path  # folder to which file names are relative
    into: Path
    hosts: Path | None
    baseline: Path | None
    _measured: dict[str, RunUnderTest] = field(default_factory=dict)

    def __call__(
        self,
        matrix: str | Path,
        *,
        hosts: str | Path | None = None,
        only: Sequence[str] = (),
        **settings: str,
    ) -> RunUnderTest:
        """Measure a matrix; the test fails if a cell failed or a host is absent. With ``--netlab-
        into``, an existing run is resumed.
        """
        key = json.dumps([str(matrix), str(hosts), list(only), settings], sort_keys=True)
        if key not in self._measured:
            name = f"{Path(matrix).stem}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"
            self._measured[key] = self._measure(matrix, hosts, only, settings, self.into / name)
        return self._measured[key]

    def _measure(
        self,
        matrix: str | Path,
        hosts: str | Path | None,
        only: Sequence[str],
        settings: dict[str, str],
        folder: Path,
    ) -> RunUnderTest:
        from netlab.runner.options import Options
        from netlab.runner.progress import Progress
        from netlab.runner.run import run

        options = Options(
            matrix=self.root / matrix,
            hosts=self.hosts if hosts is None else self.root / hosts,
            into=folder,
            only=tuple(only),
            overrides=settings,
            patience_s=PATIENCE_S,
        )
        progress = Progress()
        try:
            with _failing_plainly():
                run(options, progress).raise_for_status()
        finally:
            progress.end()
        return RunUnderTest(folder, self.baseline)


@contextmanager
def _failing_plainly() -> Iterator[None]:
    """An error fails the test with its sentence, without a traceback."""
    try:
        yield
    except NetlabError as error:
        pytest.fail(str(error), pytrace=False)
