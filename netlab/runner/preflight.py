"""The check before a run: whether two hosts reach each other, and the path MTU between them.

The path MTU may be below the MTU of both interfaces (a switch without jumbo frames, a tunnel). If a
router reports it to the sender's system (ICMP), TCP and messages that may be fragmented continue in
shorter packets. If none does, each way to send a message is tried: whole, in fragments, over TCP.
"""

from __future__ import annotations

import ipaddress
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from netlab import clock, ethernet
from netlab.errors import HostError, ProbeError, UsageError
from netlab.ethernet import IpVersion
from netlab.experiment.hosts import Host, Mirror
from netlab.kinds import PayloadSearch
from netlab.kinds.groups import SentMessages
from netlab.kinds.payload_search.limit_search import Limit, SizeTry, find_limit
from netlab.kinds.payload_search.settings import LEAST_MESSAGE_BYTES
from netlab.measurement.conversation import can, destination
from netlab.measurement.ends import Ends
from netlab.measurement.payload_search import DOUBTS, Direction, whole_messages
from netlab.remote import programs
from netlab.remote.agent import Agent
from netlab.remote.answers import Pending

USUAL_MTU_BYTES = (1500, 1504, 1450, 1400, 1492, 1420, 1476, 1480, 1280, 4470, 9000)
"""MTUs that are tried first: Ethernet, VXLAN, PPPoE, WireGuard, GRE, least of IPv6."""

FIRST_TIMEOUT_S = 1.0
"""Timeout of a message before the round-trip time is known."""
ROUND_TRIPS, LEAST_TIMEOUT_S = 4, 0.1
"""Timeout of a message in longest round trips so far, and its minimum in seconds."""

TCP_S = 3.0
"""Time for a dropped segment: Linux with tcp_mtu_probing then sends shorter ones."""

WITHIN_S = 10.0
"""Time limit of the search in one direction; a longer search has no result."""

_MSS = "tcp_end_snd_mss"
PIECES_BYTES = 1000
"""A UDP message that is this much longer than the longest packet is sent in two packets."""


@dataclass(frozen=True, slots=True)
class NarrowPath:
    """A direction whose path MTU is below the MTU of the sender's interface."""

    sender: str
    receiver: str
    sender_address: str
    receiver_address: str
    mtu_bytes: int
    """Longest IP packet that passes."""
    interface_mtu_bytes: int
    is_reported: bool
    """Whether the sender's system knows this path MTU: from a router, or from its own routes."""
    whole_passes: bool
    """Whether a UDP message that fills the interface's MTU arrives if it may be fragmented."""
    pieces_pass: bool
    """Whether a longer UDP message arrives, which the sender's system fragments."""
    segments_pass: bool
    """Whether TCP's longest segments arrive, or shorter ones in their place."""

    @property
    def sentence(self) -> str:
        """The path MTU, and whether the sender's system knows it."""
        unknown, known = "no router reports this limit", "the sender's system knows this limit"
        knowledge = known if self.is_reported else unknown
        return (
            f"{self.sender}→{self.receiver}: packets of up to {self.mtu_bytes} bytes pass "
            f"({self.sender_address} to {self.receiver_address}), but the sender's interface has "
            f"an MTU of {self.interface_mtu_bytes}; {knowledge}"
        )

    def stops(self, messages: SentMessages, ip_version: int) -> bool:
        """Whether the messages of an end are too long for the path and nothing shortens them."""
        most = messages.message_bytes
        if messages.protocol == "TCP":
            headers_bytes = (
                ethernet.IP_BYTES[ip_version] + ethernet.TCP_BYTES + ethernet.TIMESTAMPS_BYTES
            )
            return not self.segments_pass and (
                most is None or most + headers_bytes > self.mtu_bytes
            )
        packet_bytes = (most or 0) + ethernet.IP_BYTES[ip_version] + ethernet.UDP_BYTES
        if packet_bytes <= self.mtu_bytes:
            return False
        if messages.whole:
            return True
        fits_interface = packet_bytes <= self.interface_mtu_bytes
        return not (self.whole_passes if fits_interface else self.pieces_pass)


def narrow_ways(
    ends: Ends, ip_version: IpVersion, facts: Sequence[Mapping[str, Any] | None] = (None, None)
) -> tuple[NarrowPath, ...]:
    """Each of the two directions whose path MTU is below the MTU of the sender's interface.

    ``facts``: of the server and the client with their routes, if known. A direction that cannot be
    checked is left out, as when its sender cannot forbid fragments. Raises HostGone.
    """
    setup = PayloadSearch(protocol="UDP", ip_version=ip_version, timeout_s=FIRST_TIMEOUT_S)
    of_server, of_client = facts
    directions = Direction(setup, ends, of_client), Direction(setup, ends.reversed(), of_server)
    return tuple(way for way in map(_narrow, directions) if way is not None)


