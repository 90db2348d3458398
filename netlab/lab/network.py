"""Makes and removes namespaces, the management network, the switch, and cables shaped by tc.

The kernel's token bucket (tbf) counts the 14 bytes of Ethernet header and no other framing. Its
size table (stab) adds the rest. This is exact only if no super-packet (GSO) reaches the queue: tbf
splits super-packets itself and counts the segments without the table. ``gso_max_segs 1`` keeps TCP
from producing them; to disable the offloads is not enough. A router forwards super-packets
unchanged, so the hosts' ends of its cables must not produce any either.
"""

from __future__ import annotations

import ipaddress
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from netlab.errors import HostError, UsageError
from netlab.lab.plan import SECOND, SLOTS, Cable, LabHost, LabPlan, Network, bridge_of
from netlab.lab.programs import run, succeeds

HEADER_BYTES = 14
OVERHEAD_BYTES = 24
"""Framing that the kernel does not count: FCS 4, preamble and start of frame 8, gap 12."""
LEAST_FRAME_BYTES = 84
"""Minimum number of bytes that a frame takes on the wire: 64, plus 20 for preamble, start of frame
and gap."""
LEAST_TABLE_SLOTS = 2048
MOST_TABLE_SLOTS = 16384
"""Maximum number of slots in the size table: tc sends 16 bits per slot, and the netlink message
with all slots has at most 64 KiB."""
BURST_S = 256e-6
"""Depth of the bucket as a time: two full frames at 100 Mbit/s. The timer that refills it is late
by tens of microseconds, so a fixed number of bytes would reduce the rate of a fast cable."""


@dataclass(frozen=True, slots=True)
class Shape:
    """The numbers that limit the rate of one end of a cable."""

    rate_bit_per_s: int
    burst_bytes: int
    limit_bytes: int
    """Length of the queue: the number of full frames times their bytes on the wire. A short frame
    takes only its own bytes."""
    table_mtu_bytes: int
    table_slots: int


def shape_of(rate: float, mtu: int, queue_frames: int) -> Shape:
    """The numbers for a cable of ``rate`` bit/s and ``mtu`` bytes.

    They are exact to the byte up to MTU 16,000; for a larger MTU, the length of a frame is rounded
    up to a multiple of 2, 4 or 8 bytes. A burst below two frames reduces the rate (one frame: by
    5 %).
    """
    frame_bytes = mtu + HEADER_BYTES + OVERHEAD_BYTES  # on the wire: 1538 for MTU 1500
    longest = LEAST_TABLE_SLOTS
    while longest <= frame_bytes + 4:  # 4 bytes for a VLAN tag
        longest *= 2
    return Shape(
        rate_bit_per_s=round(rate),
        burst_bytes=max(2 * frame_bytes + 124, round(rate / 8 * BURST_S)),
        limit_bytes=queue_frames * frame_bytes,
        table_mtu_bytes=longest - 1,
        table_slots=min(longest, MOST_TABLE_SLOTS),
    )


def shape(cable: Cable) -> None:
    """Give each end of a cable with a rate its queue, and set checksums as requested."""
    shapes = [cable.shape_at(end) for end in cable.ends]
    for end, (rate, queue_frames) in zip(cable.ends, shapes, strict=True):
        if any(any_rate is not None for any_rate, _ in shapes):
            _ip(f"link set dev {end.interface} gso_max_segs 1", end.namespace)
            offloads = "tso off gso off gro off tx-udp-segmentation off"
            _inside(end.namespace, f"ethtool -K {end.interface} {offloads}")
        if rate is not None:
            bits = shape_of(rate, cable.mtu, queue_frames)
            command = (
                f"tc -n {end.namespace} qdisc replace dev {end.interface} root handle 1: "
                f"stab overhead {OVERHEAD_BYTES} linklayer ethernet mpu {LEAST_FRAME_BYTES} "
                f"mtu {bits.table_mtu_bytes} tsize {bits.table_slots} tbf "
                f"rate {bits.rate_bit_per_s}bit burst {bits.burst_bytes} limit {bits.limit_bytes}"
            )
            run(*command.split())
        if cable.software_checksums:
            _inside(end.namespace, f"ethtool -K {end.interface} tx off rx off")


