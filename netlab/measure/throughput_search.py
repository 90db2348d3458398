"""The test ``throughput_search``: the highest rate that a device forwards without loss (RFC 2544).

Which rate is tried next, and when the search is over: ``search.py``. What a trial says:
``verdict.py``. Every trial stands in the record.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from netlab import wire
from netlab.cells import Cell
from netlab.errors import ProbeError
from netlab.measure import Ends, Live
from netlab.measure.conversation import Side
from netlab.measure.offered_load import Load, learn, offer
from netlab.measure.recording import recorded
from netlab.records import REASONS, Record, Value, reason_of
from netlab.schedule import Trial
from netlab.search import VERDICTS, Ask, Found, Grid, Search, Try, Verdict
from netlab.setups import ThroughputSearch
from netlab.units import format_share
from netlab.verdict import Account, Terms, forwarded_share, judge

BEARABLE = 2
"""Trials in a row that may come to nothing for a reason that is none of the device's."""

OUTRUN = 1.25
"""A sender that is so much faster than the line rate is not held back by a link of that rate."""


@dataclass(frozen=True, slots=True)
class Line:
    """The line rate that rates are shares of."""

    bit_per_s: float
    source: str
    """Who said so: ``setting``, ``link`` (of the matrix) or ``interface``."""
    frames_per_s: float
    """The most frames a second of the size under test."""


@dataclass(frozen=True, slots=True)
class Tried:
    """One trial with its figures."""

    share: Fraction
    """Of the line rate, each way."""
    full: bool
    """Whether it was as long as one that counts."""
    load: Load
    terms: Terms
    accounts: tuple[Account, ...]
    verdict: Verdict

    @property
    def sent_per_s(self) -> float | None:
        """Frames a second that went out, of the slower direction."""
        rates = [account.sent_per_s() for account in self.accounts]
        known = [rate for rate in rates if rate is not None]
        return min(known) if len(known) == len(rates) else None

    def as_try(self, asked: Ask) -> Try:
        """What the search hears of it."""
        share = forwarded_share(self.accounts, self.terms)
        return Try(asked.number, asked.full, self.verdict, share)


def measure(trial: Trial, ends: Ends, attempt: int, live: Live) -> Record:
    """Run one search on its two hosts and return what it left; never raises ``ProbeError``.

    Raises ``HostGone`` when one of the hosts is lost: then nothing is known of the trial.
    """
    return recorded(trial, ends, attempt, lambda: values_of(trial, ends, live))


def values_of(trial: Trial, ends: Ends, live: Live) -> dict[str, Value]:
    """What a search found; ProbeError where it says nothing of the device."""
    setup = trial.cell.setup
    assert isinstance(setup, ThroughputSearch)  # noqa: S101  (told to the type checker)
    line = line_of(setup, trial.cell, ends)
    grid = Grid(Fraction(repr(setup.resolution)))
    bench = _Bench(setup, trial.cell, ends, live, line)
    search = Search.over(grid, short=setup.search_duration_s is not None)
    tried: list[Tried] = []
    while isinstance(asked := search.next(), Ask):
        if tried:
            time.sleep(setup.settle_s)
        tried.append(bench.trial(grid.share(asked.number), full=asked.full))
        search = search.told(tried[-1].as_try(asked))
    if asked.number is None and asked.limit != "device":
        lowest = format_share(float(grid.share(1)))
        detail = f"{asked.limit} at every rate tried, down to {lowest} of the line rate"
        raise ProbeError(ends.client.host.name, "tester-bound", detail=detail)
    values = _of_result(asked, grid, line, tried) | _of_tries("trial_", line, tried)
    if setup.frame_loss:
        values |= _of_tries("loss_", line, _losses(bench))
    return values


def line_of(setup: ThroughputSearch, cell: Cell, ends: Ends) -> Line:
    """The line rate: as the test says it, else the matrix's link, else the client's interface.

    Raises ProbeError where nobody says it.
    """
    rate, source = setup.line_rate_bit_per_s, "setting"
    if rate is None:
        rate, source = ends.link_rate_bit_per_s, "link"
    if rate is None:
        peer = ends.address("server", cell.setup)
        rate, source = ends.client.facts(to=peer).get("interface_speed_bit_per_s"), "interface"
    if not rate:
        detail = "its interface tells no speed: say `link` or `line_rate` in the matrix"
        raise ProbeError(ends.client.host.name, "capability-missing", detail=detail)
    return Line(float(rate), source, wire.frames_per_s(rate, setup.frame_bytes))