def _narrow(path: Direction) -> NarrowPath | None:
    if not can(path.ends.client, "dont-fragment"):
        return None
    version = path.setup.ip_version
    interface_mtu_bytes = path.interface_mtu_bytes()
    if interface_mtu_bytes is None:
        return None
    headers_bytes = ethernet.IP_BYTES[version] + ethernet.UDP_BYTES
    most_bytes = min(interface_mtu_bytes - headers_bytes, ethernet.MAX_DATAGRAM_BYTES[version])
    if most_bytes <= LEAST_MESSAGE_BYTES["UDP"]:
        return None
    try:
        limit = _limit_of(path, interface_mtu_bytes, most_bytes)
    except ProbeError:
        return None  # UDP does not pass: the check of the protocol, or each trial, reports this
    if limit is None:
        return None
    mtu_bytes = limit.message_bytes + headers_bytes
    return NarrowPath(
        path.ends.client.host.name,
        path.ends.agent_of_server.host.name,
        *path.addresses,
        mtu_bytes=mtu_bytes,
        interface_mtu_bytes=interface_mtu_bytes,
        is_reported=any(size_try.evidence == "icmp" for size_try in limit.tries),
        whole_passes=_passes(path, most_bytes),
        pieces_pass=_passes(
            path, min(most_bytes + PIECES_BYTES, ethernet.MAX_DATAGRAM_BYTES[version])
        ),
        segments_pass=_segments_pass(path, mtu_bytes, interface_mtu_bytes),
    )


def _limit_of(path: Direction, interface_mtu_bytes: int, most_bytes: int) -> Limit | None:
    """The longest message that passes; ``None`` if the largest does or it does not last."""
    attempt = whole_messages(path, interface_mtu_bytes)
    if attempt(most_bytes).passed:
        return None  # as on most paths, with one exchange
    path.exchange(LEAST_MESSAGE_BYTES["UDP"])
    rtt_ns = path.results[LEAST_MESSAGE_BYTES["UDP"]][0].get("rtt_max_ns", 0)
    timeout_s = min(FIRST_TIMEOUT_S, max(LEAST_TIMEOUT_S, ROUND_TRIPS * rtt_ns / 1e9))
    path.setup = replace(path.setup, timeout_s=timeout_s)
    headers_bytes = ethernet.IP_BYTES[path.setup.ip_version] + ethernet.UDP_BYTES
    limit = find_limit(
        _within(WITHIN_S, most_bytes, attempt),
        least_bytes=LEAST_MESSAGE_BYTES["UDP"],
        most_bytes=most_bytes,
        guesses=[most_bytes, *(mtu - headers_bytes + n for mtu in USUAL_MTU_BYTES for n in (0, 1))],
    )
    # The limit is checked again: a short outage, such as of a loose cable, must not make each cell
    # with longer messages impossible.
    longest_bytes = limit.message_bytes
    lasts = longest_bytes < most_bytes and attempt(longest_bytes).passed
    return limit if lasts and not attempt(longest_bytes + 1).passed else None


def _within(
    seconds: float, most_bytes: int, attempt: Callable[[int], SizeTry]
) -> Callable[[int], SizeTry]:
    """``attempt`` with a time limit. A lost largest message is sent again: no search follows."""
    give_up = time.monotonic() + seconds

    def limited(message_bytes: int) -> SizeTry:
        for _ in range(DOUBTS if message_bytes == most_bytes else 0):
            size_try = attempt(message_bytes)
            if size_try.passed or size_try.evidence != "timeout":
                return size_try
        if time.monotonic() > give_up:
            detail = f"the path MTU was not found within {seconds:g} s"
            raise ProbeError("", "deadline", detail=detail)
        return attempt(message_bytes)

    return limited


def _passes(path: Direction, message_bytes: int) -> bool:
    """Whether a message that may be fragmented arrives. The sender may know the path MTU by now."""
    for _ in range(1 + DOUBTS):
        try:
            path.exchange(message_bytes, whole=False)
        except ProbeError:
            continue
        return True
    return False


