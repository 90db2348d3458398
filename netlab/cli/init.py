"""`netlab init`: hosts are asked what they are, and written down."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.completion import INVENTORY
from netlab.cli.options import FILE, pairs_of
from netlab.cli.output import picked, show, tell
from netlab.errors import UnknownHostKey, UsageError

if TYPE_CHECKING:
    from netlab.run.start.found_hosts import SharedNetwork

FIRST_MATRIX = Path("first.yaml")
SEVERAL = "The hosts have several networks in common:"


@click.command(short_help="Ask hosts what they are; write lab.yaml and a first matrix.")
@click.argument("hosts", nargs=-1, metavar="[HOST]...")
@click.option("--yes", is_flag=True, help="Ask nothing. No unknown host key is accepted by it.")
@click.option(
    "--host-key",
    "keys",
    multiple=True,
    metavar="HOST=KEY",
    callback=pairs_of("HOST=KEY", "nas=SHA256:…", may_be_empty=False),
    help="The key of a HOST, or its fingerprint SHA256:… (may be given again).",
)
@click.option("--hosts", "inventory", type=FILE, default=INVENTORY, show_default=True)
@click.option("--matrix", type=FILE, default=FIRST_MATRIX, show_default=True)
def init(
    hosts: tuple[str, ...], yes: bool, keys: dict[str, str], inventory: Path, matrix: Path
) -> None:
    """Ask each HOST (user@host:port, as ssh takes it) what it is, and write it down.

    The inventory has their systems, addresses and keys, the matrix a first look at all pairings
    that they can do. With one HOST this machine is the other. A key that is not known yet is shown
    and pinned only when a person confirms it.
    """
    from netlab.run.start.found_hosts import (
        inventory_text,
        matrix_text,
        shared_networks,
        with_addresses,
    )
    from netlab.run.start.look import hosts_to_ask, link_within, look, with_keys

    if not hosts:
        raise UsageError(
            "name a HOST, as ssh takes it; `netlab measure` alone measures this machine with itself"
        )
    for file in (inventory, matrix):
        if file.exists():
            raise UsageError(f"{file} is there already; name another (--hosts, --matrix)")
    asks = not yes and sys.stdin.isatty() and sys.stderr.isatty()
    listed = with_keys(hosts_to_ask(hosts, keys), _confirm if asks else _nobody_confirms, tell)
    found = look(listed, tell)
    for each in found:
        tell(f"{each.host.name}: {each.words}")
    networks = shared_networks(found)
    if not networks:
        raise UsageError(
            "the hosts are in no common network: "
            + "; ".join(
                f"{each.host.name} has {', '.join(a.address for a in each.addresses) or 'none'}"
                for each in found
            )
        )
    if asks and len(networks) > 1:
        networks = _first(networks)
    written = with_addresses(found, networks)
    words = {each.host.name: each.words for each in found}
    link = link_within(networks[0], written, tell)
    _write(inventory, inventory_text(written, words))
    _write(matrix, matrix_text(written, link))
    left_out = [each.host.name for each in found if each.host.name not in {h.name for h in written}]
    if left_out:
        tell(f"left out, in no network with another host: {', '.join(left_out)}")
    show(f"{inventory}: {len(written)} hosts; {matrix}: a first matrix. Next:")
    show(f"  netlab run {matrix} --hosts {inventory}")


def _write(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as made:
            made.write(text)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None


def _confirm(error: UnknownHostKey) -> bool:
    tell(f"{error.shown} has the key {error.fingerprint}")
    tell("  on the host itself: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub")
    return click.confirm("Is it the same?", default=False, err=True)


def _nobody_confirms(error: UnknownHostKey) -> bool:
    raise UnknownHostKey(
        error.shown,
        error.key,
        error.fingerprint,
        f"{error.shown}: unknown host key {error.fingerprint}; compare it with the host's own and "
        f"name it with --host-key HOST={error.fingerprint.split()[-1]}",
    )


def _first(networks: Sequence[SharedNetwork]) -> tuple[SharedNetwork, ...]:
    number = picked(SEVERAL, [each.words for each in networks], "Tests go over")
    chosen = networks[number]
    return (chosen, *(each for each in networks if each is not chosen))
