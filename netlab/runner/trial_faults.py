"""Why a cell is not measured, or a trial failed: an absent host, a value, a path, an error.

Each function that looks for a reason returns ``None`` if there is none. Whether packets pass is
checked for each pairing at the start and when in doubt.
"""

from __future__ import annotations

import errno
import math
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from netlab import clock, errors
from netlab.config.document import did_you_mean
from netlab.experiment import hosts
from netlab.experiment.cells import Cell
from netlab.experiment.hosts import EndName, Host, HostPair, Match
from netlab.experiment.schedule import Trial
from netlab.kinds import ROWS, RoundTrip
from netlab.kinds.round_trip.settings import Requests
from netlab.measurement.ends import address_of, connected_as_set
from netlab.remote.answers import ADVICE
from netlab.runner.ending import DaemonExecutor
from netlab.runner.preflight import Preflight
from netlab.runner.progress import counted
from netlab.store.files import write_private
from netlab.store.run_folder import RunFolder
from netlab.trial.record import REASONS, Record, Status, Value, reason_of, utc_now


@dataclass(frozen=True, slots=True)
class HostValues:
    """Values that only a host can confirm; ``None`` means unknown."""

    congestion_available: tuple[str, ...] | None = None
    congestion_allowed: tuple[str, ...] | None = None
    """Congestion controls that the login's account may choose."""
    devices: tuple[str, ...] | None = None
    cpus: int | None = None

    @classmethod
    def of(cls, facts: Mapping[str, Any], hello: Mapping[str, Any]) -> HostValues:
        """The values in the facts of a host and in the greeting (``hello``) of its probe."""
        count = hello.get("cpu_count")
        addresses = _words(facts.get("addresses"))
        devices = None if addresses is None else tuple(word.partition("=")[0] for word in addresses)
        return cls(
            _words(facts.get("congestion_available")),
            _words(facts.get("congestion_allowed")),
            devices,
            count if isinstance(count, int) else None,
        )


def wrong_values(
    cell: Cell, ends: Mapping[EndName, Host], values: Mapping[str, HostValues]
) -> Iterator[str]:
    """A sentence for each value (host name → its own) that the cell needs and a host lacks."""
    of_ends = {role: values.get(host.name, HostValues()) for role, host in ends.items()}
    settings = cell.settings
    for control, name in _controls(cell, ends):
        available = values.get(name, HostValues()).congestion_available
        if available is not None and control not in available:
            hint = did_you_mean(control, available)
            yield f"`{control}` is not offered by {name} (it has {', '.join(available)}){hint}"
    yield from refused_controls(cell, ends, values)
    connects: EndName = "server" if settings.get("opening") == "server-connects" else "client"
    device, devices = settings.get("interface"), of_ends[connects].devices
    if isinstance(device, str) and devices is not None and device not in devices:
        names = ", ".join(dict.fromkeys(devices))
        hint = did_you_mean(device, devices)
        yield f"{ends[connects].name} has no interface `{device}` (it has {names}){hint}"
    for role, host in ends.items():
        cpus, one, several = of_ends[role].cpus, *map(settings.get, (f"{role}_cpu", f"{role}_cpus"))
        pinned = [one] if isinstance(one, int) else []
        if isinstance(several, str):
            pinned = [int(number) for number in several.split(",") if number.isdecimal()]
        for cpu in pinned:
            if cpus is not None and cpu >= cpus:
                yield f"{host.name} has no CPU {cpu}: its CPUs are 0 to {cpus - 1}"


def refused_controls(
    cell: Cell, ends: Mapping[EndName, Host], values: Mapping[str, HostValues]
) -> Iterator[str]:
    """A sentence for each host whose account may not choose the cell's congestion control."""
    for control, name in _controls(cell, ends):
        host_values = values.get(name, HostValues())
        allowed, available = host_values.congestion_allowed, host_values.congestion_available
        if allowed is None or control in allowed or control not in (available or (control,)):
            continue
        listed = " ".join([*allowed, control])
        yield (
            f"the account on {name} may not choose `{control}` (it may: {', '.join(allowed)}); "
            f"root can allow it: sysctl -w net.ipv4.tcp_allowed_congestion_control='{listed}'"
        )