def _ip(command: str, namespace: str | None = None) -> None:
    """Run ``ip``, in a network namespace if one is named. No word of a command here has a space."""
    run("ip", *(() if namespace is None else ("-n", namespace)), *command.split())


def _inside(namespace: str, command: str) -> None:
    run("ip", "netns", "exec", namespace, *command.split())


NAMESPACES = Path("/run/netns")
INTERFACES = Path("/sys/class/net")
SWITCH = "switch"
SECOND_SWITCH = "switch-2"
"""Switch of the second test network. If both networks had one switch, each host would answer ARP
requests for both of its addresses on both cables."""

SYSCTLS = (
    "net.ipv4.ip_forward=0 net.ipv6.conf.all.forwarding=0 "
    "net.ipv6.conf.all.disable_ipv6=0 net.ipv6.conf.default.disable_ipv6=0 "
    # Nobody else can have the address, so duplicate address detection would only cost a second.
    "net.ipv6.conf.default.accept_dad=0 "
    # The cable shall carry measurement traffic only.
    "net.ipv6.conf.default.router_solicitations=0 "
    # The loss of one trial must not affect the congestion window of the next trial.
    "net.ipv4.tcp_no_metrics_save=1"
)
SWITCH_SYSCTLS = "net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1"
"""A switch has no address and sends nothing by itself."""
ROUTER_SYSCTLS = (
    "net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv6.conf.default.accept_dad=0 "
    "net.ipv6.conf.default.router_solicitations=0"
)


def processes(namespace: str) -> list[int]:
    """The processes in a network namespace; none if there is no such namespace."""
    if not (NAMESPACES / namespace).exists() or not succeeds("ip", "netns", "pids", namespace):
        return []
    return [int(pid) for pid in run("ip", "netns", "pids", namespace).split()]


def routed_networks() -> list[Network]:
    """Every network that this machine has a route or an address in, except default routes.

    Networks larger than /7 are left out too: VPNs use halves and quarters of the whole address
    space as default routes.
    """
    networks: list[Network] = []
    for family in ("-4", "-6"):
        for route in json.loads(run("ip", "-j", family, "route", "show", "table", "all") or "[]"):
            if route["dst"] == "default":
                continue
            network = ipaddress.ip_network(route["dst"], strict=False)
            if network.prefixlen >= 7:
                networks.append(network)
    return networks


def slots_in_use() -> set[int]:
    """Slots (see plan.py) whose interface names exist already, even if other programs made them."""
    present = {entry.name.partition("-")[0] for entry in INTERFACES.iterdir()}
    return {slot for slot in range(SLOTS) if bridge_of(slot) in present}


def refuse_taken_names(plan: LabPlan) -> None:
    """Raise UsageError if a namespace of the plan exists already: another program made it."""
    for namespace in _namespaces(plan):
        if (NAMESPACES / namespace).exists():
            raise UsageError(
                f"the network namespace {namespace} exists and belongs to no lab of netlab: "
                f"choose another --name, or run `ip netns delete {namespace}`"
            )


def make(plan: LabPlan) -> None:
    """Make the namespaces, the management network and the cables of a plan."""
    _ip(f"link add name {plan.bridge} type bridge stp_state 0")
    _ip(f"address add {plan.controller_address} dev {plan.bridge}")
    for host in plan.hosts:
        _make_host(plan, host, SYSCTLS)
    _ip(f"link set dev {plan.bridge} up")
    if plan.switch is not None:
        # In a namespace of its own, this machine's packet filters do not apply.
        _ip(f"netns add {plan.switch}")
        _inside(plan.switch, f"sysctl -q -w {SWITCH_SYSCTLS}")
        for bridge in [SWITCH, SECOND_SWITCH][: 1 + any(host.second for host in plan.hosts)]:
            options = "stp_state 0 forward_delay 0 mcast_snooping 0"
            _ip(f"link add name {bridge} up type bridge {options}", plan.switch)
    if plan.device is not None:
        _make_host(plan, plan.device, ROUTER_SYSCTLS)
    for cable in plan.cables:
        _make_cable(cable)
        for end in cable.ends:
            if end.namespace == plan.switch:
                master = SECOND_SWITCH if cable.ends[0].interface == SECOND else SWITCH
                _ip(f"link set dev {end.interface} master {master}", plan.switch)
    if plan.router is not None:
        # Each host reaches the other host's network through the router.
        for cable, far_cable in (plan.cables, plan.cables[::-1]):
            (near, router), (far_host, _) = cable.ends, far_cable.ends
            for gateway, beyond in zip(router.addresses, far_host.addresses, strict=True):
                network, via = ipaddress.ip_interface(beyond).network, gateway.partition("/")[0]
                _ip(f"route add {network} via {via}", near.namespace)


