"""Whether packets pass between the hosts of each pairing: at first, and when that is in doubt."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import wait

from netlab.errors import HostError, HostGone, ProbeError, UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import HostPair, kept_busy
from netlab.experiment.pairings import is_by_name
from netlab.experiment.records import Status, reason_of
from netlab.experiment.round_robin import Match, earliest_fit, rounds_of
from netlab.measurement.ends import address_of
from netlab.runner.absence import FIRST_PAUSE_S, Absence
from netlab.runner.daemon_executor import DaemonExecutor
from netlab.runner.preflight import Preflight
from netlab.runner.skip_reasons import Unmeasured, no_way
from netlab.runner.trial_faults import KeepTraceback

Check = Callable[[str], Preflight]
"""Sends a packet of each protocol each way between the hosts of a pairing; HostError where the
traffic would not take the test network."""

Way = tuple[str, str, str, str]
"""Pairing, protocol, the server's and the client's address."""

NO_PREFLIGHT = Preflight(blocked=(), warnings=())
CUT = frozenset({"path-blocked", "wrong-path"})

FIRST_LOOK_S = 10.0
"""So long after its first trial a way that never passed is looked at again: its cable was out."""


class Ways:
    """The checks of all pairings. A way on which packets do not pass is **cut**: one that passed
    once is waited for like a host. One that never passed may be a firewall's doing, or a cable's
    that is out at the start: it is looked at again soon, and a last time when all else is done.
    """

    def __init__(
        self,
        pairs: Mapping[str, HostPair],
        check: Check,
        say: Callable[[str], None],
        *,
        keep: KeepTraceback,
    ) -> None:
        """``keep`` gets defects, from several threads."""
        self.cut: dict[Way, Absence] = {}
        self.has_defects = False
        """Whether a first check failed by a fault of netlab."""
        self._pairs = pairs
        self._check = check
        self._say = say
        self._keep = keep
        self._found: dict[str, Preflight] = {}
        self._first: dict[str, Preflight] = {}
        """What the first check found that went well."""
        self._never_passed: set[Way] = set()
        """Of those cut."""
        self._looked_last: set[Way] = set()
        self._unchecked: set[str] = set()
        """Pairings with a host that came back: it may have another route, or another firewall."""

    def try_all(self, together: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
        """Check pairings for the first time, those ``together`` at the same time.

        Returns warnings, and a sentence for each pairing that could not be checked: it is checked
        again when its turn comes, and the others are measured.
        """
        warnings: dict[str, None] = {}
        faults: list[str] = []
        executor = DaemonExecutor()
        for pairings in together:
            for pairing, found in zip(pairings, executor.map(self._try, pairings), strict=True):
                if isinstance(found, Preflight):
                    self._found[pairing] = self._first[pairing] = found
                    self._unchecked.discard(pairing)
                    warnings |= dict.fromkeys(found.warnings)
                else:
                    self._unchecked.add(pairing)
                    faults.append(found)
        return [*warnings, *dict.fromkeys(faults)], faults

    def of(self, pairing: str) -> Preflight:
        """What the last check that went well found."""
        return self._found.get(pairing, NO_PREFLIGHT)

    def is_unchecked(self, pairing: str) -> bool:
        """Whether it is to be checked before it is measured with."""
        return pairing in self._unchecked

    def doubt(self, pairings: Iterable[str]) -> None:
        """Check these again before they are measured with, and at once where they are cut."""
        doubted, now_s = frozenset(pairings), time.monotonic()
        self._unchecked |= doubted
        for way, absence in list(self.cut.items()):
            if way[0] in doubted:
                self.cut[way] = absence.due(now_s)

    def obstacle(self, cell: Cell) -> Unmeasured | None:
        """Why packets of ``cell`` do not pass now; ``None`` where they do.

        A pairing in doubt is checked again, before each trial until that goes well: what is mended
        is measured at once. Raises HostGone when a host is lost meanwhile.
        """
        pairing = cell.pairing
        found = self._check_again(pairing) if pairing in self._unchecked else None
        found = found or no_way(cell, self._pairs[pairing], self.of(pairing))
        if found is not None and found.reason in CUT:
            self._cut_off(cell, found)
        return found

    def look_again(self, cell: Cell) -> None:
        """A trial of ``cell`` heard nothing of the other host: is the way to it cut? Raises
        HostGone when a host is lost meanwhile.
        """
        if cell.pairing in self._first:
            self._unchecked.add(cell.pairing)
            self.obstacle(cell)

    def reason_left(self, cell: Cell) -> Unmeasured | None:
        """Why the way that a cell takes is cut."""
        way = way_of(cell, self._pairs)
        cut = None if way is None else self.cut.get(way)
        if cut is None:
            return None
        server, client = (host.name for host in self._pairs[cell.pairing])
        return Unmeasured(Status.FAILED, cut.reason, cut.sentence, server, client)

    def is_cut(self, cell: Cell) -> bool:
        """Whether the way that a cell takes is cut."""
        return bool(self.cut) and way_of(cell, self._pairs) in self.cut

    def why_cut(self, pairings: Collection[str]) -> tuple[str, ...]:
        """A sentence for each way between the hosts of these that is cut."""
        return tuple(each.sentence for way, each in list(self.cut.items()) if way[0] in pairings)

    def next_asks_s(self, cells: Iterable[Cell], patience_s: float) -> list[float | None]:
        """Seconds until each way that one of these takes, and that is cut, is worth a check; asked
        when nothing else is left to do.
        """
        now_s = time.monotonic()
        ways = {way_of(cell, self._pairs) for cell in cells} if self.cut else set()
        last = (self._never_passed & ways) - self._looked_last if patience_s > 0 else set()
        for way in last:
            self._looked_last.add(way)
            cut = self.cut[way]
            pause_s = max(0.0, cut.since_s + FIRST_LOOK_S - now_s)
            self.cut[way] = Absence.begin(cut.reason, cut.sentence, now_s, pause_s)
        return [
            absence.next_ask_s(now_s, patience_s)
            for way, absence in list(self.cut.items())
            if way in ways
        ]

    def ask_again(self) -> None:
        """Check those cut that are due."""
        now_s = time.monotonic()
        due = {way[0] for way, absence in list(self.cut.items()) if absence.is_due(now_s)}
        executor = DaemonExecutor()
        wait([executor.submit(self._ask, pairing) for pairing in due])

    def _ask(self, pairing: str) -> None:
        """One that is cut. Where one of its hosts is lost, that host is asked, and the way later:
        it has not been tried.
        """
        found, is_tried = None, True
        try:
            found = self._check_again(pairing)
        except HostError:
            is_tried = False
        except Exception as error:
            found = Unmeasured(Status.FAILED, "internal", self._sentence(error, pairing))
        blocked = self.of(pairing).blocked if found is None else ()
        shut = {(pairing, b.protocol, b.server_address, b.client_address): b for b in blocked}
        now_s = time.monotonic()
        for way, absence in [each for each in list(self.cut.items()) if each[0][0] == pairing]:
            if not is_tried:
                self.cut[way] = absence.again(absence.reason, absence.sentence, now_s)
            elif found is not None:
                self._still_cut(way, absence, found.reason, found.detail)
            elif way in shut:
                self._still_cut(way, absence, "path-blocked", shut[way].sentence)
            else:
                self._pass(way)

    def _still_cut(self, way: Way, absence: Absence, reason: str, sentence: str) -> None:
        final = way in self._never_passed
        self.cut[way] = absence.again(reason, sentence, time.monotonic(), final=final)

    def _pass(self, way: Way) -> None:
        del self.cut[way]
        self._say(f"{way[0]}: {way[1]} passes {'now' if way in self._never_passed else 'again'}")
        self._never_passed.discard(way)
        self._first[way[0]] = self.of(way[0])

    def _cut_off(self, cell: Cell, found: Unmeasured) -> None:
        way, now_s = way_of(cell, self._pairs), time.monotonic()
        if way is None or way in self.cut:
            return
        passed = self._passed_at_first(cell)
        pause_s = FIRST_PAUSE_S if passed else FIRST_LOOK_S
        self.cut[way] = Absence.begin(found.reason, found.detail, now_s, pause_s)
        if passed:
            self._say(f"{found.detail}; it is tried again")
        else:  # a warning has said it
            self._never_passed.add(way)

    def _passed_at_first(self, cell: Cell) -> bool:
        first = self._first.get(cell.pairing)
        return first is not None and no_way(cell, self._pairs[cell.pairing], first) is None

    def _try(self, pairing: str) -> Preflight | str:
        try:
            return self._check(pairing)
        except (HostError, ProbeError) as error:
            return str(error)
        except Exception as error:
            self.has_defects = True
            return self._sentence(error, pairing)

    def _sentence(self, error: Exception, pairing: str) -> str:
        """About a defect, whose traceback is kept."""
        return f"{pairing}: {self._keep(error, f'check-{pairing}')}"

    def _check_again(self, pairing: str) -> Unmeasured | None:
        server, client = (host.name for host in self._pairs[pairing])
        try:
            found = self._check(pairing)
        except HostGone:
            raise
        except HostError as error:
            return Unmeasured(Status.FAILED, "wrong-path", str(error), server, client)
        except ProbeError as error:
            reason = reason_of(error.word)
            return Unmeasured(Status.FAILED, reason, str(error), server, client)
        known = self.of(pairing).warnings
        self._found[pairing] = found
        self._first.setdefault(pairing, found)
        self._unchecked.discard(pairing)
        for each in found.warnings:
            if each not in known:
                self._say(f"warning: {each}")
        return None


def way_of(cell: Cell, pairs: Mapping[str, HostPair]) -> Way | None:
    """The way that a cell takes; ``None`` where its hosts have no addresses for it."""
    pair = pairs.get(cell.pairing)
    try:
        addresses = [address_of(host, cell) for host in pair or ()]
    except UsageError:
        return None
    return (cell.pairing, cell.setup.protocol, *addresses) if pair else None  # type: ignore[return-value]


def tried_together(
    pairs: Mapping[str, HostPair], match_of: Callable[[str], Match]
) -> list[tuple[str, ...]]:
    """The pairings in groups, no two of a group with a machine in common."""
    by_letter = [pairing for pairing in pairs if not is_by_name(pairing)]
    by_name = rounds_of([match_of(pairing) for pairing in pairs if is_by_name(pairing)])
    return [
        *earliest_fit(by_letter, lambda pairing: kept_busy(pairs[pairing])),
        *(tuple(match.pairing for match in one) for one in by_name),
    ]