def _controls(cell: Cell, ends: Mapping[EndName, Host]) -> Iterator[tuple[str, str]]:
    """The congestion control that a cell sets, with the name of each host that has to use it."""
    control, direction = cell.settings.get("congestion"), cell.settings.get("direction")
    if isinstance(control, str) and cell.settings.get("protocol") == "TCP":
        if direction != "server-sends":
            yield control, ends["client"].name
        if direction != "client-sends":
            yield control, ends["server"].name


def _words(text: object) -> tuple[str, ...] | None:
    return tuple(word for word in text.split(",") if word) if isinstance(text, str) else None


FIRST_PAUSE_S = 1.0
"""Time from the loss of a host to the first new try."""

REFUSED_PAUSE_S = 15.0
"""Time from a refused login to the next try: some hosts lock out a client that tries too often."""

MOST_PAUSE_S = 60.0
"""Maximum pause between two tries. Each pause is twice as long as the one before."""


@dataclass(frozen=True, slots=True)
class Absence:
    """One host that is away, or one pairing whose hosts no longer reach each other."""

    reason: str
    """A key of ``netlab.trial.record.REASONS``."""
    sentence: str
    since_s: float
    """Start of the absence. All points in time in this file are seconds of the monotonic clock."""
    ask_at_s: float
    """When to try again; infinite if a person has to repair something first."""
    pause_s: float = FIRST_PAUSE_S

    @classmethod
    def begin(cls, reason: str, sentence: str, now_s: float, pause_s: float | None) -> Absence:
        """An absence that starts now. ``pause_s``: time to the first try; ``None``: no try."""
        ask_at_s = math.inf if pause_s is None else now_s + pause_s
        return cls(reason, sentence, now_s, ask_at_s, pause_s or FIRST_PAUSE_S)

    def again(self, reason: str, sentence: str, now_s: float, *, final: bool = False) -> Absence:
        """The absence after a failed try, with a longer pause. If ``final``, no try follows."""
        pause_s = min(MOST_PAUSE_S, 2 * self.pause_s)
        ask_at_s = math.inf if final else now_s + pause_s
        return replace(self, reason=reason, sentence=sentence, ask_at_s=ask_at_s, pause_s=pause_s)

    def is_due(self, now_s: float) -> bool:
        """Whether the time of the next try has come."""
        return now_s >= self.ask_at_s

    def next_ask_s(self, now_s: float, patience_s: float) -> float | None:
        """Seconds until the next try or until the run gives up; ``None`` if no try follows."""
        give_up_s = self.since_s + patience_s
        if math.isinf(self.ask_at_s) or now_s >= give_up_s:
            return None
        return max(0.0, min(self.ask_at_s, give_up_s) - now_s)


PATH_MTU = "path-mtu"
"""Reason of a cell whose packets are longer than the path carries."""


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """The reason why a cell is not measured now, and the record that it leaves."""

    status: Status
    reason: str
    detail: str
    server: str = ""
    client: str = ""
    errno: int | None = field(default=None, kw_only=True)
    """The error number that the system would have returned in the trial."""
    values: Mapping[str, Value] = field(default_factory=dict, kw_only=True)

    def record(self, trial: Trial, attempt: int) -> Record:
        """The record of the skipped trial."""
        key, settings = trial.cell.key, dict(trial.cell.settings)
        planned = Record.not_measured(
            key, trial.number, pairing=trial.cell.pairing, test=trial.cell.test, settings=settings
        )
        own = {each.name: getattr(self, each.name) for each in fields(self)}
        return replace(planned, attempt=attempt, started_at=utc_now(), **own)


def interrupted(trial: Trial, attempt: int, server: str = "", client: str = "") -> Record:
    """The record of a trial that did not finish because the run ended."""
    detail = "the run ended during the trial"
    return Unmeasured(Status.PENDING, "interrupted", detail, server, client).record(trial, attempt)


