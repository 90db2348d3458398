"""The commands of the native probe."""

from __future__ import annotations

from pathlib import Path

import click

from netlab.cli.options import QUIET, into_option
from netlab.cli.output import notify, show, width


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
    from netlab.build.binaries import as_table, build_all, targets_named
    from netlab.build.compiling import TARGETS

    show(as_table(build_all(TARGETS if every else targets_named(targets), into, notify), width()))
