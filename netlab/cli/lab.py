"""The commands of the virtual lab and of the native probe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from netlab.cli.options import JSON, MTU_HELP, MTU_RANGE, QUIET, hosts_option, into_option, rate_of
from netlab.cli.output import notify, show, show_data, width
from netlab.errors import HostError, IncompleteRun, UsageError

T = TypeVar("T")


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
@click.option(
    "--rate", metavar="RATE", help="Rate of the test cable, such as 100mbit.  [default: unshaped]"
)
@click.option("--mtu", type=MTU_RANGE, default=1500, show_default=True, help=MTU_HELP)
@click.option(
    "--queue", type=click.IntRange(1, 100000), metavar="FRAMES", help="Queue of a shaped cable."
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
@click.option(
    "--device-rate", metavar="RATE", help="What the router forwards each way, such as 40mbit."
)
@click.option(
    "--device-queue",
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
@click.option(
    "--second",
    "second_rate",
    metavar="RATE",
    help="Give each host a second cable with this rate, to a second switch.",
)
@click.option(
    "--second-of",
    multiple=True,
    metavar="HOST",
    help="Give only this host a second cable (may be repeated).",
)
@click.option(
    "--rate-of",
    "rate_of_host",
    multiple=True,
    metavar="HOST=RATE",
    help="Rate of one host's cable, such as linux-b=10mbit (may be repeated).",
)
@click.option(
    "--mtu-of",
    multiple=True,
    metavar="HOST=BYTES",
    help="MTU of one host's cable, such as linux-b=1400 (may be repeated).",
)
@click.option(
    "--cpu-quota",
    multiple=True,
    metavar="HOST=SHARE",
    help="CPU time of all of a host's processes, such as linux-a=20% of one CPU (may be repeated).",
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
    name: str,
    rate: str | None,
    mtu: int,
    queue: int | None,
    checksums: str,
    hosts: Path | None,
    number: int | None,
    windows: int | None,
    topology: str,
    device_rate: str | None,
    device_queue: int | None,
    linux: int | None,
    second_rate: str | None,
    second_of: tuple[str, ...],
    rate_of_host: tuple[str, ...],
    mtu_of: tuple[str, ...],
    cpu_quota: tuple[str, ...],
    frames: bool,
    sudo: bool,
) -> None:
    """Make the hosts and the cable, and write the inventory."""
    from netlab.lab import LabOptions, linux_of, up
    from netlab.units import parse_bytes, parse_rate, parse_share

    if number is not None:
        if linux is not None:
            raise UsageError(f"--number {number} and --linux {linux}: give one of them")
        linux = linux_of(number, windows or 0, routed=topology == "router")
    options = LabOptions(
        name=name,
        rate=None if rate is None else rate_of(rate),
        mtu=mtu,
        queue_frames=queue,
        checksums=checksums,
        hosts_file=hosts,
        windows=windows or 0,
        topology=topology,
        device_rate=None if device_rate is None else rate_of(device_rate, "--device-rate"),
        device_queue_frames=device_queue,
        linux=linux,
        second_rate=None if second_rate is None else rate_of(second_rate, "--second"),
        second_hosts=second_of,
        rates=_of_hosts("--rate-of", rate_of_host, parse_rate),
        mtus=_of_hosts("--mtu-of", mtu_of, parse_bytes),
        cpu_shares=_of_hosts("--cpu-quota", cpu_quota, parse_share),
        frames=frames,
        sudo=sudo,
    )
    show(up(options, say=notify).as_text())


def _of_hosts(option: str, words: tuple[str, ...], read: Callable[[str], T]) -> dict[str, T]:
    """Host → value of each ``HOST=VALUE``; UsageError for a word of another form."""
    values: dict[str, T] = {}
    for word in words:
        host, _, value = word.partition("=")
        try:
            values[host] = read(value)
        except ValueError as error:
            raise UsageError(f"{option} {word}: not a valid HOST=VALUE: {error}") from None
    return values


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
