"""A machine that forwards delays, reorders, polices or manages its queue: what the records have of
it, and what netlab says.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest
from machine import Machine
from machine_lab import MachineLab, ip, machine_lab, names_of, said_by, the

from netlab.findings.analysis import Analysis

pytestmark = [pytest.mark.needs("machines", "tun"), pytest.mark.night]

RATE_MBIT = 10
UDP = """\
title: UDP through a machine
pairings: [far+near]
tests:
  - {{test: stream, protocol: UDP, message_size: 1000, rate: {rate}, duration: 4s, warm_up: 500ms}}
"""
TRIPS = "  - {test: round_trip, protocol: UDP, message_size: 64, count: 100}\n"
LOADED = f"""\
title: A queue in a machine
link: {{rate: {RATE_MBIT}Mbit, hops: 1}}
pairings: [far+near]
tests:
  - test: latency_under_load
    load: {{protocol: TCP, message_size: 64KiB, congestion: cubic}}
    duration: 12s
    idle: 3s
    after: 2s
"""
ETHERNET = "stab overhead 24 linklayer ethernet mpu 84 mtu 2047 tsize 2048"
"""A frame on the wire: FCS, preamble and gap, none shorter than 84 bytes."""
MARKED = """\
title: TCP through a machine
link: {rate: 1Gbit, hops: 1}
pairings: [far+near]
tests: [{test: stream, protocol: TCP, message_size: 64KiB, congestion: cubic, duration: 4s}]
"""
SHAPER = f"root handle 1: {ETHERNET} tbf rate {RATE_MBIT}mbit burst 6400 limit"
QUEUE_BYTES = 120_000
FIFO_NS = QUEUE_BYTES * 8 / (RATE_MBIT * 1e6) * 1e9


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineLab]:
    with machine_lab(tmp_path_factory.mktemp("router")) as of:
        of.router()
        yield of


@pytest.fixture
def router(lab: MachineLab) -> Machine:
    return lab.machines["router"]


@contextlib.contextmanager
def queueing(router: Machine, *words: str) -> Iterator[None]:
    """Queue disciplines of the router's interface towards far."""
    try:
        for discipline in words:
            router.run(f"tc qdisc add dev eth2 {discipline}")
        yield
    finally:
        router.run("tc qdisc delete dev eth2 root", check=False)


def values(run: Analysis, test: str) -> dict[str, Any]:
    assert {str(record.status) for record in run.latest.values()} == {"ok"}, said_by(run)
    (record,) = [record for record in run.latest.values() if record.test == test]
    return dict(record.values)


@pytest.fixture(scope="module")
def undisturbed(lab: MachineLab) -> Analysis:
    return lab.run(UDP.format(rate="2Mbit") + TRIPS, "undisturbed")


def test_a_router_without_a_task_neither_reorders_nor_loses(undisturbed: Analysis) -> None:
    stream = values(undisturbed, "stream")
    assert (stream["reordered_messages"], stream["lost_messages"]) == (0, 0)
    assert stream["receiver_jitter_ns"] < 2e6


def test_delay_and_jitter_of_a_router_are_in_the_records(
    lab: MachineLab, router: Machine, undisturbed: Analysis
) -> None:
    with queueing(router, "root netem delay 20ms 5ms limit 10000"):
        run = lab.run(UDP.format(rate="2Mbit") + TRIPS, "jitter")
    stream, trip, before = (
        values(run, "stream"),
        values(run, "round_trip"),
        values(undisturbed, "round_trip"),
    )
    # Two delays that are uniform within ±5 ms differ by 3.33 ms in the mean.
    assert stream["receiver_jitter_ns"] == pytest.approx(3.33e6, rel=0.5)
    assert stream["reordered_messages"] > 0
    assert stream["lost_messages"] == 0
    assert trip["rtt_mean_ns"] - before["rtt_mean_ns"] == pytest.approx(20e6, rel=0.15)


def test_reordering_of_a_router_is_in_the_records(lab: MachineLab, router: Machine) -> None:
    with queueing(router, "root netem delay 10ms reorder 10% limit 10000"):
        stream = values(lab.run(UDP.format(rate="2Mbit"), "reordered"), "stream")
    # A tenth is not delayed, and overtakes the two messages of the 10 ms before it.
    share = stream["reordered_messages"] / stream["sent_messages"]
    assert 0.05 < share < 0.3
    assert stream["lost_messages"] == 0