@dataclass(slots=True)
class _Bench:
    """A search under way: what does not change from trial to trial, and whether the link paces."""

    setup: ThroughputSearch
    cell: Cell
    ends: Ends
    live: Live
    line: Line
    link_paces: bool = True
    """Whether a sender without a schedule is as fast as the line: no schedule keeps its pace as the
    link itself does. False once it was faster: then the line rate is that of another link."""

    def trial(self, share: Fraction, *, full: bool) -> Tried:
        """One trial at a share of the line rate, as long as one that counts where it is ``full``.

        What comes to nothing is tried again, a few times in a row; ProbeError where it stays so.
        """
        load, terms = self._terms(float(share), full=full)
        for left in range(BEARABLE, -1, -1):
            try:
                accounts = self._offered(load)
            except ProbeError as fault:
                if not left or REASONS[reason_of(fault.word)].impossible:
                    raise
                time.sleep(self.setup.settle_s)
                continue
            if load.frames_per_s is None and self._outran(accounts):
                self.link_paces = False
                return self.trial(share, full=full)
            return Tried(share, full, load, terms, accounts, judge(accounts, terms))
        raise AssertionError("unreachable")

    def _terms(self, share: float, *, full: bool) -> tuple[Load, Terms]:
        """What a trial offers, and what it is judged by."""
        full_s = self.setup.duration_s or 0.0
        wanted_s = full_s if full else self.setup.search_duration_s or full_s
        offered = share * self.line.frames_per_s
        frames = max(2, self.setup.streams, round(offered * wanted_s))
        paced = share < 1 or not self.link_paces
        load = Load(frames, offered if paced else None, frames / offered)
        terms = Terms(
            offered_per_s=offered,
            line_per_s=self.line.frames_per_s,
            step_share=self.setup.resolution,
            duration_s=load.duration_s,
            acceptable_loss=self.setup.acceptable_loss,
        )
        return load, terms

    def _offered(self, load: Load) -> tuple[Account, ...]:
        learn(self.setup, self.cell, self.ends, load, self.line.frames_per_s)
        return offer(self.setup, self.cell, self.ends, load, self._on_progress)

    def _outran(self, accounts: tuple[Account, ...]) -> bool:
        """Whether frames went out faster than the line carries them, beyond what a socket holds."""
        per_s = OUTRUN * self.line.frames_per_s
        return any((account.sent_per_s() or 0.0) > per_s for account in accounts)

    def _on_progress(self, side: Side, record: Mapping[str, Any]) -> None:
        elapsed_ns = record.get("elapsed_ns") or 0
        if side.verb == "receive" and elapsed_ns:
            self.live(self.cell, 8e9 * record.get("bytes", 0) / elapsed_ns)


def _of_result(found: Found, grid: Grid, line: Line, tried: list[Tried]) -> dict[str, Value]:
    """The headline, both bounds and what they mean."""
    values: dict[str, Value] = {}
    if found.number is not None:
        share = float(grid.share(found.number))
        values |= {"frames_per_s": share * line.frames_per_s, "line_share": share}
        passed = [
            each.sent_per_s
            for each in tried
            if each.full and each.share == grid.share(found.number) and each.verdict == "passed"
        ]
        known = [rate for rate in passed if rate is not None]
        if known:
            values["sent_frames_per_s"] = min(known)
    if found.upper is not None:
        share = float(grid.share(found.upper))
        values |= {"upper_frames_per_s": share * line.frames_per_s, "upper_line_share": share}
    return values | {
        "limit": found.limit,
        "monotone": found.monotone,
        "line_rate_bit_per_s": line.bit_per_s,
        "line_rate_from": line.source,
        "line_frames_per_s": line.frames_per_s,
    }


def _of_tries(prefix: str, line: Line, tried: Sequence[Tried]) -> dict[str, Value]:
    """Every trial in its order; of both directions the sum of frames, the slower, the longer."""
    queues = [
        max(account.queue_ns(line.frames_per_s) for account in each.accounts) for each in tried
    ]
    values: dict[str, Value] = {
        "line_share": [float(each.share) for each in tried],
        "duration_s": [each.load.duration_s for each in tried],
        "sent_frames": [sum(a.sent for a in each.accounts) for each in tried],
        "received_frames": [sum(a.received for a in each.accounts) for each in tried],
        "own_drops": [sum(a.own_drops for a in each.accounts) for each in tried],
        "queue_ns": queues,
        "verdict": [VERDICTS.index(each.verdict) for each in tried],
    }
    return {prefix + name: value for name, value in values.items()}


def _losses(bench: _Bench) -> list[Tried]:
    """Trials for the frame loss rate (26.3): from the line rate down in steps of a tenth of it,
    until two of them in a row lost nothing.
    """
    tried: list[Tried] = []
    for tenths in range(10, 0, -1):
        time.sleep(bench.setup.settle_s)
        tried.append(bench.trial(Fraction(tenths, 10), full=True))
        lost = [sum(account.lost for account in each.accounts) for each in tried[-2:]]
        if lost == [0, 0]:
            break
    return tried
