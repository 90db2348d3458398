"""The commands that make a run folder out of results from elsewhere, and its report."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli_options import FILE, FOLDER, rate_of
from netlab.errors import UsageError


@click.group("import")
def import_() -> None:
    """Make a run folder out of results from elsewhere."""


INTO = click.option(
    "--into",
    type=FOLDER,
    metavar="DIR",
    help="The run folder to make.  [default: runs/ and the file's name]",
)
TITLE = click.option("--title", help="What the table is.  [default: the file's name]")
RATE = click.option(
    "--rate", default="100Mbit", show_default=True, help="Rate of the link it was measured on."
)
MTU = click.option("--mtu", type=click.IntRange(68, 65535), default=1500, show_default=True)


@import_.command("table")
@click.argument("table", type=FILE)
@INTO
@TITLE
@RATE
@MTU
def table(table: Path, into: Path | None, title: str | None, rate: str, mtu: int) -> None:
    """Make a run folder out of a printed TABLE, and its report.

    The columns of the CSV file: pairing, protocol, message_bytes, socket_buffer_bytes,
    mbit_per_s (10^6 bit/s). An empty value was not measured, and stays blank.
    """
    from netlab.importer import import_table

    into = into or Path("runs") / table.stem
    import_table(table, into, title=title, rate_bit_per_s=rate_of(rate), mtu_bytes=mtu)
    show_report(into, quiet=False)


@import_.command("repeats")
@click.argument("table", type=FILE)
@INTO
@TITLE
@RATE
@MTU
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
    hops: int,
    pairing: str,
    mss: int | None,
) -> None:
    """Make a run folder out of a TABLE of repeats with their times, and its report.

    The columns of the CSV file: test (tcp_ping, udp_ping, tcp_blast, udp_blast), message_bytes,
    messages, trial, elapsed_s, lost_packets (UDP). An empty time was not measured.
    """
    from netlab.header import Link
    from netlab.import_repeats import import_repeats

    if len(pairing) != 2 or not pairing.isascii() or not pairing.isupper():
        raise UsageError(f"--pairing {pairing}: two capitals, server first, such as WL")
    into = into or Path("runs") / table.stem
    link = Link(rate_of(rate), mtu, hops=hops)
    import_repeats(table, into, pairing=pairing, title=title, link=link, mss_bytes=mss)
    show_report(into, quiet=False)


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
@click.argument("table", type=FILE)
@INTO
@TITLE
@RATE
@MTU
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
    machines: dict[str, str],
) -> None:
    """Make a run folder out of a TABLE of hosts against hosts, and its report.

    The columns of the CSV file: protocol, client, server, mbit_per_s (10^6 bit/s),
    offered_mbit_per_s (where a rate was offered). An empty value was not measured.
    """
    from netlab.header import Link
    from netlab.import_pairs import import_pairs

    into = into or Path("runs") / table.stem
    link = Link(rate_of(rate), mtu)
    import_pairs(table, into, machines=machines, title=title, link=link)
    show_report(into, quiet=False)


def show_report(folder: Path, *, quiet: bool) -> None:
    """Make the report of a run folder, and say where it is; not ``quiet``: with the means."""
    from netlab.frame import load
    from netlab.report import overview_text, write_report

    loaded = load(folder)
    page = write_report(loaded)
    if quiet:
        click.echo(page, err=True)
    else:
        click.echo(overview_text(loaded))
        click.echo(f"report: {page}")
