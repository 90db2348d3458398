"""The bench of a search under test: its line rate, and one trial at a share of it.

What a trial says: ``trial_verdict.py``. What is sent, and who counts: ``offered_load.py``.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from netlab import ethernet
from netlab.errors import ProbeError
from netlab.experiment.cells import Cell
from netlab.experiment.host_counters import Watched
from netlab.experiment.kinds import ThroughputSearch
from netlab.experiment.rate_search import NextRate, RateTry, TryVerdict
from netlab.experiment.records import REASONS, Value, reason_of
from netlab.experiment.trial_verdict import Counts, Criteria, forwarded_share, judge, least, worst
from netlab.measurement.common_window import AHEAD_A_TRIAL_S, START_AHEAD_S
from netlab.measurement.conversation import ConversationEnd
from netlab.measurement.ends import Ends, OnGoodput, so_far
from netlab.measurement.host_watch import Watch
from netlab.measurement.rendezvous import ExchangedResults, Participant, alone
from netlab.measurement.rfc2544.offered_load import (
    Offered,
    OfferedLoad,
    clocks,
    learn,
    offer,
    starts_at,
)

BEARABLE = 2
"""Trials in a row that may come to nothing for a reason that is none of the device's."""

OUTRUN = 1.25
"""A sender that is so much faster than the line rate is not held back by a link of that rate."""


@dataclass(frozen=True, slots=True)
class LineRate:
    """The line rate that rates are shares of."""

    bit_per_s: float
    source: str
    """Who said so: ``setting``, ``link`` (of the matrix) or ``interface``."""
    frames_per_s: float
    """The most frames a second of the size under test."""


@dataclass(frozen=True, slots=True)
class PairResult:
    """What one pair of hosts found in a trial."""

    accounts: tuple[Counts, ...]
    hosts: Mapping[str, Watched]
    """``client``, ``server``, ``observed_1`` … → what it counted."""
    verdict: TryVerdict
    forwarded_share: float | None
    """Of its line rate, at which frames came out; ``None``: not known."""
    effective: Mapping[str, Value]
    """What the settings came to at both ends, by the names of a record."""
    outran: bool
    """Whether frames were handed over faster than its line carries them."""
    other_link: bool
    """Whether they were so beyond what a socket holds: the link is another one."""


@dataclass(frozen=True, slots=True)
class TrialResult:
    """One trial with its figures."""

    share: Fraction
    """Of the line rate, each way."""
    full: bool
    """Whether it was as long as one that counts."""
    load: OfferedLoad
    said: tuple[PairResult, ...]
    """By this pair of hosts, and by those that search together with it."""

    @property
    def accounts(self) -> tuple[Counts, ...]:
        """Of this pair's directions."""
        return self.said[0].accounts

    @property
    def hosts(self) -> Mapping[str, Watched]:
        """Key of a host of this pair → what it counted."""
        return self.said[0].hosts

    @property
    def effective(self) -> Mapping[str, Value]:
        """What this pair's settings came to."""
        return self.said[0].effective

    @property
    def verdict(self) -> TryVerdict:
        """Of all pairs: the worst."""
        return worst(each.verdict for each in self.said)

    @property
    def lost(self) -> int:
        """Frames of all pairs."""
        return sum(counts.lost for each in self.said for counts in each.accounts)

    @property
    def sent_per_s(self) -> float | None:
        """Frames a second that went out, of the slower direction."""
        return least(counts.sent_per_s() for counts in self.accounts)

    def as_try(self, asked: NextRate) -> RateTry:
        """What the search hears of it."""
        share = least(each.forwarded_share for each in self.said)
        return RateTry(asked.number, asked.full, self.verdict, share)


def line_of(setup: ThroughputSearch, ends: Ends) -> LineRate:
    """The line rate: as the test says it, else the matrix's link, else the client's interface.

    Raises ProbeError where nobody says it.
    """
    rate, source = setup.line_rate_bit_per_s, "setting"
    if rate is None:
        rate, source = ends.link_rate_bit_per_s, "link"
    if rate is None:
        peer = ends.address("server", setup)
        facts = ends.client.facts(to=peer, interface=setup.interface)
        rate, source = facts.get("interface_speed_bit_per_s"), "interface"
    if not rate:
        detail = "its interface tells no speed: say `link` or `line_rate` in the matrix"
        raise ProbeError(ends.client.host.name, "not-as-set-up", detail=detail)
    return LineRate(float(rate), source, ethernet.frames_per_s(rate, setup.frame_bytes))


@dataclass(frozen=True, slots=True)
class _Ready:
    """A pair of hosts before a trial."""

    watch: Watch
    offsets_ns: Mapping[str, int] | None
    """Of its senders' clocks; ``None``: nobody else is waited for."""


