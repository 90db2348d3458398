"""Plants on the path: slower cables, packet filters, and traffic of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from benchmarks.truths.plants import Plant
from benchmarks.truths.site import RATE_BIT_PER_S, RECEIVER, SENDER, Site
from netlab.lab.network import LEAST_FRAME_BYTES, OVERHEAD_BYTES, shape, shape_of
from netlab.lab.plan import Cable
from netlab.lab.programs import run

OTHER_PORT = 5401
OTHER_PAYLOAD_BYTES, OTHER_WIRE_BYTES = 1448, 1514


# ---- cables --------------------------------------------------------------------------------------


@contextmanager
def reshaped(*cables: tuple[Cable, Cable]) -> Iterator[None]:
    """Give the first cable of each pair the properties of the second, until the context ends."""
    try:
        for _, cable in cables:
            shape(cable)
        yield
    finally:
        for usual, _ in cables:
            shape(usual)


def slower(*hosts: str) -> Plant:
    """Slows down the cables of these hosts, in both directions; without a name, all cables."""

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        cables = [site.cable(host) for host in hosts] or list(site.plan.cables)
        with reshaped(*((cable, _slowed(cable, cost)) for cable in cables)):
            yield

    return plant


def _slowed(cable: Cable, cost: float) -> Cable:
    assert cable.rate is not None
    return replace(cable, rate=cable.rate * (1 - cost), device_rate=None)


def slower_towards(host: str) -> Plant:
    """Slows down what the switch sends to a host, but not what the host sends."""

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        cable = site.cable(host)
        assert cable.rate is not None
        with reshaped((cable, replace(cable, device_rate=cable.rate * (1 - cost)))):
            yield

    return plant


def shaper(host: str) -> Plant:
    """A shaper on what the router sends to a host. It counts packets without their framing."""

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        cable = site.cable(host)
        end = cable.ends[1]
        # A full frame has 1514 bytes as the kernel counts it, and 1538 on the wire.
        rate = round(RATE_BIT_PER_S * (1 - cost) * 1514 / 1538)
        with reshaped((cable, cable)):
            qdisc = f"qdisc replace dev {end.interface} root handle 2: tbf rate {rate}bit"
            words = f"tc -n {end.namespace} {qdisc} burst 3200 limit 1514000".split()
            run(*words)
            try:
                yield
            finally:
                run(*f"tc -n {end.namespace} qdisc del dev {end.interface} root".split())

    return plant


@contextmanager
def short_queue(site: Site, frames: float) -> Iterator[None]:
    """Limit the router's queue before the receiver's cable to this number of frames."""
    cable = site.cable(RECEIVER)
    with reshaped((cable, replace(cable, device_queue_frames=max(1, round(frames))))):
        yield


@contextmanager
def narrow(site: Site, _: float) -> Iterator[None]:
    """Slow down the router's cable to the receiver by a half, with a queue of 20 frames."""
    cable = site.cable(RECEIVER)
    with reshaped((cable, replace(_slowed(cable, 0.5), device_queue_frames=20))):
        yield


@contextmanager
def small_mtu(site: Site, below: float) -> Iterator[None]:
    """Reduce the MTU of every cable by ``below`` bytes."""
    ends = [(cable, end) for cable in site.plan.cables for end in cable.ends]

    def set_to(less: int) -> None:
        for cable, end in ends:
            mtu = str(cable.mtu - less)
            words = ("ip", "-n", end.namespace, "link", "set", end.interface, "mtu", mtu)
            run(*words)

    try:
        set_to(round(below))
        yield
    finally:
        set_to(0)


@contextmanager
def long_queue(site: Site, cost: float) -> Iterator[None]:
    """Slow down the router's cable to the receiver, with a queue for all that a search sends."""
    cable = site.cable(RECEIVER)
    with reshaped((cable, replace(_slowed(cable, cost), device_queue_frames=10_000))):
        yield


# ---- what passes ---------------------------------------------------------------------------------


def filtered(
    host: str, hook: str, *rules: str, sets: Sequence[str] = ()
) -> Callable[[Site], AbstractContextManager[None]]:
    """A packet filter in a host or the router: its rules, and the sets of addresses they use."""
    chain = f"add chain inet planted {hook} {{ type filter hook {hook} priority 0; }}"
    declared = [f"add set inet planted {words}" for words in sets]
    adding = [f"add rule inet planted {hook} {rule}" for rule in rules]

    @contextmanager
    def plant(site: Site) -> Iterator[None]:
        site.run(host, "nft", "; ".join(["add table inet planted", chain, *declared, *adding]))
        try:
            yield
        finally:
            site.run(host, "nft", "delete table inet planted")

    return plant


@contextmanager
def black_hole(site: Site, below: float) -> Iterator[None]:
    """Let the router drop packets longer than 1500 - ``below`` bytes, without a report."""
    longest = 1500 - round(below)
    with filtered("router", "forward", f"meta length > {longest} drop")(site):
        yield


@contextmanager
def packet_rate(site: Site, per_second: float) -> Iterator[None]:
    """Limit the router to this number of packets per second to the receiver."""
    address = site.host(RECEIVER).addresses[0]
    rule = f"ip daddr {address} limit rate over {per_second:.0f}/second burst 100 packets drop"
    with filtered("router", "forward", rule)(site):
        yield


def dropped(host: str, hook: str, rule: str) -> Plant:
    """Drops the packets of a rule of nft at a host or the router. ``{0}`` stands for the dial."""

    @contextmanager
    def plant(site: Site, number: float) -> Iterator[None]:
        with filtered(host, hook, rule.format(round(number)))(site):
            yield

    return plant


