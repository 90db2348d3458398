"""The progress of a run as a person sees it, on standard error: a bar, or a line from time to time.

While a trial measures with the cores of this machine, nothing is drawn: that would disturb it.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from netlab.experiment.cells import Cell
from netlab.experiment.schedule import Trial
from netlab.kinds import KINDS
from netlab.results.labels import setting
from netlab.results.layout import axis_names
from netlab.screen import draws, screen_of
from netlab.terminal import printable
from netlab.trial.record import Record, Status
from netlab.units import format_rate, format_seconds, many, plain_figures

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from netlab.ethernet import Link
    from netlab.experiment.matrix import Matrix
    from netlab.measurement.ends import SoFar


QUIET_S = 10.0
"""Minimum time between two lines if standard error is no terminal."""

SHORT_S = 0.05
"""Minimum interval of a displayed rate: a shorter interval has too little data."""

BAR_COLUMNS = 24
"""Width of the bar, on a terminal of 120 columns and more."""

OVERHEAD_S = 0.02
"""Assumed time of a trial besides its window, until the first trial has ended."""


class Progress:
    """Reports how far a run is. Measuring threads call `live` and `trial` only."""

    def __init__(
        self, *, as_json: bool = False, quiet: bool = False, verbose: bool = False
    ) -> None:
        """``as_json``: a line per record on standard output; ``verbose``: on standard error."""
        self.measures_here = True
        self.is_verbose = verbose
        self._json, self._quiet = as_json, quiet
        self._carried: dict[str, dict[str, SoFar]] = {}
        """Key of a cell → flow (direction of its data) → its totals at the last report."""
        self._steps: dict[str, dict[str, SoFar]] = {}
        """Key of a cell → flow → the data of the flow between the last two reports."""
        self._bar: Bar | None = None
        self._left_s = 0.0
        self._total = self._done = self._failed = 0
        self._printed_at = 0.0
        self._trial_began: dict[tuple[str, int], float] = {}
        self._windows_s: dict[tuple[str, int], float] = {}
        self._excess_s = 0.0
        """Time by which the trials that ended were longer than their windows, in all."""
        self._excesses = 0
        self._reported: set[str | None] = set()
        self._pause_s = 0.0
        self._link: Link | None = None
        self._expected: set[tuple[str, int]] = set()
        self._cells: dict[str, Cell] = {}
        self._varied: tuple[str, ...] = ()
        """Names of the settings in which cells differ."""
        self._last = ""
        self._is_open_ended = False
        self._waited_for: set[str] = set()

    def begin(
        self, folder: Path, trials: Iterable[Trial], measured_count: int, matrix: Matrix
    ) -> None:
        """Report the folder and the cells; ``measured_count``: number of trials with a result."""
        self._pause_s, self._link = matrix.pause_s, matrix.link
        self._total = self._done = measured_count
        self.expect(trials)
        until = matrix.until
        most = f", up to {until.at_most} per cell until its mean is precise" if until else ""
        pauses = f", {format_seconds(self._pause_s)} between trials" if self._pause_s else ""
        already = f", {measured_count} measured already" if measured_count else ""
        known_s = round(self._time_left_s())
        duration = f"about {format_seconds(known_s)}"
        if self._is_open_ended:
            least = f"at least {format_seconds(known_s)}; " if known_s else ""
            duration = f"{least}the duration cannot be predicted"
        self.notify(
            f"{folder}: {many(len(self._windows_s), 'trial')} to measure{most}{already}, "
            f"{duration}{pauses}"
        )
        if matrix.scale != 1:
            self.notify(f"every count is multiplied by {plain_figures(matrix.scale)}")
        if draws(sys.stderr) and not self._quiet:
            self._bar = _bar(self._total, measured_count)

    def expect(self, trials: Iterable[Trial]) -> None:
        """Add trials that are to be measured; a trial that was added before counts once."""
        old_count = len(self._cells)
        for trial in trials:
            key = (trial.cell.key, trial.number)
            self._cells[trial.cell.key] = trial.cell
            if key not in self._expected:
                self._expected.add(key)
                # The duration that follows from the settings. If they state a number of messages
                # and no rate, the minimum time that the link needs for them. 0 if unknown.
                setup = trial.cell.setup
                asked_s = setup.window_s()
                known_s = setup.least_s(self._link) if asked_s is None else asked_s
                self._is_open_ended |= known_s is None or setup.is_search
                self._windows_s[key] = known_s or 0.0
                self._left_s += self._windows_s[key]
                self._total += 1
        if len(self._cells) > old_count:
            self._varied = axis_names(self._cells.values())
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], total=self._total)

    def pausing(self, seconds: float) -> None:
        """Show a pause that the matrix sets."""
        self._draw(f"pause of {format_seconds(seconds)}")

    def waiting(self, sentences: Iterable[str], patience_s: float) -> None:
        """Report that the run waits for a host; once for each sentence."""
        new = [sentence for sentence in sentences if sentence not in self._waited_for]
        self._waited_for.update(new)
        for sentence in new:
            self.notify(
                f"{sentence}; the run waits until {format_seconds(patience_s)} after the loss of "
                "the host or path (--patience), or until a signal ends it"
            )

    def notify(self, sentence: str) -> None:
        """Show a message, such as about a slow step; several threads may call it."""
        self._printed_at = time.monotonic()
        if self._quiet:
            return
        line = screen_of(sys.stderr).fitted(printable(sentence))
        # The loss of the terminal must not cause the loss of a result.
        with suppress(OSError, ValueError):
            if self._bar is not None:
                from rich.text import Text

                self._bar.console.print(Text.from_ansi(line), soft_wrap=True)
            else:
                print(line, file=sys.stderr, flush=True)

    def warn(self, sentences: Iterable[str]) -> None:
        """Show warnings."""
        for sentence in sentences:
            self.notify(f"warning: {sentence}")

    def impossible(self, sentences: Mapping[str, int]) -> None:
        """Show why cells are impossible (reason → number of cells); `record` says it no more."""
        for sentence, count in sentences.items():
            are = "is" if count == 1 else "are"
            self.notify(f"warning: {many(count, 'cell')} {are} impossible: {sentence}")
        self._reported.update(sentences)

    def trial(self, trial: Trial) -> None:
        """Show that a trial begins."""
        self._trial_began[trial.cell.key, trial.number] = time.monotonic()
        self._carried.pop(trial.cell.key, None)
        self._steps.pop(trial.cell.key, None)
        self._draw(self._words(trial.cell.key))

    def live(self, cell: Cell, so_far: SoFar) -> None:
        """Show the data of a flow of a trial since the last report."""
        if self.measures_here:
            return
        carried = self._carried.setdefault(cell.key, {})
        step = so_far.since(carried.get(so_far.flow))
        carried[so_far.flow] = so_far
        if step.elapsed_s < SHORT_S:
            return
        steps = self._steps.setdefault(cell.key, {})
        steps[so_far.flow] = step
        self._draw(self._words(cell.key), now=figure_of(cell, steps.values()))

    def record(self, record: Record) -> None:
        """Report a record that was written."""
        key = (record.cell, record.trial)
        self._done += key in self._windows_s
        window_s = self._windows_s.pop(key, 0.0)
        self._left_s -= window_s
        began = self._trial_began.pop(key, None)
        took_s = None if began is None else time.monotonic() - began
        if took_s is not None:
            self._excess_s += took_s - window_s
            self._excesses += 1
        if record.status is Status.FAILED:
            self._failed += 1
            self.notify(f"{self._words(record.cell)}: failed: {record.detail or record.reason}")
        if self.is_verbose:
            self.notify(self.line_of(record, took_s))
        is_reported_once = record.status in (Status.PENDING, Status.IMPOSSIBLE)
        if is_reported_once and record.detail not in self._reported:
            self._reported.add(record.detail)
            state = "and others are pending" if record.status is Status.PENDING else "is impossible"
            self.notify(f"{self._words(record.cell)} {state}: {record.detail or record.reason}")
        if self._json:
            optional = {
                "reason": record.reason,
                "errno": record.errno,
                "throughput_bit_per_s": record.values.get("throughput_bit_per_s"),
                "transactions_per_s": record.values.get("transactions_per_s"),
            }
            event = {
                "type": "record",
                "cell": record.cell,
                "trial": record.trial,
                "attempt": record.attempt,
                "status": str(record.status),
                **{name: value for name, value in optional.items() if value is not None},
            }
            print(json.dumps(event), flush=True)
        self._last = _result(record) or self._last
        if self._bar is not None:
            self._draw(self._words(record.cell))
        elif time.monotonic() - self._printed_at > QUIET_S:
            self.notify(self._state(self._words(record.cell)))

    def end(self) -> None:
        """Remove the bar and restore the terminal."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _time_left_s(self) -> float:
        overhead_s = self._excess_s / self._excesses if self._excesses else OVERHEAD_S
        return self._left_s + (max(overhead_s, 0.0) + self._pause_s) * len(self._windows_s)

    def _state(self, activity: str, now: str = "") -> str:
        """The state of the run; ``now``: the current figure, seen on a narrow terminal."""
        failures = f", {self._failed} failed" if self._failed else ""
        time_left = format_seconds(round(self._time_left_s()))
        last = f"; last: {self._last}" if self._last else ""
        figure = f"{now}  " if now else ""
        return f"{self._done}/{self._total}{failures}, {time_left} left  {figure}{activity}{last}"

    def line_of(self, record: Record, took_s: float | None = None) -> str:
        """One line about a trial that has ended."""
        duration_text = "" if took_s is None else f" after {format_seconds(took_s)}"
        attempt = f", attempt {record.attempt}" if record.attempt > 1 else ""
        figure = f": {result}" if (result := _result(record)) else ""
        words = f"  {self._words(record.cell)}" if record.cell in self._cells else ""
        return (
            f"{time.strftime('%H:%M:%S')}  {record.cell}, trial {record.trial}{attempt}{words}: "
            f"{record.status}{duration_text}{figure}"
        )

    def _words(self, key: str) -> str:
        """A cell in words: its pairing, its test and the settings in which cells differ."""
        cell = self._cells.get(key)
        if cell is None:
            return key
        settings = (setting(name, cell.settings.get(name)) for name in self._varied)
        return ", ".join([f"{cell.pairing} {cell.test} {cell.setup.protocol}", *settings])

    def _draw(self, activity: str, now: str = "") -> None:
        bar = self._bar
        if bar is None:  # no bar was drawn, or ``end`` has removed it while a trial still runs
            return
        description = printable(self._state(activity, now))
        bar.update(bar.task_ids[0], completed=self._done, description=description)
        bar.refresh()


