"""`netlab init`: hosts are asked what they are, and written down."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.completion import INVENTORY
from netlab.cli.options import FILE, hosts_option, loudness_options, pairs_of
from netlab.cli.output import ask_aloud, picked, show, tell
from netlab.errors import UnknownHostKey, UsageError

if TYPE_CHECKING:
    from netlab.runner.start.found_hosts import FoundHost, SharedNetwork

FIRST_MATRIX = Path("first.yaml")
SEVERAL = "The hosts have several networks in common:"


@click.command(short_help="Ask hosts what they are; write lab.yaml and a first matrix.")
@click.argument("names", nargs=-1, metavar="[HOST]...")
@click.option("--yes", is_flag=True, help="Ask nothing. No unknown host key is accepted by it.")
@click.option(
    "--host-key",
    "keys",
    multiple=True,
    metavar="HOST=KEY",
    callback=pairs_of("HOST=KEY", "nas=SHA256:…", may_be_empty=False),
    help="The key of a HOST, or its fingerprint SHA256:… (may be given again).",
)
@hosts_option(default=INVENTORY, show_default=True)
@click.option(
    "--matrix",
    type=FILE,
    metavar="FILE",
    default=FIRST_MATRIX,
    show_default=True,
    help="The first matrix.",
)
@loudness_options
def init(
    names: tuple[str, ...], yes: bool, keys: dict[str, str], hosts: Path, matrix: Path
) -> None:
    """Ask each HOST (user@host:port, as ssh takes it) what it is, and write it down.

    The inventory has their systems, addresses and keys, the matrix a first look at all pairings
    that they can do. With one HOST this machine is the other. A key that is not known yet is shown
    and pinned only when a person confirms it.
    """
    from netlab.runner.hosts.agent_group import AgentGroup
    from netlab.runner.start.found_hosts import inventory_text, matrix_text, with_addresses
    from netlab.runner.start.look import hosts_to_ask, link_within, look, with_keys
    from netlab.units import many

    if not names:
        raise UsageError(
            "name a HOST, as ssh takes it; `netlab measure` alone measures this machine with itself"
        )
    for file in (hosts, matrix):
        if file.exists():
            raise UsageError(f"{file} is there already; name another (--hosts, --matrix)")
    asks = not yes and sys.stdin.isatty() and sys.stderr.isatty()
    with AgentGroup(tell) as agents:
        confirm = _confirm if asks else _nobody_confirms
        listed = with_keys(agents, hosts_to_ask(names, keys), confirm)
        found = look(agents, listed)
        for each in found:
            tell(f"{each.host.name}: {each.words}")
        networks = _networks(found)
        if asks and len(networks) > 1:
            networks = _first(networks)
        written = with_addresses(found, networks)
        link = link_within(agents, networks[0], written)
    words = {each.host.name: each.words for each in found}
    _write(hosts, inventory_text(written, words))
    _write(matrix, matrix_text(written, link))
    left_out = [each.host.name for each in found if each.host.name not in {h.name for h in written}]
    if left_out:
        tell(f"left out, in no network with another host: {', '.join(left_out)}")
    show(f"{hosts}: {many(len(written), 'host')}; {matrix}: a first matrix. Next:")
    show(f"  netlab run {matrix} --hosts {hosts}")


def _networks(found: Sequence[FoundHost]) -> tuple[SharedNetwork, ...]:
    """Those that two and more of the hosts are in; UsageError where there is none."""
    from netlab.runner.start.found_hosts import shared_networks

    networks = shared_networks(found)
    if networks:
        return networks
    addresses = "; ".join(
        f"{each.host.name} has {', '.join(a.address for a in each.addresses) or 'none'}"
        for each in found
    )
    raise UsageError(f"the hosts are in no common network: {addresses}")


def _write(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as made:
            made.write(text)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None


def _confirm(error: UnknownHostKey) -> bool:
    ask_aloud(f"{error.shown} has the key {error.fingerprint}")
    ask_aloud("  on the host itself: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub")
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
