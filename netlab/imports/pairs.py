"""Import: a run folder out of a printed table of the throughput from each host to each other host.

The table does not state which hosts are on one machine; ``machines`` states it. Traffic within a
machine uses no cable, so it must not be averaged with the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Unpack

from netlab.errors import UsageError
from netlab.experiment.hosts import named
from netlab.imports import CommandOption, Importer
from netlab.imports.common import csv_table
from netlab.trial.record import Value


def import_pairs(
    csv_path: Path,
    into: Path,
    *,
    machines: Mapping[str, str] | None = None,
    **context: Unpack[csv_table.TableContext],
) -> Path:
    """Make the run folder ``into`` out of a table of throughput between hosts. ``machines`` maps
    hosts that share a machine to its name. Raises the errors of ``import_table``, and UsageError if
    ``machines`` names a host that the table lacks.
    """
    source = csv_table.read_source(csv_path, **context)
    rows = source.rows(FORM)
    one_of = dict(sorted((machines or {}).items()))
    hosts = dict.fromkeys(host for row in rows for host in (row.server, row.client))
    for stranger in sorted(one_of.keys() - hosts.keys()):
        raise UsageError(
            f"no host of {csv_path.name} is called {stranger!r}; there are {', '.join(hosts)}"
        )
    records = []
    for row in rows:
        one_machine = one_of.get(row.server, row.server) == one_of.get(row.client, row.client)
        values: dict[str, Value] = {"same_host": one_machine, **csv_table.throughput(row.printed)}
        records.append(
            csv_table.record_of(
                row.cell, values, printed=row.printed, server=row.server, client=row.client
            )
        )
    cells = [row.cell for row in rows]
    return csv_table.write_run(into, source, cells, records, content={"machines": one_of})


def _row(values: Mapping[str, Any]) -> csv_table.PrintedRow:
    protocol, server, client = (values[name] for name in ("protocol", "server", "client"))
    settings: dict[str, Value] = {"protocol": protocol}
    if offered := values.get("offered_mbit_per_s"):  # empty if the sender was not paced
        settings["rate_bit_per_s"] = float(Decimal(offered) * 10**6)
    cell = csv_table.cell_of(named(server, client), "stream", settings, [protocol.lower()])
    return csv_table.PrintedRow(cell, values["mbit_per_s"], server, client)


FORM = csv_table.Form(
    {
        "protocol": csv_table.protocol,
        "offered_mbit_per_s": csv_table.printed_rate,
        "client": csv_table.host,
        "server": csv_table.host,
        "mbit_per_s": csv_table.printed_rate,
    },
    row=_row,
    key=lambda row: row.cell.key,
    optional={"offered_mbit_per_s"},
)


def _machines(words: tuple[str, ...]) -> dict[str, str]:
    machines: dict[str, str] = {}
    for word in words:
        name, equals, hosts = word.partition("=")
        if not name or not equals or not all(hosts.split(",")):
            raise ValueError(f"{word!r} is not NAME=HOST,HOST…, such as pc=guest,desk")
        machines |= dict.fromkeys(hosts.split(","), name)
    return machines


IMPORTER = Importer(
    read=import_pairs,
    help="""Make a run folder out of a TABLE of hosts against hosts, and its report.

    The columns of the CSV file: protocol, client, server, mbit_per_s (10^6 bit/s),
    offered_mbit_per_s (where a rate was offered). An empty value was not measured.
    """,
    options=(
        CommandOption(
            "machines",
            "--machine",
            "Hosts that are one machine, with no cable between them (may be repeated).",
            metavar="NAME=HOST,HOST…",
            repeated=True,
            convert=_machines,
        ),
    ),
)