def _segments_pass(path: Direction, mtu_bytes: int, interface_mtu_bytes: int) -> bool:
    over = path.ends.reversed()
    far_mtu_bytes = Direction(path.setup, over).interface_mtu_bytes()
    if min(interface_mtu_bytes, far_mtu_bytes or interface_mtu_bytes) <= mtu_bytes:
        return True  # the receiver announces a shorter MSS, whose segments pass
    tcp = Direction(replace(path.setup, protocol="TCP", timeout_s=TCP_S), path.ends)
    least_bytes = LEAST_MESSAGE_BYTES["TCP"]
    try:
        tcp.exchange(least_bytes)
        mss_bytes = [result[_MSS] for result in tcp.results[least_bytes] if _MSS in result]
        # Only one segment: data that a network card splits may be dropped for other reasons.
        tcp.exchange(max([least_bytes, *mss_bytes[:1]]) if mss_bytes else interface_mtu_bytes)
    except ProbeError:
        return False
    return True


CHECK_S = 5.0
"""Time limit of a check: enough for three SYNs of TCP (0, 1 and 3 s) and fifty hellos over UDP."""
LAST_WORD_S = 1.0
"""Time for the listening side to end after the connecting side has ended."""

NOT_THROUGH = frozenset(
    {"no-peer", "connect-timeout", "connect-refused", "unreachable", "peer-vanished", "deadline"}
)
"""Errors that a probe reports if nothing arrives from the other probe."""


@dataclass(frozen=True, slots=True)
class PathFault:
    """A fault between two test addresses."""

    protocol: str
    """Empty if a host does not have its address, so that no protocol passes."""
    server_address: str
    client_address: str
    sentence: str
    is_turned: bool = False
    """Whether the protocol passes if the server connects."""

    @property
    def addresses(self) -> tuple[str, str]:
        """The server's and the client's address."""
        return self.server_address, self.client_address


@dataclass(frozen=True, slots=True)
class Preflight:
    """The result of the check: protocols that do not pass, and paths that drop long packets."""

    blocked: tuple[PathFault, ...]
    warnings: tuple[str, ...]
    turned: tuple[PathFault, ...] = ()
    """Protocols that pass only if the server connects."""
    narrow: tuple[NarrowPath, ...] = ()
    missing: tuple[PathFault, ...] = ()
    """Pairs of addresses of which a host does not have its own."""

    def connected_by(self, server_address: str, client_address: str) -> dict[str, str]:
        """Protocol → ``client`` or ``server``: the side that connects between two addresses."""
        between = (server_address, client_address)
        turned = {it.protocol for it in self.turned if it.addresses == between}
        return {name: "server" if name in turned else "client" for name in programs.PACKETS}


def preflight(server: Agent, client: Agent, pair: tuple[Host, Host] | None = None) -> Preflight:
    """Check the path between two hosts for each pair of their addresses (``common_addresses``).

    A short message of each protocol goes each way, then the longest packets, over UDP. ``pair``:
    the two hosts, limited to the networks that their pairing names. HostError if the traffic would
    not take the test network, or if no pair of addresses exists.
    """
    faults: list[PathFault] = []
    narrow: list[NarrowPath] = []
    missing_addresses: list[PathFault] = []
    # Interfaces by host and device; ``unproved``: those whose counters do not show the packets.
    unproved: list[tuple[str, str | None, str]] = []
    proved: set[tuple[str, str | None]] = set()
    addresses = common_addresses(*(pair or (server.host, client.host)))
    for server_address, client_address in addresses:
        ends = programs.RouteEnd(server, server_address), programs.RouteEnd(client, client_address)
        if programs.same_host(server, client):
            faults += _check_both(*ends)
            continue
        try:
            counters = [programs.check_route(end, peer) for end, peer in (ends, ends[::-1])]
        except HostError as error:
            if len(missing_addresses) + 1 == len(addresses) or not any(map(_lacks_address, ends)):
                raise
            missing_addresses.append(PathFault("", server_address, client_address, str(error)))
            continue
        these_faults = _check_both(*ends)
        faults += these_faults
        passed = set(programs.PACKETS) - {it.protocol for it in these_faults if not it.is_turned}
        for (end, peer), facts in zip((ends, ends[::-1]), counters, strict=True):
            device = programs.interface_of(facts, end.address)
            sentence = programs.check_counters(end, peer, facts, passed)
            if sentence is None:
                proved.add((end.name, device))
            else:
                unproved.append((end.name, device, sentence))
        if "UDP" in passed:
            narrow += _narrow_between(*ends, these_faults, counters)
    # Windows may report the route of only one IP version. The counters of this version also prove
    # that the other version uses the test network, if both addresses are on the same device.
    warnings = [sentence for host, device, sentence in unproved if (host, device) not in proved]
    return Preflight(
        blocked=tuple(fault for fault in faults if not fault.is_turned),
        warnings=(
            *(fault.sentence for fault in (*faults, *missing_addresses)),
            *(way.sentence for way in narrow),
            *warnings,
        ),
        turned=tuple(fault for fault in faults if fault.is_turned),
        narrow=tuple(narrow),
        missing=tuple(missing_addresses),
    )


