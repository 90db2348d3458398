"""The parts of a round trip's time, as far as the ends recorded them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from netlab.experiment.matrix import Link
from netlab.findings.finding import Finding, Kind, finding
from netlab.findings.round_trips.floor import floor_ns, is_below
from netlab.findings.round_trips.trips import TripCell, TripTrial, median_of, trip_cells
from netlab.findings.sample import WINDOW_NS
from netlab.findings.series import Series

PARTS = ("wire", "stack", "hold", "client_cpu", "server_cpu", "wait")
"""Names of the parts, in the order of the text; the figures are called ``NAME_trip_ns``. The parts
are the minimum time on the wire, the time in the server's stack and program, the time for which the
server held answers back, the CPU time of client and server, and waits for a CPU."""
FEWEST = 2
LEAST = 0.25
"""The parts are informative only if they are together at least this share of the round trip."""
TICK_NS = 15_625_000
"""Length of the ticks in which Windows counts the CPU time of threads."""
TICKS = 20
"""Minimum CPU time in such ticks: a shorter time is too coarse."""


def made_of(series: Iterable[Series], link: Link | None) -> Iterator[Finding]:
    """A note for each cell (combination of settings) with at least two known parts, if their sum
    does not exceed the round trip.
    """
    for cell in trip_cells(series):
        trials = [
            trial
            for trial in cell.calm
            if trial.mean_ns and trial.under_way == 1 and not trial.paced
        ]
        parts_of_trials = [parts_ns(trial, cell, link) for trial in trials]
        mean_ns = median_of(trial.mean_ns for trial in trials)
        parts = {
            f"{name}_trip_ns": median_of(of_trial.get(name) for of_trial in parts_of_trials)
            for name in PARTS
            if parts_of_trials and all(name in of_trial for of_trial in parts_of_trials)
        }
        together_ns = sum(value for value in parts.values() if value)
        if mean_ns is None or len(parts) < FEWEST:
            continue
        if not LEAST * mean_ns <= together_ns <= mean_ns:
            continue
        figures = {**parts, "mean_trip_ns": mean_ns, "rest_trip_ns": mean_ns - together_ns}
        keys = tuple(trial.key for trial in trials)
        yield finding(Kind.TRIP_MADE_OF, cell.group, (cell.cell,), figures, trials=keys)


def parts_ns(trial: TripTrial, cell: TripCell, link: Link | None) -> dict[str, float]:
    """Name of a part → its mean time per round trip; unknown parts are absent."""
    wire = None if link is None else floor_ns(trial, cell.test, link)
    least = trial.number("rtt_min_ns") or trial.mean_ns
    if wire is not None and least is not None and is_below(least, wire):
        wire = None
    hold_s = trial.settings.get("mirror_hold_s")
    hold = 1e9 * hold_s if isinstance(hold_s, float) and hold_s > 0 else None
    stack = trial.number("server_stack_mean_ns")
    requests, answered = trial.number("transactions"), trial.number("server_received_messages")
    client = _per_message(trial, "client", "thread_ns", requests)
    server = _per_message(trial, "server", "thread_ns", answered)
    waits = [_per_message(trial, "client", "run_queue_delay_ns", requests)]
    if stack is None:
        waits.append(_per_message(trial, "server", "run_queue_delay_ns", answered))
    if hold is not None or stack is not None:
        server = None
    all_parts = {
        "wire": wire,
        "stack": stack,
        "hold": hold if stack is None else None,
        "client_cpu": None if _spins(trial, "client") else client,
        "server_cpu": None if _spins(trial, "server") else server,
        "wait": sum(wait or 0.0 for wait in waits) or None,
    }
    return {name: ns for name, ns in all_parts.items() if ns is not None}


def _per_message(trial: TripTrial, end: str, name: str, number: float | None) -> float | None:
    """A time that an end recorded over its window (the time that it measured), divided by the
    number of messages in the window.

    ``None`` if the time is not known, 0 or too coarse, or if the window is too short.
    """
    total_ns = trial.number(f"{end}_{name}")
    if not total_ns or not number or (trial.number("elapsed_ns") or 0.0) < WINDOW_NS:
        return None
    coarse = total_ns % TICK_NS == 0 and total_ns < TICKS * TICK_NS
    return None if coarse else total_ns / number


def _spins(trial: TripTrial, end: str) -> bool:
    return trial.settings.get(f"{end}_receive") == "spinning"
