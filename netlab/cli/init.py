"""`netlab init`: asks hosts for their facts and writes the inventory and a first matrix."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from netlab.cli.completion import INVENTORY
from netlab.cli.options import FILE, hosts_option, loudness_options, pairs_of
from netlab.cli.output import chosen_line, notify, show, show_question
from netlab.errors import UnknownHostKey, UsageError

if TYPE_CHECKING:
    from netlab.runner.start.found_hosts import FoundHost, SharedNetwork

FIRST_MATRIX = Path("first.yaml")
SEVERAL = "The hosts have several networks in common:"


@click.command(short_help="Look at hosts; write lab.yaml and a first matrix.")
@click.argument("names", nargs=-1, metavar="[HOST]...")
@click.option("--yes", is_flag=True, help="Ask nothing. Unknown host keys are still refused.")
@click.option(
    "--host-key",
    "keys",
    multiple=True,
    metavar="HOST=KEY",
    callback=pairs_of("HOST=KEY", "nas=SHA256:…", may_be_empty=False),
    help="The key of a HOST, or its fingerprint SHA256:… (may be repeated).",
)
@hosts_option(default=INVENTORY, show_default=True)
@click.option(
    "--matrix",
    type=FILE,
    metavar="FILE",
    default=FIRST_MATRIX,
    show_default=True,
    help="The file for the first matrix.",
)
@loudness_options
def init(
    names: tuple[str, ...], yes: bool, keys: dict[str, str], hosts: Path, matrix: Path
) -> None:
    """Ask each HOST (user@host:port, as for ssh) for its facts; write an inventory and a matrix.

    The inventory has the hosts' systems, addresses and keys. The matrix is a short first
    measurement of all pairings. With one HOST, this machine is the other host. An unknown host key
    is shown, and it is pinned only after you confirm it.
    """
    from netlab.runner.hosts.agent_group import AgentGroup
    from netlab.runner.start.found_hosts import inventory_text, matrix_text, with_addresses
    from netlab.runner.start.look import hosts_to_ask, link_within, look, with_keys
    from netlab.units import many

    if not names:
        raise UsageError(
            "name a HOST, as for ssh. Without hosts, `netlab measure` measures within this machine"
        )
    for file in (hosts, matrix):
        if file.exists():
            raise UsageError(f"{file} exists already; name another file (--hosts, --matrix)")
    asks = not yes and sys.stdin.isatty() and sys.stderr.isatty()
    with AgentGroup(notify) as agents:
        confirm = _confirm if asks else _nobody_confirms
        listed = with_keys(agents, hosts_to_ask(names, keys), confirm)
        probed = look(agents, listed)
        for candidate in probed:
            notify(f"{candidate.host.name}: {candidate.words}")
        networks = _networks(probed)
        if asks and len(networks) > 1:
            networks = _first(networks)
        members = with_addresses(probed, networks)
        link = link_within(agents, networks[0], members)
    words = {candidate.host.name: candidate.words for candidate in probed}
    _write(hosts, inventory_text(members, words))
    _write(matrix, matrix_text(members, link))
    left_out = [
        candidate.host.name
        for candidate in probed
        if candidate.host.name not in {h.name for h in members}
    ]
    if left_out:
        notify(f"left out, because they share no network with another host: {', '.join(left_out)}")
    show(f"{hosts}: {many(len(members), 'host')}; {matrix}: a first matrix. Next:")
    show(f"  netlab run {matrix} --hosts {hosts}")


def _networks(hosts: Sequence[FoundHost]) -> tuple[SharedNetwork, ...]:
    """The networks that two or more of the hosts share; UsageError if there is none."""
    from netlab.runner.start.found_hosts import shared_networks

    networks = shared_networks(hosts)
    if networks:
        return networks
    addresses = "; ".join(
        f"{host.host.name} has {', '.join(a.address for a in host.addresses) or 'none'}"
        for host in hosts
    )
    raise UsageError(f"the hosts share no network: {addresses}")


def _write(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as output:
            output.write(text)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None


def _confirm(error: UnknownHostKey) -> bool:
    show_question(f"{error.shown} has the key {error.fingerprint}")
    show_question(
        "  to see it on the host itself: ssh-keygen -lf /etc/ssh/ssh_host_ed25519_key.pub"
    )
    return click.confirm("Is it the same?", default=False, err=True)


def _nobody_confirms(error: UnknownHostKey) -> bool:
    raise UnknownHostKey(
        error.shown,
        error.key,
        error.fingerprint,
        f"{error.shown}: unknown host key {error.fingerprint}; compare it with the key on the host "
        f"and confirm it with --host-key HOST={error.fingerprint.split()[-1]}",
    )


def _first(networks: Sequence[SharedNetwork]) -> tuple[SharedNetwork, ...]:
    number = chosen_line(SEVERAL, [network.words for network in networks], "Tests go over")
    first_network = networks[number]
    return (first_network, *(network for network in networks if network is not first_network))
