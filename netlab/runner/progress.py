"""What a person sees of a run while it goes on: on standard error, never on standard output.

On a terminal a bar; elsewhere a line now and then. Nothing is drawn while a trial measures with
this very machine's cores: drawing is work that the measurement would see. How much is said is the
person's to choose: nothing, what matters, or every trial as it ends.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from netlab.experiment.cells import Cell
from netlab.experiment.estimate import least_s, window_s
from netlab.experiment.kinds import SEARCHES
from netlab.experiment.records import Record, Status
from netlab.experiment.schedule import Trial
from netlab.results.labels import setting
from netlab.screen import draws, screen_of
from netlab.terminal import printable
from netlab.units import format_rate, format_seconds, many, plain_figures

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from netlab.experiment.matrix import Link, Matrix
    from netlab.measurement.ends import SoFar

QUIET_S = 10.0
"""Least time between two lines where standard error is no terminal."""

SHORT_S = 0.05
"""A time in which too little passes for a figure."""

BAR_COLUMNS = 24
"""Of the bar, on a terminal of 120 columns and more."""

OVERHEAD_S = 0.02
"""What a trial costs beyond its window, for the estimate before any trial has been seen."""


class Progress:
    """Tells how far a run is; the methods are called by the thread that writes the journal,
    `live` and `trial` by those that measure.
    """

    def __init__(
        self, *, as_json: bool = False, quiet: bool = False, verbose: bool = False
    ) -> None:
        """``as_json``: a line a record on standard output; ``quiet``: nothing on standard error;
        ``verbose``: a line there for each trial that ends.
        """
        self.measures_here = True
        """Whether a host of the run is this machine."""
        self.is_verbose = verbose
        self._json, self._quiet = as_json, quiet
        self._carried: dict[str, dict[str, SoFar]] = {}
        """Cell → flow → what it had carried when it was last told."""
        self._steps: dict[str, dict[str, SoFar]] = {}
        """Cell → flow → what it carried between the last two times."""
        self._bar: Bar | None = None
        self._left_s = 0.0
        self._total = self._done = self._failed = 0
        self._said_at = 0.0
        self._trial_began: dict[tuple[str, int], float] = {}
        self._windows_s: dict[tuple[str, int], float] = {}
        self._excess_s: list[float] = []
        self._told: set[str | None] = set()
        self._pause_s = 0.0
        self._link: Link | None = None
        self._expected: set[tuple[str, int]] = set()
        self._cells: dict[str, Cell] = {}
        self._varied: tuple[str, ...] = ()
        """Names of the settings in which cells differ."""
        self._last = ""
        self._untold = False
        self._waited_for: set[str] = set()

    def begin(self, folder: Path, trials: Iterable[Trial], done: int, matrix: Matrix) -> None:
        """Say what is about to be measured, and where it goes; ``done`` trials are there."""
        self._pause_s, self._link = matrix.pause_s, matrix.link
        self._total = self._done = done
        self.expect(trials)
        most = f", up to {matrix.until.at_most} a cell until it is tight" if matrix.until else ""
        pauses = f", {format_seconds(self._pause_s)} between trials" if self._pause_s else ""
        went_on = f", {done} there already" if done else ""
        self._say(
            f"{folder}: {many(len(self._windows_s), 'trial')} to measure{most}{went_on}, "
            f"{self._time_told()}{pauses}"
        )
        if matrix.scale != 1:
            self._say(f"every count is taken times {plain_figures(matrix.scale)}")
        if draws(sys.stderr) and not self._quiet:
            self._bar = _bar(self._total, done)

    def expect(self, trials: Iterable[Trial]) -> None:
        """Trials that are to be measured; those told before are not many again."""
        known = len(self._cells)
        for trial in trials:
            key = (trial.cell.key, trial.number)
            self._cells[trial.cell.key] = trial.cell
            if key not in self._expected:
                self._expected.add(key)
                self._windows_s[key] = self._time_of(trial.cell)
                self._left_s += self._windows_s[key]
                self._total += 1
        if len(self._cells) > known:
            self._varied = _varied(self._cells.values())
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], total=self._total)

    def pausing(self, seconds: float) -> None:
        """Nothing is measured for a while, as the matrix asks."""
        self._draw(f"pause of {format_seconds(seconds)}")

    def waiting(self, sentences: Iterable[str], patience_s: float) -> None:
        """Nothing can be measured until a host is back; said once of each."""
        new = [each for each in sentences if each not in self._waited_for]
        self._waited_for.update(new)
        for sentence in new:
            self._say(
                f"{sentence}; waits for it, {format_seconds(patience_s)} at most from its loss on "
                "(--patience); a signal ends the run"
            )

    def tell(self, sentence: str) -> None:
        """Say what takes long before the first trial; may be called by several threads."""
        self._say(sentence)

    def warn(self, sentences: Iterable[str]) -> None:
        """Say what a person should know before the first trial."""
        for sentence in sentences:
            self._say(f"warning: {sentence}")

    def impossible(self, sentences: Mapping[str, int]) -> None:
        """Say why cells are impossible, with their number, before the first trial; their records
        do not say it again.
        """
        for sentence, count in sentences.items():
            are = "is" if count == 1 else "are"
            self._say(f"warning: {many(count, 'cell')} {are} impossible: {sentence}")
        self._told.update(sentences)

    def trial(self, trial: Trial) -> None:
        """A trial begins."""
        self._trial_began[trial.cell.key, trial.number] = time.monotonic()
        self._carried.pop(trial.cell.key, None)
        self._steps.pop(trial.cell.key, None)
        self._draw(self._words(trial.cell.key))

    def live(self, cell: Cell, so_far: SoFar) -> None:
        """What a trial carried since it was last told, of all of its flows."""
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
        """A record is written."""
        key = (record.cell, record.trial)
        is_expected = key in self._windows_s
        window_s = self._windows_s.pop(key, 0.0)
        began = self._trial_began.pop(key, None)
        took_s = None if began is None else time.monotonic() - began
        if took_s is not None:
            self._excess_s.append(took_s - window_s)
        if is_expected:
            self._done += 1
            self._left_s -= window_s
        if record.status is Status.FAILED:
            self._failed += 1
            self._say(f"{self._words(record.cell)}: failed: {record.detail or record.reason}")
        if self.is_verbose:
            self._say(self.line_of(record, took_s))
        told_once = record.status in (Status.PENDING, Status.IMPOSSIBLE)
        if told_once and record.detail not in self._told:
            self._told.add(record.detail)
            those = "and others are pending" if record.status is Status.PENDING else "is impossible"
            self._say(f"{self._words(record.cell)} {those}: {record.detail or record.reason}")
        if self._json:
            print(json.dumps(_event(record)), flush=True)
        self._last = _result(record) or self._last
        if self._bar is not None:
            self._draw(self._words(record.cell))
        elif time.monotonic() - self._said_at > QUIET_S:
            self._say(self._state(self._words(record.cell)))

    def end(self) -> None:
        """Leave the terminal as it was."""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _time_of(self, cell: Cell) -> float:
        """What the settings say; of a count without a rate, what the link takes at least."""
        asked_s = window_s(cell.setup)
        known_s = least_s(cell, self._link) if asked_s is None else asked_s
        self._untold = self._untold or known_s is None or isinstance(cell.setup, SEARCHES)
        return known_s or 0.0

    def _time_told(self) -> str:
        known_s = round(self._time_left_s())
        if not self._untold:
            return f"about {format_seconds(known_s)}"
        least = f"{format_seconds(known_s)} at least, " if known_s else ""
        return f"{least}how long is not known beforehand"

    def _time_left_s(self) -> float:
        seen = self._excess_s
        each = sum(seen) / len(seen) if seen else OVERHEAD_S
        return self._left_s + (max(each, 0.0) + self._pause_s) * len(self._windows_s)

    def _state(self, what: str, now: str = "") -> str:
        """Where the run is; ``now``: the figure of this moment, which a narrow terminal keeps."""
        failures = f", {self._failed} failed" if self._failed else ""
        left = format_seconds(round(self._time_left_s()))
        last = f"; last: {self._last}" if self._last else ""
        figure = f"{now}  " if now else ""
        return f"{self._done}/{self._total}{failures}, {left} left  {figure}{what}{last}"

    def line_of(self, record: Record, took_s: float | None = None) -> str:
        """A trial that has ended, on a line of its own."""
        after = "" if took_s is None else f" after {format_seconds(took_s)}"
        attempt = f", attempt {record.attempt}" if record.attempt > 1 else ""
        figure = f": {found}" if (found := _result(record)) else ""
        known = f"  {self._words(record.cell)}" if record.cell in self._cells else ""
        return (
            f"{time.strftime('%H:%M:%S')}  {record.cell}, trial {record.trial}{attempt}{known}: "
            f"{record.status}{after}{figure}"
        )

    def _words(self, key: str) -> str:
        """What a cell is: its pairing and test, and what it does not share with all others."""
        cell = self._cells.get(key)
        if cell is None:
            return key
        also = (setting(name, cell.settings.get(name)) for name in self._varied)
        return ", ".join([f"{cell.pairing} {cell.test} {cell.setup.protocol}", *also])

    def _draw(self, what: str, now: str = "") -> None:
        bar = self._bar
        if bar is None:  # a trial that is still under way when the run has ended
            return
        description = printable(self._state(what, now))
        bar.update(bar.task_ids[0], completed=self._done, description=description)
        bar.refresh()

    def _say(self, text: str) -> None:
        self._said_at = time.monotonic()
        if self._quiet:
            return
        line = screen_of(sys.stderr).fitted(printable(text))
        # A terminal that is gone takes no result with it.
        with suppress(OSError, ValueError):
            if self._bar is not None:
                from rich.text import Text

                self._bar.console.print(Text.from_ansi(line), soft_wrap=True)
            else:
                print(line, file=sys.stderr, flush=True)


def _varied(cells: Iterable[Cell]) -> tuple[str, ...]:
    """The settings in which some cells of a kind of test differ, beside the protocol."""
    seen: dict[tuple[str, str], set[object]] = {}
    for cell in cells:
        for name, value in cell.settings.items():
            seen.setdefault((cell.test, name), set()).add(value)
    found = dict.fromkeys(name for (_, name), values in seen.items() if len(values) > 1)
    return tuple(name for name in found if name != "protocol")


def figure_of(cell: Cell, steps: Collection[SoFar]) -> str:
    """What passes at this moment, of all flows together."""
    if cell.test in ("round_trip", "connect"):
        per_s = sum(each.messages / each.elapsed_s for each in steps)
        return f"{per_s:,.0f} round trips/s"
    return format_rate(sum(each.rate_bit_per_s for each in steps))


def _result(record: Record) -> str:
    """The figure of a trial, where it has one."""
    rate, trips = (
        record.values.get(name) for name in ("throughput_bit_per_s", "transactions_per_s")
    )
    if isinstance(rate, int | float):
        return format_rate(float(rate))
    return f"{trips:,.0f} transactions/s" if isinstance(trips, int | float) else ""


def _event(record: Record) -> dict[str, object]:
    event: dict[str, object] = {
        "type": "record",
        "cell": record.cell,
        "trial": record.trial,
        "attempt": record.attempt,
        "status": str(record.status),
    }
    optional = {
        "reason": record.reason,
        "errno": record.errno,
        "throughput_bit_per_s": record.values.get("throughput_bit_per_s"),
        "transactions_per_s": record.values.get("transactions_per_s"),
    }
    return event | {name: value for name, value in optional.items() if value is not None}


def _bar(total: int, done: int) -> Bar:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    console = Console(stderr=True)
    cut = Column(no_wrap=True, overflow="ellipsis")
    columns = (
        BarColumn(bar_width=min(BAR_COLUMNS, console.width // 5)),
        TextColumn("{task.description}", markup=False, table_column=cut),
    )
    # No thread of its own: it is drawn when something has happened.
    bar = Progress(
        *columns,
        console=console,
        auto_refresh=False,
        transient=True,
        # What --json prints goes where the person sent it; on the same terminal, above the bar.
        redirect_stdout=sys.stdout.isatty(),
    )
    bar.add_task("", total=total, completed=done)
    bar.start()
    return bar
