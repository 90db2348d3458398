"""The commands of the virtual lab and of the native probe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from netlab.cli.options import (
    JSON,
    QUIET,
    Decorated,
    figure_option,
    hosts_option,
    into_option,
    mtu_option,
)
from netlab.cli.output import notify, show, show_data, width
from netlab.errors import HostError, IncompleteRun, UsageError
from netlab.units import parse_bytes, parse_rate, parse_share


def _of_hosts(
    names: str, value: str, read: Callable[[str], Any], words: str
) -> Callable[[Decorated], Decorated]:
    """An option ``HOST=VALUE`` that may be repeated: host → its value; UsageError for a word of
    another form.
    """

    def values_of(_context: click.Context, parameter: click.Parameter, words: Any) -> Any:
        values = {}
        for word in words:
            host, _, value = word.partition("=")
            try:
                values[host] = read(value)
            except ValueError as error:
                option = parameter.opts[0]
                raise UsageError(f"{option} {word}: not a valid HOST=VALUE: {error}") from None
        return values

    help_, metavar = f"{words} (may be repeated).", f"HOST={value}"
    return click.option(
        *names.split(), multiple=True, callback=values_of, metavar=metavar, help=help_
    )


@click.group()
def lab() -> None:
    """A virtual lab on this machine: hosts in namespaces, a cable that counts like Ethernet.

    Linux and root only. docs/lab.md describes its limits.
    """


_name = click.option(
    "--name", default="lab", show_default=True, help="Name of the lab; several can coexist."
)


@lab.command("up")
@_name
@figure_option(
    "--rate", "RATE", parse_rate, "Rate of the test cable, such as 100mbit.  [default: unshaped]"
)
@mtu_option()
@click.option(
    "--queue",
    "queue_frames",
    type=click.IntRange(1, 100000),
    metavar="FRAMES",
    help="Queue of a shaped cable.",
)
@click.option(
    "--checksums",
    type=click.Choice(["offloaded", "software"]),
    default="offloaded",
    show_default=True,
    help="Whether the hosts leave checksums to the (virtual) card or compute them.",
)
@hosts_option("in the lab's own folder")
@click.option("--number", type=int, metavar="N", help="Number of hosts in all.")
@click.option(
    "--windows",
    type=click.IntRange(1, 4),
    is_flag=False,
    flag_value=2,
    metavar="[N]",
    help="Add hosts whose programs are Windows programs (under wine); 2 without a number.",
)
@click.option(
    "--topology",
    type=click.Choice(["cable", "star", "router"]),
    default="cable",
    show_default=True,
    help="cable: straight between two hosts; star: each host has a cable to a switch (always so "
    "with more than two hosts); router: a router between two hosts.",
)
@figure_option(
    "--device-rate", "RATE", parse_rate, "What the router forwards each way, such as 40mbit."
)
@click.option(
    "--device-queue",
    "device_queue_frames",
    type=click.IntRange(1, 100000),
    metavar="FRAMES",
    help="Queue of the router, each way.  [default: 50]",
)
@click.option(
    "--linux",
    type=click.IntRange(0),
    metavar="N",
    help="Linux hosts.  [default: 2; at a router as many as its two ends leave]",
)
@figure_option(
    "--second second_rate",
    *("RATE", parse_rate, "Give each host a second cable with this rate, to a second switch."),
)
@click.option(
    "--second-of",
    "second_hosts",
    multiple=True,
    metavar="HOST",
    help="Give only this host a second cable (may be repeated).",
)
@_of_hosts(
    *("--rate-of rates", "RATE", parse_rate),
    "Rate of one host's cable, such as linux-b=10mbit",
)
@_of_hosts(
    *("--mtu-of mtus", "BYTES", parse_bytes),
    "MTU of one host's cable, such as linux-b=1400",
)
@_of_hosts(
    *("--cpu-quota cpu_shares", "SHARE", parse_share),
    "CPU time of all of a host's processes, such as linux-a=20% of one CPU",
)
@click.option(
    "--frames", is_flag=True, help="Let the Linux hosts' account send raw Ethernet frames."
)
@click.option(
    "--sudo",
    is_flag=True,
    help="Let the Linux hosts' account change network settings of its own host with sudo.",
)
@QUIET
def lab_up(
    hosts: Path | None,
    number: int | None,
    windows: int | None,
    linux: int | None,
    topology: str,
    **asked: Any,
) -> None:
    """Make the hosts and the cable, and write the inventory."""
    from netlab.lab import LabOptions, linux_of, up

    if number is not None:
        if linux is not None:
            raise UsageError(f"--number {number} and --linux {linux}: give one of them")
        linux = linux_of(number, windows or 0, routed=topology == "router")
    # The other parameters have the names of its fields.
    options = LabOptions(
        hosts_file=hosts, windows=windows or 0, linux=linux, topology=topology, **asked
    )
    show(up(options, say=notify).as_text())


@lab.command("status")
@_name
@JSON
def lab_status(name: str, as_json: bool) -> None:
    """Print what is up, and where its inventory is."""
    import json

    from netlab.lab import broken_pieces
    from netlab.lab import status as status_of_lab

    state = status_of_lab(name)
    defects = broken_pieces(state)
    plain = {**state.as_json(), "broken": defects}
    if as_json:
        show_data(json.dumps(plain, indent=2))
    else:
        show(state.as_text())
    for piece, why in defects.items():
        notify(f"{piece}: {why}")
    if defects:
        notify(f"to repair it: netlab lab down --name {name}, then netlab lab up")
    if defects or not state.up:
        raise SystemExit(IncompleteRun.exit_code)


@lab.command("doctor")
def lab_doctor() -> None:
    """Name what this machine lacks for a lab, with the command that installs it."""
    from netlab.lab import examine

    findings = examine()
    for finding in findings:
        show(finding.as_text())
    if any(finding.remedy is not None for finding in findings):
        raise SystemExit(HostError.exit_code)


@lab.command("down")
@_name
@click.option(
    "--forget", is_flag=True, help="Remove its keys and addresses too; the next `up` has new ones."
)
def lab_down(name: str, forget: bool) -> None:
    """Remove everything that `up` made, and nothing else; also after a crash."""
    from netlab.lab import down

    down(name, forget=forget)


@click.group()
def probes() -> None:
    """The native probe, netprobe."""


@probes.command("build")
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--all", "every", is_flag=True, help="Build for every target of a release.")
@into_option("none: no copy is made")
@QUIET
def probes_build(targets: tuple[str, ...], every: bool, into: Path | None) -> None:
    """Build the probe for each TARGET, such as windows-x86_64, and print a table of them.

    Without a TARGET, build it for this machine with its own compiler, and print its path. A run
    builds the probes that it needs by itself. With --into, copies go to DIR/TARGET, as in a wheel;
    the copy for this machine goes to DIR. The compiler for other systems:
    pip install 'netlab-matrix[cross]'.
    """

    if not targets and not every:
        from netlab.build.binaries import copied, local_probe

        probe = local_probe(notify)
        show(probe if into is None else copied(probe, into / probe.name))
        return
    from netlab.build.binaries import TARGETS, as_table, build_all, targets_named

    show(as_table(build_all(TARGETS if every else targets_named(targets), into, notify), width()))