def host_away(pair: HostPair, away: Mapping[str, Absence]) -> Unmeasured | None:
    """The reason if a host of the pair is away. ``away``: host name → its absence."""
    server, client = (host.name for host in pair)
    absence = away.get(server) or away.get(client)
    if absence is None:
        return None
    return Unmeasured(Status.PENDING, absence.reason, absence.sentence, server, client)


def beyond_server(cell: Cell, pair: HostPair) -> Unmeasured | None:
    """The reason if the server runs no agent, and its echo or its tools are not enough."""
    server, client = pair
    if server.has_agent:
        return None
    engine, setup = cell.settings.get("engine"), cell.setup
    if engine in server.serves:
        return None
    if engine is None and server.mirror is not None:
        if not isinstance(setup, Requests):
            lacking = f"a `{cell.test}` test needs a probe at both ends"
        elif isinstance(setup, RoundTrip) and setup.mirror is not None:
            lacking = f"netlab cannot start or time `{setup.mirror}` on it"
        elif setup.response_bytes not in (None, setup.message_bytes):
            lacking = "its answer is always as long as the request"
        elif setup.mirror_hold_s:
            lacking = "it cannot wait before it answers"
        elif ignored := [ROWS[name].key for name, _level in setup.untold()]:
            lacking = f"it cannot apply the settings {', '.join(ignored)}"
        else:
            return None
        detail = f"{server.name} is a mirror without a probe: {lacking}"
    elif server.serves:
        served = ", ".join(server.serves)
        detail = f"{server.name} runs no probe; it serves {served}: set `engine` to one of these"
    else:
        detail = f"{server.name} runs no probe; it serves an echo only: no other tool"
    reason = "not-as-set-up"
    return Unmeasured(Status.IMPOSSIBLE, reason, detail, server.name, client.name)


def beyond_account(
    cell: Cell, pair: HostPair, values: Mapping[str, HostValues]
) -> Unmeasured | None:
    """The reason if the account may not choose the congestion control; root may allow it."""
    server, client = pair
    refusals = [*refused_controls(cell, {"server": server, "client": client}, values)]
    if not refusals:
        return None
    reason = "capability-missing"
    detail = "; ".join([*dict.fromkeys(refusals), ADVICE[reason, "congestion"]])
    names = server.name, client.name
    # The error number makes the record not final.
    return Unmeasured(Status.IMPOSSIBLE, reason, detail, *names, errno=errno.EPERM)


def no_way(cell: Cell, pair: HostPair, checks: Preflight) -> Unmeasured | None:
    """The reason if the hosts lack an address for the cell, or if its packets do not pass."""
    server, client = (host.name for host in pair)

    def failed(reason: str, why: str) -> Unmeasured:
        return Unmeasured(Status.FAILED, reason, why, server, client)

    try:
        addresses = address_of(pair[0], cell), address_of(pair[1], cell)
    except errors.UsageError as error:
        return failed("address-not-available", str(error))
    for fault in (*checks.blocked, *checks.turned, *checks.missing):
        if fault.addresses != addresses:
            continue
        if not fault.protocol:
            return failed("address-not-available", fault.sentence)
        if fault.is_turned:
            if connected_as_set(cell.setup).get(fault.protocol) == "client":
                why = f"{fault.sentence.partition(': ')[0]}, and `open: client-connects` is set"
                return failed("path-blocked", why)
        elif fault.protocol == cell.setup.protocol:
            return failed("path-blocked", fault.sentence)
    # Packets longer than the path MTU that nothing shortens: the cell would lose all its messages.
    for end, direction in (("client", addresses[::-1]), ("server", addresses)):
        messages = cell.setup.sent_by(end)
        for way in checks.narrow:
            between = (way.sender_address, way.receiver_address)
            if messages and between == direction and way.stops(messages, cell.setup.ip_version):
                mtus = {
                    "path_mtu_bytes": way.mtu_bytes,
                    "interface_mtu_bytes": way.interface_mtu_bytes,
                }
                why = way.sentence
                return Unmeasured(Status.IMPOSSIBLE, PATH_MTU, why, server, client, values=mtus)
    return None