@contextmanager
def stunned(site: Site, per_second: float) -> Iterator[None]:
    """Let the router forward nothing for 100 ms whenever more frames than this come in."""
    stays_closed = "meta length > 400 ip daddr @closed drop"
    closes = (
        f"meta length > 400 limit rate over {per_second:.0f}/second burst 50 packets "
        "add @closed { ip daddr timeout 100ms } drop"
    )
    closed = ("closed { type ipv4_addr; flags dynamic,timeout; }",)
    with filtered("router", "forward", stays_closed, closes, sets=closed)(site):
        yield


@contextmanager
def own_queue(site: Site, share: float) -> Iterator[None]:
    """Slow down the sender's cable to this share, with a queue of 5 frames of the sender's own."""
    cable = site.cable(SENDER)
    assert cable.rate is not None
    with reshaped((cable, replace(cable, rate=cable.rate * share, queue_frames=5))):
        yield


@contextmanager
def own_silent_queue(site: Site, share: float) -> Iterator[None]:
    """Slow down the sender's cable to this share, with a queue in front of it that takes each frame
    and drops the oldest ones, so no send call fails.
    """
    cable = site.cable(SENDER)
    (end,) = (end for end in cable.ends if end.namespace == site.host(SENDER).namespace)
    assert cable.rate is not None
    tc = ("tc", "-n", end.namespace, "qdisc")
    with reshaped((cable, replace(cable, rate=cable.rate * share))):
        queue = f"dev {end.interface} parent 1:1 handle 2: pfifo_head_drop limit 20"
        run(*tc, "add", *queue.split())
        try:
            yield
        finally:
            run(*tc, "del", "dev", end.interface, "root")


@contextmanager
def reported_mtu(site: Site, below: float) -> Iterator[None]:
    """Reduce the MTU of the router's end of the receiver's cable. The router reports it."""
    cable = site.cable(RECEIVER)
    end = cable.ends[1]
    words = f"ip -n {end.namespace} link set {end.interface} mtu {{}}"
    try:
        run(*words.format(cable.mtu - round(below)).split())
        yield
    finally:
        run(*words.format(cable.mtu).split())
        # The sender's system remembers the limit for minutes.
        site.run(SENDER, *["ip", "route", "flush", "cache"])


@contextmanager
def lost_fragments(site: Site, below: float) -> Iterator[None]:
    """The same, and the router drops fragments."""
    rule = "ip frag-off & 0x3fff != 0 drop"
    with reported_mtu(site, below), filtered("router", "forward", rule)(site):
        yield


@contextmanager
def closed_at_times(site: Site, closed_ms: float) -> Iterator[None]:
    """Drop what arrives at the receiver, for some milliseconds of each half second."""
    with site.running(RECEIVER, *site.script("gate.py", f"{closed_ms:g}", "500")):
        yield


@contextmanager
def short_mtu_at_times(site: Site, closed_ms: float) -> Iterator[None]:
    """Let the receiver's interface refuse long frames, for some milliseconds of each 60 ms."""
    with site.running(RECEIVER, *site.script("gate.py", f"{closed_ms:g}", "60", "test")):
        yield


def slower_to(sender: str, receiver: str) -> Plant:
    """Slows down what a host sends to one peer. To all peers together it still sends its full
    rate.
    """

    @contextmanager
    def plant(site: Site, cost: float) -> Iterator[None]:
        cable, address = site.cable(sender), site.host(receiver).addresses[0]
        end = cable.ends[0]
        assert cable.rate is not None
        bits = shape_of(cable.rate, cable.mtu, cable.queue_frames)
        tc = f"tc -n {end.namespace}"
        frames = f"overhead {OVERHEAD_BYTES} linklayer ethernet mpu {LEAST_FRAME_BYTES}"
        sizes = f"{frames} mtu {bits.table_mtu_bytes} tsize {bits.table_slots}"
        limits = f"burst {bits.burst_bytes} cburst {bits.burst_bytes}"
        slow = cable.rate * (1 - cost)
        classes = (("3:", "3:1", cable.rate), ("3:1", "3:10", cable.rate), ("3:1", "3:20", slow))
        class_of = f"ip daddr {address} meta priority set 3:20"
        with reshaped((cable, cable)), filtered(sender, "output", class_of)(site):
            device = f"dev {end.interface}"
            head = f"{tc} qdisc replace {device} root handle 3: stab {sizes} htb default 10"
            run(*head.split())
            for parent, name, rate in classes:
                words = f"{tc} class add {device} parent {parent} classid {name} htb"
                run(*f"{words} rate {rate:.0f} {limits} quantum 1600".split())
            try:
                yield
            finally:
                run(*f"{tc} qdisc del {device} root".split())

    return plant


def other_flow(sender: str, *, management: bool = False) -> Plant:
    """Sends other datagrams to the receiver, at this share of the test cable's rate."""

    @contextmanager
    def plant(site: Site, share: float) -> Iterator[None]:
        to = site.host(RECEIVER)
        address = to.management_address if management else to.addresses[0]
        payload = round(share * RATE_BIT_PER_S * OTHER_PAYLOAD_BYTES / OTHER_WIRE_BYTES)
        words = f"{address} {OTHER_PORT} {payload} {OTHER_PAYLOAD_BYTES}".split()
        sink = site.script("other.py", "sink", str(OTHER_PORT))
        with (
            site.running(RECEIVER, *sink),
            site.running(sender, *site.script("other.py", "send", *words)),
        ):
            yield

    return plant
