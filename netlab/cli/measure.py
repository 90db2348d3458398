"""`netlab measure`: one measurement between two hosts, and its result."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli.completion import INVENTORY, host_names
from netlab.cli.options import (
    LINK_HELP,
    MTU_HELP,
    MTU_RANGE,
    hosts_option,
    into_option,
    loudness_options,
    rate_of,
    with_default,
)
from netlab.cli.output import Loudness, chosen_line, loudness, notify, show, show_data
from netlab.errors import UsageError

if TYPE_CHECKING:
    from netlab.runner.start.networks import Common
    from netlab.runner.start.one_question import Between
    from netlab.runner.start.question import Question


WINDOW_S, LOAD_S = 5.0, 20.0
"""Default lengths of the measurement, without and with ``--load``. Under load, TCP needs time to
settle."""


@click.command(short_help="Measure between two hosts: how fast, and what limits it.")
@click.argument("server", required=False, shell_complete=host_names)
@click.argument("client", required=False, shell_complete=host_names)
@click.option("--udp", is_flag=True, help="UDP in place of TCP.")
@click.option("--latency", is_flag=True, help="Round trips in place of throughput.")
@click.option("--load", is_flag=True, help="Round trips before, during and after streams.")
@click.option("--size", metavar="BYTES", help="Message size, such as 1472 or 64KiB.")
@click.option("--both", is_flag=True, help="Both directions at the same time.")
@click.option("--reverse", is_flag=True, help="The server sends.")
@click.option(
    "--seconds",
    type=click.FloatRange(0.1, 3600),
    help="Length of the measurement.  [default: 5; with --load 20, plus 10 without load]",
)
@click.option(
    "--streams",
    type=click.IntRange(1, 128),
    default=1,
    show_default=True,
    help="Streams at the same time.",
)
@click.option(
    "--rate", metavar="RATE", help="Rate to offer, such as 50Mbit.  [default: as fast as possible]"
)
@click.option("--to", metavar="ADDRESS", help="The server's test address.")
@click.option("--ipv6", is_flag=True, help="Over IPv6.  [default: IPv4 where both have it]")
@click.option("--link", metavar="RATE", help=with_default(LINK_HELP, "what the interfaces report"))
@click.option("--mtu", type=MTU_RANGE, help=with_default(MTU_HELP, "with --link 1500"))
@hosts_option("lab.yaml, if it exists")
@into_option("a new one in runs/")
@click.option("--print-matrix", is_flag=True, help="Print the matrix and measure nothing.")
@loudness_options
def measure(
    server: str | None,
    client: str | None,
    hosts: Path | None,
    into: Path | None,
    print_matrix: bool,
    **settings: Any,
) -> None:
    """Measure from CLIENT to SERVER, and report its bottleneck.

    Each is a host of the inventory, or user@host:port as for ssh. With SERVER alone, this machine
    is the client. Without hosts, it measures within this machine. netlab asks the hosts for their
    addresses and their link. The run is kept in runs/.
    """
    from netlab.report.text.answer import answer_of
    from netlab.runner.ending import interruptible
    from netlab.runner.start.live import LiveFigures
    from netlab.runner.start.one_question import measurable_hosts, without_result
    from netlab.runner.start.question import IDLE_S

    names = [name for name in (server, client) if name is not None]
    inventory = hosts or (INVENTORY if INVENTORY.exists() else None)
    question = _question(**settings)
    quiet = loudness() is Loudness.QUIET
    progress = LiveFigures(quiet=quiet, verbose=loudness() is Loudness.VERBOSE)
    with measurable_hosts(
        question, _between(names, inventory, **settings), _choose, notify
    ) as measurable:
        if print_matrix:
            show_data(measurable.matrix.rstrip("\n"))
            return
        sender, receiver = measurable.ends.client.name, measurable.ends.server.name
        notify(f"within {sender}" if sender == receiver else f"{sender} to {receiver}")
        if question.load:
            notify(f"idle for {IDLE_S:g} s, loaded for {question.seconds:g} s, then idle again")
        with interruptible():
            folder = measurable.measure(into, progress)
    show(answer_of(folder))
    if progress.failed:
        raise without_result(folder)


def _question(
    *,
    udp: bool,
    size: str | None,
    both: bool,
    reverse: bool,
    latency: bool,
    load: bool,
    seconds: float | None,
    streams: int,
    rate: str | None,
    **_between: object,
) -> Question:
    from netlab.runner.start.question import Question

    for option, flag in {"--both": both, "--reverse": reverse}.items():
        if latency and flag:
            raise UsageError(f"{option} is for throughput: it does not go with --latency")
    if latency and load:
        raise UsageError("--load already measures round trips: leave --latency out")
    if both and reverse:
        raise UsageError("--both and --reverse exclude each other")
    return Question(
        protocol="UDP" if udp else "TCP",
        message_bytes=None if size is None else _bytes_of(size),
        direction="both" if both else "server-sends" if reverse else "client-sends",
        latency=latency,
        load=load,
        seconds=seconds or (LOAD_S if load else WINDOW_S),
        streams=streams,
        rate=rate,
    )


def _between(
    names: Sequence[str],
    inventory: Path | None,
    *,
    to: str | None,
    ipv6: bool,
    link: str | None,
    mtu: int | None,
    **_question: object,
) -> Between:
    from netlab.experiment.matrix import Link
    from netlab.runner.start.one_question import Between

    if mtu is not None and link is None:
        raise UsageError("--mtu describes the link: give its rate with --link RATE as well")
    return Between(
        hosts=names,
        inventory=inventory,
        to=to,
        ip_version=6 if ipv6 else None,
        link=None if link is None else Link(rate_of(link, "--link"), mtu or 1500),
    )


def _bytes_of(text: str) -> int:
    from netlab.units import parse_bytes

    try:
        return parse_bytes(text)
    except ValueError as error:
        raise UsageError(f"--size {text}: {error}") from None


def _choose(commons: Sequence[Common]) -> Common:
    """Let the user choose a network; without a terminal, raise an error that names the options."""
    from netlab.runner.start.networks import several

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise several(commons)
    lines = [
        f"{common.network}: {common.server_address} ({common.server_device}), "
        f"{common.client_address} ({common.client_device})"
        for common in commons
    ]
    return commons[chosen_line("The hosts have several networks in common:", lines, "Which")]