@dataclass(slots=True)
class TrialRunner:
    """A search under way: what does not change from trial to trial, and whether the link paces."""

    setup: ThroughputSearch
    cell: Cell
    ends: Ends
    live: OnGoodput
    line: LineRate
    link_paces: bool = True
    """Whether a sender without a schedule is as fast as the line: no schedule keeps its pace as the
    link itself does. False once it was faster, into its own queue or because the line rate is that
    of another link."""
    outran_before: bool = False
    """Whether one trial's sender was faster than the line."""
    other_link: bool = False
    """Whether the sender's link is known to be faster than the line rate."""
    participant: Participant = field(default_factory=alone)
    """Its place among the pairs that search together."""

    def trial(self, share: Fraction, *, full: bool) -> TrialResult:
        """One trial at a share of the line rate, as long as one that counts where it is ``full``.

        What comes to nothing is tried again, a few times in a row; ProbeError where it stays so.
        """
        load, criteria = self._terms(float(share), full=full)
        for left in range(BEARABLE, -1, -1):
            told = self._attempt(load, criteria)
            faults = [each for each in told if isinstance(each, ProbeError)]
            if faults:
                if not left or any(REASONS[reason_of(each.word)].impossible for each in faults):
                    raise faults[0]
                time.sleep(self.setup.settle_s)
                continue
            said = tuple(each for each in told if isinstance(each, PairResult))
            if load.frames_per_s is None and any(each.outran for each in said):
                self._take_note_of(said)
                return self.trial(share, full=full)
            return TrialResult(share, full, load, said)
        raise AssertionError("unreachable")

    def _take_note_of(self, said: tuple[PairResult, ...]) -> None:
        """Of a trial whose sender outran the line: the second one is believed. A single one has
        been seen over a link of just the rate that was stated.
        """
        if not self.outran_before:
            self.outran_before = True
            return
        self.link_paces = False
        self.other_link = any(each.other_link for each in said)

    def _attempt(
        self, load: OfferedLoad, criteria: Criteria
    ) -> tuple[PairResult | ProbeError, ...]:
        """What this pair found, and all that search together with it; or only why it was nothing.

        Everybody meets everybody, whatever becomes of a trial: nobody waits for one who is gone on.
        """
        try:
            ready: _Ready | ProbeError = self._ready(load)
        except ProbeError as fault:
            ready = fault
        met = self.participant.meet(ready)
        faults = tuple(each for each in met.said if isinstance(each, ProbeError))
        if faults or isinstance(ready, ProbeError):
            return faults
        try:
            said: PairResult | ProbeError = self._said(load, criteria, ready, met)
        except ProbeError as fault:
            said = fault
        return self.participant.meet(said).said

    def _ready(self, load: OfferedLoad) -> _Ready:
        """Let the device learn, and read all counters and clocks before a trial."""
        learn(self.setup, self.ends, load, self.line.frames_per_s)
        several = len(self.participant.rendezvous.names) > 1
        offsets_ns = clocks(self.setup, self.ends) if several else None
        return _Ready(Watch.begin(self.ends, self.setup), offsets_ns)

    def _said(
        self,
        load: OfferedLoad,
        criteria: Criteria,
        ready: _Ready,
        met: ExchangedResults[_Ready | ProbeError],
    ) -> PairResult:
        """Send a load, at one moment with the others, and judge what came of it."""
        starts = None
        if ready.offsets_ns is not None:
            ahead_s = START_AHEAD_S + AHEAD_A_TRIAL_S * (len(met.said) - 1)
            starts = starts_at(ready.offsets_ns, met.over_ns + round(1e9 * ahead_s))
        found = offer(
            self.setup, self.ends, load, self.on_progress, watch=ready.watch, starts=starts
        )
        return PairResult(
            accounts=found.accounts,
            hosts=found.hosts,
            effective=found.effective,
            verdict=judge(found.accounts, criteria),
            forwarded_share=forwarded_share(found.accounts, criteria),
            outran=(outran := self._outran(found.accounts)),
            other_link=outran and self._beyond_socket(found),
        )

    def offer(self, load: OfferedLoad) -> Offered:
        """Send a load, and tell whoever looks on how fast it comes out."""
        return offer(self.setup, self.ends, load, self.on_progress)

    def on_progress(self, side: ConversationEnd, record: Mapping[str, Any]) -> None:
        """Of what a probe says while it goes on, the goodput so far is shown."""
        if side.verb == "receive":
            self.live(self.cell, so_far(record))

    def _terms(self, share: float, *, full: bool) -> tuple[OfferedLoad, Criteria]:
        """What a trial offers, and what it is judged by."""
        full_s = self.setup.duration_s or 0.0
        wanted_s = full_s if full else self.setup.search_duration_s or full_s
        offered = share * self.line.frames_per_s
        frames = max(2, self.setup.streams, round(offered * wanted_s))
        paced = share < 1 or not self.link_paces
        load = OfferedLoad(frames, offered if paced else None, frames / offered)
        criteria = Criteria(
            offered_per_s=offered,
            line_per_s=self.line.frames_per_s,
            step_share=self.setup.resolution,
            duration_s=load.duration_s,
            acceptable_loss=self.setup.acceptable_loss,
        )
        return load, criteria

    def _outran(self, accounts: tuple[Counts, ...]) -> bool:
        """Whether frames were handed over faster than the line carries them, so that a schedule
        must keep the pace: to its link, or to what its socket and the queue behind it hold.
        """
        per_s = OUTRUN * self.line.frames_per_s
        return any((counts.sent_per_s() or 0.0) > per_s for counts in accounts)

    def _beyond_socket(self, found: Offered) -> bool:
        """Whether that shows another link: more frames than the sender's buffer holds. Until a
        frame is on the link it takes room there.
        """
        sizes = [
            int(str(size))
            for name, size in found.effective.items()
            if name.endswith("sender_send_buffer_bytes")
        ]
        held = self.setup.streams * max(sizes, default=0) / self.setup.frame_bytes
        return any(held < counts.sent * (1 - 1 / OUTRUN) for counts in found.accounts)
