"""`netlab measure`: one measurement of two hosts; `netlab init`: inventory and first matrix."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from netlab.cli import options
from netlab.cli.output import chosen_line, is_quiet, is_verbose, notify, show, show_data
from netlab.cli.report import show_answer
from netlab.errors import UnknownHostKey, UsageError
from netlab.runner.ending import interruptible
from netlab.units import many, parse_bytes, parse_rate

if TYPE_CHECKING:
    from netlab.runner.two_hosts import Question, SharedNetwork


WINDOW_S, LOAD_S = 5.0, 20.0
"""Default lengths of the measurement, without and with ``--load``. Under load, TCP needs time to
settle."""


def _cpus(text: str) -> dict[str, str]:
    """``2`` or ``0-3,8`` (of both ends), or ``server=2,client=3``: end → its CPUs. ValueError."""
    ends = dict(re.findall(r"(server|client)=([^=]+?)(?:,(?=[a-z]+=)|$)", text))
    if "=" in text and text != ",".join(f"{end}={cpus}" for end, cpus in ends.items()):
        raise ValueError("write CPUs as 2, as 0-3,8 or as server=2,client=3")
    return ends or dict.fromkeys(("server", "client"), text)


@click.command(short_help="Measure between two hosts: how fast, and what limits it.")
@click.argument("server", required=False, shell_complete=options.host_names)
@click.argument("client", required=False, shell_complete=options.host_names)
@click.option("--udp", is_flag=True, help="UDP in place of TCP.")
@click.option("--latency", is_flag=True, help="Round trips in place of throughput.")
@click.option("--load", is_flag=True, help="Round trips before, during and after streams.")
@options.figure_option(
    "--size message_bytes", "BYTES", parse_bytes, "Message size, such as 1472 or 64KiB."
)
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
@options.figure_option(
    "--rate rate_bit_per_s",
    *("RATE", parse_rate, "Rate to offer, such as 50Mbit.  [default: as fast as possible]"),
)
@click.option("--dscp", metavar="DSCP", help="Differentiated services code point: EF, AF41, 46.")
@options.figure_option(
    "--cpus", "CPUS", _cpus, "CPUs of the probes' threads: 2, 0-3,8 or server=2,client=3."
)
@options.figure_option("--to", "ADDRESS", ip_address, "The server's test address.")
@click.option("--ipv6", is_flag=True, help="Over IPv6.  [default: IPv4 where both have it]")
@options.link_option("what the interfaces report")
@options.mtu_option("with --link 1500")
@options.overhead_option()
@options.hosts_option("lab.yaml, if it exists")
@options.into_option("a new one in runs/")
@click.option("--print-matrix", is_flag=True, help="Print the matrix and measure nothing.")
@options.loudness_options
def measure(
    server: str | None,
    client: str | None,
    hosts: Path | None,
    into: Path | None,
    print_matrix: bool,
    ipv6: bool,
    to: IPv4Address | IPv6Address | None,
    link: float | None,
    mtu: int | None,
    overhead: int,
    **asked: Any,
) -> None:
    """Measure from CLIENT to SERVER, and report its bottleneck.

    Each is a host of the inventory, or user@host:port as for ssh. With SERVER alone, this machine
    is the client. Without hosts, it measures within this machine. netlab asks the hosts for their
    addresses and their link. The run is kept in runs/.
    """
    from netlab.ethernet import Link
    from netlab.runner import two_hosts

    if link is None and (mtu is not None or overhead):
        raise UsageError("--mtu and --overhead describe the link: give its rate with --link too")
    question = _question(
        hosts=[name for name in (server, client) if name is not None],
        inventory=hosts or (options.INVENTORY if options.INVENTORY.exists() else None),
        ip_version=6 if ipv6 else None,
        link=None if link is None else Link(link, mtu or 1500, overhead_bytes=overhead),
        to=None if to is None else str(to),
        **asked,
    )
    progress = two_hosts.LiveFigures(quiet=is_quiet(), verbose=is_verbose())
    with two_hosts.measurable_hosts(question, _choose, notify) as measurable:
        if print_matrix:
            show_data(measurable.file.read_text(encoding="utf-8").rstrip("\n"))
            return
        sender, receiver = measurable.client.name, measurable.server.name
        notify(f"within {sender}" if sender == receiver else f"{sender} to {receiver}")
        if question.load:
            idle, loaded = f"{two_hosts.IDLE_S:g} s", f"{question.seconds:g} s"
            notify(f"idle for {idle}, loaded for {loaded}, then idle again")
        with interruptible():
            folder = measurable.measure(into, progress)
    show_answer(folder)
    if progress.failed:
        raise two_hosts.without_result(folder)


def _question(
    *, udp: bool, both: bool, reverse: bool, seconds: float | None, **asked: Any
) -> Question:
    """``asked``: the parameters that have the name of a field."""
    from netlab.runner.two_hosts import Question

    latency, load = asked["latency"], asked["load"]
    paced, several = asked["rate_bit_per_s"] is not None, asked["streams"] > 1
    of_streams = {"--both": both, "--reverse": reverse, "--rate": paced, "--streams": several}
    for option, given in of_streams.items():
        if latency and given:
            raise UsageError(f"{option} is for throughput: it does not go with --latency")
    if latency and load:
        raise UsageError("--load already measures round trips: leave --latency out")
    if both and reverse:
        raise UsageError("--both and --reverse exclude each other")
    return Question(
        protocol="UDP" if udp else "TCP",
        direction="both" if both else "server-sends" if reverse else "client-sends",
        seconds=seconds or (LOAD_S if load else WINDOW_S),
        **asked,
    )


def _choose(networks: Sequence[SharedNetwork]) -> SharedNetwork:
    """Let the user choose a network; UsageError that lists them if nobody can be asked."""
    from netlab.runner.two_hosts import nobody_chooses

    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        nobody_chooses(networks)
    lines = [network.words for network in networks]
    return networks[chosen_line("The hosts share several networks:", lines)]


@click.command(short_help="Look at hosts; write lab.yaml and a first matrix.")
@click.argument("names", nargs=-1, metavar="[HOST]...")
@click.option("--yes", is_flag=True, help="Ask nothing. Unknown host keys are still refused.")
@click.option(
    "--host-key",
    "keys",
    multiple=True,
    metavar="HOST=KEY",
    callback=options.pairs_of("HOST=KEY", "nas=SHA256:…", may_be_empty=False),
    help="The key of a HOST, or its fingerprint SHA256:… (may be repeated).",
)
@options.hosts_option(default=options.INVENTORY, show_default=True)
@click.option(
    "--matrix",
    type=options.FILE,
    metavar="FILE",
    default=Path("first.yaml"),
    show_default=True,
    help="The file for the first matrix.",
)
@options.loudness_options
def init(
    names: tuple[str, ...], yes: bool, keys: dict[str, str], hosts: Path, matrix: Path
) -> None:
    """Ask each HOST (user@host:port, as for ssh) for its facts; write an inventory and a matrix.

    The inventory has the hosts' systems, addresses and keys. The matrix is a short first
    measurement of all pairings. With one HOST, this machine is the other host. An unknown host key
    is shown, and it is pinned only after you confirm it.
    """
    from netlab.runner import two_hosts
    from netlab.runner.places import AgentGroup

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
        listed = two_hosts.with_keys(agents, two_hosts.hosts_to_ask(names, keys), confirm)
        probed = two_hosts.look(agents, listed)
        for candidate in probed:
            notify(f"{candidate.host.name}: {candidate.words}")
        networks = two_hosts.shared_networks(probed, agents)
        if not networks:
            of_hosts = ((it.host.name, ", ".join(str(a) for _, a in it.addresses)) for it in probed)
            have = "; ".join(f"{name} has {addresses or 'none'}" for name, addresses in of_hosts)
            raise UsageError(f"the hosts share no network: {have}")
        first, (why, is_doubtful) = networks[0], two_hosts.why_first(networks)
        if asks and is_doubtful:
            first = _choose(networks)
        elif len(networks) > 1:
            notify(f"tests go over {first.words}: {why}")
        networks = (first, *(network for network in networks if network is not first))
        members = two_hosts.with_addresses(probed, networks)
    _write(hosts, two_hosts.inventory_text(members, {it.host.name: it.words for it in probed}))
    _write(matrix, two_hosts.first_matrix_text(members, first.link))
    left_out = sorted({it.host.name for it in probed} - {host.name for host in members})
    if left_out:
        notify(f"left out, because they share no network with another host: {', '.join(left_out)}")
    show(f"{hosts}: {many(len(members), 'host')}; {matrix}: a first matrix. Next:")
    show(f"  netlab run {matrix} --hosts {hosts}")


def _write(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as output:
            output.write(text)
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror}") from None


def _confirm(error: UnknownHostKey) -> bool:
    show(f"{error.shown} has the key {error.fingerprint}", err=True)
    key_file = "/etc/ssh/ssh_host_ed25519_key.pub"
    show(f"  to see it on the host itself: ssh-keygen -lf {key_file}", err=True)
    return click.confirm("Is it the same?", default=False, err=True)


def _nobody_confirms(error: UnknownHostKey) -> bool:
    sentence = (
        f"{error.shown}: unknown host key {error.fingerprint}; compare it with the key on the host "
        f"and confirm it with --host-key HOST={error.fingerprint.split()[-1]}"
    )
    raise UnknownHostKey(error.shown, error.key, error.fingerprint, sentence)