def _lacks_address(end: programs.RouteEnd) -> bool:
    facts = end.agent.facts()
    return "addresses" in facts and programs.interface_of(facts, end.address) is None


def _narrow_between(
    server: programs.RouteEnd,
    client: programs.RouteEnd,
    faults: list[PathFault],
    facts: list[Mapping[str, Any]],
) -> tuple[NarrowPath, ...]:
    """The directions with a path MTU below the sender's interface MTU. ``facts``: of both ends."""

    def network_of(end: programs.RouteEnd) -> str:
        names = end.agent.host.addresses.items()
        return next((name for name, listed in names if end.address in listed), "")

    ends = Ends(
        server=server.agent,
        client=client.agent,
        same_host=False,
        connected_by={fault.protocol: "server" for fault in faults if fault.is_turned},
        networks={"server": network_of(server), "client": network_of(client)},
    )
    return narrow_ways(ends, _version_of(server.address), facts)


def preflight_service(client: Agent, server: Host) -> Preflight:
    """Check the path to a host without an agent, by its echo. HostError if it is wrong."""
    address = server.service_addresses[0]
    try:
        end = programs.RouteEnd(client, client.host.address(None, _version_of(address)))
    except UsageError as error:
        return Preflight(blocked=(), warnings=(f"{server.name}: {error}",))
    own = is_own_address(client.host, address)
    peer = _Service(server.name, address)
    facts = {} if own else programs.check_route(end, peer)
    blocked: list[PathFault] = []
    if (echo := server.mirror) is None:
        return Preflight(blocked=(), warnings=())
    for protocol in programs.PACKETS:
        fault = _check_echo(protocol, end, echo)
        if fault is not None:
            sentence = f"{protocol}: {server.name} does not echo at port {echo.port} ({fault})"
            blocked.append(PathFault(protocol, echo.address, end.address, sentence))
    passed = set(programs.PACKETS) - {fault.protocol for fault in blocked}
    unproved = None if own else programs.check_counters(end, peer, facts, passed)
    warnings = [*(fault.sentence for fault in blocked), *([unproved] if unproved else [])]
    return Preflight(blocked=tuple(blocked), warnings=tuple(warnings))


def _version_of(address: str) -> IpVersion:
    return 6 if ipaddress.ip_address(address.partition("%")[0]).version == 6 else 4


def is_own_address(host: Host, address: str) -> bool:
    """Whether traffic to ``address`` never leaves ``host``, according to the inventory."""
    bare, *own = (
        ipaddress.ip_address(text.partition("%")[0])
        for text in (address, *chain.from_iterable(host.addresses.values()))
    )
    return bare.is_loopback or bare in own


def ends_without_agent(server: Host, client: Agent) -> Ends:
    """The two ends of a test whose server runs no agent."""
    return Ends(
        server=None,
        client=client,
        same_host=all(is_own_address(client.host, own) for own in server.service_addresses),
        mirror=server.mirror,
        served=server.serves,
        mirror_name=server.name,
    )


@dataclass(frozen=True, slots=True)
class _Service:
    """The answering side of a check, if it has no agent."""

    name: str
    address: str


def _check_echo(protocol: str, client: programs.RouteEnd, echo: Mirror) -> str | None:
    """Send three requests; returns ``None`` if an answer arrives, else the reason."""
    limit: dict[str, Any] = {"timeout": "0.5"} if protocol == "UDP" else {}
    pending = client.agent.start(
        "ask",
        kind="round_trip",
        proto=protocol.lower(),
        open="connect",
        peer="echo",
        to=destination(echo.address, echo.port),
        bind=client.address,
        message=64,
        count=3,
        deadline=f"{CHECK_S:g}",
        **limit,
    )
    try:
        _first(pending, "result", CHECK_S + LAST_WORD_S)
    except ProbeError as fault:
        return fault.word
    return None