_NO_NAME = re.compile(r'[<>:"/\\|?*]')
"""Characters that a file name cannot have on Windows: a run folder is read there as well."""

KeepTraceback = Callable[[Exception, str], str]
"""Saves the traceback of a defect under a name; returns a sentence about it."""

TRACEBACKS = "tracebacks"

SENTENCE_CHARACTERS = 300


OF_ERRORS = (
    (errors.LockedError, Status.PENDING, "locked"),
    (errors.HostRefused, Status.PENDING, "host-refused"),
    (errors.HostError, Status.FAILED, "host-gone"),
    (errors.UsageError, Status.FAILED, "address-not-available"),
)
"""Class of an error, before its base class, with the status and the reason of the record."""


def record_of_fault(error: Exception, trial: Trial, attempt: int, folder: Path) -> Record:
    """The record of a trial that ended with ``error``; of a defect, the traceback is saved."""
    detail = str(error)
    if isinstance(error, errors.ProbeError):
        reason = reason_of(error.word)
        status = Status.IMPOSSIBLE if REASONS[reason].impossible else Status.FAILED
    else:
        known = ((status, reason) for kind, status, reason in OF_ERRORS if isinstance(error, kind))
        status, reason = next(known, (Status.FAILED, "internal"))
    if reason == "internal":
        detail = keep_traceback(error, folder, f"{trial.cell.key}-{trial.number}-{attempt}")
    return Unmeasured(status, reason, detail).record(trial, attempt)


def append(folder: RunFolder, record: Record, warn: Callable[[list[str]], None]) -> Record:
    """Write a record and return it as written; the next sync makes it durable. If the journal
    cannot hold a host's values, it is a failure without values, else a defect, or a warning.
    """
    try:
        folder.append(record, durable=False)
        return record
    except ValueError as error:
        detail = str(error)[:SENTENCE_CHARACTERS]
    failed = replace(record, status=Status.FAILED, reason="bad-answer", detail=detail, values={})
    try:
        folder.append(failed, durable=False)
        return failed
    except ValueError as error:
        detail = keep_traceback(error, folder.path, f"record-{record.cell}")
    defect = replace(failed, reason="internal", detail=detail, settings={})
    try:
        folder.append(defect, durable=False)
    except ValueError:
        warn([f"{record.cell}: {detail}"])
    return defect


def keep_traceback(error: Exception, folder: Path, name: str) -> str:
    """Save the traceback of a defect in the run folder; return a sentence that names the file."""
    sentence = f"{type(error).__name__}: {error}"[:SENTENCE_CHARACTERS].replace("\n", " ")
    file = f"{_NO_NAME.sub('-', name)}.txt"
    text = "".join(traceback.format_exception(error))
    try:
        write_private(folder, TRACEBACKS, file, text.encode("utf-8", "backslashreplace"))
    except errors.StoreError as refused:
        return f"{sentence}; its traceback could not be saved ({refused})"
    return f"{sentence}; its traceback is in {TRACEBACKS}/{file}"


Check = Callable[[str], Preflight]
"""Checks the path of a pairing both ways; HostError if it leaves the test network."""

Way = tuple[str, str, str, str]
"""Pairing, protocol, the server's and the client's address."""

CHECKS_AT_ONCE = 256
"""Maximum number of pairings checked at once, each in a thread that mostly waits."""

NO_PREFLIGHT = Preflight(blocked=(), warnings=())
CUT = frozenset({"path-blocked", "wrong-path"})

FIRST_LOOK_S = 10.0
"""Time to the second check of a way that never worked: a cable may be unplugged."""


