"""What `netlab measure` measures between two hosts, and the text of the matrix for it.

The request of the command line is called a question here: "What is the throughput?".

The networks that two hosts have in common, and the addresses of both hosts in them.

Hosts and tests as YAML, for files that people edit further.
"""

from __future__ import annotations

import ipaddress
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from netlab.errors import UsageError
from netlab.experiment.feasibility import STREAMS_WITH_A_THREAD
from netlab.experiment.hosts import Host
from netlab.experiment.matrix import Link
from netlab.measurement.conversation import destination
from netlab.remote.routes import addresses_in

Interface = ipaddress.IPv4Interface | ipaddress.IPv6Interface


@dataclass(frozen=True, slots=True)
class HostAddress:
    """An address of a host that another host may reach."""

    device: str
    address: str
    network: str
    """The network, such as ``10.0.0.0/24``."""


@dataclass(frozen=True, slots=True)
class Common:
    """One network that both hosts have an address in."""

    server_address: str
    client_address: str
    network: str
    """The network, such as ``10.0.0.0/24``, or its name in an inventory; empty if unknown."""
    server_device: str
    client_device: str

    @property
    def ip_version(self) -> int:
        """4 or 6."""
        return ipaddress.ip_address(self.server_address).version


def common_networks(
    server: Mapping[str, Any], client: Mapping[str, Any], ip_version: int | None = None
) -> tuple[Common, ...]:
    """The networks that both hosts are in, by the ``addresses`` in their facts; IPv4 first.

    ``server`` and ``client``: the facts that their probes report. Loopback, link-local and single
    addresses (``/32``, ``/128``) are left out: they are of no use between two hosts.
    """
    pairs = [
        Common(
            str(server_interface.ip),
            str(client_interface.ip),
            str(server_interface.network),
            device,
            own,
        )
        for device, server_interface in _addresses(server)
        for own, client_interface in _addresses(client)
        if server_interface.version == client_interface.version
        and server_interface.network == client_interface.network
        and server_interface.ip != client_interface.ip
        and ip_version in (None, server_interface.version)
    ]
    # If a host has several addresses in one network, the first one is taken.
    by_network = {pair.network: pair for pair in reversed(pairs)}
    return tuple(sorted(by_network.values(), key=lambda pair: (pair.ip_version, pairs.index(pair))))


def addresses_of(facts: Mapping[str, Any]) -> tuple[HostAddress, ...]:
    """The host's addresses that another host may reach."""
    return tuple(
        HostAddress(device, str(local.ip), str(local.network))
        for device, local in _addresses(facts)
    )


def has_address(facts: Mapping[str, Any], address: str) -> bool:
    """Whether the host has ``address``, or does not report its addresses."""
    own = [str(local.ip) for _, local in _addresses(facts, all_kinds=True)]
    return not own or address in own


def address_words(facts: Mapping[str, Any]) -> str:
    """The host's addresses that another host may reach, for a sentence."""
    return ", ".join(f"{device} {local}" for device, local in _addresses(facts)) or "none"


def routed(server_address: str, facts: Mapping[str, Any]) -> Common | None:
    """``server_address``, and the address from which the client's route to it sends; ``None`` if
    there is no such route.

    ``facts``: the facts of the client, with its route to this address.
    """
    source = facts.get("route_source")
    if not isinstance(source, str):
        return None
    device = str(facts.get("route_interface", ""))
    return Common(server_address, source, "", "", device)


def _addresses(
    facts: Mapping[str, Any], *, all_kinds: bool = False
) -> Iterator[tuple[str, Interface]]:
    """Device and address of each entry of ``addresses`` in the facts.

    Addresses that are of no use between two hosts are left out unless ``all_kinds``.
    """
    for device, local in addresses_in(facts):
        if not device:
            continue
        try:
            interface = ipaddress.ip_interface(local.partition("%")[0])
        except ValueError:
            continue
        is_single = interface.network.num_addresses == 1
        if all_kinds or not (interface.is_loopback or interface.is_link_local or is_single):
            yield device, interface


def several(commons: Sequence[Common]) -> UsageError:
    """The error to raise if nobody can be asked which network to use. Its message lists the
    choices, such as ``--to 10.0.0.1 (10.0.0.0/24, eth1)``.
    """
    choices = "; ".join(
        f"--to {common.server_address} ({common.network}, {common.server_device})"
        for common in commons
    )
    return UsageError(f"the hosts have several networks in common; choose one: {choices}")


_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*", re.ASCII)
_NO_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})
"""Words that readers of YAML 1.1 and 1.2 do not read as text."""


def host_lines(hosts: Iterable[Host]) -> Iterator[str]:
    """The lines below ``hosts:``, one per host; each host once."""
    for name, host in {host.name: host for host in hosts}.items():
        yield f"  {flow(name)}: {flow(entry_of(host))}"


