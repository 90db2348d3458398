"""Why a cell is not measured now: its host is away or refuses it, or packets do not pass.

A cell is one combination of a pairing (two hosts), a kind of test and its settings. Each function
that looks for a reason returns ``None`` if there is none. An agent is a running probe, the program
of netlab on a host.
"""

from __future__ import annotations

import errno
from collections.abc import Mapping
from dataclasses import dataclass, field

from netlab.errors import UsageError
from netlab.experiment.cells import Cell
from netlab.experiment.feasibility import sent_by, untold
from netlab.experiment.hosts import HostPair
from netlab.experiment.kinds import ROWS, Connect, RoundTrip
from netlab.experiment.records import Record, Status, Value, utc_now
from netlab.experiment.schedule import Trial
from netlab.measurement.ends import address_of, connected_as_set
from netlab.remote.pending import ADVICE
from netlab.runner.absence import Absence
from netlab.runner.host_values import HostValues, refused_controls
from netlab.runner.preflight import Preflight

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
    """Figures that the check found."""

    def record(self, trial: Trial, attempt: int) -> Record:
        """The record of the skipped trial."""
        return Record(
            cell=trial.cell.key,
            trial=trial.number,
            attempt=attempt,
            status=self.status,
            pairing=trial.cell.pairing,
            server=self.server,
            client=self.client,
            test=trial.cell.test,
            started_at=utc_now(),
            settings=dict(trial.cell.settings),
            values=self.values,
            reason=self.reason,
            errno=self.errno,
            detail=self.detail,
        )


def interrupted(trial: Trial, attempt: int, server: str = "", client: str = "") -> Record:
    """The record of a trial that did not finish because the run ended."""
    detail = "the run ended during the trial"
    return Unmeasured(Status.PENDING, "interrupted", detail, server, client).record(trial, attempt)


def host_away(pair: HostPair, away: Mapping[str, Absence]) -> Unmeasured | None:
    """The reason if a host of the pair is away. ``away``: host name → its absence."""
    server, client = (host.name for host in pair)
    for absence in (away.get(server), away.get(client)):
        if absence is not None:
            reason, sentence = absence.reason, absence.sentence
            return Unmeasured(Status.PENDING, reason, sentence, server, client)
    return None


def beyond_server(cell: Cell, pair: HostPair) -> Unmeasured | None:
    """The reason if the server runs no agent, and neither its echo (RFC 862) nor one of the tools
    that it serves is enough for the cell.
    """
    server, client = pair
    if server.has_agent:
        return None
    engine = cell.settings.get("engine")
    if engine in server.serves:
        return None
    if engine is None and server.mirror is not None:
        lacking = _needs_agent(cell)
        if lacking is None:
            return None
        detail = f"{server.name} is a mirror without a probe: {lacking}"
    elif server.serves:
        served = ", ".join(server.serves)
        detail = f"{server.name} runs no probe; it serves {served}: set `engine` to one of these"
    else:
        detail = f"{server.name} runs no probe; it serves an echo only: no other tool"
    reason = "not-as-set-up"
    return Unmeasured(Status.IMPOSSIBLE, reason, detail, server.name, client.name)


def _needs_agent(cell: Cell) -> str | None:
    setup = cell.setup
    if not isinstance(setup, RoundTrip | Connect):
        return f"a `{cell.test}` test needs a probe at both ends"
    if isinstance(setup, RoundTrip) and setup.mirror is not None:
        return f"netlab cannot start or time `{setup.mirror}` on it"
    if setup.response_bytes not in (None, setup.message_bytes):
        return "its answer is always as long as the request"
    if setup.mirror_hold_s:
        return "it cannot wait before it answers"
    ignored = [ROWS[name].key for name, _level in untold(setup)]
    return f"it cannot apply the settings {', '.join(ignored)}" if ignored else None


def beyond_account(
    cell: Cell, pair: HostPair, values: Mapping[str, HostValues]
) -> Unmeasured | None:
    """The reason if a host has the cell's congestion control but does not let the login's
    account choose it.

    Root may allow it later. The error number (``EPERM``) makes the record not final, so each
    session checks again.
    """
    server, client = pair
    refusals = [*refused_controls(cell, {"server": server, "client": client}, values)]
    if not refusals:
        return None
    reason = "capability-missing"
    detail = "; ".join([*dict.fromkeys(refusals), ADVICE[reason, "congestion"]])
    names = server.name, client.name
    return Unmeasured(Status.IMPOSSIBLE, reason, detail, *names, errno=errno.EPERM)


def no_way(cell: Cell, pair: HostPair, checks: Preflight) -> Unmeasured | None:
    """The reason if the hosts lack an address for the cell, or if its packets do not pass."""
    server, client = (host.name for host in pair)
    try:
        addresses = address_of(pair[0], cell), address_of(pair[1], cell)
    except UsageError as error:
        reason = "address-not-available"
        return Unmeasured(Status.FAILED, reason, str(error), server, client)
    for blockage in checks.blocked:
        between = (blockage.server_address, blockage.client_address)
        if blockage.protocol == cell.setup.protocol and between == addresses:
            return Unmeasured(Status.FAILED, "path-blocked", blockage.sentence, server, client)
    for reversal in checks.turned:
        between = (reversal.server_address, reversal.client_address)
        client_must_connect = connected_as_set(cell.setup).get(reversal.protocol) == "client"
        if client_must_connect and between == addresses:
            sentence = f"{reversal.sentence.partition(': ')[0]}, and `open: client-connects` is set"
            return Unmeasured(Status.FAILED, "path-blocked", sentence, server, client)
    for missing_address in checks.missing:
        if (missing_address.server_address, missing_address.client_address) == addresses:
            reason = "address-not-available"
            return Unmeasured(Status.FAILED, reason, missing_address.sentence, server, client)
    return _too_long(cell, pair, addresses, checks)


def _too_long(
    cell: Cell, pair: HostPair, addresses: tuple[str, str], checks: Preflight
) -> Unmeasured | None:
    """The reason if the cell's packets are longer than the path MTU and nothing shortens them. Such
    a cell would otherwise lose 100 % of its messages.
    """
    server, client = (host.name for host in pair)
    for end, direction in (("client", addresses[::-1]), ("server", addresses)):
        messages = sent_by(end, cell.setup)
        for way in checks.narrow:
            between = (way.sender_address, way.receiver_address)
            if messages and between == direction and way.stops(messages, cell.setup.ip_version):
                values: dict[str, Value] = {
                    "path_mtu_bytes": way.mtu_bytes,
                    "interface_mtu_bytes": way.interface_mtu_bytes,
                }
                reason = PATH_MTU
                return Unmeasured(
                    Status.IMPOSSIBLE, reason, way.sentence, server, client, values=values
                )
    return None
