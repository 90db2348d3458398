"""Checks whether packets pass between the hosts of a pairing, at the start and when in doubt.

A pairing is two hosts between which cells (combinations of settings) are measured.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import wait

from netlab import clock
from netlab.errors import HostError, HostGone, ProbeError, UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import HostPair, Match, earliest_fit, is_by_name, kept_busy, rounds_of
from netlab.measurement.ends import address_of
from netlab.runner.ending import DaemonExecutor
from netlab.runner.host_agents import counted
from netlab.runner.preflight import Preflight
from netlab.runner.trial_faults import FIRST_PAUSE_S, Absence, KeepTraceback, Unmeasured, no_way
from netlab.trial.record import Status, reason_of

Check = Callable[[str], Preflight]
"""Checks the path between the hosts of a pairing with packets of each protocol each way; HostError
if the traffic would not take the test network."""

Way = tuple[str, str, str, str]
"""Pairing, protocol, the server's and the client's address."""

CHECKS_AT_ONCE = 256
"""Maximum number of pairings that are checked at the same time: each check has a thread, which
mostly waits for the hosts."""

NO_PREFLIGHT = Preflight(blocked=(), warnings=())
CUT = frozenset({"path-blocked", "wrong-path"})

FIRST_LOOK_S = 10.0
"""Time until the second check of a way (see ``PathChecks``) that never worked: a cable may have
been unplugged."""


class PathChecks:
    """The checks of all pairings. A way is the path of one protocol between two test addresses.

    A way on which packets do not pass is **cut**. If packets passed before, the run waits for the
    way as it waits for a host. If packets never passed, the cause may be a firewall or an unplugged
    cable. Then the way is checked again soon, and once more when everything else is done.
    """

    def __init__(
        self,
        pairs: Mapping[str, HostPair],
        check: Check,
        notify: Callable[[str], None],
        *,
        keep: KeepTraceback,
    ) -> None:
        """``keep`` gets exceptions that are defects of netlab; several threads call it."""
        self.cut: dict[Way, Absence] = {}
        self.has_defects = False
        """Whether a first check failed because of a defect of netlab."""
        self._pairs = pairs
        self._check = check
        self._notify = notify
        self._keep = keep
        self._latest: dict[str, Preflight] = {}
        self._first: dict[str, Preflight] = {}
        """Pairing → result of its first successful check."""
        self._never_passed: set[Way] = set()
        """Cut ways on which packets never passed."""
        self._looked_last: set[Way] = set()
        self._unchecked: set[str] = set()
        """Pairings to check before they are measured, such as those of a host that came back."""

    def try_all(self, together: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
        """Check pairings for the first time; the pairings of one group are checked in parallel.

        Returns warnings, and a sentence for each pairing that could not be checked. Such a pairing
        is checked again before its first trial; the other pairings are measured.
        """
        warnings: dict[str, None] = {}
        faults: list[str] = []
        executor = DaemonExecutor(CHECKS_AT_ONCE)
        tried = (
            pair
            for pairings in together
            for pair in zip(pairings, executor.map(self._try, pairings), strict=True)
        )
        in_all = sum(map(len, together))
        for pairing, result in counted(tried, in_all, "checking: {} pairings", self._notify):
            if isinstance(result, Preflight):
                self._latest[pairing] = self._first[pairing] = result
                self._unchecked.discard(pairing)
                warnings |= dict.fromkeys(result.warnings)
            else:
                self._unchecked.add(pairing)
                faults.append(result)
        return [*warnings, *dict.fromkeys(faults)], faults

    def of(self, pairing: str) -> Preflight:
        """The result of the last successful check of a pairing."""
        return self._latest.get(pairing, NO_PREFLIGHT)

    def is_unchecked(self, pairing: str) -> bool:
        """Whether a pairing must be checked before it is measured."""
        return pairing in self._unchecked

    def doubt(self, pairings: Iterable[str]) -> None:
        """Mark pairings to be checked again before they are measured. The next try of their cut
        ways is due at once.
        """
        doubted, now_s = frozenset(pairings), clock.monotonic()
        self._unchecked |= doubted
        for way, absence in list(self.cut.items()):
            if way[0] in doubted:
                self.cut[way] = absence.due(now_s)

    def obstacle(self, cell: Cell) -> Unmeasured | None:
        """Why packets of ``cell`` do not pass now; ``None`` if they do.

        A pairing in doubt is checked again before each trial until the check succeeds. So a
        repaired path is measured at once. Raises HostGone if a host is lost during the check.
        """
        pairing = cell.pairing
        obstacle = self._check_again(pairing) if pairing in self._unchecked else None
        obstacle = obstacle or no_way(cell, self._pairs[pairing], self.of(pairing))
        if obstacle is not None and obstacle.reason in CUT:
            self._mark_cut(cell, obstacle)
        return obstacle

    def look_again(self, cell: Cell) -> None:
        """Check whether the way of ``cell`` is cut, after a trial that received nothing. Raises
        HostGone if a host is lost during the check.
        """
        if cell.pairing in self._first:
            self._unchecked.add(cell.pairing)
            self.obstacle(cell)

    def reason_left(self, cell: Cell) -> Unmeasured | None:
        """Why the way of a cell is cut; ``None`` if it is not cut."""
        way = way_of(cell, self._pairs)
        absence = None if way is None else self.cut.get(way)
        if absence is None:
            return None
        server, client = (host.name for host in self._pairs[cell.pairing])
        return Unmeasured(Status.FAILED, absence.reason, absence.sentence, server, client)

    def is_cut(self, cell: Cell) -> bool:
        """Whether the way of a cell is cut."""
        return bool(self.cut) and way_of(cell, self._pairs) in self.cut

    def why_cut(self, pairings: Collection[str]) -> tuple[str, ...]:
        """A sentence for each cut way of these pairings."""
        cuts = list(self.cut.items())
        return tuple(absence.sentence for way, absence in cuts if way[0] in pairings)

    def next_asks_s(self, cells: Iterable[Cell], patience_s: float) -> list[float | None]:
        """Seconds until the next check of each cut way of these cells. Called when nothing else is
        left to measure, so ways that never worked get one last check.
        """
        now_s = clock.monotonic()
        ways = {way_of(cell, self._pairs) for cell in cells} if self.cut else set()
        last = (self._never_passed & ways) - self._looked_last if patience_s > 0 else set()
        for way in last:
            self._looked_last.add(way)
            absence = self.cut[way]
            pause_s = max(0.0, absence.since_s + FIRST_LOOK_S - now_s)
            self.cut[way] = Absence.begin(absence.reason, absence.sentence, now_s, pause_s)
        return [
            absence.next_ask_s(now_s, patience_s)
            for way, absence in list(self.cut.items())
            if way in ways
        ]

    def ask_again(self) -> None:
        """Check the cut ways that are due."""
        now_s = clock.monotonic()
        due = {way[0] for way, absence in list(self.cut.items()) if absence.is_due(now_s)}
        executor = DaemonExecutor()
        wait([executor.submit(self._ask, pairing) for pairing in due])

    def _ask(self, pairing: str) -> None:
        """Check the cut ways of a pairing. If a host is lost, the ways were not checked and are
        tried again after the host came back.
        """
        obstacle, is_tried = None, True
        try:
            obstacle = self._check_again(pairing)
        except HostError:
            is_tried = False
        except Exception as error:
            obstacle = Unmeasured(Status.FAILED, "internal", self._defect(error, pairing))
        blocked = self.of(pairing).blocked if obstacle is None else ()
        by_way = {(pairing, b.protocol, b.server_address, b.client_address): b for b in blocked}
        now_s = clock.monotonic()
        for way, absence in list(self.cut.items()):
            if way[0] != pairing:
                continue
            if not is_tried:
                self.cut[way] = absence.again(absence.reason, absence.sentence, now_s)
            elif obstacle is not None:
                self._still_cut(way, absence, obstacle.reason, obstacle.detail)
            elif way in by_way:
                self._still_cut(way, absence, "path-blocked", by_way[way].sentence)
            else:
                self._mark_open(way)

    def _still_cut(self, way: Way, absence: Absence, reason: str, sentence: str) -> None:
        final = way in self._never_passed
        self.cut[way] = absence.again(reason, sentence, clock.monotonic(), final=final)

    def _mark_open(self, way: Way) -> None:
        del self.cut[way]
        self._notify(f"{way[0]}: {way[1]} passes {'now' if way in self._never_passed else 'again'}")
        self._never_passed.discard(way)
        self._first[way[0]] = self.of(way[0])

    def _mark_cut(self, cell: Cell, obstacle: Unmeasured) -> None:
        way, now_s = way_of(cell, self._pairs), clock.monotonic()
        if way is None or way in self.cut:
            return
        passed = self._passed_at_first(cell)
        pause_s = FIRST_PAUSE_S if passed else FIRST_LOOK_S
        self.cut[way] = Absence.begin(obstacle.reason, obstacle.detail, now_s, pause_s)
        if passed:
            self._notify(f"{obstacle.detail}; the run tries it again later")
        else:  # the first check has reported this way
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
            return self._defect(error, pairing)

    def _defect(self, error: Exception, pairing: str) -> str:
        """Save the traceback of a defect; returns a sentence about it."""
        return f"{pairing}: {self._keep(error, f'check-{pairing}')}"

    def _check_again(self, pairing: str) -> Unmeasured | None:
        """Check a pairing and keep the result; returns why the check failed, or ``None``."""
        server, client = (host.name for host in self._pairs[pairing])
        try:
            result = self._check(pairing)
        except HostGone:
            raise
        except HostError as error:
            return Unmeasured(Status.FAILED, "wrong-path", str(error), server, client)
        except ProbeError as error:
            reason = reason_of(error.word)
            return Unmeasured(Status.FAILED, reason, str(error), server, client)
        earlier = self.of(pairing).warnings
        self._latest[pairing] = result
        self._first.setdefault(pairing, result)
        self._unchecked.discard(pairing)
        for warning in result.warnings:
            if warning not in earlier:
                self._notify(f"warning: {warning}")
        return None


def way_of(cell: Cell, pairs: Mapping[str, HostPair]) -> Way | None:
    """The way of a cell; ``None`` if its hosts have no addresses for it."""
    pair = pairs.get(cell.pairing)
    try:
        addresses = [address_of(host, cell) for host in pair or ()]
    except UsageError:
        return None
    return (cell.pairing, cell.setup.protocol, *addresses) if pair else None  # type: ignore[return-value]


def groups_without_overlap(
    pairs: Mapping[str, HostPair], match_of: Callable[[str], Match]
) -> list[tuple[str, ...]]:
    """The pairings in groups; no two pairings of a group share a machine."""
    by_letter = [pairing for pairing in pairs if not is_by_name(pairing)]
    by_name = rounds_of([match_of(pairing) for pairing in pairs if is_by_name(pairing)])
    return [
        *earliest_fit(by_letter, lambda pairing: kept_busy(pairs[pairing])),
        *(tuple(match.pairing for match in group) for group in by_name),
    ]
