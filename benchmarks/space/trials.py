"""Lets causes begin and end with the trials of a run, and keeps what was counted in each trial."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from benchmarks.space.forwarder import Acted, Counters
from benchmarks.truths.plants import OnTrial, Plant
from benchmarks.truths.site import Site
from netlab.experiment.schedule import Trial

COUNTING = "do=drop,share=0,longer=200"
"""The rule with number 0, which does nothing but count the packets with data of each way."""
Selector = Callable[[int], bool]
"""Whether a cause is in a trial of this number, from 1."""


@dataclass(frozen=True, slots=True)
class Reading:
    """All counters at one moment."""

    rules: Counters | None = None
    queue: tuple[int, int] = (0, 0)
    """Packets that the sender's own queue has passed, and dropped."""


class Ledger:
    """What was counted in each trial."""

    def __init__(self, read: Callable[[], Reading]) -> None:
        self._read = read
        self._open: tuple[str, int, Reading] | None = None
        self.trials: list[tuple[str, int, Reading, Reading]] = []
        """Cell, number of the trial, and the counters at its beginning and at its end."""

    def begin(self, trial: Trial) -> None:
        """A trial begins, when its causes are there."""
        self._open = (trial.cell.key, trial.number, self._read())

    def end(self) -> None:
        """The trial that began is over; its causes are still there."""
        if self._open is not None:
            self.trials.append((*self._open, self._read()))
        self._open = None

    def counts(self, rule: int | None, way: int, selector: Selector) -> dict[str, dict[str, int]]:
        """Cell → what a rule did there in its trials, on one way; without one, the queue.

        ``data``: all packets with data of this way.
        """
        sums: dict[str, dict[str, int]] = {}
        for cell, number, old, new in self.trials:
            if selector(number):
                more = _of_queue(old, new) if rule is None else _of_rule(old, new, rule, way)
                so_far = sums.setdefault(cell, dict.fromkeys(more, 0))
                sums[cell] = {name: so_far[name] + count for name, count in more.items()}
        return sums


def _of_queue(old: Reading, new: Reading) -> dict[str, int]:
    passed, dropped = (b - a for a, b in zip(old.queue, new.queue, strict=True))
    tried = passed + dropped
    return {"matched": tried, "active": tried, "acted": dropped, "dropped": dropped, "data": tried}


def _of_rule(old: Reading, new: Reading, rule: int, way: int) -> dict[str, int]:
    assert old.rules is not None and new.rules is not None
    its, data = (grown(old.rules, new.rules, which) for which in (rule, 0))
    names = ("matched", "active", "acted", "dropped")
    return {**{name: getattr(its, name)[way] for name in names}, "data": data.matched[way]}


def grown(old: Counters, new: Counters, rule: int) -> Acted:
    """What a rule did between two readings."""
    pairs = {
        name: tuple(
            b - a
            for a, b in zip(
                getattr(old.rules[rule], name), getattr(new.rules[rule], name), strict=True
            )
        )
        for name in Acted.__slots__
    }
    return Acted(**pairs)


# ---- causes that come and go with trials ---------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Planting:
    """A cause, and in which trials it is."""

    plant: Plant
    share: float
    selector: Selector | None = None
    """``None``: it is there all the time, also while the run prepares its trials."""


class _Cause:
    """A cause that is there or not."""

    def __init__(self, planting: Planting, site: Site) -> None:
        self._planting, self._site = planting, site
        self._stack: ExitStack | None = None
        self._to_tell: OnTrial | None = None

    def turn(self, *, on: bool) -> None:
        if on and self._stack is None:
            self._stack = ExitStack()
            plant = self._planting.plant(self._site, self._planting.share)
            self._to_tell = self._stack.enter_context(plant)
        elif not on and self._stack is not None:
            stack, self._stack, self._to_tell = self._stack, None, None
            stack.close()

    def on_trial(self, trial: Trial) -> None:
        selector = self._planting.selector
        self.turn(on=selector is None or selector(trial.number))
        if self._to_tell is not None:
            self._to_tell(trial)


def together(plantings: Sequence[Planting], ledger: Ledger) -> Plant:
    """All causes of a run as one plant, which keeps what is counted in each trial.

    One thread plants and removes: a trial has a thread of its own, and the programs that a plant
    starts end with the thread that started them.
    """

    @contextmanager
    def plant(site: Site, _: float) -> Iterator[OnTrial]:
        causes = [_Cause(planting, site) for planting in plantings]

        def begin() -> None:
            for planting, cause in zip(plantings, causes, strict=True):
                cause.turn(on=planting.selector is None)

        def turn(trial: Trial) -> None:
            ledger.end()
            for cause in causes:
                cause.on_trial(trial)
            ledger.begin(trial)

        def end() -> None:
            with ExitStack() as stack:
                for cause in causes:
                    stack.callback(cause.turn, on=False)
                ledger.end()

        with ThreadPoolExecutor(1) as thread:
            try:
                thread.submit(begin).result()
                yield lambda trial: thread.submit(turn, trial).result()
            finally:
                thread.submit(end).result()

    return plant