def test_a_policer_of_a_router_passes_its_rate(lab: MachineLab, router: Machine) -> None:
    police = "matchall action police rate 4mbit burst 16k conform-exceed drop"
    router.run(f"tc qdisc add dev eth1 ingress; tc filter add dev eth1 ingress {police}")
    try:
        run = lab.run(UDP.format(rate="8Mbit"), "policed")
    finally:
        router.run("tc qdisc delete dev eth1 ingress")
    # The policer counts 42 bytes of headers with each message.
    stream = values(run, "stream")
    assert stream["throughput_bit_per_s"] == pytest.approx(4e6 * 1000 / 1042, rel=0.05)
    in_hosts = {"loss/socket", "loss/backlog", "loss/interface", "loss/queue"}
    assert not names_of(run) & in_hosts, said_by(run)


def test_what_a_policer_of_a_router_drops_of_tcp_is_no_loss_of_acknowledgements(
    lab: MachineLab, router: Machine
) -> None:
    """At the end of a window TCP may wait for 200 ms to send again: the ends' windows differ."""
    police = "matchall action police rate 4mbit burst 15k conform-exceed drop"
    router.run(f"tc qdisc add dev eth1 ingress; tc filter add dev eth1 ingress {police}")
    try:
        run = lab.run(MARKED, "policed-tcp")
    finally:
        router.run("tc qdisc delete dev eth1 ingress")
    assert values(run, "stream")["throughput_bit_per_s"] < 4.2e6
    names = names_of(run)
    assert {"congestion", "sent-again"} <= names, said_by(run)
    assert not {name for name in names if name.startswith(("way-back", "delivery"))}, said_by(run)


MANAGED = {
    "fq_codel": (f"{SHAPER} 1000000", "parent 1:1 handle 10: fq_codel"),
    "cake": (f"root cake bandwidth {RATE_MBIT}mbit ethernet",),
    "fifo": (f"{SHAPER} {QUEUE_BYTES}",),
}


@pytest.mark.produces("delivery/marked")
@pytest.mark.parametrize(
    ("queue", "ecn", "is_marked"),
    [
        ("fq_codel", True, True),
        ("cake", True, True),
        ("fq_codel", False, False),
        ("fifo", True, False),
    ],
)
def test_marks_of_a_managed_queue_of_a_router_are_told_and_no_loss(
    lab: MachineLab, router: Machine, queue: str, *, ecn: bool, is_marked: bool
) -> None:
    for namespace in (lab.near, lab.far):
        ip("netns", "exec", namespace, "sysctl", "-qw", f"net.ipv4.tcp_ecn={int(ecn)}")
    with queueing(router, *MANAGED[queue]):
        run = lab.run(MARKED, f"marked-{queue}-{ecn}")
    names = names_of(run)
    assert ("delivery/marked" in names) is is_marked, said_by(run)
    if is_marked:
        marks = the(run, "delivery/marked").evidence
        assert 0 < marks["marked_packets"] < 0.2 * marks["ecn_packets"]
        assert not names & {"sent-again", "congestion", "not-determined"}, said_by(run)


def test_a_plain_queue_of_a_router_stands_under_load(lab: MachineLab, router: Machine) -> None:
    with queueing(router, f"{SHAPER} {QUEUE_BYTES}"):
        run = lab.run(LOADED, "fifo")
    assert values(run, "latency_under_load")["increase_ns"] == pytest.approx(FIFO_NS, rel=0.3)
    assert "queue-under-load/standing" in names_of(run), said_by(run)


@pytest.mark.parametrize(
    ("name", "disciplines"),
    [(name, MANAGED[name]) for name in ("fq_codel", "cake")],
)
def test_a_managed_queue_of_a_router_does_not_stand_under_load(
    lab: MachineLab, router: Machine, name: str, disciplines: tuple[str, ...]
) -> None:
    with queueing(router, *disciplines):
        run = lab.run(LOADED, name)
    assert values(run, "latency_under_load")["increase_ns"] < FIFO_NS / 4
    assert "queue-under-load/none" in names_of(run), said_by(run)