def common_addresses(server: Host, client: Host) -> tuple[tuple[str, str], ...]:
    """Pairs of (server's, client's) test addresses in the first network of each host, and in each
    network that both hosts name. If the pairing names the network of a host, there are only the
    addresses in this network.
    """
    networks: list[str | None] = [None]
    if server.only_network is None and client.only_network is None:
        networks += [name for name in server.addresses if name in client.addresses]
    pairs: dict[tuple[str, str], None] = {}
    for network in networks:
        for version in (4, 6):
            try:
                pair = server.address(network, version), client.address(network, version)
            except UsageError:
                continue
            pairs[pair] = None
    if not pairs:
        raise HostError(
            f"{server.name} and {client.name} have no test addresses in the same network and of "
            "the same IP version"
        )
    return tuple(pairs)


def _check_both(server: programs.RouteEnd, client: programs.RouteEnd) -> list[PathFault]:
    """The protocols that do not pass, or pass only if the server connects."""
    faults = {protocol: _check(protocol, server, client) for protocol in programs.PACKETS}
    results: list[PathFault] = []
    for protocol, fault in faults.items():
        if fault is None:
            continue
        why, is_blocked = fault
        between = protocol, server.address, client.address
        # A firewall that blocks incoming connections lets in the answers to outgoing connections.
        if is_blocked and _check(protocol, client, server) is None:
            sentence = (
                f"{protocol} {client.name}→{server.name} is blocked, and "
                f"{server.name}→{client.name} passes: the server {server.name} connects to the "
                "client"
            )
            if protocol == "TCP":
                sentence += ", so the server's system decides about TCP timestamps and the MSS"
            results.append(PathFault(*between, sentence, is_turned=True))
            continue
        passing = [other for other, its_fault in faults.items() if its_fault is None]
        also = f", {passing[0]} passes" if passing else ""
        results.append(PathFault(*between, f"{protocol} {why}{also}"))
    return results


def _check(
    protocol: str, listener: programs.RouteEnd, connector: programs.RouteEnd
) -> tuple[str, bool] | None:
    """Send a hello from the connecting side and await the answer; ``None`` if both arrive, else a
    sentence and whether the path loses packets. If not, the check could not run, as with a port in
    use.
    """
    common: dict[str, Any] = {
        "kind": "check",
        "proto": protocol.lower(),
        "token": secrets.token_hex(16),
        "deadline": f"{CHECK_S:g}",
        "message": 64,
    }
    listen_keys: dict[str, Any] = {"bind": listener.address}
    address_words = listener.address
    ports = listener.agent.host.ports
    if ports is not None:
        listen_keys["port"] = ports
        # A port that the system chose is not named, because it differs each time.
        address_words += f", ports {ports}"
    receive_test = listener.agent.start("receive", open="listen", **listen_keys, **common)
    try:
        ready = _first(receive_test, "ready", CHECK_S)
    except ProbeError as fault:
        return f"cannot be checked: {fault}", False
    to = destination(listener.address, ready["port"])
    send_test = connector.agent.start(
        "send", open="connect", to=to, bind=connector.address, **common
    )
    try:
        _first(send_test, "result", CHECK_S + LAST_WORD_S)
        _first(receive_test, "result", CHECK_S + LAST_WORD_S)
    except ProbeError as fault:
        way = f"{connector.name}→{listener.name}"
        blocked = fault.word in NOT_THROUGH
        has_arrived = False
        if blocked and fault.host == connector.name and protocol == "UDP":
            with suppress(ProbeError):
                has_arrived = bool(_first(receive_test, "result", LAST_WORD_S))
        if not blocked:
            result = f"{way} cannot be checked: {fault}"
        elif has_arrived:  # the hello was answered, but the answer was lost
            result = (
                f"{listener.name}→{connector.name} is blocked ({connector.address} receives "
                f"nothing from {address_words})"
            )
        else:
            result = (
                f"{way} is blocked ({fault.word}, from {connector.address} to {address_words}); "
                f"{_remedy(listener.agent)}"
            )
        listener.agent.start("stop", test=receive_test.id, abort=1)
        return result, blocked
    return None


def _remedy(agent: Agent) -> str:
    name = agent.host.name
    if agent.host.os != "W":
        return f"open the ports in the firewall of {name}, and name them with `port_range:`"
    return (
        f"allow the probe on {name}, as its administrator: netsh advfirewall firewall add rule "
        f'name=netlab dir=in action=allow program="{agent.probe_path or "PATH OF netprobe.exe"}"'
    )


def _first(pending: Pending, kind: str, timeout_s: float) -> Mapping[str, Any]:
    """The first record of this kind; ProbeError if an error or no record comes in time."""
    give_up = clock.monotonic() + timeout_s
    while True:
        record = pending.record(max(0.0, give_up - clock.monotonic()))
        if record["type"] == kind:
            return record