@dataclass(eq=False)
class PathChecks:
    """The checks of all pairings. A way is the path of one protocol between two test addresses.

    A way on which packets do not pass is **cut**. If packets passed before, the run waits for the
    way as it waits for a host. If packets never passed, the cause may be a firewall or an unplugged
    cable. Then the way is checked again soon, and once more when everything else is done.
    """

    pairs: Mapping[str, HostPair]
    check: Check
    notify: Callable[[str], None]
    _: KW_ONLY
    keep: KeepTraceback
    """Gets exceptions that are defects of netlab; several threads call it."""

    def __post_init__(self) -> None:
        self.cut: dict[Way, Absence] = {}
        self.has_defects = False
        """Whether a first check failed because of a defect of netlab."""
        self.unchecked: set[str] = set()
        """Pairings to check before they are measured, such as those of a host that came back."""
        self._latest: dict[str, Preflight] = {}
        self._first: dict[str, Preflight] = {}
        """Pairing → result of its first successful check."""
        self._never_passed: set[Way] = set()
        """Cut ways on which packets never passed."""
        self._looked_last: set[Way] = set()

    def try_all(self, together: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
        """Check pairings for the first time; the pairings of one group are checked in parallel.
        Returns warnings, and a sentence for each pairing that could not be checked: before its
        first trial it is checked again.
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
        for pairing, result in counted(tried, in_all, "checking: {} pairings", self.notify):
            if isinstance(result, Preflight):
                self._latest[pairing] = self._first[pairing] = result
                self.unchecked.discard(pairing)
                warnings |= dict.fromkeys(result.warnings)
            else:
                self.unchecked.add(pairing)
                faults.append(result)
        return [*warnings, *dict.fromkeys(faults)], faults

    def of(self, pairing: str) -> Preflight:
        """The result of the last successful check of a pairing."""
        return self._latest.get(pairing, NO_PREFLIGHT)

    def doubt(self, pairings: Iterable[str]) -> None:
        """Check pairings again before they are measured; their cut ways are due at once."""
        doubted, now_s = frozenset(pairings), clock.monotonic()
        self.unchecked |= doubted
        for way, absence in list(self.cut.items()):
            if way[0] in doubted:
                self.cut[way] = replace(absence, ask_at_s=now_s)

    def obstacle(self, cell: Cell) -> Unmeasured | None:
        """Why packets of ``cell`` do not pass now; a doubtful pairing is checked. HostGone."""
        pairing = cell.pairing

        def look() -> Unmeasured | None:
            failed = self._check_again(pairing) if pairing in self.unchecked else None
            return failed or no_way(cell, self.pairs[pairing], self.of(pairing))

        is_checked, obstacle = pairing in self.unchecked, look()
        if obstacle is None:
            return None
        first = self._first.get(pairing)
        passed = first is not None and no_way(cell, self.pairs[pairing], first) is None
        if obstacle.reason == PATH_MTU and passed and not is_checked:
            self.unchecked.add(pairing)  # the path MTU fell during the run, so it may rise again
            obstacle = look()
        if obstacle is not None and obstacle.reason in CUT:
            way = way_of(cell, self.pairs)
            if way is None or way in self.cut:
                return obstacle
            pause_s = FIRST_PAUSE_S if passed else FIRST_LOOK_S
            began = obstacle.reason, obstacle.detail, clock.monotonic(), pause_s
            self.cut[way] = Absence.begin(*began)
            if passed:
                self.notify(f"{obstacle.detail}; the run tries it again later")
            else:  # the first check has reported this way
                self._never_passed.add(way)
        return obstacle

    def look_again(self, cell: Cell) -> Unmeasured | None:
        """Why packets of ``cell`` do not pass, after a trial that received nothing. HostGone."""
        if cell.pairing not in self._first:
            return None
        self.unchecked.add(cell.pairing)
        return self.obstacle(cell)

    def reason_left(self, cell: Cell) -> Unmeasured | None:
        """Why the way of a cell is cut; ``None`` if it is not cut."""
        way = way_of(cell, self.pairs)
        absence = None if way is None else self.cut.get(way)
        if absence is None:
            return None
        server, client = (host.name for host in self.pairs[cell.pairing])
        return Unmeasured(Status.FAILED, absence.reason, absence.sentence, server, client)

    def is_cut(self, cell: Cell) -> bool:
        """Whether the way of a cell is cut."""
        return bool(self.cut) and way_of(cell, self.pairs) in self.cut

    def next_asks_s(self, cells: Iterable[Cell], patience_s: float) -> list[float | None]:
        """Seconds to the next check of each cut way; one that never worked gets a last one."""
        now_s = clock.monotonic()
        ways = {way_of(cell, self.pairs) for cell in cells} if self.cut else set()
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
        """Check the cut ways of a pairing. If a host is lost, they are tried after its return."""
        obstacle, is_tried = None, True
        try:
            obstacle = self._check_again(pairing)
        except errors.HostError:
            is_tried = False
        except Exception as error:
            obstacle = Unmeasured(Status.FAILED, "internal", self._defect(error, pairing))
        blocked = self.of(pairing).blocked if obstacle is None else ()
        by_way = {(pairing, b.protocol, b.server_address, b.client_address): b for b in blocked}
        now_s = clock.monotonic()
        for way, absence in list(self.cut.items()):
            if way[0] != pairing:
                continue
            final = way in self._never_passed
            if not is_tried:
                self.cut[way] = absence.again(absence.reason, absence.sentence, now_s)
            elif obstacle is not None:
                reason, why = obstacle.reason, obstacle.detail
                self.cut[way] = absence.again(reason, why, now_s, final=final)
            elif way in by_way:
                why = by_way[way].sentence
                self.cut[way] = absence.again("path-blocked", why, now_s, final=final)
            else:
                del self.cut[way]
                when = "now" if way in self._never_passed else "again"
                self.notify(f"{pairing}: {way[1]} passes {when}")
                self._never_passed.discard(way)
                self._first[pairing] = self.of(pairing)

    def _try(self, pairing: str) -> Preflight | str:
        try:
            return self.check(pairing)
        except (errors.HostError, errors.ProbeError) as error:
            return str(error)
        except Exception as error:
            self.has_defects = True
            return self._defect(error, pairing)

    def _defect(self, error: Exception, pairing: str) -> str:
        return f"{pairing}: {self.keep(error, f'check-{pairing}')}"

    def _check_again(self, pairing: str) -> Unmeasured | None:
        """Check a pairing and keep the result; returns why the check failed, or ``None``."""
        server, client = (host.name for host in self.pairs[pairing])
        try:
            result = self.check(pairing)
        except errors.HostGone:
            raise
        except (errors.HostError, errors.ProbeError) as error:
            reason = reason_of(error.word) if isinstance(error, errors.ProbeError) else "wrong-path"
            return Unmeasured(Status.FAILED, reason, str(error), server, client)
        earlier = self.of(pairing).warnings
        self._latest[pairing] = result
        self._first.setdefault(pairing, result)
        self.unchecked.discard(pairing)
        for warning in result.warnings:
            if warning not in earlier:
                self.notify(f"warning: {warning}")
        return None


def way_of(cell: Cell, pairs: Mapping[str, HostPair]) -> Way | None:
    """The way of a cell; ``None`` if its hosts have no addresses for it."""
    pair = pairs.get(cell.pairing)
    try:
        addresses = [address_of(host, cell) for host in pair or ()]
    except errors.UsageError:
        return None
    return (cell.pairing, cell.setup.protocol, *addresses) if pair else None  # type: ignore[return-value]


def groups_without_overlap(
    pairs: Mapping[str, HostPair], match_of: Callable[[str], Match]
) -> list[tuple[str, ...]]:
    """The pairings in groups; no two pairings of a group share a machine."""
    by_letter = [pairing for pairing in pairs if not hosts.is_by_name(pairing)]
    by_name = hosts.rounds_of([match_of(pairing) for pairing in pairs if hosts.is_by_name(pairing)])
    return [
        *hosts.earliest_fit(by_letter, lambda key: hosts.match_of(key, pairs[key]).needs),
        *(tuple(match.pairing for match in group) for group in by_name),
    ]
