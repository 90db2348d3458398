"""The commands that make a run folder out of results from elsewhere, and its report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from netlab.cli.options import FILE, FOLDER, rate_of
from netlab.errors import UsageError

Command = Callable[..., Any]


@click.group("import")
def import_() -> None:
    """Make a run folder out of results from elsewhere."""


_OPTIONS = (
    click.argument("table", type=FILE),
    click.option(
        "--into",
        type=FOLDER,
        metavar="DIR",
        help="The run folder to make.  [default: runs/ and the file's name]",
    ),
    click.option("--title", help="What the table is.  [default: the file's name]"),
    click.option(
        "--rate",
        default="100Mbit",
        show_default=True,
        help="Rate of the link it was measured on.",
    ),
    click.option("--mtu", type=click.IntRange(68, 65535), default=1500, show_default=True),
    click.option(
        "--facts",
        type=FILE,
        metavar="FILE",
        help="What the document states beside the table, as YAML: docs/run-folder.md.",
    ),
)
"""What every import takes, in the order of its help."""


def _common(command: Command) -> Command:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


@import_.command("table")
@_common
def table(
    table: Path, into: Path | None, title: str | None, rate: str, mtu: int, facts: Path | None
) -> None:
    """Make a run folder out of a printed TABLE, and its report.

    The columns of the CSV file: pairing, protocol, message_bytes, socket_buffer_bytes,
    mbit_per_s (10^6 bit/s). An empty value was not measured, and stays blank.
    """
    from netlab.imports.table import import_table

    link = {"rate_bit_per_s": rate_of(rate), "mtu_bytes": mtu}
    _import(import_table, table, into, title=title, facts=facts, **link)


@import_.command("repeats")
@_common
@click.option(
    "--hops",
    type=click.IntRange(0, 16),
    default=0,
    show_default=True,
    help="Routers between the hosts.",
)
@click.option(
    "--pairing",
    default="LL",
    show_default=True,
    metavar="XY",
    help="Systems of server and client, server first.",
)
@click.option(
    "--mss", type=click.IntRange(1, 65495), help="Bytes of a full TCP segment, where it is known."
)
def repeats(
    table: Path,
    into: Path | None,
    title: str | None,
    rate: str,
    mtu: int,
    facts: Path | None,
    hops: int,
    pairing: str,
    mss: int | None,
) -> None:
    """Make a run folder out of a TABLE of repeats with their times, and its report.

    The columns of the CSV file: test (tcp_ping, udp_ping, tcp_blast, udp_blast), message_bytes,
    messages, trial, elapsed_s, lost_packets (UDP). An empty time was not measured.
    """
    from netlab.experiment.matrix import Link
    from netlab.imports.repeats import import_repeats

    if len(pairing) != 2 or not pairing.isascii() or not pairing.isupper():
        raise UsageError(f"--pairing {pairing}: two capitals, server first, such as WL")
    link = Link(rate_of(rate), mtu, hops=hops)
    known = {"pairing": pairing, "link": link, "mss_bytes": mss}
    _import(import_repeats, table, into, title=title, facts=facts, **known)


def _machines(
    _context: click.Context, _parameter: click.Parameter, words: tuple[str, ...]
) -> dict[str, str]:
    machines: dict[str, str] = {}
    for word in words:
        name, equals, hosts = word.partition("=")
        if not name or not equals or not all(hosts.split(",")):
            raise click.BadParameter(f"{word!r} is not NAME=HOST,HOST…, such as pc=guest,desk")
        machines |= dict.fromkeys(hosts.split(","), name)
    return machines


@import_.command("pairs")
@_common
@click.option(
    "--machine",
    "machines",
    multiple=True,
    metavar="NAME=HOST,HOST…",
    callback=_machines,
    help="Hosts that are one machine (may be given again): no cable was between them.",
)
def pairs(
    table: Path,
    into: Path | None,
    title: str | None,
    rate: str,
    mtu: int,
    facts: Path | None,
    machines: dict[str, str],
) -> None:
    """Make a run folder out of a TABLE of hosts against hosts, and its report.

    The columns of the CSV file: protocol, client, server, mbit_per_s (10^6 bit/s),
    offered_mbit_per_s (where a rate was offered). An empty value was not measured.
    """
    from netlab.experiment.matrix import Link
    from netlab.imports.pairs import import_pairs

    known = {"machines": machines, "link": Link(rate_of(rate), mtu)}
    _import(import_pairs, table, into, title=title, facts=facts, **known)


def _import(make: Callable[..., Path], table: Path, into: Path | None, **known: Any) -> None:
    """Make the run folder, and its report."""
    show_report(make(table, into or Path("runs") / table.stem, **known), quiet=False)


def show_report(folder: Path, *, quiet: bool, language: str = "en") -> None:
    """Make the report of a run folder, and say where it is; not ``quiet``: with the means."""
    from netlab.findings.analysis import load
    from netlab.report import Report
    from netlab.report.language import wording_in

    loaded = load(folder)
    report = Report(loaded, wording_in(language, loaded))
    page = report.write()
    if quiet:
        click.echo(page, err=True)
    else:
        click.echo(report.overview_text())
        click.echo(f"report: {page}")