def entry_of(host: Host) -> Mapping[str, Any]:
    """The entry of a host, in the form that it has in an inventory."""
    ssh = host.ssh
    entry: dict[str, Any] = {}
    if host.local:
        entry["local"] = True
    elif ssh is not None:
        bare = f"[{ssh.host}]" if ":" in ssh.host else ssh.host
        user = "" if ssh.user is None else f"{ssh.user}@"
        entry["ssh"] = f"{user}{bare}" + ("" if ssh.port is None else f":{ssh.port}")
    entry["os"] = host.os
    if host.mirror is not None:
        entry["mirror"] = {"address": host.mirror.address, "port": host.mirror.port}
    if host.serves:
        entry["serves"] = {
            name: destination(at.address, at.port) for name, at in host.serves.items()
        }
    if host.has_agent:
        entry["addresses"] = {name: list(listed) for name, listed in host.addresses.items()}
    optional = {"machine": host.machine, "identity": host.identity, "host_key": host.host_key}
    entry |= {name: value for name, value in optional.items() if value is not None}
    if host.ports is not None:
        entry["port_range"] = host.ports
    return entry


def flow(value: Any) -> str:
    """A value in YAML's flow style, on one line. Apart from words and keys without quotes, the
    text is JSON, and JSON is also YAML (specification of YAML 1.2, section 1.3).
    """
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key}: {flow(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    is_word = isinstance(value, str) and _WORD.fullmatch(value) and value.lower() not in _NO_WORDS
    return value if is_word else json.dumps(value, ensure_ascii=False)


Senders = Literal["client-sends", "server-sends", "both"]

TCP_MESSAGE_BYTES = 128 * 1024
"""Message size of TCP, as iperf3 sends by default (its ``-l``)."""
UDP_MESSAGE_BYTES = {4: 1472, 6: 1452}
"""IP version → payload that fills an Ethernet frame of MTU 1500 (RFC 791, RFC 8200, RFC 768)."""
PING_BYTES = 64
"""Size of a request, and of its answer, when latency is measured."""
IDLE_S = 5.0
"""Duration of the round trips without a load, before the load and after it."""
WARM_UP_S = 0.2
"""Time of sending before the measured time: enough for TCP's slow start on the path of a lab."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What to measure between two hosts: throughput, latency, or latency under load."""

    protocol: Literal["TCP", "UDP"] = "TCP"
    message_bytes: int | None = None
    """``None``: the size that this file defines for the protocol and the test."""
    direction: Senders = "client-sends"
    latency: bool = False
    """Measure round trips instead of throughput."""
    load: bool = False
    """Measure round trips before, while and after streams fill the path."""
    seconds: float = 5.0
    streams: int = 1
    rate: str | None = None
    """The offered rate, as a matrix writes it; ``None``: as fast as possible."""

    def test(self, ip_version: int) -> Mapping[str, Any]:
        """The entry of ``tests:`` in the matrix, which measures what this question asks for."""
        if self.latency:
            return {
                "test": "round_trip",
                "protocol": self.protocol,
                "message_size": self.message_bytes or PING_BYTES,
            }
        if self.load:
            idle = f"{IDLE_S:g}s"
            load = self._streams(ip_version)
            return {"test": "latency_under_load", "load": load, "idle": idle, "after": idle}
        adaptive = {"receive": "adaptive"} if self.asks_for_capacity else {}
        return {"test": "stream", **self._streams(ip_version), **adaptive}

    @property
    def what(self) -> str:
        """The measured quantity, for a title."""
        if self.load:
            return "Latency under load"
        return "Round trips" if self.latency else "Throughput"

    def _streams(self, ip_version: int) -> Mapping[str, Any]:
        usual = UDP_MESSAGE_BYTES[ip_version] if self.protocol == "UDP" else TCP_MESSAGE_BYTES
        return {
            "protocol": self.protocol,
            "message_size": self.message_bytes or usual,
            **({} if self.direction == "client-sends" else {"direction": self.direction}),
            **({} if self.streams == 1 else {"streams": self.streams}),
            **({} if self.rate is None else {"rate": self.rate}),
        }

    @property
    def asks_for_capacity(self) -> bool:
        """Whether to measure the highest possible throughput. If so, the receiver chooses its
        receive call (``adaptive``), so that the receiver is not the bottleneck. Streams that share
        threads can only use blocking calls, so the result is false for them.
        """
        return self.rate is None and self.streams <= STREAMS_WITH_A_THREAD


def matrix_text(
    question: Question, server: Host, client: Host, link: Link | None, ip_version: int
) -> str:
    """The text of a matrix that contains its hosts: `netlab run` can repeat the measurement."""
    is_one_host = server.name == client.name
    between = f"within {server.name}" if is_one_host else f"from {client.name} to {server.name}"
    lines = [
        f"title: {flow(f'{question.what}, {question.protocol}, {between}')}",
        "hosts:",
        *host_lines([server, client]),
        *([] if link is None else [f"link: {flow(_link(link))}"]),
        f"pairings: [{server.name}+{client.name}]",
        f"defaults: {flow(_defaults(question, ip_version))}",
        "tests:",
        f"  - {flow(question.test(ip_version))}",
    ]
    return "".join(f"{line}\n" for line in lines)


def _defaults(question: Question, ip_version: int) -> Mapping[str, Any]:
    return {
        "duration": f"{question.seconds:g}s",
        **({} if question.load else {"warm_up": f"{WARM_UP_S:g}s"}),
        **({} if ip_version == 4 else {"ip": ip_version}),
    }


def _link(link: Link) -> Mapping[str, Any]:
    return {"rate": round(link.rate_bit_per_s), "mtu": link.mtu_bytes}