def _make_host(plan: LabPlan, host: LabHost, sysctls: str) -> None:
    _ip(f"netns add {host.namespace}")
    _inside(host.namespace, f"sysctl -q -w {sysctls}")
    peer = f"peer name management netns {host.namespace}"
    _ip(f"link add name {host.port} type veth {peer}")
    _ip(f"link set dev {host.port} master {plan.bridge} up")
    prefix = plan.controller_address.partition("/")[2]
    address = f"{host.management_address}/{prefix}"
    _ip(f"address add {address} dev management", host.namespace)
    _ip("link set dev lo up", host.namespace)
    _ip("link set dev management up", host.namespace)


def _make_cable(cable: Cable) -> None:
    first, second = cable.ends
    peer = f"peer name {second.interface} mtu {cable.mtu} netns {second.namespace}"
    _ip(f"link add name {first.interface} mtu {cable.mtu} type veth {peer}", first.namespace)
    for end in cable.ends:
        for address in end.addresses:
            no_dad = "nodad" if ":" in address else ""
            _ip(f"address add {address} dev {end.interface} {no_dad}", end.namespace)
        _ip(f"link set dev {end.interface} up", end.namespace)
    shape(cable)


def missing(plan: LabPlan) -> Iterator[tuple[str, str]]:
    """Each missing piece of a plan: its network namespace (empty: the machine's) and a sentence."""
    if not (INTERFACES / plan.bridge).exists():
        yield "", f"the bridge {plan.bridge} of the management network is gone"
    # The file of a namespace is a mount point; an unmount leaves the file.
    lost_namespaces = [name for name in _namespaces(plan) if not os.path.ismount(NAMESPACES / name)]
    for namespace in lost_namespaces:
        yield namespace, f"its network namespace {namespace} is gone"
    interfaces = [(end.namespace, end.interface) for cable in plan.cables for end in cable.ends]
    interfaces += [(host.namespace, "management") for host in plan.logins]
    for namespace, interface in interfaces:
        query = ("link", "show", "dev", interface)
        if namespace not in lost_namespaces and not succeeds("ip", "-n", namespace, *query):
            yield namespace, f"its interface {interface} is gone"


def remove(plan: LabPlan) -> None:
    """Remove all existing pieces of a plan.

    Interfaces are removed first, one by one: deleting a namespace removes its interfaces only some
    time later, and not at all while another process runs in it.
    """
    for cable in plan.cables:
        for end in cable.ends:
            if (NAMESPACES / end.namespace).exists():
                succeeds("ip", "-n", end.namespace, "link", "delete", "dev", end.interface)
    for interface in [*(host.port for host in plan.logins), plan.bridge]:
        try:
            if (INTERFACES / interface).exists():
                _ip(f"link delete dev {interface}")
        except HostError:
            # The kernel removes it some time after the namespace of its peer.
            if (INTERFACES / interface).exists():
                raise
    for namespace in _namespaces(plan):
        if (NAMESPACES / namespace).exists():
            _ip(f"netns delete {namespace}")


def _namespaces(plan: LabPlan) -> list[str]:
    between = [name for name in (plan.switch, plan.router) if name is not None]
    return [host.namespace for host in plan.hosts] + between