def figure_of(cell: Cell, steps: Collection[SoFar]) -> str:
    """The current rate of all flows together. ``steps``: the latest data of each flow."""
    if "round_trip" in KINDS[cell.test].expects:
        per_s = sum(step.messages / step.elapsed_s for step in steps)
        return f"{per_s:,.0f} round trips/s"
    return format_rate(sum(step.rate_bit_per_s for step in steps))


def _result(record: Record) -> str:
    rate, trips = (
        record.values.get(name) for name in ("throughput_bit_per_s", "transactions_per_s")
    )
    if isinstance(rate, int | float):
        return format_rate(float(rate))
    return f"{trips:,.0f} transactions/s" if isinstance(trips, int | float) else ""


def _bar(total: int, measured_count: int) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    console = Console(stderr=True)
    text_column = Column(no_wrap=True, overflow="ellipsis")
    columns = (
        BarColumn(bar_width=min(BAR_COLUMNS, console.width // 5)),
        TextColumn("{task.description}", markup=False, table_column=text_column),
    )
    # Without a thread of its own, the bar is drawn only when something has happened.
    bar = Progress(
        *columns,
        console=console,
        auto_refresh=False,
        transient=True,
        # The output of --json on the same terminal appears above the bar.
        redirect_stdout=sys.stdout.isatty(),
    )
    bar.add_task("", total=total, completed=measured_count)
    bar.start()
    return bar


SAY_S = 10.0

Countable = TypeVar("Countable")


def counted(
    items: Iterable[Countable],
    in_all: int,
    what: str,
    notify: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Countable]:
    """The items as they come, with a message every 10 s: ``connecting: 512 of 1000 hosts``."""
    said_s = clock()
    for number, item in enumerate(items, start=1):
        yield item
        now_s = clock()
        if now_s - said_s >= SAY_S and number < in_all:
            said_s = now_s
            notify(what.format(f"{number} of {in_all}"))
