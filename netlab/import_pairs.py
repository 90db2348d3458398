"""Import: a run folder out of a printed table of hosts against hosts.

The form is that of the connection-kinds document: a CSV file with the columns ``protocol``,
``client``, ``server``, ``mbit_per_s`` and, where the load was offered at a rate,
``offered_mbit_per_s``. Clients and servers are names. A value is a plain decimal number of
10^6 bit/s, as printed, kept exactly and as its text. An empty value was not measured. Which hosts
are one machine the table does not say: ``machines`` does, since what never left a machine touched
no cable, and belongs in no average with the others.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from netlab.errors import UsageError
from netlab.header import Link, Plan, PlannedCell
from netlab.pairings import named, role_of
from netlab.printed import Form, parse, read_table, shown, text_of
from netlab.records import Record, Status, Value, utc_now
from netlab.store import RunFolder

COLUMNS = ("protocol", "offered_mbit_per_s", "client", "server", "mbit_per_s")
TEST = "stream"

MAX_MBIT_PER_S = Decimal(10**8)
"""100 Tbit/s: more is a slip of the pen, or an attack."""

_DECIMAL = re.compile(r"[0-9]{1,12}(?:\.[0-9]{1,12})?")


@dataclass(frozen=True, slots=True)
class PairRow:
    """One row of the table."""

    protocol: str
    offered: str
    """10^6 bit/s as printed; empty where as much was sent as went."""
    client: str
    server: str
    printed: str
    """The value as it was printed, empty where nothing was measured."""

    @property
    def cell(self) -> PlannedCell:
        """The cell that the row is about: what the table says, and no default of ours."""
        settings: dict[str, Value] = {"protocol": self.protocol}
        if self.offered:
            settings["rate_bit_per_s"] = float(Decimal(self.offered) * 10**6)
        pairing = named(self.server, self.client)
        content = json.dumps([pairing, TEST, settings], sort_keys=True)
        digest = hashlib.sha256(content.encode()).hexdigest()[:8]
        return PlannedCell(
            f"{pairing}-{TEST}-{self.protocol.lower()}-{digest}", pairing, TEST, settings
        )


def import_pairs(
    csv_path: Path,
    into: Path,
    *,
    machines: Mapping[str, str] | None = None,
    title: str | None = None,
    link: Link | None = None,
    imported_at: str | None = None,
) -> Path:
    """Make the run folder ``into`` out of a table of hosts against hosts; returns ``into``.

    ``machines`` names the machine of each host that is one with others; a host that it does not
    name is a machine of its own. ``imported_at`` (ISO 8601) stands for the wall clock where the
    same bytes are wanted again. Importing the same table again into its folder changes nothing.

    Raises MatrixError with every fault as ``file:line:column``, UsageError (no table; ``machines``
    names a host that is not in it; ``into`` holds something else), StoreError, LockedError.
    """
    data = read_table(csv_path)
    rows = parse_pairs(text_of(data, str(csv_path)), str(csv_path))
    hosts = dict.fromkeys(host for row in rows for host in (row.server, row.client))
    machine_of = {host: (machines or {}).get(host, host) for host in hosts}
    for stranger in sorted((machines or {}).keys() - hosts.keys()):
        raise UsageError(f"no host of {csv_path.name} is called {stranger!r}; {', '.join(hosts)}")
    digest = hashlib.sha256(data).hexdigest()
    plan = _plan(rows, title or csv_path.stem, csv_path.name, digest, machines or {}, link)
    here = csv_path.parent.resolve() == into.resolve()
    with RunFolder.open_for_writing(
        into,
        plan,
        beside=frozenset({csv_path.name}) if here else frozenset(),
        clock=lambda: imported_at or utc_now(),
        run_id=plan.content_hash[:16],
    ) as run:
        written = frozenset(key for key, _ in run.latest)
        for row in rows:
            if row.cell.key not in written:
                one_machine = machine_of[row.server] == machine_of[row.client]
                run.append(_record(row, one_machine=one_machine), durable=False)
    return into


def parse_pairs(text: str, file: str) -> tuple[PairRow, ...]:
    """The rows of a table's text. Pure. MatrixError with every fault, in the file's order."""
    return parse(text, file, _FORM)


def _row(_: int, texts: Mapping[str, str]) -> PairRow:
    return PairRow(
        protocol=texts["protocol"],
        offered=texts.get("offered_mbit_per_s", ""),
        client=texts["client"],
        server=texts["server"],
        printed=texts["mbit_per_s"],
    )


def _wrong(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """(column, what is wrong with it) of one row."""
    if texts["protocol"] not in ("TCP", "UDP"):
        yield "protocol", f"{shown(texts['protocol'])} is neither TCP nor UDP"
    for end in ("client", "server"):
        try:
            role_of(texts[end])
        except ValueError as error:
            yield end, str(error)
    for name in ("offered_mbit_per_s", "mbit_per_s"):
        if text := texts.get(name, ""):
            yield from ((name, sentence) for sentence in _wrong_value(text))


def _wrong_value(text: str) -> Iterator[str]:
    if not _DECIMAL.fullmatch(text):
        hint = "; write a decimal point" if re.fullmatch(r"[0-9]+,[0-9]+", text) else ""
        yield f"{shown(text)} is not a plain decimal number of 10^6 bit/s{hint}"
    elif Decimal(text) == 0:
        yield "0 is no throughput; leave it empty where nothing was measured"
    elif Decimal(text) > MAX_MBIT_PER_S:
        yield f"{shown(text)} is more than {MAX_MBIT_PER_S} Mbit/s"


_FORM = Form(
    COLUMNS,
    wrong=_wrong,
    row=_row,
    key=lambda row: row.cell.key,
    optional={"offered_mbit_per_s"},
)


def _plan(
    rows: tuple[PairRow, ...],
    title: str,
    source: str,
    digest: str,
    machines: Mapping[str, str],
    link: Link | None,
) -> Plan:
    content: dict[str, object] = {
        "table": {"sha256": digest, "rows": len(rows)},
        "machines": dict(sorted(machines.items())),
    }
    if link is not None:
        content["link"] = {"rate_bit_per_s": link.rate_bit_per_s, "mtu_bytes": link.mtu_bytes}
    canonical = json.dumps(content, sort_keys=True)
    return Plan(
        title=title,
        content=content,
        content_hash=hashlib.sha256(canonical.encode()).hexdigest(),
        matrix_text="",
        link=link,
        cells=tuple(row.cell for row in rows),
        repeats=1,
        source=source,
    )


def _record(row: PairRow, *, one_machine: bool) -> Record:
    values: dict[str, Value] = {"same_host": one_machine}
    if row.printed:
        exact = Decimal(row.printed) * 10**6
        step = Decimal(10**6).scaleb(int(Decimal(row.printed).as_tuple().exponent))
        values |= {
            "throughput_bit_per_s": float(exact),
            "printed_mbit_per_s": row.printed,
            "printed_step_bit_per_s": float(step),
        }
    cell = row.cell
    return Record(
        cell=cell.key,
        trial=1,
        attempt=1,
        status=Status.OK if row.printed else Status.PENDING,
        reason=None if row.printed else "not-recorded",
        pairing=cell.pairing,
        server=row.server,
        client=row.client,
        test=TEST,
        started_at="",
        settings=cell.settings,
        values=values,
    )
