"""Plants that change from trial to trial, or during a trial."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from os import kill
from threading import Timer

from benchmarks.truths.plants import OnTrial, Plant
from benchmarks.truths.plants.paths import filtered
from benchmarks.truths.site import RECEIVER, Site
from netlab.experiment.schedule import Trial


def stopped(host: str, after_s: float) -> Plant:
    """Stop the probe of a host for this time, once in each trial."""

    @contextmanager
    def plant(site: Site, seconds: float) -> Iterator[OnTrial]:
        process_numbers: list[int] = []

        def stop() -> None:
            process_numbers.extend(site.probes(host))
            _signal(process_numbers, signal.SIGSTOP)

        def go_on() -> None:
            _signal(process_numbers, signal.SIGCONT)
            process_numbers.clear()

        with _once_a_trial(after_s, seconds, stop, go_on) as on_trial:
            yield on_trial

    return plant


def unplugged(after_s: float) -> Plant:
    """Drop everything that arrives at the receiver for this time, once in each trial."""

    @contextmanager
    def plant(site: Site, seconds: float) -> Iterator[OnTrial]:
        stack = ExitStack()

        def stop() -> None:
            stack.enter_context(filtered(RECEIVER, "input", "iifname test drop")(site))

        with _once_a_trial(after_s, seconds, stop, stack.close) as on_trial:
            yield on_trial

    return plant


def for_a_while(planted: Plant, number: float, after_s: float) -> Plant:
    """The plant with this number, for some seconds, once in each trial."""

    @contextmanager
    def plant(site: Site, seconds: float) -> Iterator[OnTrial]:
        stack = ExitStack()

        def begin() -> None:
            stack.enter_context(planted(site, number))

        with _once_a_trial(after_s, seconds, begin, stack.close) as on_trial:
            yield on_trial

    return plant


def one_stream_stopped(after_s: float) -> Plant:
    """Drop what one of several streams sends to the receiver for this time, once in each trial."""

    @contextmanager
    def plant(site: Site, seconds: float) -> Iterator[OnTrial]:
        stack = ExitStack()

        def stop() -> None:
            at = ("state", "established", "src", site.host(RECEIVER).addresses[0])
            sockets = site.run(RECEIVER, "ss", "-Htn", *at).splitlines()
            port = max(sockets, key=lambda line: int(line.split()[0])).rpartition(":")[2].strip()
            rule = f"iifname test tcp sport {port} drop"
            stack.enter_context(filtered(RECEIVER, "input", rule)(site))

        with _once_a_trial(after_s, seconds, stop, stack.close) as on_trial:
            yield on_trial

    return plant


@contextmanager
def _once_a_trial(
    after_s: float, seconds: float, stop: Callable[[], None], go_on: Callable[[], None]
) -> Iterator[OnTrial]:
    timers: list[Timer] = []

    def on_trial(_: Trial) -> None:
        for delay_s, deed in ((after_s, stop), (after_s + seconds, go_on)):
            timers.append(Timer(delay_s, deed))
            timers[-1].start()

    try:
        yield on_trial
    finally:
        for timer in timers:
            timer.cancel()
            timer.join()
        go_on()


def in_trials(plant: Plant, selector: Callable[[int], bool]) -> Plant:
    """The plant, active only in the trials of each cell whose number (from 1) ``selector``
    accepts.
    """

    @contextmanager
    def planted(site: Site, dial: float) -> Iterator[OnTrial]:
        with ExitStack() as stack:
            stacks: list[ExitStack] = []

            def on_trial(trial: Trial) -> None:
                if selector(trial.number) and not stacks:
                    stacks.append(stack.enter_context(ExitStack()))
                    stacks[0].enter_context(plant(site, dial))
                elif not selector(trial.number) and stacks:
                    stacks.pop().close()

            yield on_trial

    return planted


def growing(plant: Plant, trials: int) -> Plant:
    """The plant with a number that grows from 0 in the first block of trials to the dial in the
    last.

    A block is one trial of every cell.
    """

    @contextmanager
    def planted(site: Site, dial: float) -> Iterator[OnTrial]:
        stack = ExitStack()

        def on_trial(trial: Trial) -> None:
            stack.close()
            share = (trial.number - 1) / (trials - 1)
            stack.enter_context(plant(site, dial * share))

        with stack:
            yield on_trial

    return planted


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            kill(pid, number)
